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
	field     fieldUpdater
	sketches  sketchScratch
	source    recordCopy

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
	bytes []byte
	found bool
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
		c.Stats.Misses.add(1)
		c.null()
		return
	}
	c.Stats.Hits.add(1)
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
	if status == tsavorite.Created {
		c.created(c.keyspace, c.Client.Database(), key)
	}
}

// created is the part of wrote for a key that was not there, of any database.
func (c *Context) created(keyspace *Keyspace, database int, key []byte) {
	if c.Session.MetExpired() {
		c.revived(keyspace, database, key)
	}
	c.notifyIn(database, newEvent, "new", key)
}
