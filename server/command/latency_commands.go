package command

import (
	"fmt"
	"strings"
	"time"
)

func init() { register(latencyCommands) }

var latencyCommands = []Command{{
	Name: "latency", Arity: -2, Categories: InSlow, Group: "server", Since: "2.8.13",
	Complexity: "Depends on subcommand.", Summary: "Commands about what takes long",
	Subcommands: []Command{
		{Name: "latest", Arity: 2, Flags: adminFlags, Categories: inAdmin, Handler: latencyLatest,
			Group: "server", Since: "2.8.13", Complexity: "O(1)", Summary: "The latest sample of every cause"},
		{Name: "history", Arity: 3, Flags: adminFlags, Categories: inAdmin, Handler: latencyHistory,
			Group: "server", Since: "2.8.13", Complexity: "O(1)", Summary: "The samples of a cause"},
		{Name: "reset", Arity: -2, Flags: adminFlags, Categories: inAdmin, Handler: latencyReset,
			Group: "server", Since: "2.8.13", Complexity: "O(1)", Summary: "Forget the samples of causes"},
		{Name: "histogram", Arity: -2, Flags: adminFlags, Categories: inAdmin, Handler: latencyHistograms,
			Group: "server", Since: "7.0.0", Complexity: "O(N) where N is the number of commands with latency information being retrieved.",
			Summary: "How long the calls of commands took"},
		{Name: "graph", Arity: 3, Flags: adminFlags, Categories: inAdmin, Handler: latencyGraph,
			Group: "server", Since: "2.8.13", Complexity: "O(1)", Summary: "The samples of a cause as a drawing"},
		{Name: "doctor", Arity: 2, Flags: adminFlags, Categories: inAdmin, Handler: latencyDoctor,
			Group: "server", Since: "2.8.13", Complexity: "O(1)", Summary: "The samples of all causes in words"},
		{Name: "help", Arity: 2, Flags: helpFlags, Categories: InSlow, Handler: latencyHelp,
			Group: "server", Since: "2.8.13", Complexity: "O(1)", Summary: "List the subcommands"},
	},
}}

// latencyLatest is LATENCY LATEST.
func latencyLatest(c *Context) {
	m := &c.State.latency
	causes := m.causes()
	begin := len(c.Out)
	c.array(len(causes))
	for _, cause := range causes {
		event, ok := m.latencyOf(cause)
		if !ok { // it was reset meanwhile
			c.Out = c.Out[:begin]
			latencyLatest(c)
			return
		}
		last := event.samples[len(event.samples)-1]
		c.array(4)
		c.bulkString(cause)
		c.integer(last.at)
		c.integer(last.milliseconds)
		c.integer(event.longest)
	}
}

// latencyHistory is LATENCY HISTORY event.
func latencyHistory(c *Context) {
	event, _ := c.State.latency.latencyOf(string(c.Args[2]))
	c.array(len(event.samples))
	for _, sample := range event.samples {
		c.array(2)
		c.integer(sample.at)
		c.integer(sample.milliseconds)
	}
}

// latencyReset is LATENCY RESET [event ...].
func latencyReset(c *Context) {
	m := &c.State.latency
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.events)
	if len(c.Args) == 2 {
		m.events = nil
	}
	for _, cause := range c.Args[2:] {
		delete(m.events, string(cause))
	}
	c.integer(int64(before - len(m.events)))
}

// latencyHistograms is LATENCY HISTOGRAM [command ...]. A container stands for its subcommands.
func latencyHistograms(c *Context) {
	var asked []*Command
	if len(c.Args) == 2 {
		asked = commandsByIndex
	}
	for _, name := range c.Args[2:] {
		container, word, _ := strings.Cut(string(name), "|")
		d := Lookup([]byte(container))
		if d != nil && word != "" {
			d = d.Subcommand([]byte(word))
		}
		if d == nil {
			continue
		}
		asked = append(asked, d)
		for i := range d.Subcommands {
			asked = append(asked, &d.Subcommands[i])
		}
	}
	totals := c.State.Totals()
	var shown []*Command
	for _, d := range asked {
		if totals.Commands[d.index].histogram.Load().calls() > 0 {
			shown = append(shown, d)
		}
	}
	c.mapping(len(shown))
	for _, d := range shown {
		histogram := totals.Commands[d.index].histogram.Load()
		pairs := histogram.cumulative()
		c.bulkString(d.fullName)
		c.mapping(2)
		c.bulkString("calls")
		c.integer(int64(histogram.calls()))
		c.bulkString("histogram_usec")
		c.mapping(len(pairs))
		for _, pair := range pairs {
			c.integer(pair[0])
			c.integer(pair[1])
		}
	}
}

// Of the drawing of LATENCY GRAPH.
const (
	graphColumns = 80
	graphRows    = 4
	graphMarks   = "_o#" // levels of a row; "|" is below the level
)

