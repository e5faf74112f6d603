// Package null is the device that keeps nothing: writes succeed at once, and every read comes back
// with zero bytes, as beyond the end (D4). It bounds from above what a store can do whose data never returns.
package null

import (
	"sync/atomic"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/internal/list"
)

const kind = "null"

// Device keeps nothing.
type Device struct {
	sectorSizeBytes  int
	segmentSizeBytes uint64
	begin            atomic.Uint64 // addresses below are truncated; only grows
	closed           atomic.Bool
}

// Open returns a null device. Of the options it uses SegmentSizeBytes and SectorSizeBytes.
func Open(o device.Options) (*Device, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.WithDefaults()
	return &Device{sectorSizeBytes: max(o.SectorSizeBytes, 1), segmentSizeBytes: o.SegmentSizeBytes}, nil
}

// NewQueue returns a queue whose requests complete within Submit.
func (d *Device) NewQueue() (device.Queue, error) {
	if d.closed.Load() {
		return nil, device.ErrClosed
	}
	return &queue{device: d}, nil
}

// Sync has nothing to do.
func (d *Device) Sync() error {
	if d.closed.Load() {
		return device.ErrClosed
	}
	return nil
}

// Truncate makes requests below begin fail.
func (d *Device) Truncate(begin uint64) error {
	if d.closed.Load() {
		return device.ErrClosed
	}
	for {
		old := d.begin.Load()
		if begin <= old || d.begin.CompareAndSwap(old, begin) {
			return nil
		}
	}
}

// Info says what the device is.
func (d *Device) Info() device.Info {
	return device.Info{Kind: kind, Reason: "asked for", SectorSizeBytes: d.sectorSizeBytes, SegmentSizeBytes: d.segmentSizeBytes}
}

// Close refuses later requests.
func (d *Device) Close() error {
	d.closed.Store(true)
	return nil
}

type queue struct {
	device *Device
	done   list.Requests
	closed bool
}

func (q *queue) Submit(batch []*device.Request) {
	for _, r := range batch {
		r.Transferred, r.Err = 0, nil
		if err := q.check(r); err != nil {
			r.Err = device.Errorf(kind, r, err)
		} else if r.Op == device.OpWrite {
			r.Transferred = len(r.Buffer)
		}
		q.done.Push(r)
	}
}

func (q *queue) check(r *device.Request) error {
	switch {
	case q.closed || q.device.closed.Load():
		return device.ErrClosed
	case r.Address < q.device.begin.Load():
		return device.ErrTruncated
	default:
		return device.CheckAlignment(r, q.device.sectorSizeBytes)
	}
}

func (q *queue) Poll(done []*device.Request, _ bool) int { return q.done.PopInto(done) }

func (q *queue) SubmitAndPoll(batch, done []*device.Request, wait bool) int {
	q.Submit(batch)
	return q.Poll(done, wait)
}

func (q *queue) InFlight() int { return q.done.Len() }

func (q *queue) EventFD() int { return -1 }

func (q *queue) Close() error {
	q.closed = true
	return nil
}
