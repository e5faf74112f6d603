package tsavorite

import "github.com/pyropedb/pyrope/tsavorite/internal/record"

// Records go to make room in two ways, in a store without a device. With EvictOldest the pager drops whole pages, which costs
// next to nothing unless somebody listens (OnEvict). With EvictExpiring compaction, which looks at each record of the
// oldest page anyway, leaves those behind that have a deadline, and moves the others to the tail.

// SetEvictExpiring changes EvictExpiring of the options while the store serves.
func (s *Store) SetEvictExpiring(evict bool) {
	s.evictsExpiring.Store(evict)
	s.log.ClearFull()
}

// OnEvict sets a function that is told of each key whose live record is dropped to make room, in a store without a
// device, and of the version of the store in which that is. With EvictOldest the key may get a new record in that very moment, so that it is there
// all the same. key is valid only during the call, which may be made with latches held: it must not block and must not call the store.
func (s *Store) OnEvict(evicted func(key Key, version uint64)) { s.evicted.Store(&evicted) }

// noteEvicted tells the function of OnEvict of a key.
func (s *Store) noteEvicted(key Key, version uint64) {
	if evicted := s.evicted.Load(); evicted != nil {
		(*evicted)(key, version)
	}
}

// evictShare is the part of memory, one in evictShare, that must be dead for compaction to look for that instead of dropping what lives.
const evictShare = 16

// isToEvict reports whether compaction of memory drops records that have a deadline.
func (s *Store) isToEvict() bool {
	if !s.evictsExpiring.Load() || !s.compactsMemory() {
		return false
	}
	dead, all := s.deadEstimate()
	return dead < max(all/evictShare, s.options.PageBytes)
}

// isToEvict reports whether compaction drops the record at an address, its key's newest, instead of moving it. One that a checkpoint saves at
// the moment stays as it is.
func (w *writer) isToEvict(at record.Address) bool {
	return w.session.evicts && w.address == at && w.isMutable() && w.record.Deadline() != 0
}

// evict drops the live record and gives the latch back. It becomes a tombstone first: until its page is gone, nobody finds it.
func (w *writer) evict(key Key) {
	s := w.session
	w.release()
	s.counters.deadBytes += uint64(w.record.Size())
	w.record.SetTombstone(true)
	version := w.state.version()
	w.end()
	s.store.noteEvicted(key, version)
}

// noteDropped tells the function of OnEvict of the keys whose newest records lie on pages that are about to be dropped. The
// pager calls it.
func (s *Store) noteDropped(from, until record.Address) {
	if s.evicted.Load() == nil {
		return
	}
	if s.dropper == nil {
		s.dropper = s.makeSession()
		s.dropper.hasty = true
	}
	s.dropper.now = s.now()
	for at := max(from, s.log.First()); at < until; {
		at = s.dropper.noteDroppedGroup(at, until)
	}
}

// droppedGroup is how many records are looked up together.
const droppedGroup = 4 * groupKeys

// noteDroppedGroup is noteDropped for the first few live records, and returns where they end.
func (s *Session) noteDroppedGroup(at, until record.Address) record.Address {
	var keys [droppedGroup]Key
	var addresses [droppedGroup]record.Address
	count := 0
	s.epoch.Enter()
	defer s.epoch.Leave()
	for count < droppedGroup && at < until {
		rest := s.log.PageRest(at)
		if rest < record.HeaderBytes {
			at += record.Address(rest)
			continue
		}
		r := s.log.Record(at)
		if !r.IsValid() {
			at += record.Address(rest)
			continue
		}
		if !r.IsDead(s.now) {
			keys[count], addresses[count] = Key{r.Namespace(), r.Key()}, at
			count++
		}
		at += record.Address(r.Size())
	}
	s.Prefetch(keys[:count])
	for i := range count {
		if s.isNewest(keys[i], addresses[i]) {
			s.store.noteEvicted(keys[i], s.store.version())
		}
	}
	return at
}

// isNewest reports whether the newest record of a key lies at an address in memory. A key whose latch stays busy is being written: it is not there.
func (s *Session) isNewest(key Key, at record.Address) bool {
	hash := hashOf(key)
	t, b := s.latchShared(hash)
	if b == nil {
		return false
	}
	f := s.lookup(t, b, hash, key)
	s.unlatchShared(t, b, hash)
	return f.address == at
}

// dropsRecords reports whether a live record may have been dropped to make room.
func (s *Store) dropsRecords() bool {
	return s.evictsExpiring.Load() || s.log.Evicts() || s.log.HasEvicted()
}
