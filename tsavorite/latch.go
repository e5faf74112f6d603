package tsavorite

import (
	"slices"

	"github.com/pyropedb/pyrope/tsavorite/internal/index"
)

// Latch latches the keys' buckets exclusively, so that the verbs that follow on these keys are one atomic step, also when some of
// them wait for the device, and also for checkpoints and the journal (a unit, see BeginUnit). Unlatch must follow; only these keys
// may be touched in between, and Latch must not be called again.
//
// Latches are taken in the order of their buckets, and kept while the session waits for the next one: two
// sessions cannot wait for each other, and the one that waits gets its turn. Only when the index has moved a bucket
// meanwhile does the session start over.
//
// In a store without a device that has run full, Latch first waits for the compaction it may need: once it
// holds latches, compaction by others gives way to them, and a verb that needs room compacts by itself. While it waits for that,
// or for a latch, it lends the latches it has (see lentLatches).
func (s *Session) Latch(keys []Key) {
	if seen := s.log.Limit(); s.log.NeedsCompaction() {
		s.suspend()
		_, _ = s.log.WaitRoom(seen) // full or not: the verbs will tell
		s.resume()
	}
	s.BeginUnit()
	for !s.tryLatch(keys) {
	}
}

// Unlatch releases what Latch took.
func (s *Session) Unlatch() {
	s.voidReserved()
	s.EndUnit()
	s.releaseFirst(len(s.held))
	s.held = s.held[:0]
}

// holds reports whether the bucket of a hash is latched by Latch.
func (s *Session) holds(t *index.Table, hash uint64) bool {
	_, ok := slices.BinarySearch(s.held, t.LatchID(hash))
	return ok
}

// tryLatch latches all, or none because a bucket was moved, or the whole table while the session waited outside
// its epoch.
func (s *Session) tryLatch(keys []Key) bool {
	s.held = s.held[:0]
	first := s.index.Table()
	for _, key := range keys {
		hash := hashOf(key)
		t := first
		for t.Bucket(hash).IsMoved() {
			t = t.Next()
		}
		s.held = append(s.held, t.LatchID(hash))
	}
	slices.Sort(s.held)
	s.held = slices.Compact(s.held)
	for i, id := range s.held {
		for attempt := 0; ; attempt++ {
			outcome := s.tableOf(first, id).LatchedBucket(id).TryExclusive()
			if outcome == index.Latched {
				break
			}
			if outcome == index.Moved {
				s.releaseFirst(i)
				return false
			}
			if s.waitForLatch(attempt, i); s.index.Table() != first {
				s.releaseFirst(i)
				return false
			}
		}
	}
	return true
}

// releaseFirst gives the first n latches of held back.
func (s *Session) releaseFirst(n int) {
	for _, id := range s.held[:n] {
		s.tableOf(s.index.Table(), id).LatchedBucket(id).ReleaseExclusive()
	}
}

// tableOf finds the table of a latch: t or one that follows it. A table with a latched bucket never
// stops being current or next, for its bucket cannot move.
func (s *Session) tableOf(t *index.Table, id uint64) *index.Table {
	for !t.Owns(id) {
		t = t.Next()
	}
	return t
}
