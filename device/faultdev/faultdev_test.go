package faultdev_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
	"github.com/pyropedb/pyrope/device/devicetest"
	"github.com/pyropedb/pyrope/device/faultdev"
	"github.com/pyropedb/pyrope/device/file"
	"github.com/pyropedb/pyrope/device/localmemory"
)

func TestDevice(t *testing.T) {
	for name, o := range map[string]faultdev.Options{
		"no faults": {}, "delay": {Delay: 200 * time.Microsecond}, "volatile": {Volatile: true},
	} {
		t.Run(name, func(t *testing.T) {
			devicetest.Run(t, devicetest.Config{HasEventFD: true, Open: func(options device.Options) (device.Device, error) {
				inner, err := localmemory.Open(options)
				if err != nil {
					return nil, err
				}
				return faultdev.Wrap(inner, o), nil
			}})
		})
	}
	t.Run("volatile files", func(t *testing.T) {
		devicetest.Run(t, devicetest.Config{HasEventFD: true, Open: func(options device.Options) (device.Device, error) {
			inner, err := file.Open(options)
			if err != nil {
				return nil, err
			}
			return faultdev.Wrap(inner, faultdev.Options{Volatile: true}), nil
		}})
	})
}

// bench is a wrapped device with one queue.
type bench struct {
	*testing.T
	inner  device.Device
	device *faultdev.Device
	queue  device.Queue
}

func newBench(t *testing.T, o faultdev.Options) *bench {
	t.Helper()
	inner, err := localmemory.Open(device.Options{InlineCompletion: true, SectorSizeBytes: 512, SegmentSizeBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inner.Close() })
	b := &bench{T: t, inner: inner}
	b.wrap(o)
	return b
}

func (b *bench) wrap(o faultdev.Options) {
	b.Helper()
	b.device = faultdev.Wrap(b.inner, o)
	q, err := b.device.NewQueue()
	if err != nil {
		b.Fatal(err)
	}
	b.queue = q
}

func (b *bench) do(op device.Op, address uint64, buffer []byte) *device.Request {
	b.Helper()
	r := &device.Request{Op: op, Address: address, Buffer: buffer}
	if n := b.queue.SubmitAndPoll([]*device.Request{r}, make([]*device.Request, 1), true); n != 1 {
		b.Fatalf("%d requests came back", n)
	}
	return r
}

// write writes length bytes of value.
func (b *bench) write(address uint64, length int, value byte) *device.Request {
	b.Helper()
	buffers, area, err := aligned.Buffers(1, length, 512)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = aligned.Unmap(area) })
	copy(buffers[0], bytes.Repeat([]byte{value}, length))
	return b.do(device.OpWrite, address, buffers[0])
}

// want checks the first byte of each sector from address 0; -1 stands for the end.
func (b *bench) want(sectors ...int) {
	b.Helper()
	buffers, area, err := aligned.Buffers(1, 512*len(sectors), 512)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = aligned.Unmap(area) }()
	r := b.do(device.OpRead, 0, buffers[0])
	if r.Err != nil {
		b.Fatal(r.Err)
	}
	for i, want := range sectors {
		got := -1
		if i*512 < r.Transferred {
			got = int(buffers[0][i*512])
		}
		if got != want {
			b.Fatalf("sector %d holds %d, want %d (of %v)", i, got, want, sectors)
		}
	}
}

func TestFailNth(t *testing.T) {
	own := errors.New("worn out")
	b := newBench(t, faultdev.Options{})
	b.write(0, 1024, 1)
	b.device.FailNth(device.OpRead, 2, nil)
	b.device.FailNth(device.OpWrite, 1, own)
	buffers, area, err := aligned.Buffers(1, 512, 512)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = aligned.Unmap(area) }()
	for i, want := range []error{nil, faultdev.ErrInjected, nil} {
		if r := b.do(device.OpRead, 0, buffers[0]); !errors.Is(r.Err, want) {
			t.Errorf("read %d: %v, want %v", i+1, r.Err, want)
		}
	}
	if r := b.write(0, 1024, 2); !errors.Is(r.Err, own) {
		t.Errorf("write: %v, want %v", r.Err, own)
	}
	b.want(1, 1, -1)
	b.write(0, 1024, 3)
	b.want(3, 3, -1)
	if reads, writes, syncs := b.device.Counts(); reads != 5 || writes != 3 || syncs != 0 {
		t.Errorf("counts are %d, %d, %d", reads, writes, syncs)
	}
}

