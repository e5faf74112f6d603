package libaio_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/devicetest"
	"github.com/pyropedb/pyrope/device/libaio"
	"golang.org/x/sys/unix"
)

func TestDevice(t *testing.T) {
	for name, o := range map[string]device.Options{
		"defaults":     {},
		"one context":  {IOContexts: 1},
		"drainers":     {CompletionThreads: 2},
		"throttled":    {IOContexts: 3, QueueDepth: 16, ThrottleLimit: 4},
		"large sector": {SectorSizeBytes: 4096},
	} {
		t.Run(name, func(t *testing.T) {
			devicetest.Run(t, devicetest.Config{Open: libaio.Open, Options: o, Reopens: true, AllocatesNothing: true, HasEventFD: true})
		})
	}
}

func open(t *testing.T, o device.Options) device.Device {
	t.Helper()
	o.Directory = t.TempDir()
	d, err := libaio.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestInfo(t *testing.T) {
	got := open(t, device.Options{IOContexts: 3, QueueDepth: 16, ThrottleLimit: 10}).Info()
	if got.Kind != "libaio" || got.RingCount != 3 || got.InFlightLimit != 10 || got.SectorSizeBytes < 512 {
		t.Errorf("Info is %+v", got)
	}
}

// TestContextsShrink asks for more than any system's default limit holds.
func TestContextsShrink(t *testing.T) {
	d := open(t, device.Options{IOContexts: 64, QueueDepth: 32768})
	info := d.Info()
	if !strings.Contains(info.Reason, "fs.aio-max-nr") || !strings.Contains(info.Reason, "instead of 64 of 32768") {
		t.Errorf("the reason does not tell of smaller contexts: %q", info.Reason)
	}
	if info.InFlightLimit >= 64*32768 || info.InFlightLimit < 4 {
		t.Errorf("the limit is %d", info.InFlightLimit)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]device.Options{
		"ThrottleLimit is 17; it must not exceed IOContexts × QueueDepth (2 × 8 = 16)": {IOContexts: 2, QueueDepth: 8, ThrottleLimit: 17},
		"ThrottleLimit is 1; it must be 0 or at least IOContexts (2)":                  {IOContexts: 2, QueueDepth: 8, ThrottleLimit: 1},
		"QueueDepth is -1": {QueueDepth: -1},
	} {
		o.Directory = t.TempDir()
		if _, err := libaio.Open(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("options %+v: error %v, want %q", o, err, want)
		}
	}
}

// TestKernelErrorIsReported writes to a segment beyond what a file may hold.
func TestKernelErrorIsReported(t *testing.T) {
	d := open(t, device.Options{SegmentSizeBytes: 1 << 46})
	q, err := d.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	buffers := newBuffers(t, 1, 4096)
	r := &device.Request{Op: device.OpWrite, Address: 1 << 45, Buffer: buffers[0]}
	done := make([]*device.Request, 1)
	if n := q.SubmitAndPoll([]*device.Request{r}, done, true); n != 1 {
		t.Fatalf("%d requests came back", n)
	}
	if !errors.Is(r.Err, unix.EFBIG) && !errors.Is(r.Err, unix.EINVAL) {
		t.Errorf("a write at 32 TiB of a file: %v", r.Err)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
}
