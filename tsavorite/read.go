package tsavorite

import (
	"github.com/pyropedb/pyrope/tsavorite/internal/index"
	"github.com/pyropedb/pyrope/tsavorite/internal/prefetch"
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

// Batch sizes: batchKeys keys share one submission to the device, and within them the cache misses
// of overlapKeys keys overlap.
const (
	batchKeys   = 1024
	overlapKeys = prefetch.Width
)

// batch is the scratch of ReadBatch.
type batch struct {
	hashes  [overlapKeys]uint64
	buckets [overlapKeys]*index.Bucket
	slots   [overlapKeys]index.Slot
	newest  [overlapKeys]record.Address
	lines   prefetch.Lines
	departs uint         // the session's when the group was prefetched
	held    []*operation // by key from the first cold one on; nil is a key in memory
}

// ReadBatch reads many keys with their cache misses overlapped and their device reads issued in
// one submission, and calls r once a key, in order, with the key's index as token.
func (s *Session) ReadBatch(keys []Key, r Reader) {
	s.counters.reads += uint64(len(keys))
	for first := 0; first < len(keys); first += batchKeys {
		s.readSubmission(keys[first:min(first+batchKeys, len(keys))], uint64(first), r)
	}
}

// readSubmission reads up to batchKeys keys. Keys before the first cold one are answered at once.
// From there on the cold ones are sent to the device and the others wait for their turn.
func (s *Session) readSubmission(keys []Key, token uint64, r Reader) {
	cold := -1
	s.batch.held = s.batch.held[:0]
	for first := 0; first < len(keys); first += overlapKeys {
		group := keys[first:min(first+overlapKeys, len(keys))]
		t := s.prefetch(group)
		for i, key := range group {
			hash := s.batch.hashes[i]
			if cold < 0 {
				status, disk := s.readPrefetched(t, i, key, token+uint64(first+i), r)
				if status != Pending {
					continue
				}
				cold = first + i
				s.batch.held = append(s.batch.held, s.startHeld(hash, key, disk))
				continue
			}
			s.batch.held = append(s.batch.held, s.startIfCold(hash, key))
		}
	}
	if cold >= 0 {
		s.deliverInOrder(keys[cold:], token+uint64(cold), r)
	}
}

// Prefetch brings the index lines and newest records of keys that verbs are about to touch closer to the
// processor, with their cache misses overlapped. It changes nothing; call it for a few dozen keys at a time.
func (s *Session) Prefetch(keys []Key) {
	for first := 0; first < len(keys); first += overlapKeys {
		s.prefetch(keys[first:min(first+overlapKeys, len(keys))])
	}
}

// prefetch hashes the keys and asks for their buckets, then finds their newest records and asks for
// those: each step's cache misses are independent of each other and overlap. What it finds without
// a latch is a hint.
func (s *Session) prefetch(group []Key) *index.Table {
	t := s.index.Table()
	p := &s.batch
	for i := range group {
		p.hashes[i] = hashOf(group[i])
		p.buckets[i] = t.Bucket(p.hashes[i])
		p.lines[i] = p.buckets[i].Line()
	}
	prefetch.Touch(&p.lines, len(group), 0)
	p.departs = s.departs
	head, begin := s.bounds()
	records := 0
	for i := range group {
		p.slots[i], p.newest[i] = t.Find(p.buckets[i], index.TagOf(p.hashes[i]), begin)
		if p.newest[i] >= head {
			p.lines[records] = s.log.Record(p.newest[i]).Line()
			records++
		}
	}
	prefetch.Touch(&p.lines, records, record.HeaderBytes+8)
	return t
}

// readPrefetched is readMemory for the i-th key of a prefetched group: when the bucket is free and its
// slot unchanged, the search is not repeated. Once the epoch was left, nothing that was prefetched counts.
func (s *Session) readPrefetched(t *index.Table, i int, key Key, token uint64, r Reader) (Status, record.Address) {
	p := &s.batch
	if s.departs != p.departs || len(s.held) != 0 || p.slots[i] == nil || p.buckets[i].TryShared() != index.Latched {
		return s.readMemory(p.hashes[i], key, token, r)
	}
	var f found
	f.slot, f.newest = p.slots[i], p.newest[i]
	if !index.Still(f.slot, index.TagOf(p.hashes[i]), f.newest) {
		f = s.lookup(t, p.buckets[i], p.hashes[i], key)
	} else {
		var head record.Address
		head, f.begin = s.bounds()
		s.walk(&f, head, key)
	}
	status := s.answer(&f, token, r)
	p.buckets[i].ReleaseShared()
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
