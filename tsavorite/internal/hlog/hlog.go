// Package hlog is the hybrid log: one address space of pages whose newest part lies in memory and
// whose older part lies on a device.
//
//	 begin      closed-until  safe-head  head   flushed-until  safe-read-only  read-only       tail   limit
//	   |             |            |        |          |               |            |             |      |
//	   |  on device  |  being     | still  |      immutable           |   fuzzy    |   mutable   | free |
//	   |             |  zeroed    | read   | flushed  |  to be flushed|            |             |      |
//
//	memory: a ring of frames; address a lies at a & (ring size - 1)
//
//	        frame 0      frame 1      frame 2      frame 3
//	      [ page 4    ][ page 5    ][ page 2    ][ page 3    ]
//	                      tail         head
//
// Sessions only allocate at the tail and read or write what lies at or above head. Everything else is
// done by one goroutine, the pager, which a session wakes when the tail enters a new page:
// it moves read-only up, and once the epoch is safe writes the pages below it to the device; it moves
// head up, and once the epoch is safe zeroes the frames below it and lets the limit rise.
// With no device nothing becomes read-only, and head moves only past what was dropped. Limit is how far writers may
// allocate; compaction may go up to last, so that it has room when they have none.
//
// Invariants:
//
//	H1  closed-until <= safe-head <= head <= flushed-until <= safe-read-only <= read-only <= tail <= closed-until + ring.
//	    All of them only grow. Limit and last, how far writers and compaction may allocate, are at most closed-until + ring, and fall
//	    only when the budget does.
//	H2  Bytes at or above head that a session in an epoch sees stay mapped and unchanged by the pager until it leaves.
//	H3  Bytes below safe-read-only never change again; so what reaches the device is final.
//	H4  A frame is all zeroes when its page becomes allocatable.
//	H5  begin grows past a record only when the record is dead or may be dropped; it may lie above head.
//	H6  A record that was computed from what lies below begin does not come to lie above it: whoever
//	    allocates checks afterwards that begin is still what it was at the look-up and that no truncation
//	    is under way. A truncation that starts later takes a tail beyond the new record.
package hlog

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
	"github.com/pyropedb/pyrope/tsavorite/internal/epoch"
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// FirstAddress is where the first record lies; 0 is no address.
const FirstAddress record.Address = 64

// Config says how big the log is.
type Config struct {
	PageBytes, MemoryBytes uint64 // powers of two and multiple, checked by the caller
	MutablePercent         int
	Device                 device.Device // nil: memory only
	EvictOldest            bool          // without a device: drop the oldest page instead of running full
	Epochs                 *epoch.Table
	// CeilingBytes is up to where SetBudget may raise MemoryBytes. Less than that is none.
	CeilingBytes uint64
	// Preallocate touches MemoryBytes of frames before New returns.
	Preallocate bool
	// Restore is where a recovered log stands; nil is an empty one.
	Restore *Restore
	// Compact wakes the goroutine that compacts the log when it has run full: its memory, or with a device
	// its share of the device. It is not called with EvictOldest.
	Compact func()
	// Flushing is told of each page that has become immutable, before the device gets it; nil is nobody.
	Flushing func(from, until record.Address)
	// Dropping is told of pages that are about to leave memory for good, though what lies there counts; nil is nobody.
	// Nobody changes a record there any more, but newer ones may come to lie elsewhere meanwhile.
	Dropping func(from, until record.Address)
}

// Log is the hybrid log.
type Log struct {
	base      unsafe.Pointer // frame 0
	ringMask  uint64         // bytes of the ring - 1
	pageMask  uint64         // bytes of a page - 1
	pageBytes uint64

	tail  atomic.Uint64 // grown by sessions with compare-and-swap
	_     [56]byte
	limit atomic.Uint64 // how far writers may allocate; stored under mu
	last  atomic.Uint64 // how far compaction may; stored under mu
	_     [48]byte

	budget budget
	bound  bound // of the device's part

	// Stored by the pager and by epoch actions; all monotonic.
	begin, head, readOnly                   atomic.Uint64
	closedUntil, safeHead, flushedUntil     atomic.Uint64
	safeReadOnly, deviceBegin, flushedBytes atomic.Uint64

	holdMu sync.Mutex    // held where hold is set, and where begin moves because memory is short
	hold   atomic.Uint64 // what lies at or above it is kept whatever begin says: a checkpoint needs it

	deviceHold atomic.Uint64 // what lies at or above it stays on the device: a published checkpoint needs it
	sums       pageSums      // of what was flushed

	truncateMu sync.Mutex // held by Truncate
	truncating atomic.Bool
	evicted    atomic.Bool // records were dropped to make room

	memory        []byte
	dropsEvicted  atomic.Bool // what leaves memory is gone: begin follows head; stored under mu
	neverReadOnly bool        // no device: everything in memory is mutable
	compact       func()      // wakes whoever compacts; nil where nothing is compacted
	flushing      func(from, until record.Address)
	dropping      func(from, until record.Address)
	epochs        *epoch.Table
	device        device.Device
	queue         device.Queue // the pager's
	writes        []*device.Request
	done          []*device.Request

	wake chan struct{} // capacity 1: a wake-up is never lost and never waits
	stop chan struct{}
	gone chan struct{} // closed when the pager has ended, or was never started

	started bool // Start was called

	mu          sync.Mutex
	room        *sync.Cond // limit rose, or err or closed changed, or flushed-until rose while somebody awaits that
	awaiting    int        // callers of AwaitFlushed; guarded by mu
	err         error      // last flush error, nil again after a success; guarded by mu
	truncateErr error      // the same of the device's truncation; guarded by mu
	shut        bool       // guarded by mu
	full        bool       // compaction found nothing to gain; guarded by mu
	wanted      bool       // somebody waits for a round of compaction; guarded by mu
	demanded    bool       // a needful write has asked for one; guarded by mu
	dead        uint64     // bytes of records that died since then; guarded by mu
	until       time.Time  // full is not looked at again before; guarded by mu
}

