package command

import "github.com/pyropedb/pyrope/tsavorite"

// handlerScratch holds the updaters, readers and lists that handlers give to the engine. They are
// part of the Context, so that a command allocates nothing; a handler sets all fields of the one
// it uses before it uses it.
type handlerScratch struct {
	gets      gatherer
	sets      setRun
	set       setUpdater
	getex     getexUpdater
	counter   counterUpdater
	float     floatUpdater
	append    appendUpdater
	splice    spliceUpdater
	expire    expireUpdater
	persister persistUpdater
	remove    removeUpdater
	old       oldValue
	span      spanReader
	probe     probeReader
	setbit    setbitUpdater
	bits      bitReader
	bitops    bitCombiner
	pair      pairReader
	field     fieldUpdater
	sketches  sketchScratch
	source    recordCopy
	intents   []tsavorite.Intent
	doomed    doomedReader
	moved     transferReader
	looked    []bool // see allLookedUp

	readGuard   readGuard
	updateGuard updateGuard
	cut         cut
	locked      lockSet
	chunks      chunkReader
	chunkPatch  chunkPatch
	chunkKey    []byte

	etag       etagUpdater
	etagRemove etagRemover
	lzf        *lzfTable // made by the first DUMP
}

// keepBufferBytes is the size up to which a scratch buffer stays for the next command. A larger
// one, left behind by a rare large value, goes back to the heap.
const keepBufferBytes = 64 << 10

// oldValue is a copy of the value that a command replaces and replies with.
type oldValue struct {
	bytes  []byte
	found  bool
	counts bool // the update under way counts as a look-up, see updateOld
}

// reset forgets the value; the buffer stays unless it is large.
func (o *oldValue) reset() {
	o.found = false
	if cap(o.bytes) > keepBufferBytes {
		o.bytes = nil
	}
}

// take copies the value of a record, if there is one.
func (o *oldValue) take(current tsavorite.Record, found bool) {
	o.found = found
	o.bytes = append(o.bytes[:0], current.Value...)
}

// oldReply replies with the copied value, or null if there was none.
func (c *Context) oldReply() {
	if !c.old.found {
		c.null()
		return
	}
	c.bulk(c.old.bytes)
}

// update runs an updater on a key and counts the outcome, whether the value is large or becomes so. It
// replies only if the engine failed, and reports whether the handler has to reply.
func (c *Context) update(key []byte, updater tsavorite.Updater) (status tsavorite.Status, ok bool) {
	if status = c.tryUpdate(key, updater); c.updateGuard.large {
		status = c.updateLarge(key, updater, c.updateGuard.id)
	}
	c.updateGuard.inner = nil
	c.wrote(status, key)
	return status, !c.failed(status)
}

// wrote counts what a write on a key of the client's database made of the number of keys, and tells of
// a key that is new, or that was past its deadline.
func (c *Context) wrote(status tsavorite.Status, key []byte) {
	c.keyspace.note(status, c.Session)
	if c.old.counts && settled(status) == tsavorite.Found {
		if status == tsavorite.Created {
			c.meetExpired(c.keyspace, c.Client.Database(), key)
		}
		c.lookedUp(key, c.old.found)
		c.old.counts = false
		if status == tsavorite.Created {
			c.notify(newEvent, "new", key)
		}
		return
	}
	if status == tsavorite.Created {
		c.created(c.keyspace, c.Client.Database(), key)
	}
}

// created is the part of wrote for a key that was not there, of any database.
func (c *Context) created(keyspace *Keyspace, database int, key []byte) {
	c.meetExpired(keyspace, database, key)
	c.notifyIn(database, newEvent, "new", key)
}

// meetExpired counts and tells if the key that was made was there past its deadline.
func (c *Context) meetExpired(keyspace *Keyspace, database int, key []byte) {
	if c.Session.MetExpired() {
		c.revived(keyspace, database, key)
	}
}

// updateOld is update by an updater that leaves the value it found in c.old, so that it also counts as a look-up.
func (c *Context) updateOld(key []byte, updater tsavorite.Updater) (status tsavorite.Status, ok bool) {
	c.old.reset()
	c.old.counts = true
	status, ok = c.update(key, updater)
	c.old.counts = false
	return status, ok
}

// lookedUp counts a read of a key as a hit or a miss, and tells of a key that is not there.
func (c *Context) lookedUp(key []byte, found bool) {
	if found {
		c.Stats.Hits.add(1)
		return
	}
	c.Stats.Misses.add(1)
	c.notify(missEvent, "keymiss", key)
}

// allLookedUp is lookedUp for keys of which c.looked has whether they were found.
func (c *Context) allLookedUp(keys []tsavorite.Key) {
	for i, found := range c.looked {
		c.lookedUp(keys[i].Bytes, found)
	}
}

// learnsNew reports whether a write must learn whether its key was there, since it is to be told if it was not.
func (c *Context) learnsNew() bool {
	return c.State.attention.has(watchEvents) && eventClass(c.State.eventClasses.Load())&newEvent != 0
}

// upsertKnown is Upsert of a latched key that was looked up since: the status says whether it was there.
func (c *Context) upsertKnown(key tsavorite.Key, value []byte, metadata tsavorite.Metadata, found bool) tsavorite.Status {
	status := c.Session.Upsert(key, value, metadata)
	switch {
	case status != tsavorite.Blind:
		return status
	case found:
		return tsavorite.Found
	}
	return tsavorite.Created
}

// upsertLatched is Upsert of a latched key of the client's database, whose status says whether it was there if that is
// to be told.
func (c *Context) upsertLatched(key tsavorite.Key, value []byte, metadata tsavorite.Metadata) tsavorite.Status {
	if !c.learnsNew() {
		return c.Session.Upsert(key, value, metadata)
	}
	c.probe = probeReader{}
	if status := c.Session.Read(key, 0, &c.probe); status == tsavorite.StatusError {
		return status
	}
	status := c.Session.Upsert(key, value, metadata)
	if status == tsavorite.Blind && c.probe.found == 0 {
		return tsavorite.Created
	}
	return status
}
