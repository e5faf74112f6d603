package hlog

import (
	"errors"
	"math"
	"sync"

	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// noHold is a hold on nothing.
const noHold = math.MaxUint64

// Restore is where a recovered log begins.
type Restore struct {
	Begin, Tail record.Address
	// Head is the start of the first page in memory. The caller fills memory from there to Tail (Bytes) before anybody uses the log.
	Head record.Address
	// Sums are the checksums of the pages from begin's to the tail, in a log with a device; all of these pages are on it.
	Sums []uint32
	// DeviceHold is the lowest address that must stay on the device.
	DeviceHold uint64
	Evicted    bool // records were dropped to fit
}

// restore sets the addresses of a log that nobody uses yet. With a device everything below the tail, the start of a
// page, has been flushed.
func (l *Log) restore(r *Restore) {
	head, tail := uint64(r.Head), uint64(r.Tail)
	l.begin.Store(uint64(r.Begin))
	l.tail.Store(tail)
	l.evicted.Store(r.Evicted)
	for _, a := range []interface{ Store(uint64) }{&l.closedUntil, &l.safeHead, &l.head, &l.flushedUntil, &l.safeReadOnly, &l.readOnly} {
		a.Store(head)
	}
	if !l.neverReadOnly {
		for _, a := range []interface{ Store(uint64) }{&l.flushedUntil, &l.safeReadOnly, &l.readOnly} {
			a.Store(tail)
		}
		first := uint64(r.Begin) / l.pageBytes
		l.sums.first, l.sums.list = first, append(l.sums.list, r.Sums...)
		l.deviceBegin.Store(first * l.pageBytes)
		l.deviceHold.Store(r.DeviceHold)
	}
	l.setLimitLocked() // nobody else knows l yet
}

// Bytes is the memory of [from, until), which lies in memory and within one page.
func (l *Log) Bytes(from, until record.Address) []byte {
	at := uint64(from) & l.ringMask
	n := uint64(until - from)
	return l.memory[at : at+n : at+n]
}

// Hold keeps every page from the present begin's on, in memory or on the device, whatever begin becomes, and returns that
// begin. MoveHold lets go of pages.
func (l *Log) Hold() record.Address {
	l.holdMu.Lock()
	defer l.holdMu.Unlock()
	l.hold.Store(0) // first: the pager drops nothing on account of a begin that moves while it is loaded here
	begin := l.begin.Load()
	l.hold.Store(begin &^ l.pageMask)
	return record.Address(begin)
}

// MoveHold lets go of the pages below an address that is the start of one.
func (l *Log) MoveHold(to record.Address) {
	l.hold.Store(uint64(to))
	l.signal()
}

// EndHold lets go of everything.
func (l *Log) EndHold() { l.MoveHold(noHold) }

// DeviceHold is what HoldDevice was told last.
func (l *Log) DeviceHold() uint64 { return l.deviceHold.Load() }

// HoldDevice keeps the device from an address on, which replaces the one before.
func (l *Log) HoldDevice(from uint64) {
	l.deviceHold.Store(from)
	l.signal()
}

// Seal ends the tail's page and returns the start of the next one, the new tail. What lies below may still be written.
func (l *Log) Seal() record.Address {
	for {
		tail := l.tail.Load()
		next := (tail + l.pageMask) &^ l.pageMask
		if tail == next || l.tail.CompareAndSwap(tail, next) {
			l.signal()
			return record.Address(next)
		}
	}
}

// Freeze makes everything below the start of a page, at or below the tail, read-only. The pager then flushes it.
func (l *Log) Freeze(until record.Address) {
	if advance(&l.readOnly, uint64(until)) {
		l.epochs.Bump(func() {
			advance(&l.safeReadOnly, uint64(until))
			l.signal()
		})
	}
}

// AwaitFlushed blocks until everything below an address is on the device, or returns why it is not. The caller
// is outside its epoch.
func (l *Log) AwaitFlushed(until record.Address) error {
	l.signal()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.awaiting++
	defer func() { l.awaiting-- }()
	for l.flushedUntil.Load() < uint64(until) {
		if l.err != nil {
			return l.err
		}
		if l.shut {
			return errors.New("the log is closed")
		}
		l.room.Wait()
	}
	return nil
}

// Sums returns the checksums of the pages in [from, until), both of which are flushed.
func (l *Log) Sums(from, until record.Address) []uint32 {
	l.sums.drop(l.deviceBegin.Load() / l.pageBytes)
	return l.sums.get(uint64(from)/l.pageBytes, uint64(until)/l.pageBytes)
}

// pageSums are the checksums of pages on the device: four bytes a page.
type pageSums struct {
	mu    sync.Mutex
	first uint64   // the page of list[0]; guarded by mu
	list  []uint32 // 0 for pages that were dead before they were flushed; guarded by mu
}

func (s *pageSums) put(page uint64, sum uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == 0 {
		s.first = page
	}
	for page >= s.first+uint64(len(s.list)) {
		s.list = append(s.list, 0)
	}
	s.list[page-s.first] = sum
}

func (s *pageSums) get(from, until uint64) []uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	sums := make([]uint32, 0, until-from)
	for page := from; page < until; page++ {
		if i := page - s.first; page >= s.first && i < uint64(len(s.list)) {
			sums = append(sums, s.list[i])
		} else {
			sums = append(sums, 0)
		}
	}
	return sums
}

func (s *pageSums) drop(below uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if below > s.first {
		dead := min(below-s.first, uint64(len(s.list)))
		s.list = append([]uint32(nil), s.list[dead:]...)
		s.first += dead
	}
}

// SetSum is told what was put on the device beside the pager, before anybody uses the log.
func (l *Log) SetSum(page record.Address, sum uint32) { l.sums.put(uint64(page)/l.pageBytes, sum) }
