package command

import (
	"bytes"

	"github.com/pyropedb/pyrope/tsavorite"
)

// cutEntry is what a key's record was at one moment.
type cutEntry struct {
	keyspace *Keyspace
	key      []byte
	found    bool
	metadata tsavorite.Metadata
	small    []byte     // a copy of the value, if it is one record
	large    descriptor // if it is not: Kind is kindLarge
}

// name is the key as the engine knows it.
func (e *cutEntry) name() tsavorite.Key {
	return tsavorite.Key{Namespace: e.keyspace.Namespace, Bytes: e.key}
}

// read looks at the key's record.
func (e *cutEntry) read(c *Context) tsavorite.Status { return c.Session.Read(e.name(), 0, e) }

// Read takes the record.
func (e *cutEntry) Read(_ uint64, status tsavorite.Status, record tsavorite.Record) {
	e.found = status == tsavorite.Found
	e.metadata, e.large = record.Metadata, descriptor{}
	e.small = e.small[:0]
	if e.found && record.Kind == kindLarge {
		e.large = parseDescriptor(record.Value)
		return
	}
	e.small = append(e.small, record.Value...)
}

// isLarge reports whether the value is in chunks.
func (e *cutEntry) isLarge() bool { return e.found && e.metadata.Kind == kindLarge }

// length of the value in bytes.
func (e *cutEntry) length() int64 {
	if e.isLarge() {
		return e.large.length
	}
	return int64(len(e.small))
}

// cut is what the records of some keys were at one moment. While the context holds the locks of the
// large ones among them, those stay as they are, unless their keys get new values: and whether one did, or
// a small one changed, unchanged tells in the end. So a command that must not latch its keys all the
// time, since it reads and writes chunks, is one step all the same: it works on a cut, latches the
// keys, and writes if nothing has changed; else it starts over.
type cut struct {
	entries []cutEntry
	keys    []tsavorite.Key
	failed  bool        // a record could not be read
	more    destination // what latchUnchanged found of the key that is not the cut's
}

// begin empties the cut.
func (t *cut) begin() { t.entries, t.keys = t.entries[:0], t.keys[:0] }

// add puts a key into the cut.
func (t *cut) add(keyspace *Keyspace, key []byte) {
	t.entries = append(t.entries, cutEntry{keyspace: keyspace, key: key})
	t.keys = append(t.keys, t.entries[len(t.entries)-1].name())
}

// take takes the cut of the keys that were added, with the locks of the large values; unlock must
// follow. ids are those they are likely to have. Found is that it did; with another status no lock is held.
func (t *cut) take(c *Context, exclusive bool, ids ...uint64) tsavorite.Status {
	for {
		c.lock(exclusive, ids...)
		status := t.look(c)
		if status == tsavorite.StatusError {
			c.unlock()
			return status
		}
		held := true
		ids = ids[:0]
		for i := range t.entries {
			if e := &t.entries[i]; e.isLarge() {
				ids = append(ids, e.large.id)
				held = held && c.locked.has(c.State.large.place(e.large.id))
			}
		}
		if held {
			return tsavorite.Found
		}
		c.unlock()
	}
}

// look reads all records of the cut at one moment.
func (t *cut) look(c *Context) tsavorite.Status {
	if len(t.entries) == 1 {
		if status := t.entries[0].read(c); status == tsavorite.StatusError {
			return status
		}
		return tsavorite.Found
	}
	t.failed = false
	c.Session.LatchRead(t.keys, t)
	c.Session.Unlatch()
	if t.failed {
		return tsavorite.StatusError
	}
	return tsavorite.Found
}

// Read takes the record of one key.
func (t *cut) Read(token uint64, status tsavorite.Status, record tsavorite.Record) {
	t.failed = t.failed || status == tsavorite.StatusError
	t.entries[token].Read(token, status, record)
}

// latchUnchanged latches the keys of the cut, and one more if it is given, and reports Found if the
// records are what they were: Unlatch must follow then. NotFound is that one is not; nothing is latched.
func (t *cut) latchUnchanged(c *Context, more ...tsavorite.Key) tsavorite.Status {
	r := comparer{cut: t, status: tsavorite.Found}
	if c.Session.LatchRead(append(t.keys, more...), &r); r.status != tsavorite.Found {
		c.Session.Unlatch()
	}
	return r.status
}

// comparer compares the records of a cut's keys with what they were.
type comparer struct {
	cut    *cut
	now    cutEntry
	status tsavorite.Status
}

// Read compares one record.
func (r *comparer) Read(token uint64, status tsavorite.Status, record tsavorite.Record) {
	if status == tsavorite.StatusError {
		r.status = status
	}
	if token >= uint64(len(r.cut.entries)) {
		r.cut.more.Read(token, status, record)
		return
	}
	if r.status != tsavorite.Found {
		return
	}
	e, now := &r.cut.entries[token], &r.now
	now.Read(token, status, record)
	if now.found != e.found || now.metadata != e.metadata || now.large != e.large || !now.isLarge() && !bytes.Equal(now.small, e.small) {
		r.status = tsavorite.NotFound
	}
}

// load puts the bytes of a large value into small, for those who need it as a whole. Found is that it did,
// NotFound that it was lost (L6) and is a key's value no longer: the cut is to be taken anew.
func (e *cutEntry) load(c *Context) tsavorite.Status {
	if !e.isLarge() {
		return tsavorite.Found
	}
	v := c.opened(e.keyspace, e.key, e.large)
	var status tsavorite.Status
	if e.small, status = v.appendRange(e.small[:0], 0, v.length); v.lost {
		return c.lostStatus(v)
	}
	return status
}

// lostStatus removes a value that was lost: NotFound, or StatusError.
func (c *Context) lostStatus(v *large) tsavorite.Status {
	if status := c.dropLost(v); status != tsavorite.Found {
		return status
	}
	return tsavorite.NotFound
}

// dropLost removes the key of a value that was lost, if it still is the key's: Found, or StatusError.
func (c *Context) dropLost(v *large) tsavorite.Status {
	u := lostRemover{id: v.id}
	status := c.Session.RMW(tsavorite.Key{Namespace: v.keyspace.Namespace, Bytes: v.key}, &u)
	v.keyspace.note(status, c.Session)
	if status == tsavorite.StatusError || status == tsavorite.OutOfMemory {
		return status
	}
	c.State.large.reaper.add(orphan{v.keyspace.chunks(), v.id})
	return tsavorite.Found
}

// lostRemover removes a key that has a certain large string.
type lostRemover struct{ id uint64 }

// Plan removes the key if the value is the one.
func (u *lostRemover) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	if found && current.Kind == kindLarge && parseDescriptor(current.Value).id == u.id {
		return tsavorite.Plan{Action: tsavorite.Remove}
	}
	return tsavorite.Plan{Action: tsavorite.Keep}
}

// Write is never called: the plan has no value.
func (u *lostRemover) Write([]byte, tsavorite.Record) {}

// severalVerbs carries out a command that takes several verbs on large strings. It begins and ends
// here: attempt runs until no other command came in between, and when it returns false the command is
// done, replied or failed. The locks it took are given back each time.
func (c *Context) severalVerbs(attempt func() (again bool)) {
	for again := true; again; {
		again = attempt()
		c.unlock()
	}
	clear(c.cut.entries) // copies of values
	if c.cut.begin(); cap(c.cut.entries) > keepArguments {
		c.cut = cut{}
	}
}
