package micro

import (
	"errors"
	"fmt"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
	"github.com/pyropedb/pyrope/device/open"
)

// BenchmarkDeviceReads submits reads of 512 bytes and polls for them, one or 64 at a time, on every device that the
// system has. The file is small: what is measured is the way to the kernel and back.
func BenchmarkDeviceReads(b *testing.B) {
	for _, c := range []struct {
		name    string
		kind    device.Kind
		options device.Options
	}{
		{"localmemory", device.LocalMemory, device.Options{InlineCompletion: true}},
		{"file", device.RandomAccess, device.Options{}},
		{"libaio", device.Native, device.Options{Backend: device.Libaio}},
		{"uring", device.Native, device.Options{Backend: device.Uring}},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.options.Directory, c.options.SegmentSizeBytes = b.TempDir(), 1<<20
			d, err := open.Device(c.kind, c.options)
			if err != nil {
				b.Logf("does not work here: %v", err)
				return
			}
			b.Cleanup(func() {
				if err := d.Close(); err != nil {
					b.Error(err)
				}
			})
			for _, together := range []int{1, 64} {
				b.Run(fmt.Sprintf("together=%d", together), func(b *testing.B) { submitReads(b, d, together) })
			}
		})
	}
}

// submitReads fills the first segment and reads it in blocks, so many at a time.
func submitReads(b *testing.B, d device.Device, together int) {
	const size, block = 1 << 20, 512
	q, err := d.NewQueue()
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := q.Close(); err != nil {
			b.Error(err)
		}
	}()
	blockBytes := max(block, d.Info().SectorSizeBytes)
	buffers, area, err := aligned.Buffers(together, blockBytes, 4096)
	content, contentArea, contentErr := aligned.Buffers(1, size, 4096)
	if err := errors.Join(err, contentErr); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = errors.Join(aligned.Unmap(area), aligned.Unmap(contentArea)) }()
	done := make([]*device.Request, together)
	write := &device.Request{Op: device.OpWrite, Buffer: content[0]}
	if q.SubmitAndPoll([]*device.Request{write}, done, true) != 1 || write.Err != nil {
		b.Fatalf("cannot fill the device: %v", write.Err)
	}
	requests := make([]*device.Request, together)
	for i := range requests {
		requests[i] = &device.Request{Op: device.OpRead, Buffer: buffers[i]}
	}
	next := 0
	m := startMeter(b)
	for b.Loop() {
		for _, r := range requests {
			r.Address = uint64(next)
			if next += 37 * blockBytes; next >= size {
				next -= size
			}
		}
		back := q.SubmitAndPoll(requests, done, true)
		for back < together {
			back += q.Poll(done, true)
		}
		for _, r := range requests {
			if r.Err != nil || r.Transferred != blockBytes {
				b.Fatalf("a read at %d moved %d bytes: %v", r.Address, r.Transferred, r.Err)
			}
		}
	}
	m.report(uint64(b.N) * uint64(together))
}
