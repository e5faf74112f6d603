package open

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
	"golang.org/x/sys/unix"
)

const (
	fullBlockBytes = 64 << 10
	fullBlocks     = 32                              // written in one batch
	fullRoomBytes  = fullBlocks * fullBlockBytes / 2 // what the disk holds at first
)

// TestDeviceFull runs itself in processes of their own, one with a file system of a megabyte that only
// it sees, one whose files may have a megabyte: the second works where nobody may mount.
func TestDeviceFull(t *testing.T) {
	const marker = "PYROPE_DEVICE_FULL"
	switch os.Getenv(marker) {
	case "mount":
		directory := t.TempDir()
		if !mountSmall(t, directory) {
			return
		}
		writeUntilFull(t, directory, unix.ENOSPC, func() {
			if err := unix.Mount("tmpfs", directory, "tmpfs", unix.MS_REMOUNT, "size=64m"); err != nil {
				t.Fatal(err)
			}
		}, func() {
			if err := unix.Mount("tmpfs", directory, "tmpfs", unix.MS_REMOUNT, "size=1m"); err != nil {
				t.Fatal(err)
			}
		})
	case "limit":
		signal.Ignore(unix.SIGXFSZ)
		limit := func(bytes uint64) {
			if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}); err != nil {
				t.Fatal(err)
			}
		}
		writeUntilFull(t, t.TempDir(), unix.EFBIG, func() { limit(unix.RLIM_INFINITY) }, func() { limit(fullRoomBytes) })
	default:
		for way, flags := range map[string]uintptr{"mount": syscall.CLONE_NEWNS, "limit": 0} {
			command := exec.Command(os.Args[0], "-test.run=^TestDeviceFull$", "-test.v")
			command.Env = append(os.Environ(), marker+"="+way)
			command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
			output, err := command.CombinedOutput()
			if flags != 0 && errors.Is(err, unix.EPERM) {
				t.Logf("a file system of one's own is forbidden here: %v", err)
				continue
			}
			if err != nil || !strings.Contains(string(output), "PASS") {
				t.Errorf("%s: %v\n%s", way, err, output)
			}
		}
	}
}

// mountSmall mounts a tmpfs of a megabyte in the process's own mount namespace, if that is allowed.
func mountSmall(t *testing.T, directory string) bool {
	t.Helper()
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if err == nil {
		err = unix.Mount("tmpfs", directory, "tmpfs", 0, "size=1m")
	}
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		t.Logf("mounting is forbidden here: %v", err)
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(directory, unix.MNT_DETACH) })
	return true
}

// writeUntilFull has every sort of device that works in directory run out of space and get more.
func writeUntilFull(t *testing.T, directory string, want error, grow, shrink func()) {
	for _, c := range candidates {
		t.Run(c.name, func(t *testing.T) {
			grow()
			d, err := c.open(device.Options{Directory: directory, FileName: c.name, SegmentSizeBytes: 4 << 20, SectorSizeBytes: 4096})
			if c.name != "file" && (errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL)) {
				t.Logf("does not work here: %v", err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			shrink()
			fillAndGrow(t, d, want, grow)
			if err := errors.Join(d.Truncate(4<<20), d.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// fillAndGrow writes twice what there is room for: each write is complete or answers want, what was
// acknowledged reads back, and with more room those that failed succeed.
func fillAndGrow(t *testing.T, d device.Device, want error, grow func()) {
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
	grow()
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
