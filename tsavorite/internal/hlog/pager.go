package hlog

import (
	"errors"
	"fmt"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
	"github.com/pyropedb/pyrope/tsavorite/internal/checkpoint"
	"github.com/pyropedb/pyrope/tsavorite/internal/invariant"
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// writeBytes is the size of one device write; a page goes out in several at once.
const writeBytes = 1 << 20

// runPager is the pager's goroutine.
func (l *Log) runPager() {
	defer close(l.gone)
	for {
		select {
		case <-l.stop:
			return
		case <-l.wake:
		}
		for l.turn() {
		}
	}
}

// turn brings every address as far as it can go now, and reports whether another turn may bring
// them further. A page at a time: room appears as early as it can.
func (l *Log) turn() bool {
	select {
	case <-l.stop:
		return false
	default:
	}
	page := l.tail.Load() &^ l.pageMask
	l.evictFromDevice(page)
	l.shiftReadOnly(page)
	flushed := l.flushPage()
	l.shiftHead(page)
	recycled := l.recycle()
	l.truncateDevice()
	if invariant.Enabled {
		l.check()
	}
	return flushed || recycled
}

// deadUntil is the start of the page that holds begin, or of what is held: the pages below are dropped, not flushed.
func (l *Log) deadUntil() uint64 { return min(l.begin.Load(), l.hold.Load()) &^ l.pageMask }

func (l *Log) shiftReadOnly(tailPage uint64) {
	target := l.deadUntil()
	if !l.neverReadOnly && tailPage+l.pageBytes > l.mutableBytes() {
		target = max(target, tailPage+l.pageBytes-l.mutableBytes())
	}
	if l.dropsEvicted.Load() && l.neverReadOnly {
		target = max(target, l.evictTarget(tailPage))
	}
	if advance(&l.readOnly, target) {
		l.epochs.Bump(func() {
			advance(&l.safeReadOnly, target)
			l.signal()
		})
	}
}

// evictTarget is where head must be so that the page after the tail's is allocatable.
func (l *Log) evictTarget(tailPage uint64) uint64 {
	end := tailPage + 2*l.pageBytes
	if end <= l.Budget() {
		return 0
	}
	return end - l.Budget()
}

// flushPage writes the next page of the part that has become immutable, and reports whether it
// made progress.
func (l *Log) flushPage() bool {
	from, until := l.flushedUntil.Load(), l.safeReadOnly.Load()
	if from >= until {
		return false
	}
	if dead := min(l.deadUntil(), until); l.neverReadOnly || l.dropsEvicted.Load() || from < dead {
		if l.neverReadOnly || l.dropsEvicted.Load() {
			dead = until
		}
		if first := max(from, l.begin.Load()); l.neverReadOnly && l.dropping != nil && first < dead {
			l.dropping(record.Address(first), record.Address(dead))
		}
		l.setError(nil) // what could not be written is not needed any more
		return l.advanceFlushed(dead)
	}
	if l.flushing != nil {
		l.flushing(record.Address(from), record.Address(from+l.pageBytes))
	}
	if err := l.write(from, from+l.pageBytes); err != nil {
		l.setError(fmt.Errorf("cannot flush the log's page at address %d: %w", from, err))
		time.AfterFunc(retryDelay, l.signal)
		return false
	}
	l.setError(nil)
	l.flushedBytes.Add(l.pageBytes)
	return l.advanceFlushed(from + l.pageBytes)
}

// advanceFlushed raises flushed-until and tells those who wait for it. Writers who wait for room are left asleep if
// nobody does: they may be many, and a flush by itself makes none.
func (l *Log) advanceFlushed(to uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.awaiting > 0 {
		l.room.Broadcast()
	}
	return advance(&l.flushedUntil, to)
}

func (l *Log) makeRequests() {
	count := max(1, l.pageBytes/writeBytes)
	l.done = make([]*device.Request, count)
	for range count {
		l.writes = append(l.writes, &device.Request{Op: device.OpWrite})
	}
}

// write puts one page on the device and waits for it. The page lies below safe-read-only (H3).
func (l *Log) write(from, until uint64) error {
	size := min(l.pageBytes, writeBytes)
	for i, w := range l.writes {
		w.Address = from + uint64(i)*size
		at := w.Address & l.ringMask
		w.Buffer = l.memory[at : at+size : at+size]
	}
	at := from & l.ringMask
	l.sums.put(from/l.pageBytes, checkpoint.Checksum(l.memory[at:at+l.pageBytes]))
	l.queue.Submit(l.writes)
	var failed error
	for l.queue.InFlight() > 0 {
		n := l.queue.Poll(l.done, true)
		for _, w := range l.done[:n] {
			switch {
			case w.Err != nil:
				failed = w.Err
			case w.Transferred != len(w.Buffer):
				failed = fmt.Errorf("the device took %d of %d bytes at address %d", w.Transferred, len(w.Buffer), w.Address)
			}
		}
	}
	return failed
}

func (l *Log) setError(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && err == nil {
		return
	}
	l.err = err
	l.room.Broadcast()
}

// Err is why the last flush, or the last truncation of the device, failed; nil if neither did. A
// failed truncation keeps dead bytes on the device, no more.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.err, l.truncateErr)
}

