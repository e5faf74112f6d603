//go:build unix

package ring

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/devicetest"
)

var errTooLarge = errors.New("too large")

func fakeDriver(n nature) Driver {
	return Driver{
		Kind:       "fake",
		OpenKernel: func(depth int) (Kernel, error) { return newFake(n, depth), nil },
		IsTooLarge: func(err error) bool { return errors.Is(err, errTooLarge) },
		Explain:    func(err error) error { return err },
	}
}

// TestDeviceOverDifficultKernels holds K1 to K4, by the device's contract, to kernels that are busy, refuse, and move parts.
func TestDeviceOverDifficultKernels(t *testing.T) {
	for name, c := range map[string]struct {
		nature   nature
		drainers int
	}{
		"easy, combining":         {nature{combines: true}, 0},
		"hiding":                  {nature{hides: true}, 0},
		"partial transfers":       {nature{mostBytes: 2048, hides: true}, 0},
		"busy":                    {nature{busyEvery: 2, hides: true}, 0},
		"everything together":     {nature{mostBytes: 4096, busyEvery: 5, transientEvery: 11, hides: true, combines: true}, 0},
		"everything and drainers": {nature{mostBytes: 4096, busyEvery: 5, transientEvery: 11, hides: true, combines: true}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			devicetest.Run(t, devicetest.Config{
				Open:    func(o device.Options) (device.Device, error) { return Open(fakeDriver(c.nature), o) },
				Options: device.Options{CompletionThreads: c.drainers, SectorSizeBytes: 512},
				Reopens: true, HasEventFD: runtime.GOOS == "linux",
			})
		})
	}
}

