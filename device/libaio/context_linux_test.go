package libaio

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
	"github.com/pyropedb/pyrope/device/internal/ring"
	"golang.org/x/sys/unix"
)

func openContext(t *testing.T, depth int) *context {
	t.Helper()
	c, err := newContext(depth, new(atomic.Int64))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func openTestFile(t *testing.T) *os.File {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(t.TempDir(), "file"), os.O_RDWR|os.O_CREATE|unix.O_DIRECT, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

// await reaps count completions.
func await(t *testing.T, c *context, count int) map[uint32]int64 {
	t.Helper()
	results := make(map[uint32]int64)
	buffer := make([]ring.Completion, 3)
	for deadline := time.Now().Add(time.Minute); len(results) < count; {
		n := c.Reap(buffer)
		for _, completion := range buffer[:n] {
			results[completion.Slot] = completion.Result
		}
		if n == 0 && len(results) < count {
			if err := c.Wait(1); err != nil {
				t.Fatal(err)
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("only %v came back, want %d", results, count)
		}
	}
	return results
}

func TestOperationsRoundTripThroughTheMappedRing(t *testing.T) {
	const depth = 16
	c, file := openContext(t, depth), openTestFile(t)
	if c.header == nil {
		t.Error("the completion ring's layout is not the one we know")
	}
	buffers, area, err := aligned.Buffers(2*depth, 4096, 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = aligned.Unmap(area) }()
	for round := range 20 { // so that the ring wraps
		for _, op := range []device.Op{device.OpWrite, device.OpRead} {
			for slot := range uint32(depth) {
				memory := buffers[int(slot)+depth*int(op)]
				if op == device.OpWrite {
					memory[0] = byte(int(slot) + round)
				}
				c.Stage(ring.Operation{Slot: slot, Op: op, Descriptor: int(file.Fd()), Offset: int64(slot) * 4096, Memory: memory})
			}
			if err := c.Submit(false); err != nil {
				t.Fatal(err)
			}
			for slot, result := range await(t, c, depth) {
				if result != 4096 {
					t.Fatalf("%s of slot %d: %d", op, slot, result)
				}
			}
		}
		for slot := range depth {
			if buffers[slot][0] != byte(slot+round) {
				t.Fatalf("round %d: slot %d reads %d", round, slot, buffers[slot][0])
			}
		}
	}
}

// TestRefusedOperationsAreReported uses a descriptor that is no file: the kernel refuses reads in
// Submit, and writes when the writer gets there.
func TestRefusedOperationsAreReported(t *testing.T) {
	c := openContext(t, 8)
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := c.Announce(fd); err != nil {
		t.Fatal(err)
	}
	memory := make([]byte, 512)
	bad := 1 << 20
	for slot := range uint32(4) {
		c.Stage(ring.Operation{Slot: slot, Op: device.OpRead, Descriptor: bad, Memory: memory})
	}
	if err := c.Submit(false); err != nil {
		t.Fatal(err)
	}
	if got := c.Refused(); len(got) != 4 || got[3] != (ring.Completion{Slot: 3, Result: -int64(unix.EBADF)}) {
		t.Errorf("refused are %v", got)
	}
	for slot := uint32(4); slot < 8; slot++ {
		c.Stage(ring.Operation{Slot: slot, Op: device.OpWrite, Descriptor: bad, Memory: memory})
	}
	if err := c.Submit(false); err != nil || len(c.Refused()) != 0 {
		t.Errorf("Submit without reads: %v, refused %v", err, c.Refused())
	}
	for slot, result := range await(t, c, 4) {
		if slot < 4 || result != -int64(unix.EBADF) {
			t.Errorf("slot %d ends with %d", slot, result)
		}
	}
	var counter [8]byte
	if _, err := unix.Read(fd, counter[:]); err != nil {
		t.Errorf("the refusal was not announced: %v", err)
	}
}

func TestExplainNamesTheLimit(t *testing.T) {
	text := explain(unix.EAGAIN).Error()
	limit, err := os.ReadFile("/proc/sys/fs/aio-max-nr")
	if err == nil && !strings.Contains(text, string(limit[:len(limit)-1])) {
		t.Errorf("%q does not name the limit %s", text, limit)
	}
	if explain(unix.EIO) != error(unix.EIO) {
		t.Error("EIO is explained")
	}
}
