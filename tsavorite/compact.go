package tsavorite

import (
	"fmt"
	"time"

	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// compactLog moves what is live in [begin, until) to the tail and drops the rest. until is the end of a
// page below the tail's. It returns how many bytes it moved; on an error nothing was dropped.
func (s *Session) compactLog(until record.Address) (moved uint64, err error) {
	c := &s.scan
	c.dead, c.looked = s.store.droppedNamespaces(), 0
	c.until, c.bound = until, record.AddressMask
	for at := s.log.Begin(); at < until; {
		if at, err = s.gather(at, 0); err != nil {
			return moved, err
		}
		bytes, err := s.moveCandidates()
		if moved += bytes; err != nil {
			return moved, err
		}
	}
	s.log.DropBelow(until)
	return moved, nil
}

// moveCandidates moves the live ones among the gathered records.
func (s *Session) moveCandidates() (moved uint64, err error) {
	defer s.dropCandidates()
	for i := range s.scan.candidates {
		candidate := &s.scan.candidates[i]
		r, err := s.confirm(candidate)
		if err == nil && !r.IsNone() {
			moved += uint64(candidate.size)
			err = s.moveToTail(candidate)
		}
		if err != nil {
			return moved, err
		}
	}
	return moved, nil
}

// moveToTail copies a record that was its key's newest to the tail, unless a newer one has come
// meanwhile. A record in memory is copied as it is now: it may have been changed in place.
func (s *Session) moveToTail(c *candidate) error {
	from := s.scan.copyOf(c)
	key := Key{from.Namespace(), from.Key()}
	hash := hashOf(key)
	chain := c.address
	if c.check != nil {
		chain = c.check.chain
	}
	for {
		var w writer
		w.start(s, hash, key)
		w.compacting = true
		switch {
		case w.record.IsNone() && w.disk == chain:
		case !w.record.IsNone() && w.address == c.address:
			from = w.record
		default:
			w.end()
			return nil
		}
		if from.IsDead(s.now) {
			w.end()
			return nil
		}
		capacity := record.Pad8(from.ValueLength())
		target, at, status, retry := w.allocate(from.ValueLength(), capacity, live(from).Metadata)
		if retry {
			continue
		}
		if status != Found {
			return fmt.Errorf("tsavorite: cannot move the record at address %d to the tail: %v", c.address, status)
		}
		copy(target.Value(), from.Value())
		w.publish(target, at, false)
		w.end()
		return nil
	}
}

// minPause is the least time between two rounds of compaction that gained nothing.
const minPause = 100 * time.Millisecond

// runCompactor keeps a store without a device going: when memory has run full it moves the live records
// of the oldest page to the tail, so that the dead ones' bytes can be used again. When a whole round
// gains less than a page of every sixteen, memory is full.
func (s *Store) runCompactor() {
	session, err := s.NewSession()
	if err != nil {
		return // cannot happen without a device: a session has nothing to open
	}
	s.mu.Lock()
	delete(s.sessions, session) // it is nobody's to close
	s.mu.Unlock()
	defer session.Close()
	for {
		select {
		case <-s.stop:
			return
		case <-s.compact:
		}
		s.compactRound(session)
	}
}

// compactRound compacts pages until there is room again, or until it has seen all of memory and
// gained too little.
func (s *Store) compactRound(session *Session) {
	started, seen, gained := time.Now(), uint64(0), uint64(0)
	page := s.options.PageBytes
	for s.log.NeedsCompaction() {
		begin := s.log.Begin()
		until := s.log.PageEnd(begin)
		if until > s.log.Tail() || seen >= s.log.MemoryBytes() && gained < seen/16 {
			s.log.SetFull(max(minPause, 10*time.Since(started)))
			return
		}
		session.Enter()
		moved, err := session.compactLog(until)
		session.Leave()
		if err != nil {
			s.log.SetFull(minPause)
			return
		}
		seen += page
		gained += page - min(page, moved)
		s.log.AwaitRecycled(until)
	}
}
