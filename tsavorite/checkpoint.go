package tsavorite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/pyropedb/pyrope/tsavorite/internal/checkpoint"
	"github.com/pyropedb/pyrope/tsavorite/internal/hlog"
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// Errors of checkpoints; tested with errors.Is.
var (
	// ErrCheckpointUnderWay refuses a checkpoint while another is being taken.
	ErrCheckpointUnderWay = errors.New("tsavorite: a checkpoint is under way")
	// ErrNoCheckpoint says that there is none to recover from.
	ErrNoCheckpoint = errors.New("tsavorite: there is no checkpoint")
)

// CheckpointsDirectory is the directory of the checkpoints, within the one that options name.
const CheckpointsDirectory = checkpoint.DirectoryName

// CheckpointOptions says where a checkpoint goes.
type CheckpointOptions struct {
	// Directory holds the checkpoints, in a directory of its own below.
	Directory string
	// Metadata is called at the moment that the checkpoint takes its cut: no unit is under way, and writes that begin
	// before it returns are in the checkpoint. What it returns is kept with the checkpoint. It must be quick and must not call
	// the store's sessions. nil is none.
	Metadata func() []byte
	// Complete is called before the checkpoint is published, with what Metadata returned, when every write of the checkpoint's
	// version is over: its session has left the epoch in which it wrote, or entered anew. What it returns is kept instead; an
	// error ends the checkpoint. It may block. nil keeps what Metadata returned.
	Complete func(metadata []byte) ([]byte, error)
	// Keep is how many checkpoints stay, this one included. 0 is 1. The ones before go once this one has been read back.
	Keep int
	// BytesPerSecond is how fast files are written and read back, and the log is flushed, at most, until Hurry is closed, which may be
	// nil. 0 is no bound.
	BytesPerSecond uint64
	Hurry          <-chan struct{}

	files checkpoint.Files // nil is the system's; tests have others
}

// CheckpointInfo describes a checkpoint.
type CheckpointInfo struct {
	Number   uint64
	Version  uint64 // writes of versions up to this one are in it
	Created  time.Time
	Snapshot bool   // the records are in its own files; otherwise on the store's device
	Bytes    uint64 // of its files
	Metadata []byte

	PageBytes, BeginAddress, TailAddress uint64
}

func infoOf(m *checkpoint.Manifest) CheckpointInfo {
	return CheckpointInfo{
		Number: m.Number, Version: m.Version, Created: m.Created, Snapshot: m.Snapshot, Bytes: m.Bytes, Metadata: m.Metadata,
		PageBytes: m.PageBytes, BeginAddress: m.Begin, TailAddress: m.Tail,
	}
}

// CheckpointPhase is what a checkpoint is doing.
type CheckpointPhase uint8

// The phases, in their order.
const (
	PhaseRest       CheckpointPhase = iota // none is under way
	PhaseIndexCopy                         // the index is copied
	PhaseInProgress                        // the version has changed; writes of the old one end
	PhaseWaitFlush                         // the log goes to the device or to the checkpoint
	PhasePersist                           // files are made durable, published and read back
)

// String names the phase.
func (p CheckpointPhase) String() string {
	return [...]string{"rest", "index-copy", "in-progress", "wait-flush", "persist"}[p]
}

// CheckpointStatus is how checkpoints have gone.
type CheckpointStatus struct {
	Phase        CheckpointPhase
	Started      time.Time     // of the one under way, or of the last one
	LastDuration time.Duration // of the last one that ended, in whatever way
	LastError    error         // nil if the last one succeeded
	RemoveError  error         // why older checkpoints could not be removed after the last one; the next one tries again
	LastSuccess  CheckpointInfo
	Succeeded    uint64
	Failed       uint64
}

// checkpointing is the store's part in checkpoints.
type checkpointing struct {
	running sync.Mutex // held by the one under way

	mu     sync.Mutex
	status CheckpointStatus // guarded by mu
}

