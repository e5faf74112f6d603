package tsavorite

import (
	"errors"
	"fmt"
	"time"

	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// errBusy says that compaction met a latch that stays busy. It gives up the page for the moment: a session that
// holds the latch by Latch may be waiting for its turn to compact.
var errBusy = errors.New("tsavorite: a latch stays busy")

// compactLog moves what is live in [begin, until) to the tail and drops the rest, in a store without a device. until is the end of a
// page below the tail's. It returns how far that moved the tail; on an error nothing was dropped.
func (s *Session) compactLog(until record.Address) (moved uint64, err error) {
	// Whoever is inside an epoch now may be writing a record below until, and may have an older idea of the
	// time; when they have left, every record is whole, and what is dead for this session is dead for all.
	s.now = s.store.now()
	s.settledTail()
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
	s.log.CompactedUntil(until)
	return moved, nil
}

// moveCandidates moves the live ones among the gathered records. All of them lie in memory.
func (s *Session) moveCandidates() (moved uint64, err error) {
	defer s.dropCandidates()
	for i := range s.scan.candidates {
		bytes, err := s.moveToTail(&s.scan.candidates[i])
		if moved += bytes; err != nil {
			return moved, err
		}
	}
	return moved, nil
}

// moveToTail copies a record that was its key's newest to the tail, unless a newer one has come
// meanwhile. It copies the record as it is now: it may have been changed in place since. It returns how
// many bytes that took, with what was left of a page that the record did not fit.
func (s *Session) moveToTail(c *candidate) (uint64, error) {
	gathered := s.scan.copyOf(c)
	key := Key{gathered.Namespace(), gathered.Key()}
	hash := hashOf(key)
	for {
		w := writer{compacting: true}
		if w.start(s, hash, key); w.bucket == nil {
			return 0, errBusy
		}
		from := w.record
		if from.IsNone() || w.address != c.address || from.IsDead(s.now) {
			w.end()
			return 0, nil
		}
		capacity := record.Pad8(from.ValueLength())
		target, at, status, retry := w.allocate(from.ValueLength(), capacity, live(from).Metadata)
		if retry {
			continue
		}
		if status != Found {
			return 0, fmt.Errorf("tsavorite: cannot move the record at address %d to the tail: %v", c.address, status)
		}
		copy(target.Value(), from.Value())
		w.publish(target, at, false)
		w.end()
		taken := uint64(target.Size())
		if last := s.scan.moved; s.log.PageEnd(last) == at {
			taken += uint64(at - last)
		}
		s.scan.moved = at + record.Address(target.Size())
		return taken, nil
	}
}

// compacts reports whether the store moves live records to the tail and drops what was below.
func (s *Store) compacts() bool { return s.options.Device == nil && !s.log.Evicts() }

// minPause is the least time between two rounds of compaction that gained nothing.
const minPause = 100 * time.Millisecond

// runCompactor keeps a store without a device going: when memory has run full it moves the live records
// of the oldest page to the tail, so that the dead ones' bytes can be used again. When a whole round
// gains no page, memory is full.
func (s *Store) runCompactor() {
	session := s.makeSession()
	session.hasty = true
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

// busyPause is how long compaction leaves a page alone in which it met a latch that stays busy.
const busyPause = time.Millisecond

// compactRound compacts pages until there is a page of room. Memory is full when all of it was seen without
// a page gained: what is not live is then too scattered at the ends of pages to be of use.
func (s *Store) compactRound(session *Session) {
	if !s.log.TakeWanted() {
		return
	}
	started, seen, gained := time.Now(), uint64(0), int64(0)
	page := s.options.PageBytes
	for s.log.NeedsCompaction() {
		until := s.log.PageEnd(s.log.Begin())
		if until > s.log.Tail() || seen >= s.log.MemoryBytes() && gained < int64(page) {
			s.log.SetFull(max(minPause, 10*time.Since(started)))
			return
		}
		if seen >= s.log.MemoryBytes() {
			started, seen, gained = time.Now(), 0, 0
		}
		s.compactMu.Lock()
		session.Enter()
		moved, err := session.compactLog(until)
		session.Leave()
		s.compactMu.Unlock()
		if err != nil && !s.bear(err) {
			return
		}
		if err == nil {
			seen += page
			gained += int64(page) - int64(moved)
			s.log.AwaitRecycled(until)
		}
	}
	s.log.ClearFull()
}

// bear decides whether compaction tries a page again after an error: it waits for a busy latch, whose holder does
// not wait for room.
func (s *Store) bear(err error) bool {
	if errors.Is(err, errBusy) {
		select {
		case <-s.stop:
			return false
		case <-time.After(busyPause):
			return true
		}
	}
	s.log.SetFull(minPause)
	return false
}

// compactLatched makes a page of room for a session that holds latches: compaction by another session would
// have to wait for them. It returns false when a round gains none, or meets a latch of yet another session.
func (s *Session) compactLatched() bool {
	s.suspend()
	defer s.resume()
	for pages := s.log.MemoryBytes() / s.store.options.PageBytes; pages > 0 && s.log.NeedsCompaction(); pages-- {
		until := s.log.PageEnd(s.log.Begin())
		if until > s.log.Tail() || s.compactOnce(until) != nil {
			return false
		}
		s.log.AwaitRecycled(until)
	}
	return !s.log.NeedsCompaction()
}

// compactOnce compacts one page in the midst of another operation. The session is outside its epoch.
func (s *Session) compactOnce(until record.Address) error {
	s.store.compactMu.Lock()
	defer s.store.compactMu.Unlock()
	hasty := s.hasty
	s.hasty = true
	s.epoch.Enter()
	_, err := s.compactLog(until)
	s.epoch.Leave()
	s.hasty = hasty
	return err
}
