package tsavorite

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/tsavorite/internal/epoch"
	"github.com/pyropedb/pyrope/tsavorite/internal/hlog"
	"github.com/pyropedb/pyrope/tsavorite/internal/index"
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// firstVersion is the version of a store that has had no checkpoint.
const firstVersion = 1

// ErrDamaged marks what was stored and cannot be right; tested with errors.Is.
var ErrDamaged = errors.New("tsavorite: damaged record")

// Store is the engine: one index, one log, any number of sessions. Its methods may be called from
// any goroutine.
type Store struct {
	options Options // with defaults; immutable
	epochs  *epoch.Table
	index   *index.Index
	log     *hlog.Log

	state      atomic.Uint64 // a storeState; stored by the checkpoint under way
	cutAddress atomic.Uint64 // of the checkpoint under way; stored before state becomes frozen
	// savedAddress: what lies below is saved already by the checkpoint under way and may change; 0 is stored before state becomes frozen
	savedAddress atomic.Uint64
	replaying    atomic.Int64 // replay sessions that are open
	_            [64]byte     // what follows changes more often

	unitGate sync.RWMutex  // units hold it shared; the cut of a checkpoint takes it alone
	units    atomic.Uint64 // the number of the last unit in the journal; begins anywhere, so that no two runs use the same

	checkpoints checkpointing
	cold        coldPages
	doubling    sync.Mutex // held while the index doubles, and while it is copied

	cursors issuedCursors

	released atomic.Pointer[func(key Key, old Record)]     // see OnRelease
	evicted  atomic.Pointer[func(key Key, version uint64)] // see OnEvict
	dropper  *Session                                      // the pager's, see noteDropped; nil until it is needed

	evictsExpiring atomic.Bool // EvictExpiring of the options

	grow       chan struct{} // capacity 1: wakes the grower
	compact    chan struct{} // capacity 1: wakes the compactor
	compactMu  sync.Mutex    // held while a page is compacted
	lent       lentLatches
	dead       deadBytes
	lifetimes  lifetimes
	runs       compactionRuns
	stop       chan struct{}
	background sync.WaitGroup

	mu       sync.Mutex
	sessions map[*Session]struct{} // open ones; guarded by mu
	retired  counters              // sums of the closed ones; guarded by mu
	dropped  map[uint32]uint64     // namespaces that DropNamespace named, with the tail of that moment; guarded by mu
}

// Open returns an empty store. The caller keeps the device and closes it after the store.
func Open(o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	x, err := index.New(o.IndexBytes)
	if err != nil {
		return nil, fmt.Errorf("tsavorite: %w", err)
	}
	s, err := newStore(o, x, nil)
	if err != nil {
		return nil, err
	}
	s.start()
	return s, nil
}

