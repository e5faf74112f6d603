package command

import "strings"

// commandGetKeys is COMMAND GETKEYS name [argument ...].
func commandGetKeys(c *Context) {
	_, keys := c.keysOf(c.Args[2:])
	if len(keys) == 0 {
		return
	}
	c.array(len(keys))
	for _, key := range keys {
		c.bulk(key)
	}
}

// commandGetKeysAndFlags is COMMAND GETKEYSANDFLAGS name [argument ...].
func commandGetKeysAndFlags(c *Context) {
	d, keys := c.keysOf(c.Args[2:])
	if len(keys) == 0 {
		return
	}
	c.array(len(keys))
	for _, key := range keys {
		c.array(2)
		c.bulk(key)
		c.simpleSet(strings.Fields(d.Keys.Flags))
	}
}

// keysOf finds the command of a call and the keys among its arguments, or replies with the error
// and returns no keys.
func (c *Context) keysOf(call [][]byte) (*Command, [][]byte) {
	d := Lookup(call[0])
	if d != nil && len(d.Subcommands) > 0 && len(call) > 1 {
		d = d.Subcommand(call[1])
	}
	switch {
	case d == nil:
		c.error(errNoSuchCommand)
		return nil, nil
	case d.Keys.First == 0:
		c.error(errNoKeyArguments)
		return nil, nil
	case !d.accepts(len(call)):
		c.error(errCommandArity)
		return nil, nil
	}
	return d, d.Keys.of(call)
}

// of picks the keys out of the arguments of a call whose number is right; nil for a command without keys.
func (k KeySpec) of(call [][]byte) [][]byte {
	if k.First == 0 {
		return nil
	}
	last := k.Last
	if last < 0 {
		last += len(call)
	}
	var keys [][]byte
	for i := k.First; i <= last && i < len(call); i += k.Step {
		keys = append(keys, call[i])
	}
	return keys
}
