package command

import (
	"strings"

	"github.com/pyropedb/pyrope/server/resp"
)

const inCommand = InSlow | InConnection

func init() { register(commandCommands) }

var commandCommands = []Command{{
	Name: "command", Arity: -1, Flags: helpFlags, Categories: inCommand, Handler: commandAll,
	Group: "server", Since: "2.8.13", Complexity: "O(N) where N is the number of commands",
	Summary: "What is known about every command",
	Subcommands: []Command{
		{Name: "count", Arity: 2, Flags: helpFlags, Categories: inCommand, Handler: commandCount,
			Group: "server", Since: "2.8.13", Complexity: "O(1)", Summary: "The number of commands"},
		{Name: "info", Arity: -2, Flags: helpFlags, Categories: inCommand, Handler: commandInfo,
			Group: "server", Since: "2.8.13", Complexity: "O(N) where N is the number of commands named",
			Summary: "What is known about some commands"},
		{Name: "docs", Arity: -2, Flags: helpFlags, Categories: inCommand, Handler: commandDocs,
			Group: "server", Since: "7.0.0", Complexity: "O(N) where N is the number of commands named",
			Summary: "What some commands are for"},
		{Name: "list", Arity: -2, Flags: helpFlags, Categories: inCommand, Handler: commandList,
			Group: "server", Since: "7.0.0", Complexity: "O(N) where N is the number of commands",
			Summary: "The names of commands"},
		{Name: "getkeys", Arity: -4, Flags: helpFlags, Categories: inCommand, Handler: commandGetKeys,
			Group: "server", Since: "2.8.13", Complexity: "O(N) where N is the number of arguments",
			Summary: "The keys among the arguments of a call"},
		{Name: "getkeysandflags", Arity: -4, Flags: helpFlags, Categories: inCommand, Handler: commandGetKeysAndFlags,
			Group: "server", Since: "7.0.0", Complexity: "O(N) where N is the number of arguments",
			Summary: "The keys among the arguments of a call, and what is done to them"},
		{Name: "help", Arity: 2, Flags: helpFlags, Categories: inCommand, Handler: commandHelp,
			Group: "server", Since: "5.0.0", Complexity: "O(1)", Summary: "List the subcommands"},
	},
}}

// commandAll is COMMAND.
func commandAll(c *Context) {
	c.array(len(commandsByName))
	for _, d := range commandsByName {
		c.commandInfo(d)
	}
}

// commandCount is COMMAND COUNT.
func commandCount(c *Context) { c.integer(int64(len(commandsByName))) }

// commandInfo is COMMAND INFO [name ...].
func commandInfo(c *Context) {
	if len(c.Args) == 2 {
		commandAll(c)
		return
	}
	c.array(len(c.Args) - 2)
	for _, name := range c.Args[2:] {
		if d := lookupFull(name); d != nil {
			c.commandInfo(d)
		} else {
			c.null()
		}
	}
}

// lookupFull finds a command by its full name, as in get or client|id; nil when there is none.
func lookupFull(name []byte) *Command {
	container, sub, isSub := strings.Cut(string(name), "|")
	d := Lookup([]byte(container))
	if d == nil || !isSub {
		return d
	}
	return d.Subcommand([]byte(sub))
}

// commandInfo appends the ten parts of COMMAND INFO for one command.
func (c *Context) commandInfo(d *Command) {
	c.array(10)
	c.bulkString(d.fullName)
	c.integer(int64(d.Arity))
	c.simpleSet(d.Flags.Names())
	var all KeySpec // from the first key to the last
	if count := len(d.Keys); count > 0 {
		all = KeySpec{First: d.Keys[0].First, Last: d.Keys[count-1].Last, Step: d.Keys[0].Step}
	}
	c.integer(int64(all.First))
	c.integer(int64(all.Last))
	c.integer(int64(all.Step))
	c.simpleSet(d.Categories.Names())
	details := d.details()
	c.beginSet(len(details.tips))
	for _, tip := range details.tips {
		c.bulkString(tip)
	}
	c.beginSet(len(d.Keys))
	for i, keys := range d.Keys {
		note := ""
		if i == 0 {
			note = details.keyNote
		}
		c.keySpec(keys, note)
	}
	if len(d.Subcommands) == 0 {
		c.beginSet(0)
		return
	}
	c.array(len(d.Subcommands))
	for i := range d.Subcommands {
		c.commandInfo(&d.Subcommands[i])
	}
}

// beginSet begins a set of count replies: an array in RESP2.
func (c *Context) beginSet(count int) { c.Out = resp.AppendSet(c.Out, c.Client.Protocol(), count) }

// simpleSet appends a set of simple strings.
func (c *Context) simpleSet(words []string) {
	c.beginSet(len(words))
	for _, word := range words {
		c.simple(word)
	}
}

// keySpec appends a key specification, with the note that there is about it.
func (c *Context) keySpec(keys KeySpec, note string) {
	last := keys.Last
	if last >= 0 {
		last -= keys.First // counted from the first key
	}
	if note == "" {
		c.mapping(3)
	} else {
		c.mapping(4)
		c.bulkString("notes")
		c.bulkString(note)
	}
	c.bulkString("flags")
	c.simpleSet(strings.Fields(keys.Flags))
	c.bulkString("begin_search")
	c.mapping(2)
	c.bulkString("type")
	c.bulkString("index")
	c.bulkString("spec")
	c.mapping(1)
	c.bulkString("index")
	c.integer(int64(keys.First))
	c.bulkString("find_keys")
	c.mapping(2)
	c.bulkString("type")
	c.bulkString("range")
	c.bulkString("spec")
	c.mapping(3)
	c.bulkString("lastkey")
	c.integer(int64(last))
	c.bulkString("keystep")
	c.integer(int64(keys.Step))
	c.bulkString("limit")
	c.integer(0)
}

// commandHelp is COMMAND HELP.
func commandHelp(c *Context) {
	c.help("COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"(no subcommand)",
		"    Get what is known about every command.",
		"COUNT",
		"    Get the number of commands.",
		"DOCS [<command-name> [...]]",
		"    Get what the named commands, or all, are for.",
		"GETKEYS <full-command>",
		"    Get the keys of a call.",
		"GETKEYSANDFLAGS <full-command>",
		"    Get the keys of a call, and what it does to each.",
		"INFO [<command-name> [...]]",
		"    Get what is known about the named commands, or all.",
		"LIST [FILTERBY (MODULE <name>|ACLCAT <category>|PATTERN <pattern>)]",
		"    Get the names of all commands, or of those that match.",
		"HELP",
		"    Print this help.")
}
