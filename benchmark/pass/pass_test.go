package pass_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/pyropedb/pyrope/benchmark/pass"
	"github.com/pyropedb/pyrope/benchmark/program"
	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/faultdev"
	"github.com/pyropedb/pyrope/device/localmemory"
)

// openMemory returns a device in RAM.
func openMemory(t *testing.T) device.Device {
	t.Helper()
	d, err := localmemory.Open(device.Options{SegmentSizeBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// fill writes into every byte what its address says.
func fill(block []byte, address uint64) {
	for i := range block {
		block[i] = byte((address + uint64(i)) / 512)
	}
}

func TestWritesAndReadsEveryByteOnce(t *testing.T) {
	d := openMemory(t)
	const begin, end = 4096, 300_000 // the last block is shorter
	write := pass.Pass{Device: d, Op: device.OpWrite, Begin: begin, End: end, BlockBytes: 8192, Fill: fill, Interrupted: new(atomic.Bool)}
	if n, err := write.Run(); err != nil || n != end-begin {
		t.Fatalf("%d bytes written, %v", n, err)
	}
	seen := make([]int, end)
	var told []uint64
	read := pass.Pass{Device: d, Op: device.OpRead, Begin: begin, End: end, BlockBytes: 10_000, Interrupted: new(atomic.Bool)}
	read.Progress = func(moved uint64) { told = append(told, moved) }
	read.Check = func(r *device.Request) error {
		for i, b := range r.Buffer[:r.Transferred] {
			if b != byte((r.Address+uint64(i))/512) {
				return fmt.Errorf("byte %d is %d", r.Address+uint64(i), b)
			}
			seen[r.Address+uint64(i)]++
		}
		return r.Err
	}
	if n, err := read.Run(); err != nil || n != end-begin {
		t.Fatalf("%d bytes read, %v", n, err)
	}
	for i, n := range seen {
		if want := min(1, i/begin); n != want {
			t.Fatalf("byte %d was read %d times, want %d", i, n, want)
		}
	}
	if len(told) == 0 || !slices.IsSorted(told) || told[len(told)-1] != end-begin {
		t.Errorf("progress was told as %v", told)
	}
}

func TestNothingToMove(t *testing.T) {
	p := pass.Pass{Device: openMemory(t), Op: device.OpRead, Begin: 4096, End: 4096, BlockBytes: 4096, Interrupted: new(atomic.Bool)}
	if n, err := p.Run(); n != 0 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestInterruptEndsThePass(t *testing.T) {
	var interrupted atomic.Bool
	interrupted.Store(true)
	p := pass.Pass{Device: openMemory(t), Op: device.OpWrite, End: 1 << 20, BlockBytes: 4096, Fill: fill, Interrupted: &interrupted}
	if n, err := p.Run(); n != 0 || !errors.Is(err, program.ErrInterrupted) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestFailureEndsThePass(t *testing.T) {
	d := faultdev.Wrap(openMemory(t), faultdev.Options{})
	d.FailNth(device.OpWrite, 20, faultdev.ErrInjected)
	p := pass.Pass{Device: d, Op: device.OpWrite, End: 1 << 20, BlockBytes: 4096, Fill: fill, Interrupted: new(atomic.Bool)}
	if n, err := p.Run(); n >= 1<<20 || !errors.Is(err, faultdev.ErrInjected) {
		t.Errorf("%d bytes, %v", n, err)
	}
}