// CheckpointStatus returns how checkpoints have gone since the store was opened.
func (s *Store) CheckpointStatus() CheckpointStatus {
	s.checkpoints.mu.Lock()
	defer s.checkpoints.mu.Unlock()
	return s.checkpoints.status
}

func (c *checkpointing) enter(p CheckpointPhase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Phase = p
}

func (c *checkpointing) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Started = time.Now()
}

func (c *checkpointing) end(info CheckpointInfo, err, removing error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Phase, c.status.LastError, c.status.LastDuration = PhaseRest, err, time.Since(c.status.Started)
	c.status.RemoveError = removing
	if err != nil {
		c.status.Failed++
		return
	}
	c.status.Succeeded++
	c.status.LastSuccess = info
}

// Checkpoint saves the store as it is at one moment while sessions go on, and returns when that is published. With a
// device the log is flushed up to that moment (fold-over), without one its pages are copied (a snapshot). One is taken at a
// time. One that fails leaves nothing behind but a version that was used up. The caller is outside Enter and Leave.
func (s *Store) Checkpoint(o CheckpointOptions) (CheckpointInfo, error) {
	if !s.checkpoints.running.TryLock() {
		return CheckpointInfo{}, ErrCheckpointUnderWay
	}
	defer s.checkpoints.running.Unlock()
	if o.files == nil {
		o.files = checkpoint.System{}
	}
	if s.options.Device != nil && s.options.Device.Info().Kind == "null" {
		return CheckpointInfo{}, errors.New("tsavorite: no checkpoint of a store whose device keeps nothing")
	}
	s.checkpoints.begin()
	c := checkpointer{store: s, options: o, pace: pace{rate: o.BytesPerSecond, next: time.Now()}}
	c.options.files = checkpoint.Paced(o.files, c.await)
	var removing error
	err := c.run()
	if err != nil {
		err = fmt.Errorf("tsavorite: the checkpoint failed: %w", err)
		c.abandon()
	} else if removing = c.removeOlder(); removing != nil {
		removing = fmt.Errorf("tsavorite: cannot remove older checkpoints: %w", removing)
	}
	s.checkpoints.end(infoOf(c.manifestOrNone()), err, removing)
	return infoOf(c.manifestOrNone()), err
}

// checkpointer takes one checkpoint.
type checkpointer struct {
	store      *Store
	options    CheckpointOptions // the files are paced
	pace       pace
	manifest   *checkpoint.Manifest // nil until the directory is there
	frozen     bool                 // records of the old version are immutable
	wasCut     bool
	deviceHold uint64 // the log's before the cut
}

// await keeps to the pace.
func (c *checkpointer) await(bytes int) { c.pace.await(bytes, c.options.Hurry) }

func (c *checkpointer) manifestOrNone() *checkpoint.Manifest {
	if c.manifest == nil {
		return &checkpoint.Manifest{}
	}
	return c.manifest
}

func (c *checkpointer) run() error {
	s := c.store
	number, err := checkpoint.Begin(c.options.files, c.options.Directory)
	if err != nil {
		return err
	}
	c.manifest = checkpoint.New(number, rand.Uint64())
	c.manifest.PageBytes, c.manifest.Snapshot = s.options.PageBytes, s.options.Device == nil
	s.checkpoints.enter(PhaseIndexCopy)
	if err := c.copyIndex(); err != nil {
		return err
	}
	s.checkpoints.enter(PhaseInProgress)
	c.cut()
	s.checkpoints.enter(PhaseWaitFlush)
	if c.manifest.Snapshot {
		err = c.saveSnapshot()
	} else {
		err = c.foldOver()
	}
	if err != nil {
		return err
	}
	c.thaw()
	s.checkpoints.enter(PhasePersist)
	return c.publish()
}

// longestDoubling is how long a checkpoint waits for the index to have doubled.
const longestDoubling = time.Minute

