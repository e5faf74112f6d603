package log

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pyropedb/pyrope/device"
)

// Log is an open log. All methods may be called from any goroutine.
type Log struct {
	geometry
	options    Options // with defaults; immutable
	generation uint32  // of this Open; immutable
	found      Found   // immutable

	io       sync.Mutex        // held by who writes and syncs; taken before mu
	queue    device.Queue      // guarded by io
	requests []*device.Request // guarded by io; reused, as is done
	done     []*device.Request // guarded by io
	zeros    []byte            // immutable
	extended Address           // guarded by io; the segment's file reaches to here
	announce Address           // guarded by io; the begin that blocks carry
	syncs    atomic.Uint64

	mu       sync.Mutex
	open     *block        // guarded by mu; nil for none
	sealed   []*block      // guarded by mu; oldest first
	free     [][]byte      // guarded by mu; buffers for blocks to come
	next     Address       // guarded by mu; where the block after the open one goes at the earliest
	waiting  int           // guarded by mu; goroutines that wait for room
	room     sync.Cond     // on mu: bytes were written, or the log failed or closed
	advanced chan struct{} // guarded by mu; closed when committed grows; nil while nobody waits

	begin     atomic.Uint64
	committed atomic.Uint64
	flushed   atomic.Uint64
	used      atomic.Int64            // bytes of entries in memory, reserved ones included
	failure   atomic.Pointer[failure] // why entries are refused, or nil
	closed    atomic.Bool

	wake       chan struct{} // capacity 1: there is something to write
	stop       chan struct{}
	background sync.WaitGroup
}

// failure is why the log takes no entries.
type failure struct {
	err       error
	permanent bool // L4
}

// block is one block in memory.
type block struct {
	address  Address
	buffer   []byte // the memory, a page of it
	bytes    []byte // header and payload so far; the capacity is the longest it may become
	first    int    // header.first, or -1 while no entry begins here
	used     int64  // what it counts for in Log.used
	finished bool   // the header is filled in
}

func (b *block) end() Address { return b.address + Address(len(b.bytes)) }

// size is the block's length with padding.
func (b *block) size() uint64 { return pad(uint64(len(b.bytes))) }

// Found is what Open found.
type Found struct {
	Begin, End Address
	Entries    uint64
	Clean      bool   // the log was closed: its last block says that all before it was durable
	TornBytes  uint64 // behind End, up to the last byte that is not zero
	TornReason string // what is wrong with the block at End; empty if nothing is there
}

// Open opens the log on a device: it verifies every block, hands the entries to Options.Replay, cuts off what a
// crash left behind the last whole block, and is ready to append. A damaged log is an ErrDamaged.
func Open(o Options) (*Log, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	l := &Log{
		options: o, geometry: geometry{o.Device.Info().SegmentSizeBytes},
		wake: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	l.room.L = &l.mu
	result, err := recoverLog(o)
	if err != nil {
		return nil, err
	}
	if l.queue, err = o.Device.NewQueue(); err != nil {
		return nil, fmt.Errorf("cannot open the log: %w", err)
	}
	l.found, l.generation = result.Found, result.generation+1
	l.next, l.extended, l.announce = l.found.End, result.extended, l.found.Begin
	l.begin.Store(uint64(l.found.Begin))
	l.flushed.Store(uint64(l.found.End))
	l.committed.Store(uint64(l.found.End))
	if err := l.adopt(result.durable); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the log: %w", err), l.queue.Close())
	}
	l.background.Go(l.writeBehind)
	return l, nil
}

// adopt makes what was found the log: it drops the segments that a truncation left behind, writes zeros over what was
// torn, and makes the rest durable. A process that was killed may have written it and not synced it, and a device syncs
// only what was written through it: so the header of each segment of which that can be said is written once more.
func (l *Log) adopt(durable Address) error {
	if err := l.options.Device.Truncate(uint64(l.found.Begin)); err != nil {
		return err
	}
	end := l.found.End
	l.zeros = make([]byte, aheadBytes)
	for at, torn := end, end+Address(l.found.TornBytes); at < torn; at += aheadBytes {
		if err := l.move(device.OpWrite, at, l.zeros[:min(aheadBytes, torn-at)]); err != nil {
			return err
		}
	}
	header := make([]byte, headerBytes)
	for at := l.segment(durable); at < end; at += Address(l.segmentBytes) {
		if err := errors.Join(l.move(device.OpRead, at, header), l.move(device.OpWrite, at, header)); err != nil {
			return err
		}
	}
	return l.options.Device.Sync()
}

// move carries out one read or write.
func (l *Log) move(op device.Op, at Address, bytes []byte) error {
	r := &device.Request{Op: op, Address: uint64(at), Buffer: bytes}
	l.queue.SubmitAndPoll([]*device.Request{r}, []*device.Request{nil}, true)
	return r.Err
}

// Found says what Open found.
func (l *Log) Found() Found { return l.found }

// Close commits what was appended, ends the log with an empty block that says so, and refuses everything from then
// on. The device stays open.
func (l *Log) Close() error {
	if l.closed.Swap(true) {
		return ErrClosed
	}
	close(l.stop)
	l.background.Wait()
	l.io.Lock()
	defer l.io.Unlock()
	err := l.commitLocked()
	if clean := l.flushed.Load() == uint64(l.found.End) && l.found.Clean; err == nil && !clean {
		// Now damage to the last block that holds entries can be told from a crash (L5).
		l.mu.Lock()
		l.blockLocked(0)
		l.mu.Unlock()
		err = l.commitLocked()
	}
	l.mu.Lock()
	if l.failure.Load() == nil {
		l.failure.Store(&failure{err: ErrClosed, permanent: true})
	}
	l.notifyLocked()
	l.mu.Unlock()
	return errors.Join(err, l.queue.Close())
}

// Tail is an address that every entry appended from now on lies at or above (L2).
func (l *Log) Tail() Address {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open != nil {
		return l.open.end()
	}
	return l.next
}

// CommittedUntil is the address below which every entry survives a crash (L3).
func (l *Log) CommittedUntil() Address { return Address(l.committed.Load()) }

// Err says why the log takes no entries at present, or nil.
func (l *Log) Err() error {
	if f := l.failure.Load(); f != nil {
		return f.err
	}
	return nil
}

// Info is a snapshot of a log.
type Info struct {
	Begin, Committed, Flushed, Tail Address

	Bytes         uint64 // on the device and in memory
	BufferedBytes uint64 // entries in memory that are not written
	Syncs         uint64
	Error         string // why entries are refused, or empty
}

// Info returns a snapshot.
func (l *Log) Info() Info {
	info := Info{
		Begin: Address(l.begin.Load()), Committed: Address(l.committed.Load()), Flushed: Address(l.flushed.Load()),
		Tail: l.Tail(), BufferedBytes: uint64(l.used.Load()), Syncs: l.syncs.Load(),
	}
	info.Bytes = uint64(info.Tail - info.Begin)
	if err := l.Err(); err != nil {
		info.Error = err.Error()
	}
	return info
}
