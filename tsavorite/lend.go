package tsavorite

import (
	"slices"
	"sync"

	"github.com/pyropedb/pyrope/tsavorite/internal/index"
)

// Latches are lent to compaction. A session that waits while it holds latches by Latch, for the next of them or for its turn to
// compact, has looked nothing up that it still relies on: it may lend them, so that compaction moves records past them as their
// holder would. Otherwise two sessions with latches that both need room were in each other's way.
//
//	the holder:  Latch … lend ────────────── waits ────────────── takeBack … Unlatch
//	compaction:               borrow ── moves a record ── return
//
// Only one session compacts at a time, and it borrows one latch at a time: the holder soon has it back.

// lentLatches are the latches whose holders wait, by LatchID: whether compaction has borrowed them.
type lentLatches struct {
	mu       sync.Mutex
	returned sync.Cond // of mu: a latch was returned
	borrowed map[uint64]bool
}

func (l *lentLatches) init() {
	l.returned.L, l.borrowed = &l.mu, map[uint64]bool{}
}

// lend offers the first n latches of held. takeBack must follow before the session relies on them.
func (s *Session) lend(n int) {
	if n == 0 {
		return
	}
	l := &s.store.lent
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range s.held[:n] {
		l.borrowed[id] = false
	}
}

// takeBack waits until the first n latches of held are returned. The session is outside its epoch.
func (s *Session) takeBack(n int) {
	if n == 0 {
		return
	}
	l := &s.store.lent
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range s.held[:n] {
		for l.borrowed[id] {
			l.returned.Wait()
		}
		delete(l.borrowed, id)
	}
}

// borrow takes a latch that somebody lends: it counts as one that the session holds, until it releases it.
func (s *Session) borrow(id uint64) bool {
	l := &s.store.lent
	l.mu.Lock()
	defer l.mu.Unlock()
	if borrowed, isLent := l.borrowed[id]; borrowed || !isLent {
		return false
	}
	l.borrowed[id] = true
	at, _ := slices.BinarySearch(s.held, id)
	s.held = slices.Insert(s.held, at, id)
	return true
}

// keeps reports whether the latch of a hash's bucket was not taken for itself, so that it is not to be released: it was taken by Latch, or
// borrowed, and in that case it is returned.
func (s *Session) keeps(t *index.Table, hash uint64) bool {
	if !s.holds(t, hash) {
		return false
	}
	if s.borrows {
		s.returnBorrowed(t.LatchID(hash))
	}
	return true
}

// returnBorrowed returns a latch if it is a borrowed one.
func (s *Session) returnBorrowed(id uint64) {
	l := &s.store.lent
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.borrowed[id] {
		return // the session's own, which it does not lend while it compacts
	}
	l.borrowed[id] = false
	at, _ := slices.BinarySearch(s.held, id)
	s.held = slices.Delete(s.held, at, at+1)
	l.returned.Broadcast()
}
