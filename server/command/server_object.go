package command

import (
	"math"

	"github.com/pyropedb/pyrope/tsavorite"
)

func init() { register(objectCommands) }

var (
	inspectedKey = []KeySpec{{First: 2, Last: 2, Step: 1, Flags: "RO"}}
	inObject     = InKeyspace | InRead | InSlow
)

var objectCommands = []Command{
	{Name: "object", Arity: -2, Categories: InSlow, Group: "generic", Since: "2.2.3",
		Complexity: "Depends on subcommand.", Summary: "Commands that look inside a value",
		Subcommands: []Command{
			{Name: "encoding", Arity: 3, Flags: ReadOnly, Categories: inObject, Keys: inspectedKey, Handler: objectEncoding,
				Group: "generic", Since: "2.2.3", Complexity: "O(1)", Summary: "How a value is kept"},
			{Name: "refcount", Arity: 3, Flags: ReadOnly, Categories: inObject, Keys: inspectedKey, Handler: objectReferences,
				Group: "generic", Since: "2.2.3", Complexity: "O(1)", Summary: "How many keys share a value"},
			{Name: "idletime", Arity: 3, Flags: ReadOnly, Categories: inObject, Keys: inspectedKey, Handler: objectIdleTime,
				Group: "generic", Since: "2.2.3", Complexity: "O(1)", Summary: "The seconds since a key was used"},
			{Name: "freq", Arity: 3, Flags: ReadOnly, Categories: inObject, Keys: inspectedKey, Handler: objectFrequency,
				Group: "generic", Since: "4.0.0", Complexity: "O(1)", Summary: "How often a key is used"},
			{Name: "help", Arity: 2, Flags: helpFlags, Categories: InKeyspace | InSlow, Handler: objectHelp,
				Group: "generic", Since: "6.2.0", Complexity: "O(1)", Summary: "List the subcommands"},
		}},
	{Name: "memory", Arity: -2, Categories: InSlow, Group: "server", Since: "4.0.0",
		Complexity: "Depends on subcommand.", Summary: "Commands about memory",
		Subcommands: []Command{
			{Name: "usage", Arity: -3, Flags: ReadOnly, Categories: InRead | InSlow, Keys: inspectedKey, Handler: memoryUsage,
				Group: "server", Since: "4.0.0", Complexity: "O(1)", Summary: "The bytes a key and its value take"},
			{Name: "stats", Arity: 2, Categories: InSlow, Handler: memoryStats,
				Group: "server", Since: "4.0.0", Complexity: "O(1)", Summary: "Where the server's memory goes"},
			{Name: "doctor", Arity: 2, Categories: InSlow, Handler: memoryDoctor,
				Group: "server", Since: "4.0.0", Complexity: "O(1)", Summary: "What is wrong with the server's memory"},
			{Name: "malloc-stats", Arity: 2, Categories: InSlow, Handler: memoryMallocStats,
				Group: "server", Since: "4.0.0", Complexity: "O(1)", Summary: "What the Go runtime and the engine have allocated"},
			{Name: "purge", Arity: 2, Categories: InSlow, Handler: memoryPurge,
				Group: "server", Since: "4.0.0", Complexity: "O(N) in the size of the Go heap", Summary: "Give free memory back to the system"},
			{Name: "help", Arity: 2, Flags: helpFlags, Categories: InSlow, Handler: memoryHelp,
				Group: "server", Since: "4.0.0", Complexity: "O(1)", Summary: "List the subcommands"},
		}},
}

const (
	embeddedStringBytes = 44 // the longest string that Redis calls embstr
	// recordOverheadBytes is about what a record costs beside key and value: its header, rounding,
	// and its entry in the index with the share of what is free there.
	recordOverheadBytes = 40

	sharedIntegers = 10000 // Redis's OBJ_SHARED_INTEGERS

	encodingInteger  = "int"
	encodingEmbedded = "embstr"
	encodingRaw      = "raw"
)

// inspector is a Reader that notes what OBJECT and MEMORY tell of a record.
type inspector struct {
	found      bool
	valueBytes int
	encoding   string
	shared     bool // an integer of those that Redis keeps once for all keys
}

// Read is part of tsavorite.Reader.
func (i *inspector) Read(_ uint64, status tsavorite.Status, record tsavorite.Record) {
	if status != tsavorite.Found {
		return
	}
	i.found = true
	i.valueBytes = len(record.Value)
	i.encoding = encodingRaw
	if n, isInteger := parseInteger(record.Value); isInteger {
		i.encoding = encodingInteger
		i.shared = 0 <= n && n < sharedIntegers
	} else if i.valueBytes <= embeddedStringBytes {
		i.encoding = encodingEmbedded
	}
}

// readLarge notes it of a large string.
func (i *inspector) readLarge(v *large, _ tsavorite.Metadata) tsavorite.Status {
	i.found, i.valueBytes, i.encoding = true, int(v.length), encodingRaw
	return tsavorite.Found
}

// inspect looks at the key of an OBJECT or MEMORY command. When there is none, or the engine
// failed, it replies so and reports false.
func (c *Context) inspect() (inspector, bool) {
	var i inspector
	if c.failed(c.read(c.Args[2], &i)) {
		return i, false
	}
	if !i.found {
		c.null()
	}
	return i, i.found
}

// objectEncoding is OBJECT ENCODING key.
func objectEncoding(c *Context) {
	if i, found := c.inspect(); found {
		c.bulkString(i.encoding)
	}
}

// objectReferences is OBJECT REFCOUNT key. No two keys share a value here; small integers, which
// Redis shares and never counts, answer as they do there.
func objectReferences(c *Context) {
	i, found := c.inspect()
	switch {
	case !found:
	case i.shared:
		c.integer(math.MaxInt32)
	default:
		c.integer(1)
	}
}

// objectIdleTime is OBJECT IDLETIME key. The age of a record is its place in the log, not a time:
// looking at a key makes it young.
func objectIdleTime(c *Context) {
	if _, found := c.inspect(); found {
		c.integer(0)
	}
}

// objectFrequency is OBJECT FREQ key. Uses are not counted, as in Redis without an LFU policy.
func objectFrequency(c *Context) {
	if _, found := c.inspect(); found {
		c.error(errNoFrequency)
	}
}

// objectHelp is OBJECT HELP.
func objectHelp(c *Context) {
	c.help("OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"ENCODING <key>",
		"    Get how the value is kept, in Redis's terms.",
		"FREQ <key>",
		"    Get how often the key is used.",
		"IDLETIME <key>",
		"    Get the seconds since the key was used.",
		"REFCOUNT <key>",
		"    Get how many keys share the value.",
		"HELP",
		"    Print this help.")
}
