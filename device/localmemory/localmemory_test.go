package localmemory_test

import (
	"runtime"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
	"github.com/pyropedb/pyrope/device/devicetest"
	"github.com/pyropedb/pyrope/device/localmemory"
)

func openMemory(o device.Options) (device.Device, error) { return localmemory.Open(o) }

func TestDevice(t *testing.T) {
	for name, c := range map[string]devicetest.Config{
		"inline":         {Options: device.Options{InlineCompletion: true}},
		"inline sectors": {Options: device.Options{InlineCompletion: true, SectorSizeBytes: 512}},
		"workers":        {Options: device.Options{CompletionThreads: 3}, HasEventFD: runtime.GOOS == "linux"},
		"throttled":      {Options: device.Options{ThrottleLimit: 1, SectorSizeBytes: 64}, HasEventFD: runtime.GOOS == "linux"},
	} {
		t.Run(name, func(t *testing.T) {
			c.Open, c.AllocatesNothing = openMemory, true
			devicetest.Run(t, c)
		})
	}
}

func TestWritesIntoManySegmentsWhileTruncating(t *testing.T) {
	d, err := localmemory.Open(device.Options{SegmentSizeBytes: 4096, InlineCompletion: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	written := make(chan uint64, 16)
	go func() {
		defer close(written)
		q, err := d.NewQueue()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = q.Close() }()
		buffer, done := make([]byte, 4096), make([]*device.Request, 1)
		for i := range uint64(500) {
			r := &device.Request{Op: device.OpWrite, Address: i*4096 + 100, Buffer: buffer}
			if n := q.SubmitAndPoll([]*device.Request{r}, done, true); n != 1 || r.Err != nil {
				t.Errorf("write %d: %d back, %v", i, n, r.Err)
				return
			}
			written <- i
		}
	}()
	for i := range written {
		if err := d.Truncate(i * 4096); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkInlineRead512(b *testing.B) {
	d, err := localmemory.Open(device.Options{SegmentSizeBytes: 256 << 20, InlineCompletion: true})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	q, err := d.NewQueue()
	if err != nil {
		b.Fatal(err)
	}
	const batch = 64
	buffers, area, err := aligned.Buffers(batch, 512, 512)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = aligned.Unmap(area) }()
	requests, done := make([]*device.Request, batch), make([]*device.Request, batch)
	whole := make([]byte, 64<<20)
	q.SubmitAndPoll([]*device.Request{{Op: device.OpWrite, Buffer: whole}}, done, true)
	x := uint64(1)
	for i := range requests {
		requests[i] = &device.Request{Buffer: buffers[i]}
	}
	b.ReportAllocs()
	for i := 0; i < b.N; i += batch {
		for _, r := range requests {
			x = x*6364136223846793005 + 1442695040888963407
			r.Address = x >> 33 & (64<<20 - 1) &^ 511
		}
		if n := q.SubmitAndPoll(requests, done, true); n != batch {
			b.Fatal(n)
		}
	}
}
