package command

import (
	"sync/atomic"

	"github.com/pyropedb/pyrope/tsavorite"
)

// mset is MSET key value [key value ...].
func mset(c *Context) {
	if len(c.Args) == 3 {
		c.overwrite(c.Args[2], 0)
		return
	}
	if !c.latchPairs() {
		return
	}
	ok := c.writePairs()
	c.Session.Unlatch()
	if ok {
		c.ok()
	}
}

// groupWrites counts commands that write several keys in one step, so that those who read several
// notice that one came in between: they then read again with the keys latched. Latching every read
// would cost more than it saves, since such writes seldom meet such reads.
type groupWrites struct{ begun, ended atomic.Uint64 }

// readTogether runs read, which reads keys and replies, so that no group of writes is seen in part.
// read may run twice; the reply of the first time is then dropped.
func (c *Context) readTogether(keys []tsavorite.Key, read func(*Context)) {
	groups, mark := &c.State.groups, len(c.Out)
	ended := groups.ended.Load() // before begun: nothing is under way if they are the same
	if len(keys) == 1 || groups.begun.Load() == ended {
		read(c)
		if len(keys) == 1 || groups.begun.Load() == ended {
			return
		}
		c.Out = c.Out[:mark]
	}
	c.Session.Latch(keys)
	read(c)
	c.Session.Unlatch()
}

// msetnx is MSETNX key value [key value ...].
func msetnx(c *Context) {
	if !c.latchPairs() {
		return
	}
	exists, ok := c.anyExists(c.keys)
	if ok && !exists {
		ok = c.writePairs()
	}
	c.Session.Unlatch()
	if ok {
		c.flag(!exists)
	}
}

// latchPairs checks that the arguments are pairs, and latches their keys, so that no other
// command on several keys sees some of them written and others not. It reports whether it did; else it replied.
func (c *Context) latchPairs() bool {
	if len(c.Args)%2 == 0 {
		c.errorf(errWrongArity, c.command.fullName)
		return false
	}
	c.keys = c.keys[:0]
	for i := 1; i < len(c.Args); i += 2 {
		c.keys = append(c.keys, c.key(c.Args[i]))
	}
	c.Session.Prefetch(c.keys)
	c.Session.Latch(c.keys)
	return true
}

// writePairs writes the latched keys in the order of the arguments: of a key that comes twice the
// last value counts. It stops, and replies, at a failure.
func (c *Context) writePairs() bool {
	c.State.groups.begun.Add(1)
	defer c.State.groups.ended.Add(1)
	for i, key := range c.keys {
		status := c.Session.Upsert(key, c.Args[2*i+2], tsavorite.Metadata{})
		c.keyspace.note(status)
		if c.failed(status) {
			return false
		}
	}
	return true
}

// anyExists reports whether any of the keys has a record; ok is false if it could not be told,
// which it replies then.
func (c *Context) anyExists(keys []tsavorite.Key) (exists, ok bool) {
	p := &c.probe
	*p = probeReader{}
	for _, key := range keys {
		if c.failed(c.Session.Read(key, 0, p)) {
			return false, false
		}
		if p.found > 0 {
			return true, true
		}
	}
	return false, true
}

// probeReader counts the keys that have a record, and keeps what is known of the last one.
type probeReader struct {
	found    int
	failures int
	last     tsavorite.Metadata
}

// Read counts one key.
func (p *probeReader) Read(_ uint64, status tsavorite.Status, record tsavorite.Record) {
	switch status {
	case tsavorite.Found:
		p.found++
		p.last = record.Metadata
	case tsavorite.StatusError:
		p.failures++
	}
}
