package tsavorite_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/devicetest"
	"github.com/pyropedb/pyrope/device/open"
	"github.com/pyropedb/pyrope/tsavorite"
	"golang.org/x/sys/unix"
)

// The kernel's limits, seen through the engine: whatever the device meets, a write that was acknowledged is read back,
// and every read is answered once.

// limitsKinds are the devices that the kernel limits, by the name of their Info.
var limitsKinds = map[string]struct {
	kind    device.Kind
	backend device.Backend
}{
	"libaio": {device.Native, device.Libaio},
	"uring":  {device.Native, device.Uring},
	"file":   {device.RandomAccess, device.BackendDefault},
}

// openLimited opens a device, or returns nil where the kernel has no such thing.
func openLimited(t *testing.T, name string, o device.Options) device.Device {
	t.Helper()
	if o.Directory == "" {
		o.Directory = t.TempDir()
	}
	k := limitsKinds[name]
	o.Backend, o.SegmentSizeBytes = k.backend, 1<<20
	d, err := open.Device(k.kind, o)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
		t.Logf("%s does not work here: %v", name, err)
		return nil
	}
	if err != nil {
		t.Fatalf("cannot open the device: %v", err)
	}
	closeAtEnd(t, d)
	return d
}

func closeAtEnd(t *testing.T, d device.Device) {
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("cannot close the device: %v", err)
		}
	})
}

// acknowledged is a store with four pages in memory, and the keys that it has taken.
type acknowledged struct {
	t       *testing.T
	store   *tsavorite.Store
	session *tsavorite.Session
	count   int      // keys 0 to count-1 were acknowledged
	answers []uint32 // to reads, a key
}

func openAcknowledged(t *testing.T, d device.Device) *acknowledged {
	t.Helper()
	watch(t, 4*time.Minute)
	a := &acknowledged{t: t}
	a.store, a.session = openStore(t, tsavorite.Options{Device: d, PageBytes: 16 << 10, MemoryBytes: 64 << 10, IndexBytes: 256 << 10})
	return a
}

func acknowledgedValue(n int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%08d", n), 12) }

// write takes one more key, if the store does.
func (a *acknowledged) write() tsavorite.Status {
	status := a.session.Upsert(growthKey(0, a.count), acknowledgedValue(a.count), tsavorite.Metadata{})
	if status <= tsavorite.Blind {
		a.count++
	}
	return status
}

func (a *acknowledged) writeMany(count int) {
	a.t.Helper()
	for range count {
		if status := a.write(); status > tsavorite.Blind {
			a.t.Fatalf("Upsert of key %d says %v: %v", a.count, status, a.session.Err())
		}
	}
}

// Read counts the answer to the read of a key and compares the value.
func (a *acknowledged) Read(token uint64, status tsavorite.Status, record tsavorite.Record) {
	a.answers[token]++
	if status != tsavorite.Found || !bytes.Equal(record.Value, acknowledgedValue(int(token))) {
		a.t.Errorf("key %d, which was acknowledged, is read with %v as %q: %v", token, status, record.Value, a.session.Err())
	}
}

// check reads all keys asynchronously, without a wait between them, and then in batches.
func (a *acknowledged) check() {
	a.t.Helper()
	a.answers = make([]uint32, a.count)
	pending := 0
	keys := make([]tsavorite.Key, a.count)
	for n := range keys {
		keys[n] = growthKey(0, n)
		if a.session.ReadAsync(keys[n], uint64(n), a) == tsavorite.Pending {
			pending++
		}
	}
	if left := a.session.CompletePending(true); left != 0 {
		a.t.Fatalf("%d reads are left", left)
	}
	if pending < a.count/2 {
		a.t.Errorf("of %d reads only %d asked the device", a.count, pending)
	}
	a.session.ReadBatch(keys, a)
	for n, answers := range a.answers {
		if answers != 2 {
			a.t.Fatalf("two reads of key %d were answered %d times", n, answers)
		}
	}
}

// TestTenThousandReadsThroughFourSlots: one ring of four slots, and all reads are asked for at once.
func TestTenThousandReadsThroughFourSlots(t *testing.T) {
	for name := range limitsKinds {
		t.Run(name, func(t *testing.T) {
			d := openLimited(t, name, device.Options{IOContexts: 1, QueueDepth: 4})
			if d == nil {
				return
			}
			if limit := d.Info().InFlightLimit; name != "file" && limit > 4 {
				t.Errorf("the ring takes %d requests at once, want 4", limit)
			}
			a := openAcknowledged(t, d)
			a.writeMany(10_000)
			a.check()
		})
	}
}

// TestStoreWithALowMemlockLimit: no more than 64 KiB may be locked, and no privilege lifts that. Kernels before 5.12
// count rings too, for all processes of the user: then io_uring by name is refused with the cause.
func TestStoreWithALowMemlockLimit(t *testing.T) {
	if !devicetest.InProcess(t, 0) {
		return
	}
	devicetest.LimitLockedMemory(t, 64<<10)
	if !devicetest.DropPrivileges(t) {
		return
	}
	d, err := open.Device(device.Native, device.Options{Directory: t.TempDir(), Backend: device.Uring, SegmentSizeBytes: 1 << 20})
	if err == nil {
		runStore(t, d)
	} else if !strings.Contains(err.Error(), "RLIMIT_MEMLOCK") && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOSYS) {
		t.Errorf("io_uring by name: %v; want an error that names the limit", err)
	}
	runStore(t, openDefault(t))
}

