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

// compactLog moves what is live in [begin, until) to the tail and drops the rest. until is the end of a
// compactable page. It returns how far that moved the tail; on an error nothing was dropped.
func (s *Session) compactLog(until record.Address) (moved uint64, err error) {
	// Whoever is inside an epoch now may be writing a record below until, and may have an older idea of the
	// time; when they have left, every record is whole, and what is dead for this session is dead for all.
	s.now = s.store.now()
	s.settledTail()
	s.borrows = true
	defer func() { s.borrows = false }()
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
	if !s.store.compactsMemory() {
		// Whoever looked a key up before it was moved has left its epoch before begin rises, or began its
		// search on the device below the new begin and looks again (follow).
		s.settledTail()
	}
	s.log.CompactedUntil(until)
	return moved, nil
}

// moveCandidates moves the live ones among the gathered records.
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
// meanwhile. It copies a record in memory as it is now: it may have been changed in place since. It returns how
// many bytes that took, with what was left of a page that the record did not fit.
func (s *Session) moveToTail(c *candidate) (uint64, error) {
	gathered := s.scan.copyOf(c)
	key := Key{gathered.Namespace(), gathered.Key()}
	hash := hashOf(key)
	for {
		chain, isNewest, err := s.chainOf(c)
		if err != nil || !isNewest {
			if err == nil && gathered.Kind() >= uint8(OwnerKind) {
				s.store.noteReleased(gathered)
			}
			return 0, err
		}
		w := writer{compacting: true}
		if w.start(s, hash, key); w.bucket == nil {
			return 0, errBusy
		}
		from := w.record
		switch {
		case c.address < w.begin:
			from = record.Record{}
		case w.address == c.address: // in memory
		case from.IsNone() && w.disk == chain:
			from = gathered
		case from.IsNone() && w.disk != 0:
			// The chain begins elsewhere: something has come before, or a session that still saw the first record in
			// memory has left it out.
			w.end()
			s.checkAgain(c, hash, key, w.disk)
			continue
		default:
			from = record.Record{}
		}
		if from.IsNone() || from.IsDead(s.now) {
			w.end()
			if gathered.Kind() >= uint8(OwnerKind) {
				s.store.noteReleased(gathered)
			}
			return 0, nil
		}
		if w.isToEvict(c.address) {
			w.evict(key)
			return 0, nil
		}
		capacity := record.Pad8(from.ValueLength())
		target, at, status, retry := w.allocate(from.ValueLength(), capacity, live(from).Metadata)
		if retry {
			continue
		}
		if status != Found {
			return 0, s.cannotMove(c, status)
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

// chainOf returns the first address on the device of the chain in which a candidate was its key's newest record, or
// false if it is not.
func (s *Session) chainOf(c *candidate) (chain record.Address, isNewest bool, err error) {
	check := c.check
	if check == nil {
		return c.chain, true, nil
	}
	s.await(check)
	if check.err != nil {
		return 0, false, check.err
	}
	return check.chain, !check.memory && !check.record.IsNone() && check.address == c.address, nil
}

// checkAgain looks for the candidate's key from another beginning of its chain on.
func (s *Session) checkAgain(c *candidate, hash uint64, key Key, chain record.Address) {
	if c.check != nil {
		s.recycle(c.check)
	}
	c.check = s.startHeld(hash, key, chain)
}

func (s *Session) cannotMove(c *candidate, status Status) error {
	if status == StatusError {
		return fmt.Errorf("tsavorite: cannot move the record at address %d to the tail: %w", c.address, s.err)
	}
	return fmt.Errorf("tsavorite: cannot move the record at address %d to the tail: %v", c.address, status)
}

// compactsMemory reports whether the store, without a device, moves live records to the tail and drops what was below.
func (s *Store) compactsMemory() bool { return s.options.Device == nil && !s.log.Evicts() }

// compactsDevice reports whether live records on the device are moved to the tail, and what was below dropped.
func (s *Store) compactsDevice() bool {
	return s.options.Device != nil && s.options.Device.Info().Kind != "null"
}

// minPause is the least time between two rounds of compaction that gained nothing.
const minPause = 100 * time.Millisecond

// runCompactor keeps a store going: when memory, or the device's share, has run full it moves the live records
// of the oldest page to the tail, so that the dead ones' bytes can be used again. With EvictExpiring it drops those that have
// a deadline, unless enough is dead. When a whole round gains no page, the store is full. With a device it also sees to it
// that not too much of the log is dead.
func (s *Store) runCompactor() {
	session := s.makeSession()
	session.hasty = true
	defer session.Close()
	var ticks <-chan time.Time
	if s.compactsDevice() {
		ticker := time.NewTicker(sharePeriod)
		defer ticker.Stop()
		ticks = ticker.C
	}
	for {
		select {
		case <-s.stop:
			return
		case <-s.compact:
			s.compactRound(session)
		case <-ticks:
			s.compactShare(session)
		}
	}
}

// busyPause is how long compaction leaves a page alone in which it met a latch that stays busy.
const busyPause = time.Millisecond

// busyPatience is how often a session with latches tries a page again in which it met a latch that stays busy: for about ten seconds.
const busyPatience = 1000

// fruitlessRounds is how many rounds in a row may gain nothing though something was said to die meanwhile.
const fruitlessRounds = 3

// compactRound compacts pages until there is a page of room. The store is full when all of it was seen without
// a page gained: what is not live is then too scattered at the ends of pages to be of use. Before
// that comes a round in which records with a deadline go, if they may, and another if needful writes left dead records behind meanwhile.
func (s *Store) compactRound(session *Session) {
	if !s.log.TakeWanted() {
		return
	}
	// Writers wait: a look-up of one page's keys is sooner done than a scan of all pages.
	run := s.beginRun(session, false, LookUpCompaction)
	defer s.endRun(run)
	s.log.TakeDemanded()
	started, seen, gained, fruitless := time.Now(), uint64(0), int64(0), 0
	page, all := s.options.PageBytes, s.log.MemoryBytes()+s.log.DeviceBytes()
	for s.log.NeedsCompaction() {
		until := s.log.PageEnd(s.log.Begin())
		if seen >= all && gained < int64(page) && s.evictsExpiring.Load() && !session.evicts {
			s.dead.bytes.Store(0) // none was found
			started, seen, gained = time.Now(), 0, 0
		}
		if seen >= all && gained < int64(page) && s.log.TakeDemanded() && fruitless < fruitlessRounds {
			fruitless++
			started, seen, gained = time.Now(), 0, 0
		}
		session.evicts = s.isToEvict()
		if until > s.log.CompactableUntil() || seen >= all && gained < int64(page) {
			s.log.SetFull(max(minPause, 10*time.Since(started)))
			return
		}
		if seen >= all {
			started, seen, gained, fruitless = time.Now(), 0, 0, 0
		}
		moved, err := s.compactPage(session, until, run)
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

// compactPage compacts the oldest page. A page of which all is known to be dead is not looked at. It returns how far that moved the tail.
func (s *Store) compactPage(session *Session, until record.Address, run *CompactionRun) (moved uint64, err error) {
	if err = s.sweepBeforeMove(session, until, run); err != nil {
		run.Err = err
		return 0, err
	}
	s.compactMu.Lock()
	defer s.compactMu.Unlock()
	if s.log.Begin() >= until {
		return 0, nil // dropped meanwhile
	}
	if s.lifetimes.isOver(until, s.options.PageBytes, s.now()) {
		s.epochs.WaitSafe() // sessions with an older idea of the time have left
		s.log.CompactedUntil(until)
		run.SkippedBytes += s.options.PageBytes
	} else if err = s.verifyBeforeMove(until); err == nil {
		session.Enter()
		moved, err = session.compactLog(until)
		session.Leave()
		run.ReadBytes += s.options.PageBytes
	}
	run.MovedBytes += moved
	if run.Err = err; err != nil {
		return moved, err
	}
	s.lifetimes.drop(until, s.options.PageBytes)
	s.dead.reclaimed(int64(s.options.PageBytes) - int64(moved))
	if moved < s.options.PageBytes {
		run.FreedBytes += s.options.PageBytes - moved
	}
	return moved, nil
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

// compactLatched makes room for so many bytes, at least a page, for a session that holds latches: compaction by another session would
// have to wait for them, where they are not lent. It returns false when a round gains too little, or a latch stays busy for too long.
func (s *Session) compactLatched(bytes uint64) bool {
	s.suspend()
	defer s.resume()
	s.lend(len(s.held))
	defer s.takeBack(len(s.held))
	bytes = max(bytes, s.store.options.PageBytes)
	all := s.log.MemoryBytes() + s.log.DeviceBytes()
	round := all / s.store.options.PageBytes
	pages := round
	if s.store.evictsExpiring.Load() {
		pages *= 2 // live records go in the second round, if not before
	}
	for patience := busyPatience; pages > 0; {
		if !s.lacksRoom(bytes) {
			return true // others may take it in the next moment
		}
		until := s.log.PageEnd(s.log.Begin())
		s.evicts = s.store.isToEvict() || pages <= round && s.store.evictsExpiring.Load() && s.store.compactsMemory()
		if until > s.log.CompactableUntil() {
			return false
		}
		switch err := s.compactOnce(until); {
		case err == nil:
			s.log.AwaitRecycled(until)
			pages--
		case errors.Is(err, errBusy) && patience > 0:
			time.Sleep(busyPause)
			patience--
		default:
			return false
		}
	}
	return !s.lacksRoom(bytes)
}

// lacksRoom is LacksRoom of the log, outside the epoch, when the pager has freed what others have compacted: until then, in a store
// without a device, the log does not know how much of it their moves have taken.
func (s *Session) lacksRoom(bytes uint64) bool {
	if !s.log.LacksRoom(bytes) && s.store.compactsMemory() {
		s.log.AwaitRecycled(s.log.PageStart(s.log.Begin()))
	}
	return s.log.LacksRoom(bytes)
}

// compactOnce compacts one page in the midst of another operation. The session is outside its epoch.
func (s *Session) compactOnce(until record.Address) error {
	s.store.compactMu.Lock()
	defer s.store.compactMu.Unlock()
	if err := s.store.verifyBeforeMove(until); err != nil {
		return err
	}
	s.takeBack(len(s.held))
	defer s.lend(len(s.held))
	hasty := s.hasty
	s.hasty = true
	s.epoch.Enter()
	moved, err := s.compactLog(until)
	s.epoch.Leave()
	s.hasty = hasty
	if err == nil {
		s.store.dead.reclaimed(int64(s.store.options.PageBytes) - int64(moved))
	}
	return err
}
