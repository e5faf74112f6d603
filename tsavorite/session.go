package tsavorite

import (
	"fmt"
	"runtime"
	"time"

	"github.com/pyropedb/pyrope/tsavorite/internal/epoch"
	"github.com/pyropedb/pyrope/tsavorite/internal/hlog"
	"github.com/pyropedb/pyrope/tsavorite/internal/index"
	"github.com/pyropedb/pyrope/tsavorite/internal/invariant"
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// Session carries out operations for one goroutine at a time. It may move between goroutines; its
// methods must never run at the same moment.
type Session struct {
	store *Store
	log   *hlog.Log
	index *index.Index
	epoch *epoch.Entry

	now     int64 // Unix milliseconds, sampled inside the epoch
	onBlock func()
	blocked bool     // onBlock has run since Enter
	departs uint     // times a verb left the epoch to wait: what was found before may be gone
	held    []uint64 // latch IDs taken by Latch, ascending, and one that is borrowed
	hasty   bool     // gives up a latch that stays busy: the compactor's session
	borrows bool     // under compactMu: latches that are lent count as free
	evicts  bool     // compaction drops records with a deadline, see isToEvict
	tries   int      // attempts after which a busy latch is given up, if not 0
	err     error    // cause of the last StatusError
	created uint     // records created, to look at the index now and then

	metExpired bool   // see MetExpired
	wrote      uint64 // see Version

	counters  counters
	published publishedCounters

	journal    Journal // nil is none
	replays    bool    // made by NewReplaySession
	entry      Entry   // scratch
	entryBytes int     // reserved for the entry of the write under way
	journaled  uint64  // position behind the last entry
	unit       unit
	patch      patcher

	together      []*operation // scratch of LatchRead
	togetherFound []found
	folded        []folded   // scratch of LatchFold, by key
	reserved      []reserved // room that ReserveRoom has set aside, while the session stays in its epoch
	reservedTaken int        // how many from the front on have a record
	roomNeeds     []roomNeed // scratch of reserveAll

	pending pendingReads
	batch   batch
	copied  record.Buffer // what a read without a latch hands out
	reach   int           // bytes from the start of a record to the end of its value, as of the last one found; prefetched
	scan    scan
}

// NewSession returns a session. The caller closes it before the store.
func (s *Store) NewSession() (*Session, error) {
	session := s.makeSession()
	s.mu.Lock()
	s.sessions[session] = struct{}{}
	s.mu.Unlock()
	return session, nil
}

// makeSession returns a session that the store does not wait for.
func (s *Store) makeSession() *Session {
	session := &Session{store: s, log: s.log, index: s.index, epoch: s.epochs.Register(), journal: s.options.Journal}
	session.pending.init(s.sectorBytes())
	return session
}

// Close waits for what is pending and frees the session. It must be outside Enter and Leave.
func (s *Session) Close() {
	s.Enter()
	s.CompletePending(true)
	s.Leave()
	s.pending.close()
	s.scan.close()
	s.epoch.Release()
	if s.replays {
		s.store.replaying.Add(-1)
	}
	s.store.mu.Lock()
	s.store.retired.add(s.published.load())
	delete(s.store.sessions, s)
	s.store.mu.Unlock()
}

// OnBlock sets the hook that runs before the session's first wait after each Enter; nil is none.
// It is called outside the epoch and must not call the session.
func (s *Session) OnBlock(hook func()) { s.onBlock = hook }

// Enter protects the session, so that verbs may be called, and samples the clock.
func (s *Session) Enter() {
	s.epoch.Enter()
	s.now = s.store.now()
	s.blocked = false
}

// Leave ends the protection. Async operations that are pending go on.
func (s *Session) Leave() {
	s.submitReads()
	if s.counters.deadBytes != 0 {
		s.store.noteDead(s.counters.deadBytes)
	}
	s.published.publish(&s.counters)
	s.epoch.Leave()
}

// Now is the Unix time in milliseconds sampled by Enter, or after the last wait since.
func (s *Session) Now() int64 { return s.now }

// Err is the cause of the last StatusError.
func (s *Session) Err() error { return s.err }

// fail records the cause of a StatusError.
func (s *Session) fail(err error) Status {
	s.err = err
	return StatusError
}

// suspend leaves the epoch before a wait, after telling the hook. resume must follow.
func (s *Session) suspend() {
	if len(s.reserved) != 0 {
		s.voidReserved()
	}
	s.departs++
	s.epoch.Leave()
	if !s.blocked {
		s.blocked = true
		if s.onBlock != nil {
			s.onBlock()
		}
	}
}

// resume enters the epoch again after a wait, and samples the clock anew: no session inside an epoch has a time
// from before it. Compaction relies on that, and keeps its own time.
func (s *Session) resume() {
	s.epoch.Enter()
	if !s.hasty {
		s.now = s.store.now()
	}
}

// latchShared takes the shared latch of a hash's bucket; unlatchShared must follow. It returns nil
// when a hasty session gives up.
func (s *Session) latchShared(hash uint64) (*index.Table, *index.Bucket) {
	return s.latch(hash, false)
}

// tryLatchShared is latchShared that gives up, and returns nil, instead of waiting for long.
func (s *Session) tryLatchShared(hash uint64) (*index.Table, *index.Bucket) {
	s.tries = yieldAttempts
	t, b := s.latch(hash, false)
	s.tries = 0
	return t, b
}

func (s *Session) unlatchShared(t *index.Table, b *index.Bucket, hash uint64) {
	if len(s.held) == 0 || !s.keeps(t, hash) {
		b.ReleaseShared()
	}
}

// latchExclusive takes the exclusive latch of a hash's bucket; unlatchExclusive must follow. It
// returns nil when a hasty session gives up.
func (s *Session) latchExclusive(hash uint64) (*index.Table, *index.Bucket) {
	return s.latch(hash, true)
}

func (s *Session) unlatchExclusive(t *index.Table, b *index.Bucket, hash uint64) {
	if len(s.held) == 0 || !s.keeps(t, hash) {
		b.ReleaseExclusive()
	}
}

// latch finds the bucket of a hash, in the table its entries have moved to, and latches it unless
// Latch has done so.
func (s *Session) latch(hash uint64, exclusive bool) (*index.Table, *index.Bucket) {
	for attempt := 0; ; attempt++ {
		t := s.index.Table()
		for outcome := index.Moved; outcome == index.Moved; t = t.Next() {
			b := t.Bucket(hash)
			if len(s.held) != 0 && s.holds(t, hash) {
				return t, b
			}
			if exclusive {
				outcome = b.TryExclusive()
			} else {
				outcome = b.TryShared()
			}
			if outcome == index.Latched || outcome == index.Busy && s.borrows && s.borrow(t.LatchID(hash)) {
				return t, b
			}
		}
		if s.hasty && attempt == hastyAttempts || s.tries != 0 && attempt == s.tries {
			return nil, nil
		}
		s.waitForLatch(attempt, 0)
	}
}

// yieldAttempts is how often a session only yields for a latch before it sleeps.
const yieldAttempts = 4

// hastyAttempts is when a hasty session gives a latch up: after about ten milliseconds.
const hastyAttempts = 40

// waitForLatch lets others run. Latches are short, except those of Latch: a wait that lasts is a
// wait like any other, announced to the hook, and the session lends the first so many latches of held meanwhile.
func (s *Session) waitForLatch(attempt, holding int) {
	if attempt < yieldAttempts && len(s.reserved) == 0 {
		s.departs++
		s.epoch.Leave()
		runtime.Gosched()
		s.resume()
		return
	}
	s.suspend()
	s.lend(holding)
	time.Sleep(min(time.Duration(attempt)*10*time.Microsecond, time.Millisecond))
	s.takeBack(holding)
	s.resume()
}

// found is what lookup knows about a key; the key's bucket is latched.
type found struct {
	begin   record.Address // where the log began when the key was looked up
	slot    index.Slot     // the entry of the key's tag, nil for none
	newest  record.Address // the entry's address, 0 for none
	record  record.Record  // the key's newest record, if it lies in memory
	address record.Address // its address
	disk    record.Address // without a record in memory: the first address of the chain on the device, 0 for none
}

// lookup walks the chain of a key's entry as far as memory goes.
func (s *Session) lookup(t *index.Table, b *index.Bucket, hash uint64, key Key) (f found) {
	head, begin := s.bounds()
	f.begin = begin
	f.slot, f.newest = t.Find(b, index.TagOf(hash), begin)
	s.walk(&f, head, key)
	return f
}

// bounds returns head and begin. Head is loaded first: where records leave memory for good, begin
// is raised before head, so no address at or above this begin is taken for one on a device.
func (s *Session) bounds() (head, begin record.Address) {
	head = s.log.Head()
	return head, s.log.Begin()
}

// walk follows f.newest down to f.begin.
func (s *Session) walk(f *found, head record.Address, key Key) {
	for a := f.newest; a >= f.begin; {
		if a < head {
			f.disk = a
			return
		}
		r := s.log.Record(a)
		if invariant.Enabled && (!r.IsValid() || r.Previous() >= a) {
			invariant.Violated("R3", "record at %d: valid %v, previous %d; %v", a, r.IsValid(), r.Previous(), s.log.Addresses())
		}
		if v := r.View(); v.Holds(key.Namespace, key.Bytes) {
			s.noteReach(v)
			f.record, f.address = r, a
			return
		}
		a = r.Previous()
	}
}

// waitForRoom waits until the log may have room again. It returns Found to try again, or the status to
// answer with. Called unlatched, unless by Latch.
func (s *Session) waitForRoom(seen uint64) Status {
	if len(s.held) != 0 && (s.store.compactsMemory() || s.log.NeedsCompaction()) {
		if s.compactLatched(0) {
			return Found
		}
		return OutOfMemory // it cannot wait: compaction by others needs its latches
	}
	s.suspend()
	room, err := s.log.WaitRoom(seen)
	s.resume()
	return s.roomStatus(room, err)
}

// waitForReserved is waitForRoom for compaction in a store with a device.
func (s *Session) waitForReserved(seen uint64) Status {
	s.suspend()
	room, err := s.log.WaitReserved(seen)
	s.resume()
	return s.roomStatus(room, err)
}

func (s *Session) roomStatus(room hlog.Room, err error) Status {
	switch room {
	case hlog.RoomFull:
		return OutOfMemory
	case hlog.RoomGone:
		return s.fail(fmt.Errorf("tsavorite: no room for new records: %w", err))
	}
	return Found
}
