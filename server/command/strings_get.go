package command

// kindString is the engine's Kind of a plain string.
const kindString = 0

// getCommand is GET's entry of the table, for the path that does not look it up.
var getCommand *Command

func init() {
	register(stringReadCommands)
	getCommand = Lookup([]byte("get"))
}

var stringReadCommands = []Command{
	{Name: "get", Arity: 2, Flags: ReadOnly | Fast, Categories: InRead | InString | InFast, Keys: oneKeyRead,
		Group: "string", Since: "1.0.0", Complexity: "O(1)", Summary: "Get the value of a key", Handler: get},
	{Name: "mget", Arity: -2, Flags: ReadOnly | Fast, Categories: InRead | InString | InFast,
		Keys:  KeySpec{First: 1, Last: -1, Step: 1, Flags: "RO access"},
		Group: "string", Since: "1.0.0", Complexity: "O(N) where N is the number of keys to retrieve.",
		Summary: "Get the values of all the given keys", Handler: mget},
}

// get is GET key, when it did not come in the form that gatherGets takes.
func get(c *Context) {
	g := &c.gather
	g.begin(c, false)
	g.keys = append(g.keys, c.key(c.Args[1]))
	g.read()
	g.end()
}

// mget is MGET key [key ...].
func mget(c *Context) {
	g := &c.gather
	g.begin(c, true)
	c.array(len(c.Args) - 1)
	limit := g.limit
	if !c.State.ScatterGather.Load() {
		limit = 1
	}
	for _, key := range c.Args[1:] {
		g.keys = append(g.keys, c.key(key))
		if len(g.keys) == limit {
			g.read()
		}
	}
	if len(g.keys) > 0 {
		g.read()
	}
	g.end()
}
