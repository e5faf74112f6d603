package command

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

// commandDocs appends the name of a command and what it is for.
func (c *Context) commandDocs(d *Command) {
	c.bulkString(d.fullName)
	fields := 4
	if len(d.Subcommands) > 0 {
		fields++
	}
	c.mapping(fields)
	for _, field := range [...][2]string{
		{"summary", d.Summary}, {"since", d.Since}, {"group", d.Group}, {"complexity", d.Complexity},
	} {
		c.bulkString(field[0])
		c.bulkString(field[1])
	}
	if len(d.Subcommands) == 0 {
		return
	}
	c.bulkString("subcommands")
	c.mapping(len(d.Subcommands))
	for i := range d.Subcommands {
		c.commandDocs(&d.Subcommands[i])
	}
}
