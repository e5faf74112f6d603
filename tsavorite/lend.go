package tsavorite

import (
	"slices"
	"sync"
)

// Latches are lent to compaction. A session that waits while it holds latches by Latch, for the next of them or for its turn to
// compact, has looked nothing up that it still relies on: it may lend them, so that compaction moves records past them as their
// holder would. Otherwise two sessions with latches that both need room were in each other's way.
//
//	the holder:  Latch … lend ── waits ── takeBack … Unlatch
//	compaction:          borrow ── moves records ── returnBorrowed
//
// Only one session compacts at a time, so that a latch has one borrower.

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

// borrow takes a latch that somebody lends: until returnBorrowed it counts as one that the session holds.
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
	s.borrowed = append(s.borrowed, id)
	return true
}

// returnBorrowed gives all borrowed latches back.
func (s *Session) returnBorrowed() {
	s.borrows = false
	if len(s.borrowed) == 0 {
		return
	}
	l := &s.store.lent
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range s.borrowed {
		l.borrowed[id] = false
	}
	s.held = slices.DeleteFunc(s.held, func(id uint64) bool { return slices.Contains(s.borrowed, id) })
	s.borrowed = s.borrowed[:0]
	l.returned.Broadcast()
}
