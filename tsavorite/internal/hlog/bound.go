package hlog

import (
	"math"
	"sync/atomic"

	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// bound is how much of the log may lie on the device. What is in memory counts on top.
type bound struct {
	bytes   atomic.Uint64 // 0 is no bound
	evicts  atomic.Bool   // drop the oldest pages rather than refuse writes
	evicted atomic.Uint64 // bytes dropped for it
}

// BoundDevice sets how many bytes of the log may lie on the device, 0 for no bound, and whether the oldest pages
// are dropped to stay below it. Without that, writers find no room until compaction has made some.
func (l *Log) BoundDevice(bytes uint64, evict bool) {
	l.bound.bytes.Store(bytes)
	l.bound.evicts.Store(evict)
	l.raiseLimit()
	l.ClearFull()
	l.signal()
}

// DeviceBound is how many bytes BoundDevice allows.
func (l *Log) DeviceBound() uint64 { return l.bound.bytes.Load() }

// EvictedBytes is how much was dropped to stay below the bound.
func (l *Log) EvictedBytes() uint64 { return l.bound.evicted.Load() }

// raiseLimit follows what begin or the bound allow now.
func (l *Log) raiseLimit() {
	if l.neverReadOnly {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setLimitLocked()
	l.room.Broadcast()
}

// boundedUntil is how far writers may allocate within the bound: memory is full, and the device's part too.
func (l *Log) boundedUntil() uint64 {
	bytes := l.bound.bytes.Load()
	if bytes == 0 || l.neverReadOnly || l.bound.evicts.Load() {
		return math.MaxUint64
	}
	return l.deadUntil() + l.Budget() + bytes
}

// LacksBound says whether so many bytes would go beyond the bound, where nothing may be dropped for them.
func (l *Log) LacksBound(bytes uint64) bool {
	until := l.boundedUntil()
	return until != math.MaxUint64 && l.tail.Load()+bytes > until
}

// isBounded says that the bound leaves no page behind the tail's.
func (l *Log) isBounded() bool {
	return l.LacksBound(l.pageBytes)
}

// evictFromDevice drops the oldest pages of the device's part when the page after the tail's would go beyond the bound.
func (l *Log) evictFromDevice(tailPage uint64) {
	bytes := l.bound.bytes.Load()
	if bytes == 0 || l.neverReadOnly || !l.bound.evicts.Load() {
		return
	}
	end := tailPage + 2*l.pageBytes
	if end <= l.Budget()+bytes {
		return
	}
	target := min((end-l.Budget()-bytes+l.pageMask)&^l.pageMask, l.head.Load()&^l.pageMask)
	if before := l.deadUntil(); advance(&l.begin, target) {
		l.bound.evicted.Add(target - before)
		l.evicted.Store(true)
	}
}

// DeviceBytes is how much of the log lies on the device.
func (l *Log) DeviceBytes() uint64 {
	begin, flushed := l.deadUntil(), l.flushedUntil.Load()
	return max(flushed, begin) - begin
}

// CompactableUntil is the end of what compaction may move: all that is whole pages below the tail's, and with a
// device what has left memory.
func (l *Log) CompactableUntil() record.Address {
	if l.neverReadOnly {
		return l.PageStart(l.Tail())
	}
	return l.PageStart(l.Head())
}
