package command

import (
	"fmt"
	heap "runtime/debug"
	"strings"

	"github.com/pyropedb/pyrope/server/resp"
)

// memoryUsage is MEMORY USAGE key [SAMPLES count].
func memoryUsage(c *Context) {
	for options := c.Args[3:]; len(options) > 0; options = options[2:] {
		if len(options) == 1 || !equalFold(options[0], "samples") {
			c.error(errSyntax)
			return
		}
		samples, ok := c.integerArgument(options[1])
		if !ok {
			return
		}
		if samples < 0 {
			c.error(errSyntax)
			return
		}
	}
	if i, found := c.inspect(); found {
		c.integer(int64(len(c.Args[2]) + i.valueBytes + recordOverheadBytes))
	}
}

// memoryStats is MEMORY STATS: Redis's fields as far as Pyrope has the like of them.
func memoryStats(c *Context) {
	s := c.State
	use := s.usedMemory()
	used := use.total()
	resident := residentBytes()
	if resident == 0 {
		resident = used + use.runtime
	}
	peak := max(s.Server.rates().peakMemoryBytes, used)
	keys := int64(0)
	for i := range s.databases {
		count, _ := s.databases[i].Keyspace().Count(c.Now())
		keys += count
	}
	overhead := use.index + use.heap
	integers := []struct {
		name  string
		value uint64
	}{
		{"peak.allocated", peak},
		{"total.allocated", used},
		{"replication.backlog", 0},
		{"clients.slaves", 0},
		{"cluster.links", 0},
		{"aof.buffer", 0},
		{"lua.caches", 0},
		{"functions.caches", 0},
		{"overhead.total", overhead},
		{"keys.count", uint64(keys)},
		{"keys.bytes-per-key", use.log / uint64(max(keys, 1))},
		{"dataset.bytes", use.log},
		{"allocator.allocated", use.heap},
		{"allocator.active", use.heap + use.runtime},
		{"allocator.resident", use.heap + use.runtime},
	}
	ratios := []struct {
		name  string
		value float64
	}{
		{"dataset.percentage", 100 * share(use.log, used)},
		{"peak.percentage", 100 * share(used, peak)},
		{"fragmentation", share(resident, used)},
	}
	c.mapping(len(integers) + len(ratios) + 1)
	for _, field := range integers {
		c.bulkString(field.name)
		c.integer(int64(field.value))
	}
	for _, field := range ratios {
		c.bulkString(field.name)
		c.Out = resp.AppendDouble(c.Out, c.Client.Protocol(), field.value)
	}
	c.bulkString("fragmentation.bytes")
	c.integer(int64(resident) - int64(used))
}

func share(part, whole uint64) float64 { return float64(part) / float64(max(whole, 1)) }

const (
	doctorLeastBytes    = 5 << 20 // below this all ratios look bad, and none matters
	doctorMostBloat     = 1.4     // resident to used memory
	doctorMostOfTheHeap = 0.25    // of the Go heap in used memory
)

// memoryDoctor is MEMORY DOCTOR: the ratios that tell of trouble, in words.
func memoryDoctor(c *Context) {
	use := c.State.usedMemory()
	used := use.total()
	var found []string
	if bloat := share(residentBytes(), used); bloat > doctorMostBloat {
		found = append(found, fmt.Sprintf("The process holds %.2f times the memory that is in use. MEMORY PURGE gives free memory back.", bloat))
	}
	if part := share(use.heap, used); part > doctorMostOfTheHeap {
		found = append(found, fmt.Sprintf("%.0f%% of the memory in use is connections and buffers. CLIENT LIST shows whose.", 100*part))
	}
	switch {
	case used < doctorLeastBytes:
		c.verbatim("The server uses so little memory that its ratios mean nothing yet.\n")
	case len(found) == 0:
		c.verbatim("Nothing is wrong with the memory of this server.\n")
	default:
		c.verbatim(strings.Join(found, "\n") + "\n")
	}
}

// memoryPurge is MEMORY PURGE. Log pages and index are in use as long as the server runs; what the
// Go heap has free goes back to the system.
func memoryPurge(c *Context) {
	c.Wait(heap.FreeOSMemory)
	c.ok()
}

// memoryHelp is MEMORY HELP.
func memoryHelp(c *Context) {
	c.help("MEMORY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"DOCTOR",
		"    Get what is wrong with the server's memory.",
		"MALLOC-STATS",
		"    Get what the Go runtime and the engine have allocated.",
		"PURGE",
		"    Give free memory back to the system.",
		"STATS",
		"    Get where the server's memory goes.",
		"USAGE <key> [SAMPLES <count>]",
		"    Get about how many bytes the key and its value take.",
		"HELP",
		"    Print this help.")
}

// role is ROLE: a master, the length of its replication stream, and no replicas.
func role(c *Context) {
	c.array(3)
	c.bulkString("master")
	c.integer(0)
	c.array(0)
}
