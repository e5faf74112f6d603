package devicetest

import (
	"errors"
	"testing"

	"github.com/pyropedb/pyrope/device"
)

func isTruncated(err error) bool { return errors.Is(err, device.ErrTruncated) }

// testQueueClose closes a queue with reads in flight: they are settled when Close returns, later
// ones are refused, and another queue goes on.
func testQueueClose(t *testing.T, c Config) {
	f := open(t, c, func(o *device.Options) { o.IOContexts, o.QueueDepth, o.ThrottleLimit = 1, 16, 0 })
	const length = 4 * segmentBytes
	f.fill(length)
	q, other := f.queue(), f.queue()
	requests := f.randomReads(200, length, 1)
	others := f.randomReads(50, length, 2)
	q.Submit(requests)
	other.Submit(others)
	f.closeQueue(q)
	for _, r := range requests {
		f.checkRead(r)
	}
	f.collect(other, len(others), f.checkRead)
	f.closeQueue(other)
}

// testDeviceClose closes the device with reads in flight: they come back, later ones are refused.
func testDeviceClose(t *testing.T, c Config) {
	f := open(t, c, func(o *device.Options) { o.IOContexts, o.QueueDepth, o.ThrottleLimit = 1, 16, 0 })
	const length = 4 * segmentBytes
	f.fill(length)
	q := f.queue()
	requests := f.randomReads(200, length, 1)
	q.Submit(requests)
	f.close()
	f.collect(q, len(requests), f.checkRead)

	late := requests[0]
	f.wantError(f.do(q, device.OpRead, late.Address, late.Buffer), device.ErrClosed)
	if _, err := f.device.NewQueue(); !errors.Is(err, device.ErrClosed) {
		t.Errorf("NewQueue of a closed device: %v", err)
	}
	if err := f.device.Sync(); !errors.Is(err, device.ErrClosed) {
		t.Errorf("Sync of a closed device: %v", err)
	}
	if err := f.device.Truncate(length); !errors.Is(err, device.ErrClosed) {
		t.Errorf("Truncate of a closed device: %v", err)
	}
	if err := f.device.Close(); err != nil {
		t.Errorf("second Close of the device: %v", err)
	}
	f.closeQueue(q)
}
