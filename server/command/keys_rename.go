package command

import (
	"bytes"

	"github.com/pyropedb/pyrope/tsavorite"
)

func init() { register(transferCommands) }

var transferCommands = []Command{
	{Name: "rename", Arity: 3, Flags: Write, Categories: keyWriteSlow, Handler: rename,
		Keys:  []KeySpec{{First: 1, Last: 1, Step: 1, Flags: "RW access delete"}, {First: 2, Last: 2, Step: 1, Flags: "OW update"}},
		Group: "generic", Since: "1.0.0", Complexity: "O(N) in the length of the value", Summary: "Gives a value another key."},
	{Name: "renamenx", Arity: 3, Flags: Write | Fast, Categories: keyWrite, Handler: renamenx,
		Keys:  []KeySpec{{First: 1, Last: 1, Step: 1, Flags: "RW access delete"}, {First: 2, Last: 2, Step: 1, Flags: "OW insert"}},
		Group: "generic", Since: "1.0.0", Complexity: "O(N) in the length of the value", Summary: "Gives a value another key that does not exist."},
	{Name: "copy", Arity: -3, Flags: Write | DenyOOM, Categories: keyWriteSlow, Handler: copyKey,
		Keys:  []KeySpec{{First: 1, Last: 1, Step: 1, Flags: "RO access"}, {First: 2, Last: 2, Step: 1, Flags: "OW update"}},
		Group: "generic", Since: "6.2.0", Complexity: "O(N) in the length of the value", Summary: "Copies a value to another key."},
	{Name: "move", Arity: 3, Flags: Write | Fast, Categories: keyWrite, Handler: move,
		Keys:  []KeySpec{{First: 1, Last: 1, Step: 1, Flags: "RW access update"}},
		Group: "generic", Since: "1.0.0", Complexity: "O(N) in the length of the value", Summary: "Moves a key to another database."},
}

// recordCopy is a Reader that keeps a copy of the record it gets.
type recordCopy struct {
	value    oldValue
	metadata tsavorite.Metadata
}

// Read copies the record.
func (r *recordCopy) Read(_ uint64, status tsavorite.Status, record tsavorite.Record) {
	r.value.take(record, status == tsavorite.Found)
	r.metadata = record.Metadata
}

// readLarge copies a large string.
func (r *recordCopy) readLarge(v *large, metadata tsavorite.Metadata) (status tsavorite.Status) {
	r.metadata, r.value.found = metadata, true
	r.value.bytes, status = v.appendRange(r.value.bytes[:0], 0, v.length)
	return status
}

// copyValue copies the record of a key of the client's database into c.source, with all of a large string; ok is
// false after it replied that it could not.
func (c *Context) copyValue(key []byte) (found, ok bool) {
	c.source.value.reset()
	if c.failed(c.read(key, &c.source)) {
		return false, false
	}
	return c.source.value.found, true
}

// transfer is a value's way from one key to another, perhaps of another database.
type transfer struct {
	left, came           string // the events of the two keys
	from, to             *Keyspace
	database             int // the number of to's
	fromBytes, toBytes   []byte
	replace, removeAfter bool
}

// transferReader takes the records of a transfer's two keys.
type transferReader struct {
	source       *recordCopy
	targetExists bool
	failed       bool
}

func (r *transferReader) Read(token uint64, status tsavorite.Status, record tsavorite.Record) {
	r.failed = r.failed || status == tsavorite.StatusError
	if token == 0 {
		r.source.value.reset()
		r.source.Read(token, status, record)
		return
	}
	r.targetExists = status == tsavorite.Found
}

// outcome is how a transfer ended.
type outcome uint8

const (
	transferred outcome = iota
	sourceMissing
	targetExists
	sourceIsLarge  // nothing was done
	transferFailed // the error is replied already
)

// transfer carries a transfer out, with deadline and etag.
func (c *Context) transfer(t transfer) outcome {
	o := c.transferRecord(t)
	if o == sourceIsLarge {
		o = c.transferLarge(t)
	}
	return o
}

