package command

import (
	"runtime"
	"sync/atomic"

	"github.com/pyropedb/pyrope/tsavorite"
)

// mset is MSET key value [key value ...].
func mset(c *Context) {
	if len(c.Args) == 3 {
		c.overwrite(c.Args[2], 0)
		return
	}
	if _, ok := c.setPairs(false); ok {
		c.ok()
	}
}

// groupWrites counts commands that write several keys in one step, so that those who read several
// notice that one came in between: they then read again with the keys latched. Latching every read
// would cost more than it saves, since such writes seldom meet such reads.
type groupWrites struct{ begun, ended atomic.Uint64 }

// readTogether runs read, which reads keys and replies, so that no group of writes is seen in part. If one comes in between, what read
// replied is dropped, and latched does the same by LatchRead.
func (c *Context) readTogether(keys []tsavorite.Key, read, latched func(*Context)) {
	groups, mark := &c.State.groups, len(c.Out)
	ended := groups.ended.Load() // before begun: nothing is under way if they are the same
	if len(keys) == 1 || groups.begun.Load() == ended {
		read(c)
		if len(keys) == 1 || groups.begun.Load() == ended {
			return
		}
		c.Out = c.Out[:mark]
	}
	c.gets.deferred = false
	latched(c)
	c.Session.Unlatch()
	for again := c.gets.deferred; again; { // chunks are not read under latches: until no group comes in between
		c.Out = c.Out[:mark]
		c.breathe()
		runtime.Gosched() // a group in between may wait for the device
		if ended = groups.ended.Load(); groups.begun.Load() == ended {
			read(c)
			again = groups.begun.Load() != ended
		}
	}
}

// msetnx is MSETNX key value [key value ...].
func msetnx(c *Context) {
	if written, ok := c.setPairs(true); ok {
		c.flag(written > 0)
	}
}

// setPairs writes the keys and values that the arguments are, in one step; with unlessAny only if none of
// the keys exists. It returns how many it wrote; when ok is false it replied why not all.
func (c *Context) setPairs(unlessAny bool) (written int, ok bool) {
	if len(c.Args)%2 == 0 {
		c.errorf(errWrongArity, c.command.fullName)
		return 0, false
	}
	c.keys = c.keys[:0]
	anyLarge := false
	for i := 1; i < len(c.Args); i += 2 {
		c.keys = append(c.keys, c.key(c.Args[i]))
		anyLarge = anyLarge || len(c.Args[i+1]) > c.State.large.limit
	}
	if anyLarge {
		return c.setLargePairs(unlessAny)
	}
	c.Session.Prefetch(c.keys)
	return c.writePairs(unlessAny, nil)
}

// writePairs latches the keys, so that no other command on several keys sees some of them written and others
// not, and writes them in the order of the arguments: of a key that comes twice the last value counts.
// values are those of the arguments if any is large. It stops, and replies, at a failure.
func (c *Context) writePairs(unlessAny bool, values []stored) (written int, ok bool) {
	defer c.Session.Unlatch()
	if !unlessAny {
		c.Session.Latch(c.keys)
	} else if exists, ok := c.latchUnlessAny(); exists || !ok {
		return 0, ok
	}
	c.intents = c.intents[:0]
	for i, key := range c.keys {
		s := stored{value: c.Args[2*i+2]}
		if values != nil {
			s = values[i]
		}
		c.intents = append(c.intents, tsavorite.Intent{Key: key, Length: len(s.value), Metadata: tsavorite.Metadata{Kind: s.kind}})
	}
	status := c.Session.ReserveRoom(c.intents)
	clear(c.intents)
	if c.failed(status) {
		return 0, false
	}
	c.State.groups.begun.Add(1)
	defer c.State.groups.ended.Add(1)
	for i, key := range c.keys {
		s := stored{value: c.Args[2*i+2]}
		if values != nil {
			s = values[i]
		}
		status = c.upsertLatched(key, s.value, tsavorite.Metadata{Kind: s.kind})
		c.wrote(status, key.Bytes)
		if c.failed(status) {
			return i, false
		}
		c.notify(stringEvent, "set", key.Bytes)
	}
	return len(c.keys), true
}

// setLargePairs is setPairs where some values are large: their chunks come first.
func (c *Context) setLargePairs(unlessAny bool) (written int, ok bool) {
	c.severalVerbs(func() bool {
		values := make([]stored, 0, len(c.keys))
		ok = true
		for i := 0; i < len(c.keys) && ok; i++ {
			s, status := c.store(c.keyspace, c.keys[i].Bytes, c.Args[2*i+2])
			if ok = !c.failed(status); ok {
				values = append(values, s)
			}
		}
		if ok {
			written, ok = c.writePairs(unlessAny, values)
		}
		for i, s := range values {
			if i < written {
				s.commit(0)
			} else {
				s.abandon()
			}
		}
		return false
	})
	return written, ok
}

// latchUnlessAny latches the keys of c.keys, and reports whether any of them has a record; ok is false if it could not be told,
// which it replies then.
func (c *Context) latchUnlessAny() (exists, ok bool) {
	c.probe = probeReader{}
	c.Session.LatchRead(c.keys, &c.probe)
	if c.probe.found == 0 && c.probe.failures > 0 {
		c.failedBy(c.Session.Err())
		return false, false
	}
	return c.probe.found > 0, true
}

// probeReader counts the keys that have a record, and keeps what is known of the last one.
type probeReader struct {
	found    int
	failures int
	last     tsavorite.Metadata
	looked   *[]bool // takes of each key whether it was found; nil for nobody
}

// Read counts one key.
func (p *probeReader) Read(_ uint64, status tsavorite.Status, record tsavorite.Record) {
	if p.looked != nil {
		*p.looked = append(*p.looked, status == tsavorite.Found)
	}
	switch status {
	case tsavorite.Found:
		p.found++
		p.last = record.Metadata
	case tsavorite.StatusError:
		p.failures++
	}
}