// openDefault opens what the kernel has to offer.
func openDefault(t *testing.T) device.Device {
	t.Helper()
	d, err := open.Device(device.Default, device.Options{Directory: t.TempDir(), SegmentSizeBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// runStore runs a store on a device, which it closes when the test ends.
func runStore(t *testing.T, d device.Device) {
	t.Helper()
	closeAtEnd(t, d)
	a := openAcknowledged(t, d)
	a.writeMany(3000)
	a.check()
}

// TestStoreWhereIOUringIsForbidden: as by the default profiles of containers.
func TestStoreWhereIOUringIsForbidden(t *testing.T) {
	if !devicetest.InProcess(t, 0) {
		return
	}
	devicetest.AnswerCalls(t, unix.EPERM, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER)
	d := openDefault(t)
	if info := d.Info(); info.Kind == "uring" || !strings.Contains(info.Reason, "seccomp") {
		t.Errorf("the default device is %+v, want another than io_uring because of seccomp", info)
	}
	runStore(t, d)
}

// TestStoreWhereTheBudgetOfContextsIsExhausted: all processes together have reserved fs.aio-max-nr requests.
func TestStoreWhereTheBudgetOfContextsIsExhausted(t *testing.T) {
	if !devicetest.InProcess(t, 0) {
		return
	}
	devicetest.AnswerCalls(t, unix.EAGAIN, unix.SYS_IO_SETUP, unix.SYS_IO_URING_SETUP)
	d := openDefault(t)
	if info := d.Info(); info.Kind != "file" || !strings.Contains(info.Reason, "fs.aio-max-nr") {
		t.Errorf("the default device is %+v, want a file because of fs.aio-max-nr", info)
	}
	runStore(t, d)
}

// TestStoreOnAFullDisk: writes are refused with the disk's reason once memory is full, what was acknowledged stays
// readable meanwhile, and with more room the store goes on by itself.
func TestStoreOnAFullDisk(t *testing.T) {
	if !devicetest.InProcess(t, unix.CLONE_NEWNS) {
		return
	}
	directory := t.TempDir()
	if resize := devicetest.MountSmall(t, directory, "1m"); resize != nil {
		storeUntilFull(t, directory, unix.ENOSPC, func() error { return resize("64m") }, func() error { return resize("1m") })
	}
}

// TestStoreOnFullFiles: the same where nobody may mount.
func TestStoreOnFullFiles(t *testing.T) {
	if !devicetest.InProcess(t, 0) {
		return
	}
	storeUntilFull(t, t.TempDir(), unix.EFBIG, func() error { return devicetest.LimitFiles(unix.RLIM_INFINITY) }, func() error { return devicetest.LimitFiles(512 << 10) })
}

func storeUntilFull(t *testing.T, directory string, want error, grow, shrink func() error) {
	for name := range limitsKinds {
		t.Run(name, func(t *testing.T) {
			mustResize(t, grow)
			files := filepath.Join(directory, name)
			t.Cleanup(func() {
				if err := os.RemoveAll(files); err != nil {
					t.Error(err)
				}
			})
			d := openLimited(t, name, device.Options{Directory: files, SectorSizeBytes: 4096})
			if d == nil {
				return
			}
			a := openAcknowledged(t, d)
			mustResize(t, shrink)
			for a.write() <= tsavorite.Blind {
				if a.count > 100_000 {
					t.Fatalf("%d keys have found room", a.count)
				}
			}
			if err := a.session.Err(); !errors.Is(err, want) {
				t.Errorf("the store refuses writes with %v, want %v", err, want)
			}
			full := a.count
			a.check()
			mustResize(t, grow)
			for deadline := time.Now().Add(30 * time.Second); a.count < full+3000; { // the flush is tried again soon
				if a.write() > tsavorite.Blind && time.Now().After(deadline) {
					t.Fatalf("with more room writes still fail: %v", a.session.Err())
				}
				a.session.Leave()
				a.session.Enter()
			}
			a.check()
		})
	}
}

func mustResize(t *testing.T, resize func() error) {
	t.Helper()
	if err := resize(); err != nil {
		t.Fatalf("cannot change the room: %v", err)
	}
}

// TestPreallocate: the memory of the log is the process's when the store opens, and without the option it is not.
func TestPreallocate(t *testing.T) {
	const memory = 64 << 20
	resident := func() (bytes int) {
		var pages, all int
		text, err := os.ReadFile("/proc/self/statm")
		if err == nil {
			_, err = fmt.Sscan(string(text), &all, &pages)
		}
		if err != nil {
			t.Fatal(err)
		}
		return pages * os.Getpagesize()
	}
	for _, preallocate := range []bool{false, true} {
		// What earlier tests used goes back to the system meanwhile, so one measurement may say anything.
		grown := 0
		for try := range 10 {
			before := resident()
			store, err := tsavorite.Open(tsavorite.Options{MemoryBytes: memory, Preallocate: preallocate})
			if err != nil {
				t.Fatal(err)
			}
			if now := resident() - before; try == 0 || preallocate == (now > grown) {
				grown = now
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
			if preallocate == (grown > memory*9/10) {
				break
			}
		}
		if preallocate != (grown > memory*9/10) {
			t.Errorf("with Preallocate %v the process is %d bytes bigger at best, the log %d", preallocate, grown, memory)
		}
	}
}
