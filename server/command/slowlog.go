package command

import "fmt"

func init() { register(slowlogCommands) }

// The flags and categories of commands that look into the server.
const inspectFlags = Admin | Loading | Stale

var slowlogCommands = []Command{{
	Name: "slowlog", Arity: -2, Categories: InSlow, Group: "server", Since: "2.2.12",
	Complexity: "Depends on subcommand.", Summary: "Commands about the log of slow commands",
	Subcommands: []Command{
		{Name: "get", Arity: -2, Flags: inspectFlags, Categories: inAdmin, Handler: slowlogGet,
			Group: "server", Since: "2.2.12", Complexity: "O(N) where N is the number of entries returned",
			Summary: "The entries of the slow log, newest first"},
		{Name: "len", Arity: 2, Flags: inspectFlags, Categories: inAdmin, Handler: slowlogLength,
			Group: "server", Since: "2.2.12", Complexity: "O(1)", Summary: "The number of entries of the slow log"},
		{Name: "reset", Arity: 2, Flags: inspectFlags, Categories: inAdmin, Handler: slowlogReset,
			Group: "server", Since: "2.2.12", Complexity: "O(N) where N is the number of entries in the slowlog",
			Summary: "Empty the slow log"},
		{Name: "help", Arity: 2, Flags: helpFlags, Categories: InSlow, Handler: slowlogHelp,
			Group: "server", Since: "6.2.0", Complexity: "O(1)", Summary: "List the subcommands"},
	},
}}

// slowEntry is one call in the slow log; immutable.
type slowEntry struct {
	id, at, microseconds int64 // at in Unix seconds
	arguments            []string
	address, name        string // of the client
}

// What the slow log keeps of a call.
const (
	slowMaxArguments     = 32
	slowMaxArgumentBytes = 128
	slowDefaultCount     = 10
)

// runArguments are those shown of a run of calls that was executed as one: the first call, and how many follow.
func runArguments(calls int, first ...[]byte) [][]byte {
	if calls > 1 {
		first = append(first, fmt.Appendf(nil, "... (%d more calls)", calls-1))
	}
	return first
}

// slowArguments copies the arguments of a call, cut as Redis cuts them, without what is secret.
func slowArguments(d *Command, arguments [][]byte) []string {
	kept := make([]string, 0, min(len(arguments), slowMaxArguments))
	for i, argument := range arguments {
		left := len(arguments) - i
		switch {
		case i == slowMaxArguments-1 && left > 1:
			return append(kept, fmt.Sprintf("... (%d more arguments)", left))
		case isSecret(d, arguments, i):
			kept = append(kept, redacted)
		case len(argument) > slowMaxArgumentBytes:
			kept = append(kept, fmt.Sprintf("%s... (%d more bytes)", argument[:slowMaxArgumentBytes], len(argument)-slowMaxArgumentBytes))
		default:
			kept = append(kept, string(argument))
		}
	}
	return kept
}

// redacted is shown in place of a secret.
const redacted = "(redacted)"

// secretParameters are those whose values are passwords.
var secretParameters = map[string]bool{
	"password": true, "requirepass": true, "tls-key-file-pass": true, "cert-password": true,
}

// isSecret tells whether the i-th argument of a call is not to be shown: a password, and the user's name with it.
func isSecret(d *Command, arguments [][]byte, i int) bool {
	switch d.fullName {
	case "auth":
		return i > 0
	case "hello":
		return i > 2 && equalFold(arguments[i-1], "auth") || i > 3 && equalFold(arguments[i-2], "auth")
	case "config|set":
		return i > 2 && i%2 == 1 && secretParameters[lower(arguments[i-1])]
	}
	return false
}

// slowlogGet is SLOWLOG GET [count].
func slowlogGet(c *Context) {
	count := int64(slowDefaultCount)
	if len(c.Args) > 3 {
		c.errorf(errSubcommandArguments, echo(c.Args[1], echoLimit), "SLOWLOG")
		return
	}
	if len(c.Args) == 3 {
		var ok bool
		if count, ok = parseInteger(c.Args[2]); !ok || count < -1 {
			c.error(errSlowCount)
			return
		}
	}
	m := &c.State.latency
	m.mu.Lock()
	defer m.mu.Unlock()
	if count == -1 || count > int64(len(m.slow)) {
		count = int64(len(m.slow))
	}
	c.array(int(count))
	for i := range int(count) {
		entry := &m.slow[len(m.slow)-1-i]
		c.array(6)
		c.integer(entry.id)
		c.integer(entry.at)
		c.integer(entry.microseconds)
		c.array(len(entry.arguments))
		for _, argument := range entry.arguments {
			c.bulkString(argument)
		}
		c.bulkString(entry.address)
		c.bulkString(entry.name)
	}
}

// slowlogLength is SLOWLOG LEN.
func slowlogLength(c *Context) {
	m := &c.State.latency
	m.mu.Lock()
	defer m.mu.Unlock()
	c.integer(int64(len(m.slow)))
}

// slowlogReset is SLOWLOG RESET.
func slowlogReset(c *Context) {
	m := &c.State.latency
	m.mu.Lock()
	defer m.mu.Unlock()
	m.slow = nil
	c.ok()
}

// slowlogHelp is SLOWLOG HELP.
func slowlogHelp(c *Context) {
	c.help("SLOWLOG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"GET [<count>]",
		"    Get the newest entries, 10 or as many as given; -1 for all. An entry is",
		"    its id, the time, microseconds, the arguments, the client's address and name.",
		"LEN",
		"    Get the number of entries.",
		"RESET",
		"    Remove all entries.",
		"HELP",
		"    Print this help.")
}
