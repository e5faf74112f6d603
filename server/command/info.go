package command

import (
	"fmt"
	"strings"
)

func init() {
	register([]Command{{
		Name: "info", Arity: -1, Flags: helpFlags, Categories: InSlow | InDangerous, Handler: info,
		Group: "server", Since: "1.0.0", Complexity: "O(1)", Summary: "The state and the counters of the server",
	}})
}

// infoSection is one part of INFO.
type infoSection struct {
	name  string // as INFO's argument, in lower case
	title string
	write func(s *State, w *infoWriter)
	scope infoScope
}

// infoScope says by which words a section is asked for, beside its own name.
type infoScope uint8

const (
	byDefault infoScope = iota // INFO, INFO DEFAULT, INFO ALL, INFO EVERYTHING
	byAll                      // INFO ALL, INFO EVERYTHING
	byNotAll                   // INFO, INFO DEFAULT, INFO EVERYTHING: Redis keeps modules out of ALL
)

// infoSections are all sections in the order in which INFO shows them.
var infoSections = []infoSection{
	{"server", "Server", infoServer, byDefault},
	{"clients", "Clients", infoClients, byDefault},
	{"memory", "Memory", infoMemory, byDefault},
	{"persistence", "Persistence", infoPersistence, byDefault},
	{"stats", "Stats", infoStats, byDefault},
	{"replication", "Replication", infoReplication, byDefault},
	{"cpu", "CPU", infoCPU, byDefault},
	{"modules", "Modules", func(*State, *infoWriter) {}, byNotAll},
	{"commandstats", "Commandstats", infoCommandStats, byAll},
	{"errorstats", "Errorstats", infoErrorStats, byDefault},
	{"latencystats", "Latencystats", infoLatencyStats, byAll},
	{"cluster", "Cluster", infoCluster, byDefault},
	{"store", "Store", infoStore, byDefault},
	{"keyspace", "Keyspace", infoKeyspace, byDefault},
}

// info is INFO [section ...]. A section that does not exist is left out.
func info(c *Context) {
	w := infoWriter{context: c}
	for _, section := range infoSections {
		if !section.isAskedFor(c.Args[1:]) {
			continue
		}
		if w.text.Len() > 0 {
			w.text.WriteString("\r\n")
		}
		w.text.WriteString("# " + section.title + "\r\n")
		section.write(c.State, &w)
	}
	c.verbatim(w.text.String())
}

// isAskedFor tells whether one of INFO's arguments asks for the section.
func (s *infoSection) isAskedFor(arguments [][]byte) bool {
	if len(arguments) == 0 {
		return s.scope != byAll
	}
	for _, word := range arguments {
		switch {
		case equalFold(word, s.name), equalFold(word, "everything"),
			equalFold(word, "all") && s.scope != byNotAll,
			equalFold(word, "default") && s.scope != byAll:
			return true
		}
	}
	return false
}

// infoWriter collects the lines of INFO.
type infoWriter struct {
	text    strings.Builder
	context *Context // of who asks
}

// line adds one line: a field and its value.
func (w *infoWriter) line(field string, value any) {
	switch v := value.(type) {
	case float64:
		fmt.Fprintf(&w.text, "%s:%.2f\r\n", field, v)
	default:
		fmt.Fprintf(&w.text, "%s:%v\r\n", field, v)
	}
}

// bytes adds a field with a size in bytes, and another with the same for people.
func (w *infoWriter) bytes(field string, size uint64) {
	w.line(field, size)
	w.line(field+"_human", humanBytes(size))
}

// humanBytes is a size as Redis writes it for people: 967.20K.
func humanBytes(size uint64) string {
	if size < 1024 {
		return fmt.Sprintf("%dB", size)
	}
	value := float64(size)
	units := "KMGTPE"
	for i := range units {
		value /= 1024
		if value < 1024 || i == len(units)-1 {
			return fmt.Sprintf("%.2f%c", value, units[i])
		}
	}
	return ""
}

// flagOf is a truth value as INFO shows it.
func flagOf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
