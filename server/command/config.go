package command

import "strings"

func init() { register(configCommands) }

var configCommands = []Command{{
	Name: "config", Arity: -2, Categories: InSlow, Group: "server", Since: "2.0.0",
	Complexity: "Depends on subcommand.", Summary: "Commands about the server's parameters",
	Subcommands: []Command{
		{Name: "get", Arity: -3, Flags: adminFlags, Categories: inAdmin, Handler: configGet,
			Group: "server", Since: "2.0.0", Complexity: "O(N) where N is the number of patterns",
			Summary: "The values of parameters"},
		{Name: "set", Arity: -4, Flags: adminFlags, Categories: inAdmin, Handler: configSet,
			Group: "server", Since: "2.0.0", Complexity: "O(N) where N is the number of parameters given",
			Summary: "Change parameters while the server runs"},
		{Name: "resetstat", Arity: 2, Flags: adminFlags, Categories: inAdmin, Handler: configResetStatistics,
			Group: "server", Since: "2.0.0", Complexity: "O(1)", Summary: "Start the counters of INFO again"},
		{Name: "rewrite", Arity: 2, Flags: adminFlags, Categories: inAdmin, Handler: configRewrite,
			Group: "server", Since: "2.8.0", Complexity: "O(1)", Summary: "Write the parameters to the config file"},
		{Name: "help", Arity: 2, Flags: helpFlags, Categories: InSlow, Handler: configHelp,
			Group: "server", Since: "5.0.0", Complexity: "O(1)", Summary: "List the subcommands"},
	},
}}

// configGet is CONFIG GET pattern [pattern ...]. A parameter that several patterns match is shown once.
func configGet(c *Context) {
	var shown []*parameter
	for i := range parameters {
		for _, pattern := range c.Args[2:] {
			if matchFold(pattern, parameters[i].name) {
				shown = append(shown, &parameters[i])
				break
			}
		}
	}
	c.mapping(len(shown))
	for _, p := range shown {
		c.bulkString(p.name)
		c.bulkString(p.get(c.State))
	}
}

// configSet is CONFIG SET name value [name value ...]: all of them, or none.
func configSet(c *Context) {
	pairs := c.Args[2:]
	if len(pairs)%2 != 0 {
		c.error(errSyntax)
		return
	}
	seen := make(map[string]bool)
	for i := 0; i < len(pairs); i += 2 { // all names, before any value
		name := lower(pairs[i])
		switch {
		case parameterNamed(name) == nil:
			c.errorf(errConfigUnknown, echo(pairs[i], len(pairs[i])))
			return
		case seen[name]:
			c.errorf(errConfigFailed, name, "duplicate parameter")
			return
		}
		seen[name] = true
	}
	var changes []func()
	var assigned []assignment
	for i := 0; i < len(pairs); i += 2 {
		name, value := lower(pairs[i]), string(pairs[i+1])
		p, problem := parameterNamed(name), ""
		if p.check != nil {
			problem = p.check(value)
			assigned = append(assigned, assignment{name, value})
		} else {
			var change func()
			change, problem = p.prepare(c.State, value)
			changes = append(changes, change)
		}
		if problem != "" {
			c.errorf(errConfigFailed, name, problem)
			return
		}
	}
	if problem := c.changeOptions(assigned); problem != "" {
		c.errorf(errConfigFailed, assigned[0].name, problem)
		return
	}
	for _, change := range changes {
		change()
	}
	for name := range seen {
		c.State.noteChanged(name)
	}
	c.ok()
}

// configResetStatistics is CONFIG RESETSTAT.
func configResetStatistics(c *Context) {
	c.State.resetStatistics()
	c.ok()
}

// configHelp is CONFIG HELP.
func configHelp(c *Context) {
	c.help("CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"GET <pattern> [<pattern> ...]",
		"    Get the parameters that match a glob-like pattern.",
		"SET <parameter> <value> [<parameter> <value> ...]",
		"    Change parameters.",
		"RESETSTAT",
		"    Start the counters of INFO again.",
		"REWRITE",
		"    Write the parameters to the config file.",
		"HELP",
		"    Print this help.")
}

// oneOf is the problem of a value that is none of the words.
func oneOf(words ...string) string {
	return "argument(s) must be one of the following: " + strings.Join(words, ", ")
}
