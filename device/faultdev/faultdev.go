// Package faultdev wraps a device and makes it misbehave on demand: completions come late, the Nth
// operation fails, a write is torn, and a crash forgets what was not synced.
//
//	                 write            Sync                Crash
//	volatile mode    -> pending list  pending -> device   pending is dropped, or kept in part
//	otherwise        -> device        device.Sync         nothing is forgotten
//
// In volatile mode reads see the device with the pending writes laid over it, so that a store notices
// nothing until it crashes.
package faultdev

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/device"
)

// Errors of injected faults.
var (
	ErrInjected = errors.New("faultdev: injected failure")
	ErrTorn     = errors.New("faultdev: write torn")
	ErrCrashed  = errors.New("faultdev: crashed")
)

// Options says how the device misbehaves all the time.
type Options struct {
	// Delay is how long each completion is held back at first; see SetDelay.
	Delay time.Duration
	// Volatile keeps writes from the wrapped device until Sync or Close, so that Crash can forget them.
	Volatile bool
}

// Device wraps another. All methods may be called from any goroutine.
type Device struct {
	inner   device.Device
	options Options
	delay   atomic.Int64 // nanoseconds

	mutex   sync.Mutex // guards what follows
	faults  []fault
	pending []extent // volatile writes, oldest first; extents never change, and the slice only grows or is replaced
	begin   uint64
	closed  bool
	crashed bool
	reads   int
	writes  int
	syncs   int

	syncMutex sync.Mutex // one Sync at a time; taken before mutex
}

// fault strikes when its countdown reaches zero.
type fault struct {
	operation operation
	countdown int
	err       error
	keepBytes int // of a torn write; -1 keeps the operation from the device
}

type operation uint8

const (
	read operation = iota
	write
	syncing
)

// extent is bytes that were written and not synced.
type extent struct {
	address uint64
	bytes   []byte
}

// Wrap returns inner with faults. Close closes inner too, except after a Crash.
func Wrap(inner device.Device, o Options) *Device {
	d := &Device{inner: inner, options: o}
	d.SetDelay(o.Delay)
	return d
}

// SetDelay changes how long completions are held back that come from now on.
func (d *Device) SetDelay(delay time.Duration) { d.delay.Store(int64(delay)) }

// FailNth makes the nth operation of that sort from now, 1 being the next, fail with err without
// reaching the device. A nil err is ErrInjected.
func (d *Device) FailNth(op device.Op, n int, err error) {
	if err == nil {
		err = ErrInjected
	}
	d.add(fault{operation: operationOf(op), countdown: n, err: err, keepBytes: -1})
}

// FailNthSync makes the nth Sync from now fail with err, ErrInjected if nil, and sync nothing.
func (d *Device) FailNthSync(n int, err error) {
	if err == nil {
		err = ErrInjected
	}
	d.add(fault{operation: syncing, countdown: n, err: err})
}

// TearNthWrite lets the nth write from now move only its first keepBytes, rounded down to whole
// sectors, and fail with ErrTorn.
func (d *Device) TearNthWrite(n, keepBytes int) {
	d.add(fault{operation: write, countdown: n, err: ErrTorn, keepBytes: keepBytes &^ (d.inner.Info().SectorSizeBytes - 1)})
}

func operationOf(op device.Op) operation {
	if op == device.OpWrite {
		return write
	}
	return read
}

func (d *Device) add(f fault) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.faults = append(d.faults, f)
}

// Disarm takes back every fault that has not struck yet.
func (d *Device) Disarm() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.faults = nil
}

// strikeLocked counts an operation and returns the fault that strikes it, if one does.
func (d *Device) strikeLocked(o operation) *fault {
	var struck *fault
	for i := range d.faults {
		f := &d.faults[i]
		if f.operation != o {
			continue
		}
		f.countdown--
		if f.countdown == 0 && struck == nil {
			copied := *f
			struck = &copied
		}
	}
	d.faults = slices.DeleteFunc(d.faults, func(f fault) bool { return f.countdown <= 0 })
	return struck
}

// Counts returns how many reads, writes and syncs were asked for, those that failed included.
func (d *Device) Counts() (reads, writes, syncs int) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.reads, d.writes, d.syncs
}

