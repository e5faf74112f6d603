package open

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
	"github.com/pyropedb/pyrope/device/devicetest"
	"golang.org/x/sys/unix"
)

const (
	fullBlockBytes = 64 << 10
	fullBlocks     = 32                              // written in one batch
	fullRoomBytes  = fullBlocks * fullBlockBytes / 2 // what the disk holds at first
)

// TestDeviceFull fills a file system of a megabyte that only a process of its own sees.
func TestDeviceFull(t *testing.T) {
	if !devicetest.InProcess(t, unix.CLONE_NEWNS) {
		return
	}
	directory := t.TempDir()
	if resize := devicetest.MountSmall(t, directory, "1m"); resize != nil {
		writeUntilFull(t, directory, unix.ENOSPC, func() error { return resize("64m") }, func() error { return resize("1m") })
	}
}

// TestFilesFull fills files that may have a megabyte: it works where nobody may mount.
func TestFilesFull(t *testing.T) {
	if !devicetest.InProcess(t, 0) {
		return
	}
	writeUntilFull(t, t.TempDir(), unix.EFBIG, func() error { return devicetest.LimitFiles(unix.RLIM_INFINITY) }, func() error { return devicetest.LimitFiles(fullRoomBytes) })
}

// writeUntilFull has every sort of device that works in directory run out of space and get more.
func writeUntilFull(t *testing.T, directory string, want error, grow, shrink func() error) {
	for _, c := range candidates {
		t.Run(c.name, func(t *testing.T) {
			mustResize(t, grow)
			d, err := c.open(device.Options{Directory: directory, FileName: c.name, SegmentSizeBytes: 4 << 20, SectorSizeBytes: 4096})
			if c.name != "file" && (errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL)) {
				t.Logf("does not work here: %v", err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			mustResize(t, shrink)
			fillAndGrow(t, d, want, grow)
			if err := errors.Join(d.Truncate(4<<20), d.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

func mustResize(t *testing.T, resize func() error) {
	t.Helper()
	if err := resize(); err != nil {
		t.Fatalf("cannot change the room: %v", err)
	}
}

// fillAndGrow writes twice what there is room for: each write is complete or answers want, what was
// acknowledged reads back, and with more room those that failed succeed.
func fillAndGrow(t *testing.T, d device.Device, want error, grow func() error) {
	q, err := d.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	memory, area, err := aligned.Buffers(fullBlocks+1, fullBlockBytes, 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(q.Close(), aligned.Unmap(area)) }()
	requests := make([]*device.Request, fullBlocks)
	for i := range requests {
		for j := range memory[i] {
			memory[i][j] = byte(i + j>>8 + 1)
		}
		requests[i] = &device.Request{Op: device.OpWrite, Address: uint64(i) * fullBlockBytes, Buffer: memory[i]}
	}
	written, failed := carryOut(q, requests)
	if len(written) == 0 || len(failed) == 0 {
		t.Fatalf("%d writes succeeded and %d failed; the room is for about half of them", len(written), len(failed))
	}
	for _, r := range failed {
		if !errors.Is(r.Err, want) || !strings.Contains(r.Err.Error(), "write") {
			t.Errorf("a write to the full device at %d: moved %d, %v; want %v", r.Address, r.Transferred, r.Err, want)
		}
	}
	check := func(requests []*device.Request) {
		t.Helper()
		for _, w := range requests {
			r := &device.Request{Address: w.Address, Buffer: memory[fullBlocks]}
			if good, _ := carryOut(q, []*device.Request{r}); len(good) != 1 || !bytes.Equal(r.Buffer, w.Buffer) {
				t.Errorf("what was acknowledged at %d does not read back: %d bytes, %v", r.Address, r.Transferred, r.Err)
			}
		}
	}
	check(written)
	mustResize(t, grow)
	if _, failed = carryOut(q, failed); len(failed) != 0 {
		t.Errorf("with more room %d writes still fail: %v", len(failed), failed[0].Err)
	}
	if err := d.Sync(); err != nil {
		t.Error(err)
	}
	check(requests)
}

// carryOut submits requests and sorts them by their ends.
func carryOut(q device.Queue, requests []*device.Request) (whole, failed []*device.Request) {
	q.Submit(requests)
	done := make([]*device.Request, len(requests))
	for q.InFlight() > 0 {
		for _, r := range done[:q.Poll(done, true)] {
			if r.Err == nil && r.Transferred == len(r.Buffer) {
				whole = append(whole, r)
			} else {
				failed = append(failed, r)
			}
		}
	}
	return whole, failed
}