// transferRecord is transfer for a value that is one record. Both keys are latched, so that no other
// command on several keys sees the value at neither, and none changes one between the steps. The target is written
// before the source goes, and there is room for both.
func (c *Context) transferRecord(t transfer) outcome {
	source := tsavorite.Key{Namespace: t.from.Namespace, Bytes: t.fromBytes}
	target := tsavorite.Key{Namespace: t.to.Namespace, Bytes: t.toBytes}
	c.keys = append(c.keys[:0], source, target)
	r := &c.moved
	*r = transferReader{source: &c.source}
	c.Session.LatchRead(c.keys, r)
	defer c.Session.Unlatch()
	switch {
	case r.failed:
		c.failedBy(c.Session.Err())
		return transferFailed
	case !c.source.value.found:
		return sourceMissing
	case t.from == t.to && bytes.Equal(t.fromBytes, t.toBytes):
		if t.replace {
			return transferred
		}
		return targetExists
	case c.source.metadata.Kind == kindLarge:
		return sourceIsLarge
	}
	if !t.replace && r.targetExists {
		return targetExists
	}
	c.intents = append(c.intents[:0], tsavorite.Intent{Key: target, Length: len(c.source.value.bytes), Metadata: c.source.metadata})
	if t.removeAfter {
		c.intents = append(c.intents, tsavorite.Intent{Key: source, Removal: true})
	}
	status := c.Session.ReserveRoom(c.intents)
	clear(c.intents)
	if c.failed(status) {
		return transferFailed
	}
	c.State.groups.begun.Add(1) // for who reads several keys without latches, see readTogether
	defer c.State.groups.ended.Add(1)
	if !c.place(t, target) || t.removeAfter && !c.take(t, source) {
		return transferFailed
	}
	c.notifyTransfer(t)
	return transferred
}

// notifyTransfer tells of both keys of a transfer that was carried out.
func (c *Context) notifyTransfer(t transfer) {
	if t.removeAfter {
		c.notify(genericEvent, t.left, t.fromBytes)
	}
	c.notifyIn(t.database, genericEvent, t.came, t.toBytes)
}

// place writes the copied record to the latched target.
func (c *Context) place(t transfer, target tsavorite.Key) bool {
	c.giveDeadline(t.to, c.source.metadata.Deadline)
	status := c.Session.Upsert(target, c.source.value.bytes, c.source.metadata)
	if status == tsavorite.Blind && !t.replace {
		status = tsavorite.Created // the device was asked before
	}
	t.to.note(status, c.Session)
	if c.failed(status) {
		return false
	}
	if status == tsavorite.Created {
		c.created(t.to, t.database, t.toBytes)
	} else { // Redis deletes the key first
		c.notifyIn(t.database, newEvent, "new", t.toBytes)
	}
	return true
}

// take deletes the latched source, which was there when its record was copied.
func (c *Context) take(t transfer, source tsavorite.Key) bool {
	status := c.Session.Delete(source)
	if status == tsavorite.Blind {
		status = tsavorite.Deleted
	}
	t.from.note(status, c.Session)
	return !c.failed(status)
}

// rename is RENAME key newkey.
func rename(c *Context) {
	switch c.rename(true) {
	case transferred:
		c.ok()
	case sourceMissing:
		c.error(errNoSuchKey)
	}
}

// renamenx is RENAMENX key newkey.
func renamenx(c *Context) {
	switch c.rename(false) {
	case transferred:
		c.flag(true)
	case targetExists:
		c.flag(false)
	case sourceMissing:
		c.error(errNoSuchKey)
	}
}

func (c *Context) rename(replace bool) outcome {
	return c.transfer(transfer{left: "rename_from", came: "rename_to", database: c.Client.Database(), from: c.keyspace, to: c.keyspace, fromBytes: c.Args[1], toBytes: c.Args[2],
		replace: replace, removeAfter: true})
}
