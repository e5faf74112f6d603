package tsavorite

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// Compaction by share: with a device the oldest pages are compacted when too much of the log is dead.

// sharePeriod is how often the share of dead bytes is looked at.
const sharePeriod = time.Second

// deadBytes estimates how much of the log was overwritten or deleted. Compaction corrects it.
type deadBytes struct {
	bytes  atomic.Int64
	wanted atomic.Bool // a whole round, since how much is dead is not known
	rest   int64       // no round before so many bytes are dead; guarded by compactMu
}

// reclaimed counts bytes that compaction has gained. Not all of them were counted when they died: records expire in silence.
func (d *deadBytes) reclaimed(bytes int64) {
	for {
		present := d.bytes.Load()
		if d.bytes.CompareAndSwap(present, max(present-max(bytes, 0), 0)) {
			return
		}
	}
}

func (d *deadBytes) wantRound() { d.wanted.Store(true) }

// noteDead counts bytes of records that died.
func (s *Store) noteDead(bytes uint64) {
	s.dead.bytes.Add(int64(bytes))
	s.log.AddDead(bytes)
}

// deadEstimate is how many bytes of the log are dead, of how many.
func (s *Store) deadEstimate() (dead, all uint64) {
	a := s.log.Addresses()
	all = a.Tail - min(a.Begin, a.Tail)
	dead = uint64(max(s.dead.bytes.Load(), 0))
	if s.lifetimes.inUse.Load() {
		s.lifetimes.drop(s.log.PageStart(s.log.Begin()), s.options.PageBytes) // what a truncation or the bound has dropped
		dead += s.lifetimes.expired(s.now())
	}
	return min(dead, all), all
}

// exceeds reports whether more of the log is dead than the options allow.
func (s *Store) exceeds() bool {
	percent := s.options.CompactionMaxDeadPercent
	dead, all := s.deadEstimate()
	return dead*100 > uint64(percent)*all
}

// compactShare compacts page after page while too much of the log is dead, or all of the oldest page is. After a whole round of the pages on the
// device without much gain it waits until more has died: what is dead lies in memory, or was never there.
func (s *Store) compactShare(session *Session) {
	oldest := s.log.PageEnd(s.log.Begin())
	if s.options.CompactionMaxDeadPercent == 100 || oldest > s.log.CompactableUntil() {
		return
	}
	wanted := s.dead.wanted.Swap(false)
	if !wanted && !s.shareIsDue() && !s.lifetimes.isOver(oldest, s.options.PageBytes, s.now()) {
		return
	}
	run := s.beginRun(session, false, s.options.CompactionKind)
	defer session.dropSweep()
	defer s.endRun(run)
	before, end := s.dead.bytes.Load(), run.end
	for {
		until := s.log.PageEnd(s.log.Begin())
		isOver := until <= end && s.lifetimes.isOver(until, s.options.PageBytes, s.now())
		if !isOver && !wanted && !s.exceeds() {
			return
		}
		if until > end {
			s.restAfterRound(run, before)
			return
		}
		if _, err := s.compactPage(session, until, run); err != nil && !s.bear(err) {
			return
		}
		if s.isStopping() {
			return
		}
	}
}

func (s *Store) shareIsDue() bool {
	s.compactMu.Lock()
	rest := s.dead.rest
	s.compactMu.Unlock()
	dead, _ := s.deadEstimate()
	return s.exceeds() && int64(dead) >= rest
}

// restAfterRound corrects the estimate after all pages that were on the device have been seen: what died before and
// is still there lies in memory.
func (s *Store) restAfterRound(run *CompactionRun, before int64) {
	s.compactMu.Lock()
	defer s.compactMu.Unlock()
	died := max(s.dead.bytes.Load()+int64(run.FreedBytes)-before, 0)
	most := died + int64(s.log.MemoryBytes())
	for bytes := s.dead.bytes.Load(); bytes > most && !s.dead.bytes.CompareAndSwap(bytes, most); bytes = s.dead.bytes.Load() {
	}
	s.dead.rest = 0
	if seen := run.ReadBytes + run.SkippedBytes; run.FreedBytes < seen/4 {
		dead, all := s.deadEstimate()
		s.dead.rest = int64(dead + all/8)
	}
}

// CompactionRun says what a run of compaction did. A run is a row of pages: until there is room, until less of the log
// is dead, or, forced, all that was on the device.
type CompactionRun struct {
	Kind     CompactionKind
	Forced   bool
	Started  time.Time
	Duration time.Duration

	ReadBytes    uint64 // of the pages that were looked through
	SweptBytes   uint64 // what was read besides, in large pieces, to learn what is live in them; with ScanCompaction
	SkippedBytes uint64 // of the pages that were known to be dead
	MovedBytes   uint64 // of the live records that went to the tail
	FreedBytes   uint64 // what the log is shorter for it
	Err          error  // what ended it; nil if nothing did

	end record.Address // the end of the pages that it may compact, but for one that makes room
}

// compactionRuns is the history of compaction.
type compactionRuns struct {
	mu      sync.Mutex
	running bool
	count   uint64
	last    CompactionRun
	freed   uint64 // by all runs that have ended
}

// beginRun begins a run of a kind, by a session.
func (s *Store) beginRun(session *Session, forced bool, kind CompactionKind) *CompactionRun {
	session.scan.sweeps = kind == ScanCompaction
	s.runs.mu.Lock()
	defer s.runs.mu.Unlock()
	s.runs.running = true
	return &CompactionRun{Kind: kind, Forced: forced, Started: time.Now(), end: s.log.CompactableUntil()}
}

func (s *Store) endRun(run *CompactionRun) {
	s.runs.mu.Lock()
	defer s.runs.mu.Unlock()
	run.Duration = time.Since(run.Started)
	s.runs.running = false
	if run.ReadBytes+run.SkippedBytes > 0 || run.Err != nil {
		s.runs.last = *run
		s.runs.count++
		s.runs.freed += run.FreedBytes
	}
}

// Compact compacts every page that lies on the device now, or without a device every page below the tail's, whatever is
// dead in it, in the way that CompactionKind of the options says. It returns what it did; the error is also in the run. Others go on meanwhile.
func (s *Store) Compact() (CompactionRun, error) { return s.CompactBy(s.options.CompactionKind) }

// CompactBy is Compact in the way that is given.
func (s *Store) CompactBy(kind CompactionKind) (CompactionRun, error) {
	if !s.compactsDevice() {
		kind = LookUpCompaction
	}
	session := s.makeSession()
	session.hasty = true
	defer session.Close()
	run := s.beginRun(session, true, kind)
	defer s.endRun(run)
	if !s.compactsMemory() && !s.compactsDevice() {
		return *run, nil
	}
	for {
		until := s.log.PageEnd(s.log.Begin())
		if until > run.end {
			return *run, nil
		}
		if _, err := s.compactPage(session, until, run); err != nil && !s.bear(err) {
			return *run, err
		}
	}
}
