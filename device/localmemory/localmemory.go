// Package localmemory is the device that keeps segments in RAM, off the Go heap. It shows what a
// store could do on an infinitely fast disk, and lets tests run without one.
//
// With inline completion a request is a copy within Submit: no lock is shared, no other goroutine
// is involved. Otherwise a few workers share the copying with whoever submits.
package localmemory

import (
	"runtime"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/internal/list"
	"github.com/pyropedb/pyrope/device/internal/worker"
)

const kind = "localmemory"

// Device keeps its segments in RAM.
type Device struct {
	info  device.Info
	store *store
	pool  *worker.Pool // nil with inline completion
}

// Open returns an empty device. Of the options it uses SegmentSizeBytes, SectorSizeBytes,
// InlineCompletion, CompletionThreads (workers) and ThrottleLimit (at most that many workers).
func Open(o device.Options) (*Device, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.WithDefaults()
	d := &Device{store: newStore(o.SegmentSizeBytes), info: device.Info{
		Kind: kind, Reason: "asked for", SectorSizeBytes: max(o.SectorSizeBytes, 1), SegmentSizeBytes: o.SegmentSizeBytes,
	}}
	if o.InlineCompletion {
		return d, nil
	}
	workers := o.CompletionThreads
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if o.ThrottleLimit > 0 {
		workers = min(workers, o.ThrottleLimit)
	}
	d.info.InFlightLimit, d.info.RingCount = workers, workers
	d.pool = worker.NewPool(kind, d.info.SectorSizeBytes, workers, func() worker.Mover {
		return &mover{store: d.store, guard: d.store.newGuard()}
	})
	return d, nil
}

// mover copies for one goroutine of the pool.
type mover struct {
	store *store
	guard *guard
}

// Try implements worker.Mover: a copy waits for nobody.
func (m *mover) Try(r *device.Request) (moved int, done bool, err error) {
	moved, err = m.Move(r)
	return moved, true, err
}

// Move implements worker.Mover.
func (m *mover) Move(r *device.Request) (int, error) {
	m.guard.Lock()
	defer m.guard.Unlock()
	return m.store.moveGuarded(r)
}

// Close implements worker.Mover.
func (m *mover) Close() { m.store.dropGuard(m.guard) }

// NewQueue returns a queue that copies within Submit, or one served by the workers.
func (d *Device) NewQueue() (device.Queue, error) {
	if d.pool == nil {
		if d.store.current.Load().closed {
			return nil, device.ErrClosed
		}
		return &inlineQueue{device: d, guard: d.store.newGuard()}, nil
	}
	q, err := d.pool.NewQueue()
	if err != nil {
		return nil, err
	}
	return q, nil
}

// Sync has nothing to do: the bytes live as long as the process.
func (d *Device) Sync() error {
	if d.store.current.Load().closed {
		return device.ErrClosed
	}
	return nil
}

// Truncate frees the segments below begin.
func (d *Device) Truncate(begin uint64) error { return d.store.truncate(begin) }

// Info says what the device is.
func (d *Device) Info() device.Info { return d.info }

// Close finishes what is in flight and frees everything.
func (d *Device) Close() error {
	if d.pool != nil {
		d.pool.Close()
	}
	return d.store.close()
}

// inlineQueue completes requests within Submit.
type inlineQueue struct {
	device *Device
	guard  *guard
	done   list.Requests
	closed bool
}

// Submit copies. The guard is held for the batch.
func (q *inlineQueue) Submit(batch []*device.Request) {
	q.guard.Lock()
	for _, r := range batch {
		r.Transferred, r.Err = 0, nil
		if err := q.moveGuarded(r); err != nil {
			r.Err = device.Errorf(kind, r, err)
		}
		q.done.Push(r)
	}
	q.guard.Unlock()
}

func (q *inlineQueue) moveGuarded(r *device.Request) error {
	if q.closed {
		return device.ErrClosed
	}
	if q.device.info.SectorSizeBytes > 1 {
		if err := device.CheckAlignment(r, q.device.info.SectorSizeBytes); err != nil {
			return err
		}
	}
	var err error
	r.Transferred, err = q.device.store.moveGuarded(r)
	return err
}

func (q *inlineQueue) Poll(done []*device.Request, _ bool) int { return q.done.PopInto(done) }

func (q *inlineQueue) SubmitAndPoll(batch, done []*device.Request, wait bool) int {
	q.Submit(batch)
	return q.Poll(done, wait)
}

func (q *inlineQueue) InFlight() int { return q.done.Len() }

func (q *inlineQueue) EventFD() int { return -1 }

func (q *inlineQueue) Close() error {
	if !q.closed {
		q.closed = true
		q.device.store.dropGuard(q.guard)
	}
	return nil
}