// New maps the memory and starts the pager, but for a restored log: that is filled first, and Start follows.
func New(c Config) (*Log, error) {
	ring := uint64(1) << bits.Len64(max(c.MemoryBytes, c.CeilingBytes)-1)
	memory, err := aligned.Map(int(ring))
	if err != nil {
		return nil, fmt.Errorf("cannot map %d bytes for the log: %w", ring, err)
	}
	aligned.AdviseHuge(memory)
	if c.Preallocate {
		for at := uint64(0); at < c.MemoryBytes; at += 4096 {
			memory[at] = 0
		}
	}
	l := &Log{
		base: unsafe.Pointer(unsafe.SliceData(memory)), ringMask: ring - 1,
		pageMask: c.PageBytes - 1, pageBytes: c.PageBytes,
		memory: memory, neverReadOnly: c.Device == nil, epochs: c.Epochs, device: c.Device,
		compact: c.Compact, flushing: c.Flushing, dropping: c.Dropping,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), gone: make(chan struct{}),
	}
	l.room = sync.NewCond(&l.mu)
	l.budget.bytes.Store(c.MemoryBytes)
	l.budget.mutablePercent = uint64(c.MutablePercent)
	l.dropsEvicted.Store(l.neverReadOnly && c.EvictOldest)
	l.tail.Store(uint64(FirstAddress))
	l.begin.Store(uint64(FirstAddress))
	l.setLimitLocked() // nobody else knows l yet
	l.hold.Store(noHold)
	l.deviceHold.Store(noHold)
	if c.Restore != nil {
		l.restore(c.Restore)
	}
	if c.Device != nil {
		l.dropsEvicted.Store(c.Device.Info().Kind == "null")
		if l.queue, err = c.Device.NewQueue(); err != nil {
			_ = aligned.Unmap(memory)
			return nil, fmt.Errorf("cannot open the log's device queue: %w", err)
		}
		l.makeRequests()
	}
	if c.Restore == nil {
		l.Start()
	}
	return l, nil
}

// Start starts the pager of a restored log. Until then nothing moves, whatever the log is told.
func (l *Log) Start() {
	l.started = true
	go l.runPager()
	l.signal()
}

// Close stops the pager and unmaps the memory. No session may use the log any more. The device stays open.
func (l *Log) Close() error {
	l.mu.Lock()
	l.shut = true
	l.room.Broadcast()
	l.mu.Unlock()
	close(l.stop)
	if !l.started {
		close(l.gone)
	}
	<-l.gone
	var err error
	if l.queue != nil {
		err = l.queue.Close()
	}
	_ = aligned.Unmap(l.memory)
	return err
}

// Record returns the record at an address in memory.
func (l *Log) Record(a record.Address) record.Record {
	return record.At(unsafe.Add(l.base, uint64(a)&l.ringMask))
}

// Base is where the frames start, for a prefetch.
func (l *Log) Base() unsafe.Pointer { return l.base }

// Place is where an address in memory lies, in bytes from Base.
func (l *Log) Place(a record.Address) uint64 { return uint64(a) & l.ringMask }

// PageBytes is the size of a page.
func (l *Log) PageBytes() int { return int(l.pageBytes) }

// Begin is the lowest address that counts.
func (l *Log) Begin() record.Address { return record.Address(l.begin.Load()) }

// First is where the first record of the log lies or lay.
func (l *Log) First() record.Address { return FirstAddress }

// Head is the lowest address in memory.
func (l *Log) Head() record.Address { return record.Address(l.head.Load()) }

// ReadOnly is the lowest address that may be changed in place.
func (l *Log) ReadOnly() record.Address { return record.Address(l.readOnly.Load()) }

// Tail is the next address to be allocated.
func (l *Log) Tail() record.Address { return record.Address(l.tail.Load()) }

