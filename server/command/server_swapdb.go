package command

// swapdb is SWAPDB database database.
func swapdb(c *Context) {
	var numbers [2]int
	for i, problem := range []string{errFirstDatabase, errSecondDatabase} {
		n, ok := parseInteger(c.Args[i+1])
		if !ok || n != int64(int32(n)) {
			c.error(problem)
			return
		}
		numbers[i] = int(n)
	}
	for _, n := range numbers {
		if n < 0 || n >= len(c.State.databases) {
			c.error(errDatabase)
			return
		}
	}
	c.Wait(func() { c.State.swapDatabases(numbers[0], numbers[1]) })
	c.ok()
}

// swapDatabases exchanges the contents of two databases in one step.
//
// A command loads the keyspace of its database when it begins, and works on that one to its end. A
// flush may replace the keyspace meanwhile: what the command then writes is as dead as if it had
// come before the flush. A swap is another matter: the old keyspace lives on as another database's,
// where the write would turn up late, after a reader had seen the swap but not yet the write. No
// order of the three explains that. So the swap waits until no command is under way, and holds
// back those that come meanwhile: each sees the databases either before or after it.
func (s *State) swapDatabases(first, second int) {
	s.alone(func() {
		a, b := &s.databases[first].keyspace, &s.databases[second].keyspace
		b.Store(a.Swap(b.Load()))
	})
}