// copyIndex copies the index once every record below Scan is in it. So what the copy lacks lies at or above Scan.
func (c *checkpointer) copyIndex() error {
	s := c.store
	for started := time.Now(); !s.doubling.TryLock(); time.Sleep(time.Millisecond) {
		if time.Since(started) > longestDoubling {
			return errors.New("the index is still doubling")
		}
	}
	defer s.doubling.Unlock()
	c.manifest.Scan = uint64(s.log.SettledTail())
	w, err := c.newFile(checkpoint.Index)
	if err != nil {
		return err
	}
	shape, err := s.index.Copy(func(b []byte) error {
		_, err := w.Write(b)
		return err
	})
	if err != nil {
		w.Abandon()
		return err
	}
	c.manifest.BucketBits, c.manifest.BaseBits, c.manifest.OverflowBuckets = shape.BucketBits, shape.BaseBits, shape.OverflowBuckets
	return c.finish(w)
}

func (c *checkpointer) newFile(kind checkpoint.FileKind) (*checkpoint.Writer, error) {
	path := checkpoint.FilePath(c.options.Directory, c.manifest.Number, kind)
	return checkpoint.NewWriter(c.options.files, path, c.manifest.ID, kind)
}

func (c *checkpointer) finish(w *checkpoint.Writer) error {
	bytes, err := w.Finish()
	c.manifest.Bytes += bytes
	return err
}

// cut ends the version: while no unit is under way the version changes, and when cut returns every verb of the
// old one is over. From here on until thaw, what the old version wrote stays as it is and where it is, unless it is saved already.
func (c *checkpointer) cut() {
	s, m := c.store, c.manifest
	s.unitGate.Lock()
	m.Dropped = s.droppedTails() // first: what is dropped by now is dropped in the metadata too
	if c.options.Metadata != nil {
		m.Metadata = c.options.Metadata()
	}
	m.Begin = uint64(s.log.Hold())
	c.deviceHold = s.log.DeviceHold()
	s.log.HoldDevice(min(c.deviceHold, m.Begin))
	m.Cut = uint64(s.log.Tail())
	m.Version = s.version()
	s.cutAddress.Store(m.Cut)
	s.savedAddress.Store(0)
	s.state.Store((m.Version+1)<<1 | frozenBit)
	c.frozen, c.wasCut = true, true
	s.unitGate.Unlock()
	s.epochs.WaitSafe()
}

// isAfterCut reports whether a record was written in this version; the store is frozen, so it is of this one or older.
func (s *Store) isAfterCut(at record.Address, r record.Record, version uint64) bool {
	return uint64(at) >= s.cutAddress.Load() && r.IsOdd() == (version&1 != 0)
}

// thaw lets records of the old version change again.
func (c *checkpointer) thaw() {
	c.store.state.Store((c.manifest.Version + 1) << 1)
	c.store.log.EndHold()
	c.frozen = false
}

// foldOver puts everything up to the end of the tail's page on the device. What is read-only need not be frozen.
func (c *checkpointer) foldOver() error {
	s, m := c.store, c.manifest
	tail := s.log.Seal()
	m.Tail = uint64(tail)
	for page := s.log.ReadOnly(); page < tail; {
		page = min(s.log.PageEnd(page), tail)
		c.await(int(s.options.PageBytes))
		s.log.Freeze(page)
	}
	if err := s.log.AwaitFlushed(tail); err != nil {
		return err
	}
	if err := s.options.Device.Sync(); err != nil {
		return fmt.Errorf("cannot sync the device: %w", err)
	}
	w, err := c.newFile(checkpoint.Sums)
	if err != nil {
		return err
	}
	var b []byte
	for _, sum := range s.log.Sums(record.Address(m.Begin), tail) {
		b = binary.LittleEndian.AppendUint32(b, sum)
	}
	if _, err := w.Write(b); err != nil {
		w.Abandon()
		return err
	}
	return c.finish(w)
}

