package tsavorite

import (
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
	if len(s.held) == 0 {
		if status, disk, ok := s.readUnlatched(hash, key, token, r); ok {
			return status, disk
		}
	}
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

// readUnlatched is readMemory without a latch: it copies the record and then makes sure that no writer was there
// meanwhile. ok is false when one was, or the bucket has moved, or the value is too long to be copied.
func (s *Session) readUnlatched(hash uint64, key Key, token uint64, r Reader) (status Status, disk record.Address, ok bool) {
	t := s.index.Table()
	b := t.Bucket(hash)
	version, free := b.Version()
	if !free || !latchFree {
		return 0, 0, false
	}
	f := s.lookup(t, b, hash, key)
	status = Found
	var copied Record
	switch {
	case f.record.IsNone() && f.disk != 0:
		status = Pending
	case f.record.IsNone() || f.record.IsDead(s.now):
		status = NotFound
	default:
		if copied, ok = s.copyLive(f.record.View()); !ok {
			return 0, 0, false
		}
	}
	if !b.Unchanged(version) {
		return 0, 0, false
	}
	if status != Pending {
		r.Read(token, status, copied)
	}
	return status, f.disk, true
}

// copyLive copies the record of a view that is no tombstone; ok is false for one that is too long or dead.
func (s *Session) copyLive(v record.View) (copied Record, ok bool) {
	length, ok := v.CopyValue(&s.copied)
	if !ok {
		return copied, false
	}
	copied.Value, copied.Kind = s.copied.Bytes(length), Kind(v.Kind())
	if !v.IsPlain() {
		copied.Deadline, copied.Etag = v.Deadline(), v.Etag()
		return copied, !v.IsDead(s.now)
	}
	return copied, true
}

// batchKeys keys of a ReadBatch share one submission to the device.
const batchKeys = 1024

// batch is the scratch of ReadBatch.
type batch struct {
	groups [4]group // consecutive ones, each a step behind the next
	hot    bool     // stop at the first cold key
	seen   repeats
	held   []*operation // by key from the first cold one on; nil is a key in memory
}

// ReadBatch reads many keys with their cache misses overlapped and their device reads issued in
// one submission, and calls r once a key, in order, with the key's index as token.
func (s *Session) ReadBatch(keys []Key, r Reader) {
	s.counters.reads += uint64(len(keys))
	for first := 0; first < len(keys); first += batchKeys {
		keys := keys[first:min(first+batchKeys, len(keys))]
		if cold := s.readSubmission(keys, first, r); cold >= 0 {
			s.deliverInOrder(keys[cold:], uint64(first+cold), r)
		}
	}
}

// ReadHot is ReadBatch up to the first key that is not in memory. It returns how many keys were answered.
func (s *Session) ReadHot(keys []Key, r Reader) (answered int) {
	s.batch.hot = true
	for first := 0; first < len(keys) && answered == first; first += batchKeys {
		keys := keys[first:min(first+batchKeys, len(keys))]
		cold := s.readSubmission(keys, first, r)
		if cold < 0 {
			cold = len(keys)
		}
		answered = first + cold
	}
	s.batch.hot = false
	s.counters.reads += uint64(answered)
	return answered
}

// readSubmission reads up to batchKeys keys, in groups that follow each other through three steps: while
// one group is answered, the records of the next and the buckets of the one after it are under way. It returns
// the index of the first cold key, -1 for none: from there on keys are held, or, in a hot batch, left alone.
func (s *Session) readSubmission(keys []Key, token int, r Reader) (cold int) {
	const ring = len(s.batch.groups)
	cold = -1
	s.batch.held = s.batch.held[:0]
	groups := (len(keys) + groupKeys - 1) / groupKeys
	for step := 0; step < groups+2; step++ {
		if step < groups {
			s.batch.groups[step%ring].askForBuckets(s, keys[step*groupKeys:min((step+1)*groupKeys, len(keys))])
		}
		if found := step - 1; found >= 0 && found < groups {
			s.batch.groups[found%ring].askForRecords(s)
		}
		if answered := step - 2; answered >= 0 {
			cold = s.answerGroup(&s.batch.groups[answered%ring], cold, answered*groupKeys, token, r)
			if cold >= 0 && s.batch.hot {
				return cold
			}
		}
	}
	return cold
}

// answerGroup answers the keys of a group, whose first has this index in the submission, up to the first
// cold one, and returns its index; -1 is none so far. From there on cold keys are sent to the device and
// the others wait for their turn.
func (s *Session) answerGroup(g *group, cold, first, token int, r Reader) int {
	for i, key := range g.keys {
		h := &g.hints[i]
		switch {
		case cold >= 0 && s.batch.seen.has(h.hash):
			s.batch.held = append(s.batch.held, nil)
			continue
		case cold >= 0:
			s.batch.held = append(s.batch.held, s.startIfCold(h.hash, key))
			continue
		case s.readHinted(g, h, key, uint64(token+first+i), r):
			continue
		}
		status, disk := s.readMemory(h.hash, key, uint64(token+first+i), r)
		if status == Pending {
			cold = first + i
			if s.batch.hot {
				return cold
			}
			s.batch.seen.begin()
			s.batch.seen.has(h.hash)
			s.batch.held = append(s.batch.held, s.startHeld(h.hash, key, disk))
		}
	}
	return cold
}

// repeats knows the keys, by their hashes, that a batch holds so far. One that comes again gets no read of its own: what that
// found might be older than what the first one shows, whose search may have started over. It is read when its turn comes.
type repeats struct{ hashes map[uint64]struct{} }

func (r *repeats) begin() {
	if r.hashes == nil {
		r.hashes = map[uint64]struct{}{}
	}
	clear(r.hashes)
}

// has reports whether a hash came before, and notes it.
func (r *repeats) has(hash uint64) bool {
	before := len(r.hashes)
	r.hashes[hash] = struct{}{}
	return len(r.hashes) == before
}

// readHinted is readUnlatched for a key of a group: what the group found is not searched again, only checked like
// the rest. Once the epoch was left, nothing that was prefetched counts.
func (s *Session) readHinted(g *group, h *hint, key Key, token uint64, r Reader) bool {
	if h.newest == 0 || s.departs != g.departs || len(s.held) != 0 || !latchFree {
		return false
	}
	v := s.log.Record(h.newest).View()
	if !v.Holds(key.Namespace, key.Bytes) {
		return false
	}
	s.noteReach(v)
	copied, ok := s.copyLive(v)
	if !ok || !g.table.At(h.place).Unchanged(h.version) {
		return false
	}
	r.Read(token, Found, copied)
	return true
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
