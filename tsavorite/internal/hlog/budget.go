package hlog

import (
	"sync/atomic"

	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// minBudgetPages is the least number of frames: one being filled, one ahead, one on its way to the device.
const minBudgetPages = 3

// budget is how many bytes of frames the log may use, at most the ring: what is not in use of the ring is only address space.
type budget struct {
	bytes          atomic.Uint64 // whole pages, at least minBudgetPages
	mutablePercent uint64        // immutable
}

// Budget returns what SetBudget has set.
func (l *Log) Budget() uint64 { return l.budget.bytes.Load() }

// RingBytes is the most that SetBudget can grant.
func (l *Log) RingBytes() uint64 { return l.ringMask + 1 }

// SetBudget changes how much memory the log may use; it is rounded down to whole pages within what is possible. With a device,
// or where the oldest pages are dropped, the pager gives frames back until the log fits. Otherwise compaction gives back what it
// can, and writers find no room before the log fits; nothing that lives is lost.
func (l *Log) SetBudget(bytes uint64) {
	bytes = min(max(bytes&^l.pageMask, minBudgetPages*l.pageBytes), l.RingBytes())
	l.mu.Lock()
	defer l.mu.Unlock()
	if before := l.budget.bytes.Swap(bytes); before == bytes {
		return
	}
	l.followBudgetLocked()
}

// SetEvict changes, in a log without a device, whether the oldest page is dropped instead of running full.
func (l *Log) SetEvict(evict bool) {
	if !l.neverReadOnly {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropsEvicted.Store(evict)
	l.followBudgetLocked()
}

// followBudgetLocked puts what has changed to use.
func (l *Log) followBudgetLocked() {
	l.full = false
	l.setLimitLocked()
	if l.compact != nil && l.neverReadOnly && !l.dropsEvicted.Load() && l.closedUntil.Load()+l.Budget() < l.tail.Load()+l.reserve() {
		l.wanted = true
		l.compact()
	}
	l.room.Broadcast()
	l.signal()
}

// reserve is how many bytes of the budget ordinary writes leave free, in a log without a device: a page that only compaction may
// allocate, and where the address space ends with the budget, one for needful writes.
func (l *Log) reserve() uint64 {
	switch {
	case l.compact == nil || !l.neverReadOnly || l.dropsEvicted.Load():
		return 0
	case l.Budget() == l.RingBytes() && l.Budget() > minBudgetPages*l.pageBytes:
		return 2 * l.pageBytes
	}
	return l.pageBytes
}

// needfulShare is the part of the budget, one in needfulShare, by which needful writes may exceed it.
const needfulShare = 4

// AllocateNeedful is Allocate for a small change of what is there already, in a log without a device that is full: what it leaves behind is dead, so it may go
// beyond the budget, within the address space, and asks for compaction. It leaves compaction a page: without one, nothing would become free again.
func (l *Log) AllocateNeedful(size int) record.Address {
	if l.reserve() == 0 {
		return 0
	}
	l.DemandCompaction()
	beyond := l.closedUntil.Load() + min(l.Budget()+l.Budget()/needfulShare, l.RingBytes())
	return l.allocate(size, max(beyond, l.last.Load())-l.pageBytes)
}

// DemandCompaction asks for a round of compaction, though the last one may have gained nothing.
func (l *Log) DemandCompaction() {
	if l.compact == nil {
		return
	}
	l.mu.Lock()
	l.full, l.wanted, l.demanded = false, true, true
	l.mu.Unlock()
	l.compact()
}

// TakeDemanded reports whether DemandCompaction was called since it was asked last: something has died since.
func (l *Log) TakeDemanded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	demanded := l.demanded
	l.demanded = false
	return demanded
}

// FollowTail gives compaction a page of room beyond the tail again, which needful writes may have taken.
func (l *Log) FollowTail() {
	l.mu.Lock()
	l.setLimitLocked()
	l.mu.Unlock()
}

// setLimitLocked follows the free frames and the budget. Where the budget has fallen below what lives, needful writes still get a page
// of room, and compaction another: it gives more back in turn.
func (l *Log) setLimitLocked() {
	closed, reserve := l.closedUntil.Load(), l.reserve()
	last := closed + l.Budget()
	l.limit.Store(min(last-reserve, l.boundedUntil()))
	if reserve > 0 {
		enough := (l.tail.Load()+l.pageMask)&^l.pageMask + 2*l.pageBytes
		last = max(last, min(enough, closed+l.RingBytes()))
	}
	l.last.Store(last)
}

// mutableBytes is the share of memory that is updated in place, in whole pages: at least the tail's
// page, and at most what leaves one page ahead of the tail and one on its way to the device.
func (l *Log) mutableBytes() uint64 {
	pages := l.Budget() / l.pageBytes
	return min(max(pages*l.budget.mutablePercent/100, 1), pages-2) * l.pageBytes
}

// MemoryBytes is the budget, or what is in frames where that is still more.
func (l *Log) MemoryBytes() uint64 { return max(l.Budget(), l.tail.Load()-l.closedUntil.Load()) }
