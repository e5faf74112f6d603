package command

// commandList is COMMAND LIST [FILTERBY MODULE name|ACLCAT category|PATTERN pattern]: the names of commands and subcommands.
func commandList(c *Context) {
	if len(c.Args) == 2 {
		c.commandNames(func(*Command) bool { return true })
		return
	}
	if len(c.Args) != 5 || !equalFold(c.Args[2], "filterby") {
		c.error(errSyntax)
		return
	}
	var selects func(d *Command) bool
	value := c.Args[4]
	switch kind := c.Args[3]; {
	case equalFold(kind, "module"):
		selects = func(*Command) bool { return false }
	case equalFold(kind, "aclcat"):
		category := categoryNamed(value)
		selects = func(d *Command) bool { return d.Categories&category != 0 }
	case equalFold(kind, "pattern"):
		selects = func(d *Command) bool { return matchFold(value, d.fullName) }
	default:
		c.error(errSyntax)
		return
	}
	c.commandNames(selects)
}

// commandNames replies with the names of the commands that are selected.
func (c *Context) commandNames(selects func(d *Command) bool) {
	var names []string
	for _, d := range commandsByIndex {
		if selects(d) {
			names = append(names, d.fullName)
		}
	}
	c.array(len(names))
	for _, name := range names {
		c.bulkString(name)
	}
}

// categoryNamed returns the category with this name, which has no @ before it; 0 for none.
func categoryNamed(name []byte) Categories {
	for i, known := range categoryNames {
		if equalFold(name, known[1:]) {
			return 1 << i
		}
	}
	return 0
}

// matchFold tells whether a glob pattern in any letter case matches a name in lower case.
func matchFold(pattern []byte, name string) bool {
	return globMatch([]byte(lower(pattern)), []byte(name))
}
