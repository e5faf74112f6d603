package command

import (
	"slices"
	"strings"
)

// commandGetKeys is COMMAND GETKEYS name [argument ...].
func commandGetKeys(c *Context) {
	d := c.commandOf(c.Args[2:])
	if d == nil {
		return
	}
	keys := d.keysIn(c.Args[2:])
	c.array(len(keys))
	for _, key := range keys {
		c.bulk(key)
	}
}

// commandGetKeysAndFlags is COMMAND GETKEYSANDFLAGS name [argument ...].
func commandGetKeysAndFlags(c *Context) {
	call := c.Args[2:]
	d := c.commandOf(call)
	if d == nil {
		return
	}
	c.array(len(d.keysIn(call)))
	for _, spec := range d.Keys {
		for _, key := range spec.in(call) {
			c.array(2)
			c.bulk(key)
			c.simpleSet(strings.Fields(d.flagsIn(call, spec)))
		}
	}
}

// commandOf finds the command of a call that has keys of each specification, or replies with the error and returns nil.
func (c *Context) commandOf(call [][]byte) *Command {
	d := Lookup(call[0])
	if d != nil && len(d.Subcommands) > 0 && len(call) > 1 {
		d = d.Subcommand(call[1])
	}
	switch {
	case d == nil:
		c.error(errNoSuchCommand)
	case len(d.Keys) == 0, d.Flags&PubSub != 0: // channels are no keys
		c.error(errNoKeyArguments)
	case !d.accepts(len(call)):
		c.error(errCommandArity)
	case d.Keys[len(d.Keys)-1].First >= len(call):
		c.error(errInvalidCall)
	default:
		return d
	}
	return nil
}

// keysIn picks the keys out of the arguments of a call whose number is right.
func (d *Command) keysIn(call [][]byte) (keys [][]byte) {
	for _, spec := range d.Keys {
		keys = append(keys, spec.in(call)...)
	}
	return keys
}

// in picks the keys of a specification out of the arguments of a call.
func (k KeySpec) in(call [][]byte) (keys [][]byte) {
	last := k.Last
	if last < 0 {
		last += len(call)
	}
	for i := k.First; i <= last && i < len(call); i += k.Step {
		keys = append(keys, call[i])
	}
	return keys
}

// flagsIn is what a call does to the keys of a specification: for SET and BITFIELD it depends on the arguments.
func (d *Command) flagsIn(call [][]byte, spec KeySpec) string {
	flags, depends := strings.CutSuffix(spec.Flags, " variable_flags")
	switch {
	case !depends:
		return flags
	case d.Name == "set" && !asksForOld(call[3:]):
		return "OW update"
	case d.Name == "bitfield" && onlyGets(call[2:]):
		return "RO access"
	}
	return flags
}

// asksForOld tells whether the options of a SET have GET among them. Like Redis it does not ask whether the word is another's value.
func asksForOld(options [][]byte) bool {
	return slices.ContainsFunc(options, func(word []byte) bool { return equalFold(word, "get") })
}

// onlyGets tells whether the operations of a BITFIELD change nothing.
func onlyGets(operations [][]byte) bool {
	for i := 0; i < len(operations); {
		rest := len(operations) - i - 1
		switch {
		case equalFold(operations[i], "get") && rest >= 2:
			i += 3
		case equalFold(operations[i], "overflow") && rest >= 1:
			i += 2
		default:
			return false
		}
	}
	return true
}
