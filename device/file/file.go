// Package file is the device for every platform: segment files read with pread and written with
// pwrite, through the system's page cache. Where the system can say so (Linux), a submitter reads what
// the page cache holds by itself; the rest is for a few goroutines.
package file

import (
	"fmt"
	"sync/atomic"

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
	// mustWait is set once the system or the file system does not know reads that do not wait.
	mustWait atomic.Bool
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
		SegmentSizeBytes: o.SegmentSizeBytes, FileName: o.FileName, InFlightLimit: workers, RingCount: workers,
	}}
	d.pool = worker.NewPool(kind, d.info.SectorSizeBytes, workers, func() worker.Mover { return &mover{device: d} })
	return d, nil
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
