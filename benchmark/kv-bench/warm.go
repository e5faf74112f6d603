package main

import (
	"fmt"
	"time"

	"github.com/pyropedb/pyrope/benchmark/report"
	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
)

const (
	warmReadBytes = 1 << 20 // a request of the warming pass
	warmDepth     = 8       // requests in flight
)

// warm reads what the device holds once, from end to end. Disks may keep a cache beneath that
// O_DIRECT does not pass; after this it is in the same state whatever ran before.
func (b *bench) warm(t *target) error {
	info := t.store.Info()
	began := time.Now()
	n, err := readThrough(t.device, info.BeginAddress, info.FlushedUntilAddress)
	if err != nil {
		return fmt.Errorf("cannot warm the device: %w", err)
	}
	seconds := time.Since(began).Seconds()
	b.printf("[warm]   read %s bytes of the device in %s s (%s MB/s)\n", report.N0(n), report.N2(seconds), report.N2(float64(n)/1e6/seconds))
	return nil
}

// readThrough reads the device's bytes from begin to end, in order, and returns how many came.
func readThrough(d device.Device, begin, end uint64) (uint64, error) {
	queue, err := d.NewQueue()
	if err != nil {
		return 0, err
	}
	sector := max(d.Info().SectorSizeBytes, 1)
	buffers, area, err := aligned.Buffers(warmDepth, warmReadBytes, max(sector, 512))
	if err != nil {
		_ = queue.Close()
		return 0, err
	}
	r := warmReader{queue: queue, next: begin &^ (warmReadBytes - 1), end: end}
	for _, buffer := range buffers {
		r.submit(&device.Request{Op: device.OpRead, Buffer: buffer})
	}
	total, err := r.drain()
	if closeErr := queue.Close(); err == nil {
		err = closeErr
	}
	return total, firstError(err, aligned.Unmap(area))
}

// warmReader is the state of one pass.
type warmReader struct {
	queue     device.Queue
	next, end uint64 // addresses yet to be asked for
}

// submit asks for the next piece with a free request; at the end it does nothing.
func (r *warmReader) submit(request *device.Request) {
	if r.next >= r.end {
		return
	}
	request.Address = r.next
	r.next += warmReadBytes
	r.queue.Submit([]*device.Request{request})
}

// drain collects pieces and asks for more until all have come; the first error ends the asking.
func (r *warmReader) drain() (total uint64, err error) {
	var done [warmDepth]*device.Request
	for r.queue.InFlight() > 0 {
		for _, request := range done[:r.queue.Poll(done[:], true)] {
			total += uint64(request.Transferred)
			if request.Err != nil {
				err = firstError(err, request.Err)
				r.end = 0
			}
			r.submit(request)
		}
	}
	return total, err
}

// firstError returns the first of two errors that is one.
func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