func TestTornWrite(t *testing.T) {
	for _, volatile := range []bool{false, true} {
		b := newBench(t, faultdev.Options{Volatile: volatile})
		b.write(0, 2048, 1)
		b.device.TearNthWrite(1, 1500) // two sectors and a part of the third
		if r := b.write(0, 2048, 2); !errors.Is(r.Err, faultdev.ErrTorn) || len(r.Buffer) != 2048 {
			t.Errorf("torn write: %v, buffer of %d", r.Err, len(r.Buffer))
		}
		b.want(2, 2, 1, 1, -1)
		b.device.TearNthWrite(1, 100) // nothing of it
		if r := b.write(0, 512, 3); !errors.Is(r.Err, faultdev.ErrTorn) {
			t.Errorf("torn write: %v", r.Err)
		}
		b.want(2, 2, 1, 1, -1)
	}
}

func TestCrashForgetsWhatWasNotSynced(t *testing.T) {
	b := newBench(t, faultdev.Options{Volatile: true})
	b.write(0, 1024, 1)
	if err := b.device.Sync(); err != nil {
		t.Fatal(err)
	}
	b.write(512, 1024, 2)
	b.write(1536, 512, 3)
	b.want(1, 2, 2, 3, -1)
	if err := b.device.Crash(nil); err != nil {
		t.Fatal(err)
	}
	if r := b.write(0, 512, 9); !errors.Is(r.Err, faultdev.ErrCrashed) {
		t.Errorf("a write after the crash: %v", r.Err)
	}
	if err := b.device.Sync(); !errors.Is(err, faultdev.ErrCrashed) {
		t.Errorf("Sync after the crash: %v", err)
	}
	if err := b.device.Close(); err != nil {
		t.Error(err)
	}
	b.wrap(faultdev.Options{Volatile: true})
	b.want(1, 1, -1)
}

func TestCrashMayKeepParts(t *testing.T) {
	b := newBench(t, faultdev.Options{Volatile: true})
	b.write(0, 1024, 1)
	b.write(1024, 1024, 2)
	b.write(2048, 1024, 3)
	err := b.device.Crash(func(write, length int) int { return []int{length, 700, 0}[write] })
	if err != nil {
		t.Fatal(err)
	}
	b.wrap(faultdev.Options{})
	b.want(1, 1, 2, -1, -1)
}

func TestFailedSyncKeepsWritesPending(t *testing.T) {
	b := newBench(t, faultdev.Options{Volatile: true})
	b.write(0, 512, 1)
	b.device.FailNthSync(1, nil)
	if err := b.device.Sync(); !errors.Is(err, faultdev.ErrInjected) {
		t.Errorf("Sync: %v", err)
	}
	b.want(1, -1)
	if err := b.device.Crash(nil); err != nil {
		t.Fatal(err)
	}
	b.wrap(faultdev.Options{})
	b.want(-1)
}

func TestCloseKeepsWrites(t *testing.T) {
	directory := t.TempDir()
	inner, err := file.Open(device.Options{Directory: directory})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, inner: inner}
	b.wrap(faultdev.Options{Volatile: true})
	b.write(0, 512, 7)
	if err := b.device.Close(); err != nil {
		t.Fatal(err)
	}
	if b.inner, err = file.Open(device.Options{Directory: directory}); err != nil {
		t.Fatal(err)
	}
	b.wrap(faultdev.Options{})
	b.want(7, -1)
	if err := b.device.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDelayHoldsCompletionsBack(t *testing.T) {
	const delay = 20 * time.Millisecond
	b := newBench(t, faultdev.Options{Delay: delay})
	start := time.Now()
	r := &device.Request{Op: device.OpRead}
	done := make([]*device.Request, 1)
	b.queue.Submit([]*device.Request{r})
	if n := b.queue.Poll(done, false); n != 0 || b.queue.InFlight() != 1 {
		t.Errorf("%d came back at once, %d in flight", n, b.queue.InFlight())
	}
	if n := b.queue.Poll(done, true); n != 1 || time.Since(start) < delay {
		t.Errorf("%d came back after %v, want 1 after %v", n, time.Since(start), delay)
	}
}
