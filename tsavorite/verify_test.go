package tsavorite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/tsavorite"
)

// coldStore is a checkpoint of a store most of whose pages are on the device.
func coldStore(t *testing.T) (l *lasting, want contents) {
	t.Helper()
	clock := newTestClock()
	l = newLasting(t, storeCase{device: "file", options: tsavorite.Options{PageBytes: 4096, MemoryBytes: 4 * 4096, IndexBytes: 4096, Clock: clock.Load}})
	store := l.open(t)
	fillStore(t, store, 1, 3000)
	want = allOf(t, store)
	l.checkpoint(t, store)
	closeStore(t, store)
	return l, want
}

// TestColdDamageIsFound flips a byte in a page that stays cold. The verification finds that page and no other; from then on who needs a
// record of it gets an error with file and offset, who does not gets what was written, and compaction goes no further.
func TestColdDamageIsFound(t *testing.T) {
	l, want := coldStore(t)
	for _, at := range []int{100, 4096 + 17, 3*4096 + 4000, 16<<10 + 4095} {
		path := filepath.Join(l.deviceDir, fmt.Sprint("hlog.", at>>14))
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		whole[at&(16<<10-1)] ^= 0x10
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		place := fmt.Sprintf("(file hlog.%d, offset %d)", at>>14, at&(16<<10-1)&^4095)
		l.openDevice(t, false)
		var damaged []tsavorite.DamagedPage
		store, _, err := l.tryRecover(tsavorite.RecoverOptions{Damaged: func(d tsavorite.DamagedPage) { damaged = append(damaged, d) }})
		if err != nil {
			t.Fatal(err)
		}
		if status := store.VerifyStatus(); status.VerifiedBytes != 0 || status.TotalBytes < 16<<10 {
			t.Errorf("before the verification it is %+v", status)
		}
		if err := store.VerifyColdPages(0, nil); err != nil {
			t.Fatal(err)
		}
		if status := store.VerifyStatus(); status.VerifiedBytes != status.TotalBytes || status.DamagedPages != 1 {
			t.Errorf("after the verification it is %+v", status)
		}
		if len(damaged) != 1 || damaged[0].Address != uint64(at)&^4095 || !strings.Contains(damaged[0].Err.Error(), place) {
			t.Errorf("byte %d is damaged, and these pages are: %+v", at, damaged)
		}
		for kind := range tsavorite.CompactionKind(2) {
			if _, err := store.CompactBy(kind); !errors.Is(err, tsavorite.ErrDamaged) || !strings.Contains(err.Error(), place) {
				t.Errorf("compaction of the damaged page, by %v: %v", kind, err)
			}
		}
		s := openSession(t, store)
		s.Enter()
		r, refused := &lastRead{}, 0
		for k, v := range want {
			key := tsavorite.Key{Bytes: []byte(k)}
			status := s.Read(key, 0, r)
			if status == tsavorite.Pending {
				s.CompletePending(true)
				status = r.status
			}
			if status == tsavorite.StatusError {
				if err := s.Err(); !errors.Is(err, tsavorite.ErrDamaged) || !strings.Contains(err.Error(), place) {
					t.Fatalf("key %q: %v", k, err)
				}
				if refused++; s.RMW(key, appendTo([]byte("x"))) != tsavorite.StatusError {
					t.Errorf("key %q can be read no more, but changed", k)
				}
				continue
			}
			if got := fmt.Sprintf("%q %+v", r.record.Value, r.record.Metadata); status != tsavorite.Found || got != v {
				t.Fatalf("key %q is %v %s, want %s", k, status, got, v)
			}
		}
		if refused == 0 || refused > len(want)/2 {
			t.Errorf("%d of %d keys are refused", refused, len(want))
		}
		if _, err := s.Scan(0, 0, 0, contents{}); !errors.Is(err, tsavorite.ErrDamaged) {
			t.Errorf("a scan over the damaged page: %v", err)
		}
		s.Leave()
		s.Close()
		store.DropBelow(store.Tail())
		if status := store.VerifyStatus(); status.DamagedPages != 0 {
			t.Errorf("after the page was dropped the verification says %+v", status)
		}
		closeStore(t, store)
		whole[at&(16<<10-1)] ^= 0x10
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCompactionMovesNoDamage: a page that nobody has verified yet is verified before what it holds gets a new checksum.
func TestCompactionMovesNoDamage(t *testing.T) {
	for kind := range tsavorite.CompactionKind(2) {
		t.Run(kind.String(), func(t *testing.T) { compactionMovesNoDamage(t, kind) })
	}
}

func compactionMovesNoDamage(t *testing.T, kind tsavorite.CompactionKind) {
	l, _ := coldStore(t)
	path := filepath.Join(l.deviceDir, "hlog.0")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole[4096+200]++
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	store, _ := l.recover(t)
	if _, err := store.CompactBy(kind); !errors.Is(err, tsavorite.ErrDamaged) || !strings.Contains(err.Error(), "file hlog.0, offset 4096") {
		t.Errorf("compaction of a damaged page: %v", err)
	}
	if status := store.VerifyStatus(); status.DamagedPages != 1 || store.Info().BeginAddress >= 8192 {
		t.Errorf("after it the verification says %+v; the log begins at %d", status, store.Info().BeginAddress)
	}
	closeStore(t, store)
}

// TestVerificationBesideCompaction verifies slowly while the same pages are compacted, dropped and truncated under it: nothing is taken
// for damaged, and all is there.
func TestVerificationBesideCompaction(t *testing.T) {
	l, want := coldStore(t)
	for round := range 2 {
		l.openDevice(t, false)
		store, _, err := l.tryRecover(tsavorite.RecoverOptions{Damaged: func(d tsavorite.DamagedPage) { t.Errorf("damaged: %v", d.Err) }})
		if err != nil {
			t.Fatal(err)
		}
		var background sync.WaitGroup
		background.Go(func() {
			if err := store.VerifyColdPages(4<<20, nil); err != nil {
				t.Error(err)
			}
		})
		for kind := range 5 {
			if _, err := store.CompactBy(tsavorite.CompactionKind(kind % 2)); err != nil {
				t.Error(err)
			}
			l.checkpoint(t, store) // lets go of what was compacted
			time.Sleep(time.Millisecond)
		}
		wantSameContents(t, allOf(t, store), want)
		if round == 1 {
			if err := store.Truncate(); err != nil {
				t.Error(err)
			}
			l.checkpoint(t, store)
		}
		background.Wait()
		if status := store.VerifyStatus(); status.DamagedPages != 0 || status.VerifiedBytes != status.TotalBytes {
			t.Errorf("the verification says %+v", status)
		}
		closeStore(t, store)
	}
}

// TestVerificationStops at once when it is told to.
func TestVerificationStops(t *testing.T) {
	l, _ := coldStore(t)
	store, _ := l.recover(t)
	stop := make(chan struct{})
	time.AfterFunc(10*time.Millisecond, func() { close(stop) })
	if err := store.VerifyColdPages(1, stop); err != nil { // a page would take an hour
		t.Error(err)
	}
	if status := store.VerifyStatus(); status.VerifiedBytes > 4096 || status.TotalBytes == 0 {
		t.Errorf("the verification says %+v", status)
	}
	closeStore(t, store)
}

// noQueues is a device that gives no queues any more once it is told to.
type noQueues struct {
	device.Device
	err atomic.Pointer[error]
}

func (d *noQueues) NewQueue() (device.Queue, error) {
	if err := d.err.Load(); err != nil {
		return nil, *err
	}
	return d.Device.NewQueue()
}

// TestVerificationThatCannotBegin says so, until another one can.
func TestVerificationThatCannotBegin(t *testing.T) {
	l, _ := coldStore(t)
	l.openDevice(t, false)
	d, refused := &noQueues{Device: l.device}, errors.New("no more queues")
	l.settings.options.Device = d
	store, _, err := l.tryRecover(tsavorite.RecoverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d.err.Store(&refused)
	if err := store.VerifyColdPages(0, nil); !errors.Is(err, refused) {
		t.Errorf("a verification without a queue says %v", err)
	}
	if status := store.VerifyStatus(); !status.Failed || status.VerifiedBytes != 0 {
		t.Errorf("after it the status is %+v", status)
	}
	d.err.Store(nil)
	if err := store.VerifyColdPages(0, nil); err != nil {
		t.Error(err)
	}
	if status := store.VerifyStatus(); status.Failed || status.VerifiedBytes != status.TotalBytes {
		t.Errorf("after the next one the status is %+v", status)
	}
	closeStore(t, store)
}

// TestCompactedAndSaved: N records, compacted, saved and opened again, are all there, for N around the edges of pages and segments,
// with an index of eight buckets.
func TestCompactedAndSaved(t *testing.T) {
	counts := []int{1, 2, 50, 51, 52, 53, 103, 104, 105, 106, 207, 208, 209, 210, 417, 418, 419, 420, 833, 834, 835}
	if testing.Short() {
		counts = []int{1, 52, 53, 104, 105, 208, 209, 418}
	}
	for _, count := range counts {
		clock := newTestClock()
		l := newLasting(t, storeCase{device: "file", options: tsavorite.Options{PageBytes: 4096, MemoryBytes: 3 * 4096, IndexBytes: 512, IndexMaxBytes: 512, Clock: clock.Load}})
		store := l.open(t)
		s := openSession(t, store)
		for _, round := range []string{"old", "new"} {
			s.Enter()
			for i := range count {
				if status := s.Upsert(key("k%d", i), fmt.Appendf(nil, "%s value of %40d", round, i), tsavorite.Metadata{}); status >= tsavorite.OutOfMemory {
					t.Fatalf("%d keys: a write says %v", count, status)
				}
			}
			s.Leave()
		}
		s.Close()
		want := allOf(t, store)
		for kind := range tsavorite.CompactionKind(2) {
			if _, err := store.CompactBy(kind); err != nil {
				t.Fatal(err)
			}
			l.checkpoint(t, store)
			closeStore(t, store)
			store, _ = l.recover(t)
			if got := allOf(t, store); len(got) != count {
				t.Fatalf("of %d keys %d came back", count, len(got))
			}
			wantSameContents(t, allOf(t, store), want)
		}
		closeStore(t, store)
	}
}
