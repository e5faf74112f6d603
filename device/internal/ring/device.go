package ring

import (
	"errors"
	"sync"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/internal/segment"
)

// Device is a set of rings over segment files.
type Device struct {
	info     device.Info
	files    *segment.Files
	rings    []*ring
	drainers sync.WaitGroup

	mutex  sync.Mutex // binds queues one at a time, and closes once
	closed bool       // guarded by mutex
}

// newDevice spreads the in-flight limit over the rings and starts drainers for the first of them.
func newDevice(info device.Info, files *segment.Files, kernels []Kernel, drainers int) *Device {
	d := &Device{info: info, files: files}
	for i, kernel := range kernels {
		limit := info.InFlightLimit / len(kernels)
		if i < info.InFlightLimit%len(kernels) {
			limit++
		}
		r := newRing(info.Kind, info.SectorSizeBytes, files, kernel, limit)
		d.rings = append(d.rings, r)
		if i < drainers {
			r.drained, r.leading = true, true
			d.drainers.Go(r.drain)
		}
	}
	return d
}

// NewQueue binds a queue to the ring that has the fewest.
func (d *Device) NewQueue() (device.Queue, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.closed {
		return nil, device.ErrClosed
	}
	var best *ring
	fewest := 0
	for _, r := range d.rings {
		r.mutex.Lock()
		if best == nil || r.queues < fewest {
			best, fewest = r, r.queues
		}
		r.mutex.Unlock()
	}
	best.mutex.Lock()
	defer best.mutex.Unlock()
	best.queues++
	q := &Queue{ring: best}
	q.ready.L = &best.mutex
	return q, nil
}

// Sync makes completed writes durable.
func (d *Device) Sync() error { return d.files.Sync() }

// Truncate unlinks the segments below begin.
func (d *Device) Truncate(begin uint64) error { return d.files.Truncate(begin) }

// Info says what the device is.
func (d *Device) Info() device.Info { return d.info }

// Close finishes what is in flight, frees the rings and closes the files.
func (d *Device) Close() error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	for _, r := range d.rings {
		r.close()
	}
	d.drainers.Wait()
	var failures []error
	for _, r := range d.rings {
		failures = append(failures, r.release())
	}
	d.files.Close()
	return errors.Join(failures...)
}
