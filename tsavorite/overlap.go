package tsavorite

import (
	"fmt"

	"github.com/pyropedb/pyrope/tsavorite/internal/invariant"
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// BatchRead is a batch of reads under way in a session that does other things meanwhile. A reader of many
// connections starts one for each, submits them all with one Leave, and answers each once its cold
// keys have arrived. The zero value is ready for StartBatch, and again once DeliverBatch returned true.
type BatchRead struct {
	// Owner is the caller's.
	Owner any

	keys    []Key        // the caller's, which keeps them in place
	held    []*operation // by key; nil is a key that was in memory, or is answered
	next    int          // the first key that is not answered
	waiting int          // operations that have not ended, and one while some may be added
}

// MaxBatched is how many keys the batches of a session may have together, so that none waits for another's.
const MaxBatched = maxOutstanding

// StartBatch looks the keys up and asks the device for those that are not in memory; the next Leave submits
// that. ReadyBatches then returns the batch when all are there.
func (s *Session) StartBatch(b *BatchRead, keys []Key) {
	s.counters.reads += uint64(len(keys))
	b.keys, b.held, b.next, b.waiting = keys, b.held[:0], 0, 1
	if len(keys) > 1 {
		s.batch.seen.begin()
	}
	for _, key := range keys {
		hash := hashOf(key)
		b.held = append(b.held, nil)
		if len(keys) > 1 && s.batch.seen.has(hash) {
			continue // DeliverBatch looks
		}
		t, bucket := s.tryLatchShared(hash)
		if bucket == nil {
			continue // DeliverBatch looks again
		}
		f := s.lookup(t, bucket, hash, key)
		s.unlatchShared(t, bucket, hash)
		if f.disk != 0 {
			s.findFor(b, len(b.held)-1, hash, f.disk)
		}
	}
	s.arrivedFor(b)
}

// findFor begins to look for the i-th key of a batch on the device.
func (s *Session) findFor(b *BatchRead, i int, hash uint64, disk record.Address) {
	op := s.newFind(batchOperation, hash, b.keys[i])
	op.batch, b.held[i] = b, op
	b.waiting++
	s.find(op, disk)
}

// arrivedFor counts the end of an operation of a batch.
func (s *Session) arrivedFor(b *BatchRead) {
	if b.waiting--; b.waiting == 0 {
		s.pending.ready = append(s.pending.ready, b)
	}
}

// ReadyBatches collects completions without waiting, and appends to ready the batches that
// DeliverBatch may answer.
func (s *Session) ReadyBatches(ready []*BatchRead) []*BatchRead {
	s.CompletePending(false)
	ready = append(ready, s.pending.ready...)
	clear(s.pending.ready)
	s.pending.ready = s.pending.ready[:0]
	return ready
}

// DeliverBatch calls r once a key, in order, with the key's index as token. It does not wait: it returns false
// when a key that was in memory has gone to the device meanwhile, or its bucket is latched for long. Then r
// has been called for the keys before, and ReadyBatches returns the batch again.
func (s *Session) DeliverBatch(b *BatchRead, r Reader) (done bool) {
	if invariant.Enabled && b.waiting != 0 {
		invariant.Violated("BatchRead", "delivered with %d operations under way", b.waiting)
	}
	for ; b.next < len(b.keys); b.next++ {
		op := b.held[b.next]
		b.held[b.next] = nil
		if op != nil && !op.memory {
			s.tries = yieldAttempts // a record is copied to the tail if that does not take long
			s.deliverHeld(op, uint64(b.next), r)
			s.tries = 0
			continue
		}
		if op != nil {
			s.recycle(op)
		}
		if !s.deliverMemory(b, hashOf(b.keys[b.next]), r) {
			s.arrivedFor(b)
			return false
		}
	}
	b.keys = nil
	return true
}

// deliverMemory answers the next key of a batch from memory. If it cannot, the batch goes on waiting.
func (s *Session) deliverMemory(b *BatchRead, hash uint64, r Reader) bool {
	t, bucket := s.tryLatchShared(hash)
	if bucket == nil {
		b.waiting = 1
		return false
	}
	f := s.lookup(t, bucket, hash, b.keys[b.next])
	status := s.answer(&f, uint64(b.next), r)
	s.unlatchShared(t, bucket, hash)
	if status != Pending {
		return true
	}
	b.waiting = 1
	s.findFor(b, b.next, hash, f.disk)
	return false
}

// EventFD is a descriptor that becomes readable when the device has completed something for the
// session, to be watched edge triggered; -1 if the device has none. It is to be asked for before the first read.
func (s *Session) EventFD() (int, error) {
	if s.pending.queue == nil {
		queue, err := s.store.newQueue()
		if err != nil {
			return -1, fmt.Errorf("tsavorite: cannot open a queue of the device: %w", err)
		}
		s.pending.queue = queue
	}
	return s.pending.queue.EventFD(), nil
}