// latencyGraph is LATENCY GRAPH event.
func latencyGraph(c *Context) {
	event, ok := c.State.latency.latencyOf(string(c.Args[2]))
	if !ok {
		c.errorf(errNoSamples, echo(c.Args[2], len(c.Args[2])))
		return
	}
	low, high := event.samples[0].milliseconds, event.samples[0].milliseconds
	for _, sample := range event.samples {
		low, high = min(low, sample.milliseconds), max(high, sample.milliseconds)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s - high %d ms, low %d ms (all time high %d ms)\n%s\n",
		c.Args[2], high, low, event.longest, strings.Repeat("-", graphColumns))
	now := time.Now().Unix()
	for samples := event.samples; len(samples) > 0; {
		count := min(graphColumns, len(samples))
		drawSamples(&text, samples[:count], low, high, now)
		if samples = samples[count:]; len(samples) > 0 {
			text.WriteByte('\n')
		}
	}
	c.verbatim(text.String())
}

// drawSamples draws a column for each sample, as high as it took long, with its age below, read downward.
func drawSamples(text *strings.Builder, samples []latencySample, low, high, now int64) {
	const levels = graphRows * len(graphMarks)
	ages, longest := make([]string, len(samples)), 0
	for i, sample := range samples {
		ages[i] = ageText(now - sample.at)
		longest = max(longest, len(ages[i]))
	}
	for row := range graphRows {
		for _, sample := range samples {
			level := int((sample.milliseconds - low) * int64(levels) / max(high-low, 1))
			switch mark := min(level, levels-1) - (graphRows-row-1)*len(graphMarks); {
			case mark < 0:
				text.WriteByte(' ')
			case mark < len(graphMarks):
				text.WriteByte(graphMarks[mark])
			default:
				text.WriteByte('|')
			}
		}
		text.WriteByte('\n')
	}
	text.WriteString(strings.Repeat(" ", len(samples)) + "\n")
	for letter := range longest {
		for _, age := range ages {
			if letter < len(age) {
				text.WriteByte(age[letter])
			} else {
				text.WriteByte(' ')
			}
		}
		text.WriteByte('\n')
	}
}

// ageText is an age in its largest unit.
func ageText(seconds int64) string {
	switch {
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%dm", seconds/60)
	case seconds < 24*3600:
		return fmt.Sprintf("%dh", seconds/3600)
	}
	return fmt.Sprintf("%dd", seconds/(24*3600))
}

// latencyAdvice says what can be done about a cause.
var latencyAdvice = map[string]string{
	"command":      "SLOWLOG GET shows the calls. KEYS, SCAN, DBSIZE and RANDOMKEY may read the whole log; long strings take long to copy.",
	"fast-command": "Such commands are slow when they wait for the device: more --memory keeps more records off it, and INFO store shows device_reads. Otherwise the machine was busy.",
	CauseExpiry:    "Many keys expire together: lower active-expire-effort, or spread the deadlines.",
	CauseCommit:    "The disk is slow to make the append-only file durable: appendfsync everysec does not wait for it.",
}

// latencyDoctor is LATENCY DOCTOR.
func latencyDoctor(c *Context) {
	m := &c.State.latency
	var text strings.Builder
	if m.get(&m.thresholdMilliseconds) == "0" {
		c.verbatim("Latency is not monitored: CONFIG SET latency-monitor-threshold MILLISECONDS begins it.\n")
		return
	}
	for _, cause := range m.causes() {
		event, ok := m.latencyOf(cause)
		if !ok {
			continue
		}
		var sum int64
		for _, sample := range event.samples {
			sum += sample.milliseconds
		}
		count := int64(len(event.samples))
		fmt.Fprintf(&text, "%s: %d samples, %d ms on average, %d ms at most.\n", cause, count, sum/count, event.longest)
		if advice := latencyAdvice[cause]; advice != "" {
			fmt.Fprintf(&text, "  %s\n", advice)
		}
	}
	if text.Len() == 0 {
		text.WriteString("Nothing took longer than latency-monitor-threshold since the last LATENCY RESET.\n")
	}
	c.verbatim(text.String())
}

// latencyHelp is LATENCY HELP.
func latencyHelp(c *Context) {
	c.help("LATENCY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"DOCTOR",
		"    Get the samples of all causes in words, with advice.",
		"GRAPH <event>",
		"    Get the samples of a cause as a drawing.",
		"HISTOGRAM [<command> ...]",
		"    Get how many calls of the commands, or of all, were done within which time.",
		"HISTORY <event>",
		"    Get the samples of a cause.",
		"LATEST",
		"    Get the latest sample of every cause.",
		"RESET [<event> ...]",
		"    Forget the samples of the causes, or of all.",
		"HELP",
		"    Print this help.")
}
