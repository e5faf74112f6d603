package command

// dbsize is DBSIZE.
func dbsize(c *Context) {
	count, err := c.Size(c.keyspace)
	if err != nil {
		c.failedBy(err)
		return
	}
	c.integer(count)
}

// Size counts the live keys of a keyspace: from its counter while that is exact and no key was
// dropped to make room, else by a scan of the log.
func (c *Context) Size(keyspace *Keyspace) (int64, error) {
	if count, exact := keyspace.Count(c.Now()); exact && !c.State.Store.HasEvicted() {
		return count, nil
	}
	return c.Session.Count(keyspace.Namespace)
}

// flushdb is FLUSHDB [ASYNC|SYNC].
func flushdb(c *Context) {
	if c.flushOptions() {
		if c.flush(c.Client.Database()) {
			c.ok()
		}
	}
}

// flushall is FLUSHALL [ASYNC|SYNC].
func flushall(c *Context) {
	if c.flushOptions() {
		all := make([]int, len(c.State.databases))
		for i := range all {
			all[i] = i
		}
		if c.flush(all...) {
			c.ok()
		}
	}
}

// flushOptions checks the one option there may be, and replies if it is wrong. Both words mean the
// same here: the keys are gone at once, their space is reclaimed behind the scenes.
func (c *Context) flushOptions() bool {
	if len(c.Args) == 1 || len(c.Args) == 2 && (equalFold(c.Args[1], "async") || equalFold(c.Args[1], "sync")) {
		return true
	}
	c.error(errSyntax)
	return false
}