// newStore returns a store that is not started yet: an index, which it owns from now on, and a log. o has its defaults.
func newStore(o Options, x *index.Index, restore *hlog.Restore) (*Store, error) {
	s := &Store{
		index:   x,
		options: o, epochs: epoch.New(), sessions: map[*Session]struct{}{}, dropped: map[uint32]uint64{},
		cursors: issuedCursors{addresses: map[record.Address]struct{}{}},
		grow:    make(chan struct{}, 1), compact: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	s.lent.init()
	s.state.Store(firstVersion << 1)
	s.evictsExpiring.Store(o.EvictExpiring)
	s.units.Store(rand.Uint64() >> 8)
	var err error
	s.log, err = hlog.New(hlog.Config{
		PageBytes: o.PageBytes, MemoryBytes: o.MemoryBytes, MutablePercent: o.MutablePercent,
		CeilingBytes: o.MemoryCeilingBytes, Preallocate: o.Preallocate, Device: o.Device, EvictOldest: o.EvictOldest, Epochs: s.epochs,
		Compact: func() { wake(s.compact) }, Flushing: s.noteLifetime, Dropping: s.noteDropped, Restore: restore,
	})
	if err != nil {
		s.index.Close()
		return nil, fmt.Errorf("tsavorite: %w", err)
	}
	s.BoundDevice(o.MaxDeviceBytes, o.EvictOldest)
	return s, nil
}

// start starts what works in the background.
func (s *Store) start() {
	s.background.Go(s.runGrower)
	if s.options.Device == nil || s.compactsDevice() {
		s.background.Go(s.runCompactor)
	}
}

// Close stops the store and frees its memory. Every session must have been closed. It waits for a checkpoint under way.
func (s *Store) Close() error {
	s.checkpoints.running.Lock()
	defer s.checkpoints.running.Unlock()
	s.mu.Lock()
	open := len(s.sessions)
	s.mu.Unlock()
	if open > 0 {
		return fmt.Errorf("tsavorite: cannot close the store: %d sessions are open", open)
	}
	close(s.stop)
	s.background.Wait()
	err := s.log.Close()
	if s.dropper != nil {
		s.dropper.Close()
	}
	s.index.Close()
	return err
}

// Truncate drops every record, whatever its namespace, in one step: each write is either before it and
// gone, or after it and computed from nothing that was there. It waits for the cut of a checkpoint: the caller is outside
// Enter and Leave, and inside no unit.
func (s *Store) Truncate() error {
	s.unitGate.RLock()
	defer s.unitGate.RUnlock()
	s.log.Truncate()
	s.dead.bytes.Store(0)
	return nil
}

// Tail returns the address at which the next record will lie, or a lower one. Records written
// from now on lie at or above it.
func (s *Store) Tail() uint64 { return uint64(s.log.Tail()) }

// DropBelow gives back the room of every record below an address that Tail returned. The caller
// promises that nobody misses them: their namespaces are dropped.
func (s *Store) DropBelow(address uint64) { s.log.DropBelow(record.Address(address)) }

// DropNamespace says that nobody will name the namespace again: its records are dead, and compaction
// takes their room. They are not looked for now.
func (s *Store) DropNamespace(namespace uint32) {
	s.mu.Lock()
	s.dropped[namespace] = uint64(s.log.Tail())
	s.mu.Unlock()
	s.log.AddDead(s.log.MemoryBytes()) // how much is dead is not known: worth a round
	s.dead.wantRound()
}

// BoundDevice changes MaxDeviceBytes of the options while the store serves, and whether the oldest records are dropped
// when it is reached. It does nothing without a device.
func (s *Store) BoundDevice(bytes uint64, evict bool) {
	if s.options.Device != nil {
		s.log.BoundDevice(bytes, evict)
	}
}

// SetMemory changes MemoryBytes of the options while the store serves, within MemoryCeilingBytes and down to MinPageCount pages. What
// no longer fits goes to the device or is dropped, as when memory is full; where neither may be, the dead bytes among it are given
// back and writes answer OutOfMemory until the rest fits.
func (s *Store) SetMemory(bytes uint64) { s.log.SetBudget(bytes) }

// SetEvictOldest changes EvictOldest of the options while the store serves.
func (s *Store) SetEvictOldest(evict bool) {
	bytes := s.log.DeviceBound()
	s.BoundDevice(bytes, evict)
	s.log.SetEvict(evict)
}

// PageBytes is the size of a log page: what a record must fit.
func (s *Store) PageBytes() uint64 { return s.options.PageBytes }

// Evicts reports whether the store drops live records to make room: with EvictOldest and no device, or
// with a device that keeps nothing.
func (s *Store) Evicts() bool { return s.log.Evicts() }

// OnRelease sets a function that is told of records of OwnerKind and above that are replaced or removed without
// a look at them, by Upsert and Delete, that an RMW finds expired, or that compaction drops, as far as they
// lie in memory. It is a hint: the key may have such a record still, or again. key and old are valid only
// during the call, which is made with the key's latch held: it must not block and must not call the store.
func (s *Store) OnRelease(released func(key Key, old Record)) { s.released.Store(&released) }

// noteReleased tells the function of OnRelease of a record that stands for others.
func (s *Store) noteReleased(r record.Record) {
	if released := s.released.Load(); released != nil && !r.IsTombstone() {
		(*released)(Key{r.Namespace(), r.Key()}, live(r))
	}
}

// HasEvicted reports whether the store has dropped live records to make room: with EvictOldest, or with
// a device that keeps nothing.
func (s *Store) HasEvicted() bool { return s.log.HasEvicted() }

// droppedTails returns what DropNamespace has named, and when.
func (s *Store) droppedTails() map[uint32]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.dropped)
}

// droppedNamespaces returns the namespaces whose records compaction may still meet.
func (s *Store) droppedNamespaces() map[uint32]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	dead := map[uint32]bool{}
	for namespace, tail := range s.dropped {
		if tail <= uint64(s.log.Begin()) {
			delete(s.dropped, namespace)
			continue
		}
		dead[namespace] = true
	}
	return dead
}

// isStopping says that the store is being closed.
func (s *Store) isStopping() bool { return isClosed(s.stop) }

