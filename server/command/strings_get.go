package command

import (
	"github.com/pyropedb/pyrope/server/resp"
	"github.com/pyropedb/pyrope/tsavorite"
)

// get is GET key, when it did not come in the form that gatherGets takes.
func get(c *Context) {
	g := &c.gets
	g.begin(c, false)
	g.keys = append(g.keys, c.key(c.Args[1]))
	g.read(0)
	g.end()
	if g.misses > 0 {
		c.notify(missEvent, "keymiss", c.Args[1])
	}
}

// mget is MGET key [key ...].
func mget(c *Context) {
	c.collectKeys()
	mark := len(c.Out)
	c.readTogether(c.keys, mgetOnce, mgetLatched)
	c.gets.end()
	if c.State.attention.has(watchEvents) {
		c.notifyMisses(c.Out[mark:])
	}
}

// notifyMisses tells of the keys for which a reply of MGET has null.
func (c *Context) notifyMisses(reply []byte) {
	replies, _, result := resp.ReadReply(reply)
	if result != resp.Complete {
		return
	}
	for i, value := range replies.Elements {
		if value.Missing {
			c.notify(missEvent, "keymiss", c.Args[1+i])
		}
	}
}

// mgetOnce reads the keys and appends the reply.
func mgetOnce(c *Context) {
	g := &c.gets
	g.begin(c, true)
	c.array(len(c.keys))
	for _, key := range c.keys {
		g.keys = append(g.keys, key)
		if len(g.keys) >= g.batchLimit() {
			g.read(0)
		}
	}
	if len(g.keys) > 0 {
		g.read(0)
	}
}

// mgetLatched is mgetOnce with the keys latched. A large string is not read then: the reply is of no use.
func mgetLatched(c *Context) {
	g := &c.gets
	g.begin(c, true)
	c.array(len(c.keys))
	c.Session.LatchRead(c.keys, &g.valueReader)
	g.deferred = g.large >= 0
}

// collectKeys puts all arguments into c.keys.
func (c *Context) collectKeys() { c.keysFrom(1) }

// keysFrom puts the arguments from the first-th on into c.keys.
func (c *Context) keysFrom(first int) {
	c.keys = c.keys[:0]
	for _, key := range c.Args[first:] {
		c.keys = append(c.keys, c.key(key))
	}
}

// getdel is GETDEL key.
func getdel(c *Context) {
	u := &c.remove
	*u = removeUpdater{old: &c.old, onlyString: true}
	status, ok := c.updateOld(c.Args[1], u)
	if !ok {
		return
	}
	if u.wrongType {
		c.error(errWrongType)
		return
	}
	if status == tsavorite.Deleted {
		c.notify(genericEvent, "del", c.Args[1])
	}
	c.oldReply()
}

// removeUpdater removes a key, with its value as a keepsake on request.
type removeUpdater struct {
	old        *oldValue // takes the value; nil if it is not wanted
	onlyString bool      // leave a key of another kind alone

	wrongType bool // outcome: it was left alone
}

func (u *removeUpdater) wantsValue(int64) bool { return u.old != nil }

// Plan removes the key if there is one.
func (u *removeUpdater) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	u.wrongType = u.onlyString && found && current.Kind != kindString
	if !found || u.wrongType {
		return tsavorite.Plan{Action: tsavorite.Keep}
	}
	if u.old != nil {
		u.old.take(current, true)
	}
	return tsavorite.Plan{Action: tsavorite.Remove}
}

// Write is never called: the plan has no value.
func (u *removeUpdater) Write([]byte, tsavorite.Record) {}

// getex is GETEX key [EX s|PX ms|EXAT s|PXAT ms|PERSIST].
func getex(c *Context) {
	var options setOptions
	if !options.parse(c.Args[2:], true) {
		c.error(errSyntax)
		return
	}
	if options.unit == noExpiry && !options.persist {
		get(c)
		return
	}
	u := &c.getex
	*u = getexUpdater{now: c.Now(), old: &c.old}
	if options.unit != noExpiry {
		u.deadline, u.problem = deadlineOf(options.time, options.unit, u.now)
		if u.problem == "" && u.deadline > u.now {
			c.giveDeadline(c.keyspace, u.deadline)
		}
	}
	status, ok := c.updateOld(c.Args[1], u)
	if !ok {
		return
	}
	switch {
	case u.wrongType:
		c.error(errWrongType)
		return
	case u.old.found && u.problem != "":
		c.deadlineProblem(u.problem)
		return
	case status == tsavorite.Deleted:
		c.notify(genericEvent, "del", c.Args[1])
	case u.old.found && u.deadline != 0:
		c.notify(genericEvent, "expire", c.Args[1])
	case u.old.found && u.hadDeadline:
		c.notify(genericEvent, "persist", c.Args[1])
	}
	c.oldReply()
}

// getexUpdater reads a value and changes its key's deadline. What is wrong with the deadline
// matters only if there is a key.
type getexUpdater struct {
	now      int64
	deadline int64 // 0 takes the key's deadline away
	problem  string
	old      *oldValue

	wrongType   bool // outcome
	hadDeadline bool
}

// Plan keeps the value and replaces the deadline; one that has passed removes the key.
func (u *getexUpdater) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	u.wrongType = found && current.Kind != kindString
	u.hadDeadline = found && current.Deadline != 0
	u.old.take(current, found)
	switch {
	case !found || u.wrongType || u.problem != "" || u.deadline == current.Deadline:
		return tsavorite.Plan{Action: tsavorite.Keep}
	case u.deadline != 0 && u.deadline <= u.now:
		return tsavorite.Plan{Action: tsavorite.Remove}
	}
	plan := tsavorite.Plan{Action: tsavorite.SetMetadata, Metadata: current.Metadata}
	plan.Deadline = u.deadline
	return plan
}

// Write is never called: the plan keeps the value.
func (u *getexUpdater) Write([]byte, tsavorite.Record) {}
