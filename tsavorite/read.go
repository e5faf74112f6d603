package tsavorite

import (
	"github.com/pyropedb/pyrope/tsavorite/internal/index"
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// Read looks the key up and calls r once. It waits for the device when it must. Found, NotFound or StatusError.
func (s *Session) Read(key Key, token uint64, r Reader) Status {
	hash := hashOf(key)
	s.counters.reads++
	status, disk := s.readMemory(hash, key, token, r)
	if status != Pending {
		return status
	}
	op := s.startHeld(hash, key, disk)
	s.await(op)
	return s.deliverHeld(op, token, r)
}

// ReadAsync is Read that may return Pending; r is then called by a later verb or by CompletePending.
func (s *Session) ReadAsync(key Key, token uint64, r Reader) Status {
	hash := hashOf(key)
	s.counters.reads++
	status, disk := s.readMemory(hash, key, token, r)
	if status == Pending {
		op := s.newFind(readOperation, hash, key)
		op.token, op.reader = token, r
		s.find(op, disk)
	}
	return status
}

// readMemory answers a read from memory, or returns Pending and the address on the device to look at.
func (s *Session) readMemory(hash uint64, key Key, token uint64, r Reader) (Status, record.Address) {
	t, b := s.latchShared(hash)
	f := s.lookup(t, b, hash, key)
	status := s.answer(&f, token, r)
	s.unlatchShared(t, b, hash)
	return status, f.disk
}

// answer calls r with what lookup found, unless the device has to be asked. The bucket is latched.
func (s *Session) answer(f *found, token uint64, r Reader) Status {
	switch {
	case f.record.IsNone() && f.disk != 0:
		return Pending
	case f.record.IsNone() || f.record.IsDead(s.now):
		r.Read(token, NotFound, Record{})
		return NotFound
	}
	r.Read(token, Found, live(f.record))
	return Found
}

// batchKeys keys of a ReadBatch share one submission to the device.
const batchKeys = 1024

// batch is the scratch of ReadBatch.
type batch struct {
	groups [3]group     // consecutive ones, each a step behind the next
	held   []*operation // by key from the first cold one on; nil is a key in memory
}

// ReadBatch reads many keys with their cache misses overlapped and their device reads issued in
// one submission, and calls r once a key, in order, with the key's index as token.
func (s *Session) ReadBatch(keys []Key, r Reader) {
	s.counters.reads += uint64(len(keys))
	for first := 0; first < len(keys); first += batchKeys {
		s.readSubmission(keys[first:min(first+batchKeys, len(keys))], first, r)
	}
}

// readSubmission reads up to batchKeys keys, in groups that follow each other through three steps: while
// one group is answered, the records of the next and the buckets of the one after it are under way.
func (s *Session) readSubmission(keys []Key, token int, r Reader) {
	cold := -1
	s.batch.held = s.batch.held[:0]
	groups := (len(keys) + groupKeys - 1) / groupKeys
	for step := 0; step < groups+2; step++ {
		if step < groups {
			s.batch.groups[step%3].askForBuckets(s, keys[step*groupKeys:min((step+1)*groupKeys, len(keys))])
		}
		if answered := step - 2; answered >= 0 {
			cold = s.answerGroup(&s.batch.groups[answered%3], cold, answered*groupKeys, token, r)
		}
		if found := step - 1; found >= 0 && found < groups {
			s.batch.groups[found%3].askForRecords(s)
		}
	}
	if cold >= 0 {
		s.deliverInOrder(keys[cold:], uint64(token+cold), r)
	}
}

// answerGroup answers the keys of a group, whose first has this index in the submission, up to the first
// cold one, and returns its index; -1 is none so far. From there on cold keys are sent to the device and
// the others wait for their turn.
func (s *Session) answerGroup(g *group, cold, first, token int, r Reader) int {
	for i, key := range g.keys {
		if cold >= 0 {
			s.batch.held = append(s.batch.held, s.startIfCold(g.hashes[i], key))
			continue
		}
		status, disk := s.readPrefetched(g, i, key, uint64(token+first+i), r)
		if status == Pending {
			cold = first + i
			s.batch.held = append(s.batch.held, s.startHeld(g.hashes[i], key, disk))
		}
	}
	return cold
}

// readPrefetched is readMemory for the i-th key of a group: when its bucket is free and its slot
// unchanged, the search is not repeated. Once the epoch was left, nothing that was prefetched counts.
func (s *Session) readPrefetched(g *group, i int, key Key, token uint64, r Reader) (Status, record.Address) {
	if s.departs != g.departs || len(s.held) != 0 || g.slots[i] == nil || g.buckets[i].TryShared() != index.Latched {
		return s.readMemory(g.hashes[i], key, token, r)
	}
	var f found
	f.slot, f.newest = g.slots[i], g.newest[i]
	if !index.Still(f.slot, index.TagOf(g.hashes[i]), f.newest) {
		f = s.lookup(g.table, g.buckets[i], g.hashes[i], key)
	} else {
		var head record.Address
		head, f.begin = s.bounds()
		s.walk(&f, head, key)
	}
	status := s.answer(&f, token, r)
	g.buckets[i].ReleaseShared()
	return status, f.disk
}

// startIfCold starts a device read for a key whose newest record is not in memory; nil if it is.
func (s *Session) startIfCold(hash uint64, key Key) *operation {
	t, b := s.latchShared(hash)
	f := s.lookup(t, b, hash, key)
	s.unlatchShared(t, b, hash)
	if f.disk == 0 {
		return nil
	}
	return s.startHeld(hash, key, f.disk)
}

// deliverInOrder waits for the held operations and answers all keys from the first cold one on. A
// key that was in memory is read now; it may have become cold meanwhile.
func (s *Session) deliverInOrder(keys []Key, token uint64, r Reader) {
	held := s.batch.held
	for _, op := range held {
		if op != nil {
			s.await(op)
		}
	}
	for i, op := range held {
		if op != nil {
			s.deliverHeld(op, token+uint64(i), r)
		} else {
			s.counters.reads--
			s.Read(keys[i], token+uint64(i), r)
		}
	}
}