func (l *Log) shiftHead(tailPage uint64) {
	l.holdMu.Lock()
	defer l.holdMu.Unlock()
	target := l.deadUntil()
	if !l.neverReadOnly || l.dropsEvicted.Load() {
		target = max(target, l.evictTarget(tailPage))
	}
	if l.dropsEvicted.Load() {
		target = min(target, l.hold.Load())
	}
	target = min(target, l.flushedUntil.Load())
	if target <= l.head.Load() {
		return
	}
	if l.dropsEvicted.Load() && advance(&l.begin, target) {
		l.evicted.Store(true)
	}
	if advance(&l.head, target) {
		l.epochs.Bump(func() {
			advance(&l.safeHead, target)
			l.signal()
		})
	}
}

// recycle zeroes one frame that nobody can see any more (H2, H4), lets the limit rise by its page,
// and reports whether it did.
func (l *Log) recycle() bool {
	page := l.closedUntil.Load()
	if page >= l.safeHead.Load() {
		return false
	}
	at := page & l.ringMask
	frame := l.memory[at : at+l.pageBytes]
	if l.RingBytes() == l.Budget() {
		clear(frame)
	} else {
		aligned.Discard(frame)
	}
	l.mu.Lock()
	l.closedUntil.Store(page + l.pageBytes)
	l.setLimitLocked()
	l.room.Broadcast()
	l.mu.Unlock()
	return true
}

// truncateDevice drops what lies below begin from the device, a page or more at a time.
func (l *Log) truncateDevice() {
	l.holdMu.Lock()
	defer l.holdMu.Unlock()
	dead := min(l.deadUntil(), l.flushedUntil.Load(), l.deviceHold.Load()&^l.pageMask)
	if l.device == nil || dead <= l.deviceBegin.Load() {
		return
	}
	err := l.device.Truncate(dead)
	if err != nil {
		err = fmt.Errorf("cannot truncate the log's device to address %d: %w", dead, err)
		time.AfterFunc(retryDelay, l.signal)
	} else {
		l.deviceBegin.Store(dead)
	}
	l.mu.Lock()
	l.truncateErr = err
	l.mu.Unlock()
}

// check asserts H1. Of each pair the lower address is loaded first: both only grow.
func (l *Log) check() {
	a := l.Addresses()
	if a.ClosedUntil > l.safeHead.Load() || a.Head > l.flushedUntil.Load() || a.FlushedUntil > l.safeReadOnly.Load() ||
		a.SafeReadOnly > l.readOnly.Load() || a.ReadOnly > l.tail.Load() || a.Tail > l.closedUntil.Load()+l.RingBytes() {
		invariant.Violated("H1", "addresses out of order: %v", a)
	}
}
