package command

import "github.com/pyropedb/pyrope/tsavorite"

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
	var status tsavorite.Status
	c.Wait(func() { status = c.State.swapDatabases(c.Session, numbers[0], numbers[1]) })
	if !c.failed(status) {
		c.ok()
	}
}

// swapDatabases exchanges the contents of two databases in one step.
//
// A command loads the keyspace of its database when it begins, and works on that one to its end. A
// flush may replace the keyspace meanwhile: what the command then writes is as dead as if it had
// come before the flush. A swap is another matter: the old keyspace lives on as another database's,
// where the write would turn up late, after a reader had seen the swap but not yet the write. No
// order of the three explains that. So the swap waits until no command is under way, and holds
// back those that come meanwhile: each sees the databases either before or after it.
func (s *State) swapDatabases(session *tsavorite.Session, first, second int) (status tsavorite.Status) {
	s.mapping.Lock() // before the gate: who holds it may be waiting there
	defer s.mapping.Unlock()
	s.alone(func() {
		session.Enter()
		defer session.Leave()
		status = s.remapLocked(session, map[int]*Keyspace{
			first: s.databases[second].Keyspace(), second: s.databases[first].Keyspace(),
		})
	})
	return status
}