func openFake(t *testing.T, n nature, o device.Options) *Device {
	t.Helper()
	o.Directory = t.TempDir()
	d, err := Open(fakeDriver(n), o)
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

func newQueue(t *testing.T, d *Device) *Queue {
	t.Helper()
	q, err := d.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	return q.(*Queue)
}

// TestRefusedOperationsComeBack (K2, K4) has every third operation refused, while several queues wait.
func TestRefusedOperationsComeBack(t *testing.T) {
	for _, n := range []nature{{refuseEvery: 3}, {refuseEvery: 3, hides: true}, {refuseEvery: 1 << 20}} {
		for _, drainers := range []int{0, 1} {
			d := openFake(t, n, device.Options{IOContexts: 1, QueueDepth: 4, CompletionThreads: drainers})
			var group sync.WaitGroup
			for range 3 {
				q := newQueue(t, d)
				group.Go(func() {
					defer func() { _ = q.Close() }()
					refused := writeAll(t, q, 300)
					if (refused > 0) != (n.refuseEvery == 3) {
						t.Errorf("%d of 300 writes were refused", refused)
					}
				})
			}
			group.Wait()
		}
	}
}

// writeAll submits count writes of a sector and returns how many came back refused.
func writeAll(t *testing.T, q *Queue, count int) (refused int) {
	memory := make([]byte, 1024)
	sector := alignedPart(memory, 512)
	batch := make([]*device.Request, count)
	for i := range batch {
		batch[i] = &device.Request{Op: device.OpWrite, Address: uint64(i) * 512, Buffer: sector}
	}
	q.Submit(batch)
	done := make([]*device.Request, 10)
	for back := 0; back < count; {
		n := q.Poll(done, true)
		for _, r := range done[:n] {
			switch {
			case errors.Is(r.Err, syscall.EBADF):
				refused++
			case r.Err != nil || r.Transferred != 512:
				t.Errorf("write at %d: moved %d, %v", r.Address, r.Transferred, r.Err)
			}
		}
		back += n
	}
	return refused
}

// TestLoneQueueWaitsForHalf (K5) has a queue wait for several completions only while the ring has no
// other requests, and only with several in flight.
func TestLoneQueueWaitsForHalf(t *testing.T) {
	d := openFake(t, nature{hides: true}, device.Options{IOContexts: 1, QueueDepth: 64})
	kernel := d.rings[0].kernel.(*fakeKernel)
	lone, other := newQueue(t, d), newQueue(t, d)
	readAll := func(q *Queue, count, room int) (least int) {
		requests := make([]*device.Request, count)
		for i := range requests {
			requests[i] = &device.Request{Address: uint64(i) * 512, Buffer: alignedPart(make([]byte, 1024), 512)}
		}
		kernel.leasts, kernel.looks = nil, 0
		back := q.SubmitAndPoll(requests, make([]*device.Request, room), true)
		for q.InFlight() > 0 {
			back += q.Poll(make([]*device.Request, room), true)
		}
		if back != count {
			t.Errorf("%d of %d requests came back", back, count)
		}
		return kernel.leasts[0]
	}
	if refused := writeAll(t, lone, 200); refused != 0 {
		t.Fatalf("%d writes were refused", refused)
	}
	for _, c := range []struct{ count, room, want int }{
		{1, 200, 1}, {7, 200, 1}, {8, 200, 4}, {40, 200, 20}, {64, 200, 32}, {200, 200, 32}, {64, 10, 10},
	} {
		if got := readAll(lone, c.count, c.room); got != c.want {
			t.Errorf("%d in flight, room for %d: the queue waits for %d, want %d", c.count, c.room, got, c.want)
		}
	}
	one := &device.Request{Buffer: alignedPart(make([]byte, 1024), 512)}
	kernel.looks = 0
	other.Submit([]*device.Request{one})
	if got := readAll(lone, 40, 200); got != 1 {
		t.Errorf("with another's request in the ring the queue waits for %d, want 1", got)
	}
	if other.Poll(make([]*device.Request, 1), true) != 1 {
		t.Error("the other queue's request did not come back")
	}
}

func alignedPart(memory []byte, size int) []byte {
	for i := range memory {
		r := device.Request{Buffer: memory[i : i+size]}
		if device.CheckAlignment(&r, size) == nil {
			return r.Buffer
		}
	}
	panic("no aligned part")
}

func TestQueuesSpreadOverRings(t *testing.T) {
	d := openFake(t, nature{}, device.Options{IOContexts: 3, QueueDepth: 8})
	counts := func() (c [3]int) {
		for i, r := range d.rings {
			c[i] = r.queues
		}
		return c
	}
	var queues []*Queue
	for range 6 {
		queues = append(queues, newQueue(t, d))
	}
	if counts() != [3]int{2, 2, 2} {
		t.Errorf("six queues are spread as %v", counts())
	}
	left := queues[4].ring
	for range 2 { // a second Close changes nothing
		if err := queues[4].Close(); err != nil {
			t.Fatal(err)
		}
	}
	if q := newQueue(t, d); q.ring != left || counts() != [3]int{2, 2, 2} {
		t.Errorf("the seventh queue did not take the free place: %v", counts())
	}
}

func TestLimitIsSpreadOverRings(t *testing.T) {
	d := openFake(t, nature{}, device.Options{IOContexts: 3, QueueDepth: 8, ThrottleLimit: 11})
	total := 0
	for _, r := range d.rings {
		if len(r.slots) > 8 || len(r.slots) < 3 {
			t.Errorf("a ring of 8 has %d slots", len(r.slots))
		}
		total += len(r.slots)
	}
	if total != 11 || d.Info().InFlightLimit != 11 || d.Info().RingCount != 3 {
		t.Errorf("%d slots, Info %+v", total, d.Info())
	}
}

func TestPlan(t *testing.T) {
	cores := min(runtime.NumCPU(), maxRings)
	for _, c := range []struct {
		options device.Options
		want    plan
	}{
		{device.Options{}, plan{cores, 1024, cores * 1024}},
		{device.Options{CompletionThreads: 5}, plan{5, 1024, 5 * 1024}},
		{device.Options{IOContexts: 4, QueueDepth: 16}, plan{4, 16, 64}},
		{device.Options{IOContexts: 4, QueueDepth: 16, ThrottleLimit: 20}, plan{4, 16, 20}},
		{device.Options{ThrottleLimit: 1}, plan{1, 1024, 1}},
		{device.Options{IOContexts: 2, ThrottleLimit: 5000}, plan{2, 2500, 5000}},
	} {
		if got, err := newPlan(c.options); err != nil || got != c.want {
			t.Errorf("%+v: %+v, %v; want %+v", c.options, got, err, c.want)
		}
	}
	_, err := newPlan(device.Options{CompletionThreads: 1, QueueDepth: 16, ThrottleLimit: 17})
	if err == nil || !strings.Contains(err.Error(), "1 × 16 = 16") {
		t.Errorf("a limit of 17 in a ring of 16: %v", err)
	}
}

func TestRingsShrinkToWhatTheSystemGives(t *testing.T) {
	for _, c := range []struct{ available, rings, depth int }{{300, 4, 64}, {100, 1, 64}, {6, 1, 4}} {
		driver := fakeDriver(nature{})
		used := 0
		driver.OpenKernel = func(depth int) (Kernel, error) {
			if used+depth > c.available {
				return nil, fmt.Errorf("%d more: %w", depth, errTooLarge)
			}
			used += depth
			return &countedKernel{newFake(nature{}, depth), func() { used -= depth }}, nil
		}
		d, err := Open(driver, device.Options{Directory: t.TempDir(), IOContexts: 4, QueueDepth: 1000, SectorSizeBytes: 512})
		if err != nil {
			t.Errorf("%d available: %v", c.available, err)
			continue
		}
		info := d.Info()
		if info.RingCount != c.rings || info.InFlightLimit != c.rings*c.depth || !strings.Contains(info.Reason, "instead of 4 of 1000") {
			t.Errorf("%d available: %+v, want %d rings of %d", c.available, info, c.rings, c.depth)
		}
		if err := d.Close(); err != nil || used != 0 {
			t.Errorf("%d available: %d not given back, %v", c.available, used, err)
		}
	}
	driver := fakeDriver(nature{})
	driver.OpenKernel = func(int) (Kernel, error) { return nil, errTooLarge }
	if _, err := Open(driver, device.Options{Directory: t.TempDir()}); !errors.Is(err, errTooLarge) {
		t.Errorf("nothing available: %v", err)
	}
}

// countedKernel tells when it is closed.
type countedKernel struct {
	*fakeKernel
	onClose func()
}

func (k *countedKernel) Close() error {
	k.onClose()
	return k.fakeKernel.Close()
}

func TestProbeFindsWhatDoesNotWork(t *testing.T) {
	directory := t.TempDir()
	driver := fakeDriver(nature{refuseEvery: 1})
	driver.OpenKernel = func(depth int) (Kernel, error) { return &deafKernel{newFake(nature{}, depth)}, nil }
	if _, err := Open(driver, device.Options{Directory: directory}); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a kernel that fails everything was opened: %v", err)
	}
	if names, _ := os.ReadDir(directory); len(names) != 0 {
		t.Errorf("the probe left %v behind", names)
	}
}

// deafKernel fails every operation with EINVAL, as a file system that refuses direct I/O does.
type deafKernel struct{ *fakeKernel }

func (k *deafKernel) Reap(completions []Completion) int {
	n := k.fakeKernel.Reap(completions)
	for i := range completions[:n] {
		completions[i].Result = -int64(syscall.EINVAL)
	}
	return n
}