// PageStart is where the page of a starts.
func (l *Log) PageStart(a record.Address) record.Address {
	return a &^ record.Address(l.pageMask)
}

// PageEnd is where the page of a ends.
func (l *Log) PageEnd(a record.Address) record.Address { return a + record.Address(l.PageRest(a)) }

// PageRest is how many bytes lie from a to the end of its page.
func (l *Log) PageRest(a record.Address) int { return int(l.pageBytes - uint64(a)&l.pageMask) }

// Allocate reserves size bytes, a multiple of 8 and at most a page, at the tail. It returns 0 when
// there is no room: leave the epoch, call WaitRoom and try again. The caller is inside its epoch and
// writes the record before it leaves (R2 of package record, and the scan's reason to trust it).
func (l *Log) Allocate(size int) record.Address { return l.allocate(size, l.limit.Load()) }

// AllocateReserved is Allocate for compaction, which may use all of the memory and goes beyond the bound of the device's part.
func (l *Log) AllocateReserved(size int) record.Address { return l.allocate(size, l.last.Load()) }

func (l *Log) allocate(size int, limit uint64) record.Address {
	for {
		tail := l.tail.Load()
		start := tail
		if tail&l.pageMask+uint64(size) > l.pageBytes {
			start = (tail + l.pageMask) &^ l.pageMask
		}
		end := start + uint64(size)
		if end > limit {
			l.signal()
			return 0
		}
		if !l.tail.CompareAndSwap(tail, end) {
			continue
		}
		if (end-1)&^l.pageMask != (tail-1)&^l.pageMask {
			l.signal()
		}
		return record.Address(start)
	}
}

// DropBelow raises begin past what nobody misses.
func (l *Log) DropBelow(until record.Address) {
	advance(&l.begin, uint64(until))
	l.raiseLimit()
	l.ClearFull()
	l.signal()
}

// CompactedUntil raises begin after everything live below until has moved.
func (l *Log) CompactedUntil(until record.Address) {
	advance(&l.begin, uint64(until))
	l.raiseLimit()
	l.signal()
}

// Limit is the end of the part that writers may allocate.
func (l *Log) Limit() uint64 { return l.limit.Load() }

// Last is the end of the part that compaction may allocate.
func (l *Log) Last() uint64 { return l.last.Load() }

// Truncate drops everything below the present tail.
func (l *Log) Truncate() {
	l.truncateMu.Lock()
	l.truncating.Store(true)
	advance(&l.begin, l.tail.Load())
	l.truncating.Store(false)
	l.truncateMu.Unlock()
	l.raiseLimit()
	l.ClearFull()
	l.signal()
}

// StillBegins tells a writer, who has allocated a record after a look-up under begin, whether what it
// found counts (H6).
func (l *Log) StillBegins(begin record.Address) bool {
	return !l.truncating.Load() && l.Begin() == begin
}

// Evicts reports whether records are dropped to make room.
func (l *Log) Evicts() bool { return l.dropsEvicted.Load() }

// HasEvicted reports whether records were dropped to make room.
func (l *Log) HasEvicted() bool { return l.evicted.Load() }

// SettledTail returns the present tail once every record below it is written. The caller is outside its epoch.
func (l *Log) SettledTail() record.Address {
	tail := l.Tail()
	l.epochs.WaitSafe()
	return tail
}

// Addresses is a snapshot of the log's state, for reports.
type Addresses struct {
	Begin, ClosedUntil, Head, FlushedUntil, SafeReadOnly, ReadOnly, Tail, FlushedBytes uint64
}

// Addresses returns a snapshot whose parts are read one after the other, lowest first.
func (l *Log) Addresses() Addresses {
	return Addresses{
		Begin: l.begin.Load(), ClosedUntil: l.closedUntil.Load(), Head: l.head.Load(),
		FlushedUntil: l.flushedUntil.Load(), SafeReadOnly: l.safeReadOnly.Load(),
		ReadOnly: l.readOnly.Load(), Tail: l.tail.Load(), FlushedBytes: l.flushedBytes.Load(),
	}
}

// String is the address line of logs and panics.
func (a Addresses) String() string {
	return fmt.Sprintf("begin=%d closed=%d head=%d flushed=%d safe-read-only=%d read-only=%d tail=%d",
		a.Begin, a.ClosedUntil, a.Head, a.FlushedUntil, a.SafeReadOnly, a.ReadOnly, a.Tail)
}

// signal wakes the pager.
func (l *Log) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// advance raises an address that only grows, and reports whether it did.
func advance(a *atomic.Uint64, to uint64) bool {
	for {
		now := a.Load()
		if to <= now {
			return false
		}
		if a.CompareAndSwap(now, to) {
			return true
		}
	}
}

// retryDelay is how long the pager waits after a failed flush.
const retryDelay = 50 * time.Millisecond