// saveSnapshot copies the pages from begin to the tail, and lets go of each that is saved.
func (c *checkpointer) saveSnapshot() error {
	s, m := c.store, c.manifest
	tail := s.log.SettledTail()
	m.Tail = uint64(tail)
	w, err := c.newFile(checkpoint.Pages)
	if err != nil {
		return err
	}
	for page := s.log.PageStart(record.Address(m.Begin)); page < tail; page = s.log.PageEnd(page) {
		if err := c.savePage(w, page, min(s.log.PageEnd(page), tail)); err != nil {
			w.Abandon()
			return err
		}
		s.savedAddress.Store(uint64(s.log.PageEnd(page)))
		s.log.MoveHold(s.log.PageEnd(page))
	}
	return c.finish(w)
}

// savePage writes a page. Records of the new version, which may be changing, are written as void ones.
func (c *checkpointer) savePage(w *checkpoint.Writer, from, until record.Address) error {
	s := c.store
	b := s.log.Bytes(from, until)
	if uint64(until) > c.manifest.Cut {
		b = make([]byte, len(b))
		at := from
		if at == 0 {
			at = hlog.FirstAddress
		}
		for until-at >= record.HeaderBytes {
			r := s.log.Record(at)
			if !r.IsValid() {
				break
			}
			if uint64(at) < c.manifest.Cut || !s.isAfterCut(at, r, c.manifest.Version+1) {
				copy(b[at-from:], r.Bytes())
			} else {
				r.CopyVoid(b[at-from:])
			}
			at += record.Address(r.Size())
		}
	}
	_, err := w.Write(b)
	return err
}

// publish makes the checkpoint count, and reads it back.
func (c *checkpointer) publish() error {
	m, files, directory := c.manifest, c.options.files, c.options.Directory
	if c.options.Complete != nil {
		var err error
		if m.Metadata, err = c.options.Complete(m.Metadata); err != nil {
			return err
		}
	}
	if err := checkpoint.Publish(files, directory, m); err != nil {
		return err
	}
	kind := checkpoint.Sums
	if m.Snapshot {
		kind = checkpoint.Pages
	}
	_, err := checkpoint.Load(files, directory, m.Number)
	for _, file := range []checkpoint.FileKind{checkpoint.Index, kind} {
		if err == nil {
			err = checkpoint.Verify(files, checkpoint.FilePath(directory, m.Number, file), m.ID, file)
		}
	}
	if err != nil {
		return fmt.Errorf("it cannot be read back: %w", err)
	}
	return nil
}

// removeOlder removes the checkpoints that are too many, and lets go of what only they need of the device.
func (c *checkpointer) removeOlder() error {
	files, directory := c.options.files, c.options.Directory
	numbers, _, err := checkpoint.List(files, directory)
	if err != nil {
		return err
	}
	kept := min(max(1, c.options.Keep), len(numbers))
	for _, dead := range numbers[kept:] {
		if err := checkpoint.Discard(files, directory, dead); err != nil {
			return err
		}
	}
	c.store.log.HoldDevice(lowestBegin(files, directory, numbers[:kept]))
	return nil
}

// lowestBegin is the lowest address that one of these checkpoints needs; 0 if one cannot be read.
func lowestBegin(files checkpoint.Files, directory string, numbers []uint64) uint64 {
	lowest := ^uint64(0)
	for _, n := range numbers {
		m, err := checkpoint.Load(files, directory, n)
		if err != nil {
			return 0
		}
		if !m.Snapshot {
			lowest = min(lowest, m.Begin)
		}
	}
	return lowest
}

// abandon ends a checkpoint that failed. What it wrote is removed, now or by the next one.
func (c *checkpointer) abandon() {
	if c.frozen {
		c.thaw()
	}
	if c.wasCut {
		c.store.log.HoldDevice(c.deviceHold)
	}
	if c.manifest != nil {
		_ = checkpoint.Discard(c.options.files, c.options.Directory, c.manifest.Number)
	}
}
