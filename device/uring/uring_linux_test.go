package uring_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
	"github.com/pyropedb/pyrope/device/devicetest"
	"github.com/pyropedb/pyrope/device/uring"
	"golang.org/x/sys/unix"
)

// requireRings ends the test where the system forbids io_uring: the refusal must then name a cause.
func requireRings(t *testing.T) bool {
	t.Helper()
	d, err := uring.Open(device.Options{Directory: t.TempDir(), IOContexts: 1, QueueDepth: 4})
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
		if !strings.Contains(err.Error(), "seccomp") && !strings.Contains(err.Error(), "io_uring_disabled") {
			t.Errorf("the refusal names no cause: %v", err)
		}
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	return true
}

func TestDevice(t *testing.T) {
	if !requireRings(t) {
		return
	}
	for name, o := range map[string]device.Options{
		"defaults":     {},
		"one ring":     {IOContexts: 1},
		"drainers":     {CompletionThreads: 2},
		"throttled":    {IOContexts: 3, QueueDepth: 16, ThrottleLimit: 4},
		"large sector": {SectorSizeBytes: 4096},
	} {
		t.Run(name, func(t *testing.T) {
			devicetest.Run(t, devicetest.Config{Open: uring.Open, Options: o, Reopens: true, AllocatesNothing: true, HasEventFD: true})
		})
	}
}

// TestLowMemlockLimit opens a device in a process that may lock 64 KiB, as containers often may.
func TestLowMemlockLimit(t *testing.T) {
	if !requireRings(t) {
		return
	}
	if !devicetest.InProcess(t, 0) {
		return
	}
	devicetest.LimitLockedMemory(t, 64<<10)
	d, err := uring.Open(device.Options{Directory: t.TempDir(), IOContexts: 4, QueueDepth: 4096})
	if err != nil {
		t.Fatal(err)
	}
	if info := d.Info(); info.InFlightLimit < 4 || info.Reason == "" {
		t.Errorf("Info is %+v", info)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// TestRegistrationBeyondTheLimit registers more than a process without privileges may pin: it is told
// so by a zero, and reads work all the same.
func TestRegistrationBeyondTheLimit(t *testing.T) {
	if !requireRings(t) {
		return
	}
	if !devicetest.InProcess(t, 0) {
		return
	}
	devicetest.LimitLockedMemory(t, 64<<10)
	if !devicetest.DropPrivileges(t) {
		return
	}
	d, err := uring.Open(device.Options{Directory: t.TempDir(), IOContexts: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	q, err := d.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	buffers, area, err := aligned.Buffers(2, 64<<10, 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = aligned.Unmap(area) }()
	if number := q.(device.Registrar).Register(area); number != 0 {
		t.Errorf("128 KiB were registered as %d, where 64 may be", number)
	}
	done := make([]*device.Request, 1)
	for i, op := range []device.Op{device.OpWrite, device.OpRead} {
		r := &device.Request{Op: op, Buffer: buffers[i]}
		if n := q.SubmitAndPoll([]*device.Request{r}, done, true); n != 1 || r.Err != nil || r.Transferred != 64<<10 {
			t.Errorf("%s: %d back, moved %d, %v", op, n, r.Transferred, r.Err)
		}
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
}

// TestKernelErrorIsReported writes to a segment beyond what a file may hold.
func TestKernelErrorIsReported(t *testing.T) {
	if !requireRings(t) {
		return
	}
	d, err := uring.Open(device.Options{Directory: t.TempDir(), SegmentSizeBytes: 1 << 46})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	q, err := d.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	buffers, area, err := aligned.Buffers(1, 4096, 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = aligned.Unmap(area) }()
	r := &device.Request{Op: device.OpWrite, Address: 1 << 45, Buffer: buffers[0]}
	if n := q.SubmitAndPoll([]*device.Request{r}, make([]*device.Request, 1), true); n != 1 {
		t.Fatalf("%d requests came back", n)
	}
	if !errors.Is(r.Err, unix.EFBIG) && !errors.Is(r.Err, unix.EINVAL) {
		t.Errorf("a write at 32 TiB of a file: %v", r.Err)
	}
}