// Crash forgets the writes that were not synced and refuses everything from now on; the wrapped
// device stays open, to be wrapped again. keep says how many bytes of a forgotten write reached
// the device all the same: it gets the write's number, from 0, and its length. nil keeps nothing.
func (d *Device) Crash(keep func(write, length int) int) error {
	d.syncMutex.Lock()
	defer d.syncMutex.Unlock()
	d.mutex.Lock()
	d.crashed = true
	pending := d.pending
	d.pending = nil
	d.mutex.Unlock()
	if keep == nil {
		return nil
	}
	sector := d.inner.Info().SectorSizeBytes
	var kept []extent
	for i, e := range pending {
		length := min(keep(i, len(e.bytes)), len(e.bytes)) &^ (sector - 1)
		if length > 0 {
			kept = append(kept, extent{e.address, e.bytes[:length]})
		}
	}
	return d.apply(kept)
}

// NewQueue returns a queue through a queue of the wrapped device.
func (d *Device) NewQueue() (device.Queue, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	inner, err := d.inner.NewQueue()
	if err != nil {
		return nil, err
	}
	return &queue{device: d, inner: inner, flights: make(map[*device.Request]flight), eventFD: -1}, nil
}

func (d *Device) usable() error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.usableLocked()
}

func (d *Device) usableLocked() error {
	switch {
	case d.crashed:
		return ErrCrashed
	case d.closed:
		return device.ErrClosed
	}
	return nil
}

// Sync passes the pending writes on and syncs the wrapped device.
func (d *Device) Sync() error {
	d.syncMutex.Lock()
	defer d.syncMutex.Unlock()
	d.mutex.Lock()
	d.syncs++
	err := d.usableLocked()
	if struck := d.strikeLocked(syncing); struck != nil && err == nil {
		err = struck.err
	}
	d.mutex.Unlock()
	if err != nil {
		return err
	}
	return errors.Join(d.settle(), d.inner.Sync())
}

// settle moves the pending writes to the wrapped device. Reads see them there only after they are
// all there. The caller holds syncMutex.
func (d *Device) settle() error {
	d.mutex.Lock()
	pending := d.pending
	d.mutex.Unlock()
	if err := d.apply(pending); err != nil {
		return err
	}
	d.mutex.Lock()
	d.pending = slices.Clone(d.pending[len(pending):])
	d.mutex.Unlock()
	return nil
}

// apply writes extents to the wrapped device, in order. Those truncated meanwhile are left out.
func (d *Device) apply(extents []extent) error {
	if len(extents) == 0 {
		return nil
	}
	q, err := d.inner.NewQueue()
	if err != nil {
		return err
	}
	done := make([]*device.Request, 1)
	for _, e := range extents {
		r := &device.Request{Op: device.OpWrite, Address: e.address, Buffer: e.bytes}
		q.SubmitAndPoll([]*device.Request{r}, done, true)
		if r.Err != nil && !errors.Is(r.Err, device.ErrTruncated) {
			return errors.Join(fmt.Errorf("cannot settle a pending write: %w", r.Err), q.Close())
		}
	}
	return q.Close()
}

// Truncate truncates the wrapped device at once.
func (d *Device) Truncate(begin uint64) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if err := d.usableLocked(); err != nil {
		return err
	}
	d.begin = max(d.begin, begin)
	d.pending = slices.DeleteFunc(slices.Clone(d.pending), func(e extent) bool { return e.address+uint64(len(e.bytes)) <= d.begin })
	return d.inner.Truncate(begin)
}

// Info is the wrapped device's.
func (d *Device) Info() device.Info {
	info := d.inner.Info()
	info.Reason = "with injected faults; " + info.Reason
	return info
}

// Close settles what is pending and closes the wrapped device. After a Crash it does nothing.
func (d *Device) Close() error {
	d.syncMutex.Lock()
	defer d.syncMutex.Unlock()
	d.mutex.Lock()
	done := d.closed || d.crashed
	d.closed = true
	d.mutex.Unlock()
	if done {
		return nil
	}
	return errors.Join(d.settle(), d.inner.Close())
}
