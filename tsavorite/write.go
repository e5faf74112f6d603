package tsavorite

import (
	"github.com/pyropedb/pyrope/tsavorite/internal/index"
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// writer is one attempt at a write: the key's exclusive latch and what was found under it.
type writer struct {
	session *Session
	hash    uint64
	key     Key
	table   *index.Table
	bucket  *index.Bucket
	found
	state      storeState // of the store, loaded under the latch
	claimed    bool       // slot is a claim of this attempt (I3 of package index)
	compacting bool       // may use the log's reserve
	needful    bool       // the write frees memory in time, so that it may use the reserve when the log is full
	entry      bool       // room for an entry in the journal is set aside: the session's entryBytes
}

// start latches the key and looks it up.
func (w *writer) start(s *Session, hash uint64, key Key) {
	w.session, w.hash, w.key, w.claimed, w.needful = s, hash, key, false, false
	if w.table, w.bucket = s.latchExclusive(hash); w.bucket == nil {
		return
	}
	w.state = storeState(s.store.state.Load())
	s.wrote = w.state.version()
	w.found = s.lookup(w.table, w.bucket, hash, key)
}

// end gives the latch back, and the room in the journal if it was not used.
func (w *writer) end() {
	if w.entry {
		w.cancelEntry()
	}
	w.session.unlatchExclusive(w.table, w.bucket, w.hash)
}

// isLive reports whether the key has a live record in memory.
func (w *writer) isLive() bool { return !w.record.IsNone() && !w.record.IsDead(w.session.now) }

// release tells who wants to know that the record in memory, which stands for others, is about to go.
func (w *writer) release() {
	if !w.record.IsNone() && w.record.Kind() >= uint8(OwnerKind) {
		w.session.store.noteReleased(w.record)
	}
}

// isMutable reports whether the record in memory may be changed in place. While a checkpoint saves the records
// of the version before, those are not that it has yet to save.
func (w *writer) isMutable() bool {
	if w.record.IsNone() || w.address < w.session.log.ReadOnly() {
		return false
	}
	s := w.session.store
	return !w.state.isFrozen() || uint64(w.address) < s.savedAddress.Load() || s.isAfterCut(w.address, w.record, w.state.version())
}

// fits reports whether value and metadata find their place in the mutable record. A dead record does not come
// back to life where a store compacts: compaction may have stepped over it already.
func (w *writer) fits(length int, m Metadata) bool {
	if !w.isMutable() || w.session.store.compactsMemory() && w.record.IsDead(w.session.now) {
		return false
	}
	return length <= w.record.ValueCapacity() && w.record.CanHold(m.Deadline, m.Etag)
}

// setInPlace replaces metadata and value length of the mutable record, brings it back to life, and
// returns its value bytes.
func (w *writer) setInPlace(length int, m Metadata) []byte {
	w.record.SetKind(uint8(m.Kind))
	w.record.SetDeadlineAndEtag(m.Deadline, m.Etag)
	if w.record.IsTombstone() {
		w.record.SetTombstone(false)
	}
	return w.record.SetValueLength(length)
}

// layout is the shape of a new record for the key.
func (w *writer) layout(capacity int, m Metadata) record.Layout {
	return record.Layout{
		Namespace: w.key.Namespace, Key: w.key.Bytes, Capacity: capacity,
		HasDeadline: m.Deadline != 0, HasEtag: m.Etag != 0, Odd: w.state.version()&1 != 0,
	}
}

// allocate reserves a new record for the key. Found means that target is there, to be filled and
// published; any other status is the answer, but retry means that the attempt starts over: the
// latch was given back to wait for room.
func (w *writer) allocate(length, capacity int, m Metadata) (target record.Record, at record.Address, status Status, retry bool) {
	s := w.session
	layout := w.layout(capacity, m)
	if layout.Size() > s.log.PageBytes() || len(w.key.Bytes) > record.MaxKeyBytes {
		w.end()
		return target, 0, TooLarge, false
	}
	if w.slot == nil {
		slot, err := w.table.Claim(w.bucket, index.TagOf(w.hash), s.log.Begin())
		if err != nil {
			w.end()
			return target, 0, s.fail(err), false
		}
		w.slot, w.claimed = slot, true
	}
	seen := s.log.Limit()
	if w.compacting {
		seen = s.log.Last()
	}
	target, at, outdated := w.reserve(layout, length, m)
	if at != 0 {
		return target, at, Found, false
	}
	if w.claimed {
		index.Abandon(w.slot)
	}
	w.end()
	switch {
	case outdated:
		status = Found
	case w.compacting && s.store.compactsMemory():
		return target, 0, OutOfMemory, false // it would wait for itself
	case w.compacting:
		status = s.waitForReserved(seen)
	default:
		if w.needful && s.store.compactsMemory() {
			s.log.DemandCompaction()
		}
		status = s.waitForRoom(seen)
	}
	return target, 0, status, status == Found
}

// reserve takes room for a record and fills in all but its value. It returns 0 when there is no
// room, or when what the key was found to have is outdated by a truncation (H6 of package hlog).
func (w *writer) reserve(layout record.Layout, length int, m Metadata) (target record.Record, at record.Address, outdated bool) {
	if w.compacting {
		if at = w.session.log.AllocateReserved(layout.Size()); at == 0 && w.session.store.compactsMemory() {
			w.session.log.FollowTail()
			at = w.session.log.AllocateReserved(layout.Size())
		}
	} else if at = w.session.takeReserved(layout.Size(), w.newest); at == 0 {
		at = w.session.log.Allocate(layout.Size())
		if at == 0 && w.needful {
			at = w.session.log.AllocateNeedful(layout.Size())
		}
	}
	if at == 0 {
		return target, 0, false
	}
	if layout.HasDeadline {
		w.session.store.lifetimes.noteDeadline()
	}
	target = w.session.log.Record(at)
	target.Init(layout, length)
	target.SetKind(uint8(m.Kind))
	target.SetDeadlineAndEtag(m.Deadline, m.Etag)
	if !w.session.log.StillBegins(w.found.begin) {
		target.PublishVoid()
		return target, 0, true
	}
	return target, at, false
}

// publish puts the new record at the front of the key's chain. A record that it replaces at the
// front, in memory, is left out of the chain.
func (w *writer) publish(target record.Record, at record.Address, tombstone bool) {
	previous := w.newest
	if !w.compacting {
		w.session.counters.deadBytes += w.replacedBytes(target, tombstone)
	}
	if !w.record.IsNone() {
		if w.address == w.newest {
			previous = w.record.Previous()
		}
	}
	if previous < w.session.log.Begin() {
		previous = 0
	}
	target.Publish(previous, tombstone)
	index.Publish(w.slot, index.TagOf(w.hash), at)
}

// replacedBytes is how much of the log dies with the publication of a new record. What the record on the device takes
// that it replaces is not known: as much, say. A tombstone is of no use but to hide what it replaces.
func (w *writer) replacedBytes(target record.Record, tombstone bool) (bytes uint64) {
	if tombstone {
		bytes = uint64(target.Size())
	}
	switch {
	case !w.record.IsNone():
		bytes += uint64(w.record.Size())
	case w.disk != 0:
		bytes += uint64(target.Size())
	}
	return bytes
}

// noteCreated counts a new key and looks now and then whether the index is crowded.
func (s *Session) noteCreated() {
	s.created++
	if s.created%256 == 0 {
		s.store.noteCreated()
	}
}

// Upsert gives the key a value, whatever it had: Found, Created or Blind, or OutOfMemory, TooLarge or StatusError.
func (s *Session) Upsert(key Key, value []byte, m Metadata) Status {
	s.counters.writes++
	hash := hashOf(key)
	for {
		var w writer
		w.start(s, hash, key)
		w.release()
		status := Created
		s.meet(w.record)
		switch {
		case w.isLive():
			status = Found
		case w.record.IsNone() && w.disk != 0:
			status = Blind
		}
		if s.journal != nil {
			if failed, retry := w.reserveEntry(len(value)); retry {
				continue
			} else if failed != Found {
				return failed
			}
		}
		if w.fits(len(value), m) {
			copy(w.setInPlace(len(value), m), value)
			if w.entry {
				w.journalSet(value, m)
			}
			w.end()
			return status
		}
		target, at, failed, retry := w.allocate(len(value), record.Pad8(len(value)), m)
		if retry {
			continue
		}
		if failed != Found {
			return failed
		}
		copy(target.Value(), value)
		w.publish(target, at, false)
		if w.entry {
			w.journalSet(value, m)
		}
		w.end()
		if status != Found {
			s.noteCreated()
		}
		return status
	}
}

// Delete removes the key without asking the device whether it was there: Deleted, NotFound or
// Blind, or OutOfMemory or StatusError.
func (s *Session) Delete(key Key) Status {
	s.counters.writes++
	hash := hashOf(key)
	for {
		var w writer
		w.start(s, hash, key)
		w.release()
		if w.record.IsNone() && w.disk == 0 {
			w.end()
			return NotFound
		}
		status := Blind
		if !w.record.IsNone() {
			status = NotFound
			if w.isLive() {
				status = Deleted
			}
		}
		failed, retry := w.remove()
		if retry {
			continue
		}
		if failed != Found {
			return failed
		}
		return status
	}
}

// remove makes the key's newest record a tombstone, in place or at the tail, and gives the latch
// back, also when it returns another status than Found.
func (w *writer) remove() (status Status, retry bool) {
	if !w.record.IsNone() && w.record.IsTombstone() {
		w.end()
		return Found, false
	}
	if w.session.journal != nil {
		if status, retry := w.reserveEntry(0); retry || status != Found {
			return status, retry
		}
	}
	if w.isMutable() {
		w.session.counters.deadBytes += uint64(w.record.Size())
		w.record.SetTombstone(true)
	} else {
		w.needful = true
		target, at, status, retry := w.allocate(0, 0, Metadata{})
		if retry || status != Found {
			return status, retry
		}
		w.publish(target, at, true)
	}
	if w.entry {
		w.journalDelete()
	}
	w.end()
	return Found, false
}
