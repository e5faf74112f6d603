package command

import "bytes"

// copyKey is COPY source destination [DB database] [REPLACE].
func copyKey(c *Context) {
	database, replace, ok := c.copyOptions()
	if !ok {
		return
	}
	from, to := c.keyspaceAnd(database)
	if from == to && bytes.Equal(c.Args[1], c.Args[2]) {
		c.error(errSameObject)
		return
	}
	o := c.transfer(transfer{came: "copy_to", database: database, from: from, to: to, fromBytes: c.Args[1], toBytes: c.Args[2], replace: replace})
	if o != transferFailed {
		c.lookedUp(c.Args[1], o != sourceMissing)
		c.flag(o == transferred)
	}
}

// copyOptions reads the options of COPY, and replies if they are wrong.
func (c *Context) copyOptions() (database int, replace, ok bool) {
	database = c.Client.Database()
	options := c.Args[3:]
	for i := 0; i < len(options); i++ {
		switch {
		case equalFold(options[i], "replace"):
			replace = true
		case equalFold(options[i], "db") && i+1 < len(options):
			i++
			if database, ok = c.databaseArgument(options[i]); !ok {
				return 0, false, false
			}
		default:
			c.error(errSyntax)
			return 0, false, false
		}
	}
	return database, replace, true
}

// databaseArgument reads the number of a database, or replies with the error.
func (c *Context) databaseArgument(argument []byte) (database int, ok bool) {
	index, ok := c.int32Argument(argument)
	if !ok {
		return 0, false
	}
	if index < 0 || int(index) >= len(c.State.databases) {
		c.error(errDatabase)
		return 0, false
	}
	return int(index), true
}

// move is MOVE key database.
func move(c *Context) {
	database, ok := c.databaseArgument(c.Args[2])
	if !ok {
		return
	}
	if database == c.Client.Database() {
		c.error(errSameObject)
		return
	}
	from, to := c.keyspaceAnd(database)
	o := c.transfer(transfer{left: "move_from", came: "move_to", database: database, from: from, to: to, fromBytes: c.Args[1], toBytes: c.Args[1], removeAfter: true})
	if o != transferFailed {
		c.flag(o == transferred)
	}
}

// keyspaceAnd returns the keyspaces of the client's database and of another one as they were at
// one moment: a FLUSHALL between two look-ups must not make a key from before it survive in the
// other database. A keyspace that was flushed away never comes back to its database while this
// command runs (see swapDatabases), so one that is there before and after was there in between.
func (c *Context) keyspaceAnd(database int) (own, other *Keyspace) {
	for {
		own = c.State.databases[c.Client.Database()].Keyspace()
		other = c.State.databases[database].Keyspace()
		if c.State.databases[c.Client.Database()].Keyspace() == own {
			c.keyspace = own
			return own, other
		}
	}
}
