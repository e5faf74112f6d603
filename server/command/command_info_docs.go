package command

import "strconv"

// commandDocs is COMMAND DOCS [name ...]. Names of no command are left out.
func commandDocs(c *Context) {
	documented := commandsByName
	if len(c.Args) > 2 {
		documented = nil
		for _, name := range c.Args[2:] {
			if d := lookupFull(name); d != nil {
				documented = append(documented, d)
			}
		}
	}
	c.mapping(len(documented))
	for _, d := range documented {
		c.commandDocs(d)
	}
}

// texts are names with values of which the empty ones are left out.
type texts [][2]string

// count is how many are there.
func (t texts) count() (count int) {
	for _, pair := range t {
		count += oneIf(pair[1] != "")
	}
	return count
}

// append appends them.
func (t texts) append(c *Context) {
	for _, pair := range t {
		if pair[1] != "" {
			c.bulkString(pair[0])
			c.bulkString(pair[1])
		}
	}
}

// oneIf counts what may be left out.
func oneIf(there bool) int {
	if there {
		return 1
	}
	return 0
}

// commandDocs appends the name of a command and what it is for.
func (c *Context) commandDocs(d *Command) {
	details := d.details()
	known := texts{{"summary", d.Summary}, {"since", d.Since}, {"group", d.Group}, {"complexity", d.Complexity}}
	deprecated := texts{{"deprecated_since", details.deprecatedSince}, {"replaced_by", details.replacedBy}}
	c.bulkString(d.fullName)
	c.mapping(known.count() + oneIf(len(details.docFlags) > 0) + deprecated.count() + oneIf(len(details.arguments) > 0) + oneIf(len(d.Subcommands) > 0))
	known.append(c)
	if len(details.docFlags) > 0 {
		c.bulkString("doc_flags")
		c.simpleSet(details.docFlags)
	}
	deprecated.append(c)
	if len(details.arguments) > 0 {
		c.bulkString("arguments")
		c.argumentDocs(details.arguments)
	}
	if len(d.Subcommands) > 0 {
		c.bulkString("subcommands")
		c.mapping(len(d.Subcommands))
		for i := range d.Subcommands {
			c.commandDocs(&d.Subcommands[i])
		}
	}
}

// argumentDocs appends a list of arguments.
func (c *Context) argumentDocs(arguments []commandArgument) {
	c.array(len(arguments))
	for i := range arguments {
		a := &arguments[i]
		name := texts{{"name", a.name}, {"type", a.kind}}
		known := texts{{"token", a.token}, {"since", a.since}, {"deprecated_since", a.deprecatedSince}}
		c.mapping(name.count() + oneIf(a.keySpec != "") + known.count() + oneIf(len(a.flags) > 0) + oneIf(len(a.parts) > 0))
		name.append(c)
		if number, err := strconv.Atoi(a.keySpec); err == nil {
			c.bulkString("key_spec_index")
			c.integer(int64(number))
		}
		known.append(c)
		if len(a.flags) > 0 {
			c.bulkString("flags")
			c.simpleSet(a.flags)
		}
		if len(a.parts) > 0 {
			c.bulkString("arguments")
			c.argumentDocs(a.parts)
		}
	}
}
