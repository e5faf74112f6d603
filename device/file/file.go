// Package file is the device for every platform: segment files read with pread and written with
// pwrite, through the system's page cache, by a few goroutines.
package file

import (
	"fmt"
	"io"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/internal/segment"
	"github.com/pyropedb/pyrope/device/internal/worker"
)

const (
	kind           = "file"
	defaultWorkers = 8
)

// Device reads and writes segment files.
type Device struct {
	info  device.Info
	files *segment.Files
	pool  *worker.Pool
}

// Open opens the segment files in o.Directory. Of the options it uses Directory, FileName, Fresh,
// SegmentSizeBytes, SectorSizeBytes, CompletionThreads (workers) and ThrottleLimit (at most that many workers).
func Open(o device.Options) (*Device, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.WithDefaults()
	files, err := segment.Open(o, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot open the file device: %w", err)
	}
	workers := o.CompletionThreads
	if workers == 0 {
		workers = defaultWorkers
	}
	if o.ThrottleLimit > 0 {
		workers = min(workers, o.ThrottleLimit)
	}
	d := &Device{files: files, info: device.Info{
		Kind: kind, Reason: "asked for", SectorSizeBytes: max(o.SectorSizeBytes, 1),
		SegmentSizeBytes: o.SegmentSizeBytes, InFlightLimit: workers, RingCount: workers,
	}}
	d.pool = worker.NewPool(kind, d.info.SectorSizeBytes, workers, d.execute)
	return d, nil
}

// execute carries a request out segment by segment, until one comes short (D3, D4).
func (d *Device) execute(_ int, r *device.Request) (moved int, err error) {
	for first := true; first || moved < len(r.Buffer); first = false {
		address := r.Address + uint64(moved)
		offset, fit := d.files.Split(address, len(r.Buffer)-moved)
		n, err := d.move(r.Op, address, offset, r.Buffer[moved:moved+fit])
		moved += n
		if err != nil || n < fit {
			return moved, err
		}
	}
	return moved, nil
}

// move carries one piece out within its segment.
func (d *Device) move(op device.Op, address uint64, offset int64, piece []byte) (int, error) {
	file, err := d.files.Acquire(address, op)
	if err != nil || file == nil {
		return 0, err
	}
	defer file.Release()
	if op == device.OpRead {
		n, err := file.Handle().ReadAt(piece, offset)
		if err == io.EOF {
			err = nil
		}
		return n, err
	}
	n, err := file.Handle().WriteAt(piece, offset)
	file.MarkDirty()
	return n, err
}

// NewQueue returns a queue served by the workers.
func (d *Device) NewQueue() (device.Queue, error) {
	q, err := d.pool.NewQueue()
	if err != nil {
		return nil, err
	}
	return q, nil
}

// Sync makes completed writes durable.
func (d *Device) Sync() error { return d.files.Sync() }

// Truncate unlinks the segments below begin.
func (d *Device) Truncate(begin uint64) error { return d.files.Truncate(begin) }

// Info says what the device is.
func (d *Device) Info() device.Info { return d.info }

// Close finishes what is in flight and closes the files.
func (d *Device) Close() error {
	d.pool.Close()
	d.files.Close()
	return nil
}