// runGrower doubles the index when sessions find it crowded.
func (s *Store) runGrower() {
	for {
		select {
		case <-s.stop:
			return
		case <-s.grow:
		}
		for s.index.Crowded() && s.index.CanDouble(s.options.IndexMaxBytes) {
			s.doubling.Lock()
			err := s.index.Double(s.log.Begin, s.epochs.Bump, s.stop)
			s.doubling.Unlock()
			if err != nil {
				break // no memory, or the store is closing: the present table still serves
			}
		}
	}
}

// noteCreated is called now and then by sessions that create records.
func (s *Store) noteCreated() {
	if s.index.Crowded() {
		wake(s.grow)
	}
}

// wake tells the goroutine behind a channel of capacity 1 that there is work.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Info is a snapshot of the store's addresses, sizes and counters. The addresses are in order,
// lowest first: head, flushed-until, safe-read-only, read-only, tail. Begin lies at or below tail; after
// Truncate it lies above the others until the pager has followed.
type Info struct {
	BeginAddress, HeadAddress, FlushedUntilAddress, SafeReadOnlyAddress, ReadOnlyAddress, TailAddress uint64

	PageBytes, MemoryBytes uint64
	MemoryCeilingBytes     uint64 // the most that SetMemory can grant
	ResidentBytes          uint64 // log pages in memory
	IndexBuckets           uint64
	IndexBytes             uint64
	OverflowBuckets        uint64
	OverflowBytes          uint64
	IndexGrowths           uint64 // doublings so far

	Reads, Writes uint64 // operations carried out
	PendingReads  uint64 // operations that had to ask the device
	DeviceReads   uint64 // read requests given to the device
	CopiedReads   uint64 // records read from the device that were copied to the tail
	FlushedBytes  uint64 // written to the device

	DeviceBytes     uint64 // of the log on the device
	MaxDeviceBytes  uint64 // how many may be; 0 is no bound
	EvictedBytes    uint64 // dropped to stay below that
	LiveBytes       uint64 // of the log; an estimate
	DeadBytes       uint64 // of the log; an estimate
	Compacting      bool
	Compactions     uint64 // runs so far
	CompactionFreed uint64 // bytes
	LastCompaction  CompactionRun

	FlushError string // why the device does not take pages, or empty
}

// Info returns a snapshot. Counters of a session that is inside Enter and Leave are those of its last Leave.
func (s *Store) Info() Info {
	a, x := s.log.Addresses(), s.index.Sizes()
	info := Info{
		BeginAddress: a.Begin, HeadAddress: a.Head, FlushedUntilAddress: a.FlushedUntil,
		SafeReadOnlyAddress: a.SafeReadOnly, ReadOnlyAddress: a.ReadOnly, TailAddress: a.Tail,
		PageBytes: s.options.PageBytes, MemoryBytes: s.log.Budget(), MemoryCeilingBytes: s.log.RingBytes(),
		ResidentBytes: a.Tail - a.ClosedUntil, FlushedBytes: a.FlushedBytes,
		IndexBuckets: x.Buckets, IndexBytes: x.Bytes, OverflowBuckets: x.OverflowBuckets,
		OverflowBytes: x.OverflowBytes, IndexGrowths: x.Growths,
	}
	info.DeviceBytes, info.EvictedBytes = s.log.DeviceBytes(), s.log.EvictedBytes()
	info.MaxDeviceBytes = s.log.DeviceBound()
	dead, all := s.deadEstimate()
	info.DeadBytes, info.LiveBytes = dead, all-dead
	s.runs.mu.Lock()
	info.Compacting, info.Compactions, info.CompactionFreed, info.LastCompaction = s.runs.running, s.runs.count, s.runs.freed, s.runs.last
	s.runs.mu.Unlock()
	if err := s.log.Err(); err != nil {
		info.FlushError = err.Error()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	total := s.retired
	for session := range s.sessions {
		total.add(session.published.load())
	}
	info.Reads, info.Writes = total.reads, total.writes
	info.PendingReads, info.DeviceReads, info.CopiedReads = total.pendingReads, total.deviceReads, total.copiedReads
	return info
}

// sectorBytes is the alignment of device reads.
func (s *Store) sectorBytes() uint64 {
	if s.options.Device == nil {
		return 1
	}
	return uint64(max(8, s.options.Device.Info().SectorSizeBytes))
}

func (s *Store) newQueue() (device.Queue, error) {
	if s.options.Device == nil {
		return nil, errors.New("tsavorite: the store has no device")
	}
	return s.options.Device.NewQueue()
}

// live turns a record into what callbacks see of it.
func live(r record.Record) Record {
	return Record{Value: r.Value(), Metadata: Metadata{Deadline: r.Deadline(), Etag: r.Etag(), Kind: Kind(r.Kind())}}
}
