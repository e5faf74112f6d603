package tsavorite_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/faultdev"
	"github.com/pyropedb/pyrope/device/file"
	"github.com/pyropedb/pyrope/device/localmemory"
	"github.com/pyropedb/pyrope/tsavorite"
	"github.com/pyropedb/pyrope/tsavorite/internal/checkpoint"
)

// lasting is a store that is closed and recovered: its directory and its device outlive it.
type lasting struct {
	settings   storeCase
	directory  string // of the checkpoints
	deviceDir  string
	device     device.Device // nil is none
	deviceKind string
}

func newLasting(t *testing.T, settings storeCase) *lasting {
	l := &lasting{settings: settings, directory: t.TempDir(), deviceDir: t.TempDir(), deviceKind: settings.device}
	l.openDevice(t, true)
	t.Cleanup(func() {
		if l.device != nil {
			_ = l.device.Close()
		}
	})
	return l
}

// openDevice opens the device, again with what it holds: one in memory stays open.
func (l *lasting) openDevice(t *testing.T, fresh bool) {
	t.Helper()
	o := device.Options{Directory: l.deviceDir, SegmentSizeBytes: 16 << 10, Fresh: fresh}
	var err error
	switch {
	case l.deviceKind == "localmemory" && l.device == nil:
		l.device, err = localmemory.Open(o)
	case l.deviceKind == "file":
		if l.device != nil {
			err = l.device.Close()
		}
		if err == nil {
			l.device, err = file.Open(o)
		}
	}
	if err != nil {
		t.Fatalf("cannot open the device: %v", err)
	}
	l.settings.options.Device = l.device
}

func (l *lasting) open(t *testing.T) *tsavorite.Store {
	t.Helper()
	store, err := tsavorite.Open(l.settings.options)
	if err != nil {
		t.Fatalf("cannot open the store: %v", err)
	}
	return store
}

func (l *lasting) tryRecover(o tsavorite.RecoverOptions) (*tsavorite.Store, tsavorite.CheckpointInfo, error) {
	o.Directory = l.directory
	return tsavorite.Recover(l.settings.options, o)
}

func (l *lasting) recover(t *testing.T) (*tsavorite.Store, tsavorite.CheckpointInfo) {
	t.Helper()
	l.openDevice(t, false)
	store, info, err := l.tryRecover(tsavorite.RecoverOptions{})
	if err != nil {
		t.Fatalf("cannot recover: %v", err)
	}
	return store, info
}

func (l *lasting) checkpoint(t *testing.T, store *tsavorite.Store) tsavorite.CheckpointInfo {
	t.Helper()
	info, err := store.Checkpoint(tsavorite.CheckpointOptions{Directory: l.directory})
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func closeStore(t *testing.T, store *tsavorite.Store) {
	t.Helper()
	if err := store.Close(); err != nil {
		t.Fatalf("cannot close the store: %v", err)
	}
}

// allOf is contentsOf in a session of its own.
func allOf(t *testing.T, store *tsavorite.Store) contents {
	t.Helper()
	s := openSession(t, store)
	defer s.Close()
	s.Enter()
	defer s.Leave()
	return contentsOf(t, s, 0)
}

// fillStore writes count keys, some of them twice, and removes a few.
func fillStore(t *testing.T, store *tsavorite.Store, seed uint64, count int) {
	t.Helper()
	s := openSession(t, store)
	defer s.Close()
	s.Enter()
	defer s.Leave()
	random := rand.New(rand.NewPCG(seed, 1))
	for range count {
		if status := journaledStep(s, random, fmt.Sprint("f", random.IntN(1+count/40), "-")); status >= tsavorite.OutOfMemory {
			t.Fatalf("a write says %v: %v", status, s.Err())
		}
	}
}

// durableStores are the stores that checkpoints are taken of.
func durableStores() []storeCase { return append(concurrentStores(), compactedStore) }

// TestCheckpointComesBack: what was there at the checkpoint is there after recovery, what came later is not, over several
// generations; a recovered store goes on like any other.
func TestCheckpointComesBack(t *testing.T) {
	for _, settings := range durableStores() {
		t.Run(settings.name, func(t *testing.T) {
			watch(t, 2*time.Minute)
			clock := newTestClock()
			settings.options.Clock = clock.Load
			l := newLasting(t, settings)
			store := l.open(t)
			for generation := range uint64(4) {
				fillStore(t, store, generation, 600)
				want := allOf(t, store)
				info := l.checkpoint(t, store)
				if info.Snapshot != (settings.device == "") || info.Bytes == 0 || info.PageBytes != settings.options.PageBytes {
					t.Errorf("the checkpoint is %+v", info)
				}
				wantSameContents(t, allOf(t, store), want)
				fillStore(t, store, generation+100, 600)
				closeStore(t, store)
				var found tsavorite.CheckpointInfo
				store, found = l.recover(t)
				if found.Number != info.Number || found.Version != info.Version || !found.Created.Equal(info.Created) {
					t.Errorf("recovered %+v, want %+v", found, info)
				}
				wantSameContents(t, allOf(t, store), want)
			}
			closeStore(t, store)
		})
	}
}

// TestCheckpointCutIsExact: while sessions write, alone and in units, checkpoints are taken. The store that comes back is what
// the journal's entries up to the checkpoint's version make of an empty one, each and no other; and with the rest of the
// entries it is the store as it was in the end. A store that evicts has lost some of it, and nothing else.
func TestCheckpointCutIsExact(t *testing.T) {
	evicting := storeCase{"memory,evicting", tsavorite.Options{PageBytes: 4096, MemoryBytes: 4 * 4096, IndexBytes: 512, EvictOldest: true}, ""}
	volatile := storeCase{"memory,volatile", tsavorite.Options{PageBytes: 4096, MemoryBytes: 16 * 4096, IndexBytes: 512, EvictExpiring: true}, ""}
	least := 6
	if testing.Short() {
		least = 2
	}
	for _, settings := range append(durableStores(), evicting, volatile) {
		t.Run(settings.name, func(t *testing.T) {
			watch(t, 3*time.Minute)
			clock := newTestClock()
			journal := newMemoryJournal(0)
			settings.options.Clock, settings.options.Journal = clock.Load, journal
			l := newLasting(t, settings)
			store := l.open(t)
			var writers sync.WaitGroup
			var ended atomic.Bool
			for w := range 4 {
				writers.Go(func() {
					for round := uint64(0); !ended.Load(); round++ {
						writeJournaled(t, store, uint64(w)<<32|round, 100)
					}
				})
			}
			position := func() []byte { return binary.LittleEndian.AppendUint64(nil, journal.position()) }
			for range least {
				if _, err := store.Checkpoint(tsavorite.CheckpointOptions{Directory: l.directory, Metadata: position}); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
			}
			ended.Store(true)
			writers.Wait()
			evicts := settings.options.EvictOldest || settings.options.EvictExpiring
			var want contents
			if !evicts { // else the next key may be about to go
				want = allOf(t, store)
			}
			closeStore(t, store)
			l.settings.options.Journal = nil
			recovered, info := l.recover(t)
			t.Logf("the last checkpoint is of version %d and %d bytes; %d entries, %d of them from its position on",
				info.Version, info.Bytes, len(journal.entries), len(journal.entries)-int(binary.LittleEndian.Uint64(info.Metadata)))
			other, r := openStore(t, tsavorite.Options{Clock: clock.Load})
			var before []tsavorite.Entry
			units := map[uint64]uint64{}
			for _, e := range journal.since(0) {
				if e.Version <= info.Version {
					before = append(before, e)
				}
				if known, ok := units[e.Unit]; ok && e.Unit != 0 && known != e.Version {
					t.Fatalf("unit %d has entries of versions %d and %d", e.Unit, known, e.Version)
				}
				units[e.Unit] = e.Version
			}
			r.Leave()
			replay(t, other, before, 0)
			r.Enter()
			saved := allOf(t, recovered)
			if evicts {
				for k, v := range contentsOf(t, r, 0) {
					mayGo := settings.options.EvictOldest || !strings.Contains(v, "Deadline:0")
					if saved[k] != v && (saved[k] != "" || !mayGo) {
						t.Errorf("key %q is %s, want %s", k, saved[k], v)
					}
				}
				closeStore(t, recovered)
				return
			}
			wantSameContents(t, saved, contentsOf(t, r, 0))
			replay(t, recovered, journal.since(binary.LittleEndian.Uint64(info.Metadata)), info.Version)
			wantSameContents(t, allOf(t, recovered), want)
			closeStore(t, recovered)
		})
	}
}

// TestCheckpointsAreKept: so many as were asked for; what stands between is refused; the status tells.
func TestCheckpointsAreKept(t *testing.T) {
	l := newLasting(t, storeCase{options: tsavorite.Options{MemoryBytes: 1 << 20}})
	if _, err := tsavorite.LatestCheckpoint(l.directory); !errors.Is(err, tsavorite.ErrNoCheckpoint) {
		t.Errorf("LatestCheckpoint of nothing: %v", err)
	}
	if _, _, err := l.tryRecover(tsavorite.RecoverOptions{}); !errors.Is(err, tsavorite.ErrNoCheckpoint) {
		t.Errorf("Recover of nothing: %v", err)
	}
	store := l.open(t)
	defer closeStore(t, store)
	nested := error(nil)
	for i := range 4 {
		_, err := store.Checkpoint(tsavorite.CheckpointOptions{Directory: l.directory, Keep: 2, Metadata: func() []byte {
			_, nested = store.Checkpoint(tsavorite.CheckpointOptions{Directory: l.directory})
			if phase := store.CheckpointStatus().Phase; phase != tsavorite.PhaseInProgress {
				t.Errorf("at the cut the phase is %v", phase)
			}
			return []byte{byte(i)}
		}})
		if err != nil || !errors.Is(nested, tsavorite.ErrCheckpointUnderWay) {
			t.Fatalf("checkpoint %d: %v; one within it: %v", i, err, nested)
		}
	}
	published, unfinished, err := checkpoint.List(checkpoint.System{}, l.directory)
	if err != nil || fmt.Sprint(published, unfinished) != "[4 3] []" {
		t.Errorf("there are %v and %v, %v", published, unfinished, err)
	}
	info, err := tsavorite.LatestCheckpoint(l.directory)
	status := store.CheckpointStatus()
	if err != nil || info.Number != 4 || !bytes.Equal(info.Metadata, []byte{3}) || status.Succeeded != 4 || status.Failed != 0 || status.Phase != tsavorite.PhaseRest || status.LastSuccess.Number != 4 {
		t.Errorf("the latest is %+v, %v; the status %+v", info, err, status)
	}
}

// failingFiles fail once, at an operation that is counted down to, and can make that happen in the midst of a write.
type failingFiles struct {
	checkpoint.Files
	left   atomic.Int64 // operations until one fails
	struck atomic.Bool
}

var errFiles = errors.New("the file system is in a mood")

func (f *failingFiles) strike() error {
	if f.left.Add(-1) == 0 {
		f.struck.Store(true)
		return errFiles
	}
	return nil
}

func (f *failingFiles) Create(path string) (checkpoint.File, error) {
	if err := f.strike(); err != nil {
		return nil, err
	}
	file, err := f.Files.Create(path)
	return failingFile{file, f}, err
}

func (f *failingFiles) Open(path string) (io.ReadCloser, error) {
	if err := f.strike(); err != nil {
		return nil, err
	}
	return f.Files.Open(path)
}

func (f *failingFiles) List(path string) ([]string, error) {
	if err := f.strike(); err != nil {
		return nil, err
	}
	return f.Files.List(path)
}

func (f *failingFiles) MakeDirectory(path string) error {
	return errors.Join(f.strike(), f.Files.MakeDirectory(path))
}

func (f *failingFiles) SyncDirectory(path string) error {
	return errors.Join(f.strike(), f.Files.SyncDirectory(path))
}

func (f *failingFiles) Rename(from, to string) error {
	if err := f.strike(); err != nil {
		return err
	}
	return f.Files.Rename(from, to)
}

func (f *failingFiles) Remove(path string) error {
	if err := f.strike(); err != nil {
		return err
	}
	return f.Files.Remove(path)
}

type failingFile struct {
	checkpoint.File
	files *failingFiles
}

func (f failingFile) Write(b []byte) (int, error) {
	if err := f.files.strike(); err != nil {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, err
	}
	return f.File.Write(b)
}

func (f failingFile) Sync() error  { return errors.Join(f.files.strike(), f.File.Sync()) }
func (f failingFile) Close() error { return errors.Join(f.files.strike(), f.File.Close()) }

// TestCheckpointFailsAtEveryStep: whichever operation on files fails, the checkpoint ends with the cause, the one before
// still comes back, the store goes on, and the next checkpoint succeeds.
func TestCheckpointFailsAtEveryStep(t *testing.T) {
	for _, kind := range []string{"", "localmemory"} {
		t.Run("device "+kind, func(t *testing.T) {
			watch(t, 4*time.Minute)
			clock := newTestClock()
			l := newLasting(t, storeCase{device: kind, options: tsavorite.Options{PageBytes: 4096, MemoryBytes: 8 * 4096, IndexBytes: 512, Clock: clock.Load}})
			store := l.open(t)
			failures := 0
			for n := int64(1); ; n++ {
				fillStore(t, store, uint64(n), 20)
				before := allOf(t, store)
				l.checkpoint(t, store)
				fillStore(t, store, uint64(n)+1000, 20)
				now := allOf(t, store)
				files := &failingFiles{Files: checkpoint.System{}}
				files.left.Store(n)
				_, err := store.Checkpoint(tsavorite.CheckpointOptions{Directory: l.directory}.WithFiles(files))
				if !files.struck.Load() {
					break
				}
				want := before
				if err == nil { // it failed to remove the older one
					want = now
				} else if failures++; !errors.Is(err, errFiles) {
					t.Fatalf("operation %d failed, and the checkpoint with %v", n, err)
				}
				wantSameContents(t, allOf(t, store), now)
				closeStore(t, store)
				store, _ = l.recover(t)
				wantSameContents(t, allOf(t, store), want)
			}
			closeStore(t, store)
			if failures < 20 {
				t.Errorf("only %d operations failed", failures)
			}
		})
	}
}

// TestCheckpointOfAFailingDevice: a write or a sync that fails ends the checkpoint, and the next one succeeds.
func TestCheckpointOfAFailingDevice(t *testing.T) {
	clock := newTestClock()
	l := newLasting(t, storeCase{device: "localmemory", options: tsavorite.Options{PageBytes: 4096, MemoryBytes: 8 * 4096, IndexBytes: 512, Clock: clock.Load}})
	faulty := faultdev.Wrap(l.device, faultdev.Options{})
	l.device, l.settings.options.Device = faulty, faulty
	store := l.open(t)
	for _, fail := range []func(n int){
		func(n int) { faulty.FailNth(device.OpWrite, n, nil) },
		func(n int) { faulty.TearNthWrite(n, 512) },
		func(n int) { faulty.FailNthSync(n, nil) },
	} {
		fillStore(t, store, 3, 20)
		for n := range 1000 { // the pager tries again
			fail(n + 1)
		}
		if _, err := store.Checkpoint(tsavorite.CheckpointOptions{Directory: l.directory}); !errors.Is(err, faultdev.ErrInjected) && !errors.Is(err, faultdev.ErrTorn) {
			t.Fatalf("the checkpoint of a failing device: %v", err)
		}
		faulty.Disarm()
		if status := store.CheckpointStatus(); status.LastError == nil || status.Phase != tsavorite.PhaseRest {
			t.Errorf("the status is %+v", status)
		}
		fillStore(t, store, 4, 20)
		want := allOf(t, store)
		for { // the pager may still be trying
			if _, err := store.Checkpoint(tsavorite.CheckpointOptions{Directory: l.directory}); err == nil {
				break
			}
		}
		closeStore(t, store)
		store, _ = l.recover(t)
		wantSameContents(t, allOf(t, store), want)
	}
	closeStore(t, store)
}

// TestCheckpointSurvivesACrash: of a device that forgets what was not synced, at any moment after the checkpoint, with
// pages of later writes on their way. What is recovered goes on and crashes again.
func TestCheckpointSurvivesACrash(t *testing.T) {
	watch(t, 2*time.Minute)
	clock := newTestClock()
	l := newLasting(t, storeCase{device: "localmemory", options: tsavorite.Options{PageBytes: 4096, MemoryBytes: 4 * 4096, IndexBytes: 512, Clock: clock.Load}})
	inner := l.device
	random := rand.New(rand.NewPCG(5, 5))
	var want contents
	for round := range uint64(20) {
		faulty := faultdev.Wrap(inner, faultdev.Options{Volatile: true})
		l.device, l.settings.options.Device = faulty, faulty
		var store *tsavorite.Store
		if round == 0 {
			store = l.open(t)
		} else {
			store, _ = l.recover(t)
			wantSameContents(t, allOf(t, store), want)
		}
		fillStore(t, store, round, 100+random.IntN(200))
		want = allOf(t, store)
		l.checkpoint(t, store)
		fillStore(t, store, round+1000, random.IntN(300))
		if err := faulty.Crash(func(_, length int) int { return random.IntN(length + 1) }); err != nil {
			t.Fatal(err)
		}
		closeStore(t, store)
	}
	l.device = inner
}

// TestDamageIsRefused: whatever byte of whatever file is flipped, and wherever it is cut, the store is refused with
// the file or the address, or complete.
func TestDamageIsRefused(t *testing.T) {
	for _, kind := range []string{"", "file"} {
		t.Run("device "+kind, func(t *testing.T) {
			watch(t, 6*time.Minute)
			clock := newTestClock()
			l := newLasting(t, storeCase{device: kind, options: tsavorite.Options{PageBytes: 4096, MemoryBytes: 4 * 4096, IndexBytes: 512, Clock: clock.Load}})
			store := l.open(t)
			fillStore(t, store, 1, 60)
			want := allOf(t, store)
			l.checkpoint(t, store)
			closeStore(t, store)
			if l.device != nil {
				_ = l.device.Close()
				l.device = nil
			}
			var paths []string
			for _, directory := range []string{filepath.Join(l.directory, "checkpoints", "1"), l.deviceDir} {
				entries, err := os.ReadDir(directory)
				if err != nil {
					t.Fatal(err)
				}
				for _, entry := range entries {
					paths = append(paths, filepath.Join(directory, entry.Name()))
				}
			}
			refused, complete := 0, 0
			for _, path := range paths {
				sweepDamage(t, l, path, want, &refused, &complete)
			}
			if t.Logf("%d files: %d refused, %d complete", len(paths), refused, complete); refused < 100 {
				t.Errorf("only %d damages were refused", refused)
			}
		})
	}
}

func sweepDamage(t *testing.T, l *lasting, path string, want contents, refused, complete *int) {
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, damaged []byte) {
		if err := os.WriteFile(path, damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		l.openDevice(t, false)
		store, _, err := l.tryRecover(tsavorite.RecoverOptions{Verify: true})
		if err == nil {
			wantSameContents(t, allOf(t, store), want)
			closeStore(t, store)
			*complete++
			return
		}
		if *refused++; !errors.Is(err, tsavorite.ErrDamaged) || !strings.Contains(err.Error(), filepath.Base(path)) && !strings.Contains(err.Error(), "address") {
			t.Fatalf("%s of %s: %v", what, path, err)
		}
	}
	step := 1 + len(whole)/400
	if testing.Short() {
		step *= 8
	}
	for at := 0; at < len(whole); at += step {
		flipped := bytes.Clone(whole)
		flipped[at] ^= byte(1 + at%255)
		try(fmt.Sprintf("byte %d", at), flipped)
		if at%7 == 0 {
			try(fmt.Sprintf("a cut to %d bytes", at), whole[:at])
		}
	}
	if err := os.WriteFile(path, whole, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestOlderCheckpointOnRequest: a damaged newest checkpoint is refused unless an older one is asked for.
func TestOlderCheckpointOnRequest(t *testing.T) {
	l := newLasting(t, storeCase{options: tsavorite.Options{MemoryBytes: 1 << 20}})
	store := l.open(t)
	for i := range 3 {
		fillStore(t, store, uint64(i), 50)
		if _, err := store.Checkpoint(tsavorite.CheckpointOptions{Directory: l.directory, Keep: 3}); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, store)
	for _, name := range []string{"3/manifest", "2/index"} {
		if err := os.WriteFile(filepath.Join(l.directory, "checkpoints", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := l.tryRecover(tsavorite.RecoverOptions{}); !errors.Is(err, tsavorite.ErrDamaged) {
		t.Errorf("a damaged newest checkpoint: %v", err)
	}
	store, info, err := l.tryRecover(tsavorite.RecoverOptions{AcceptOlder: true})
	if err != nil || info.Number != 1 {
		t.Fatalf("the older one: %+v, %v", info, err)
	}
	closeStore(t, store)
}

// TestRecoverWithOtherSizes: memory and index may change, pages may not, and a snapshot that does not fit is refused, goes
// to a device, or loses its oldest pages where that is the rule.
func TestRecoverWithOtherSizes(t *testing.T) {
	clock := newTestClock()
	base := tsavorite.Options{PageBytes: 4096, MemoryBytes: 16 * 4096, IndexBytes: 512, Clock: clock.Load}
	for _, kind := range []string{"", "file"} {
		l := newLasting(t, storeCase{device: kind, options: base})
		store := l.open(t)
		fillStore(t, store, 1, 1000)
		want := allOf(t, store)
		used := l.checkpoint(t, store)
		closeStore(t, store)
		again := func(what string, change func(o *tsavorite.Options)) *tsavorite.Store {
			t.Helper()
			l.settings.options = base
			l.openDevice(t, false)
			change(&l.settings.options)
			total := uint64(0)
			store, _, err := l.tryRecover(tsavorite.RecoverOptions{Progress: func(done, of uint64) {
				if total = of; done > of+of/8 {
					t.Errorf("%s: %d of %d bytes", what, done, of)
				}
			}})
			if err != nil || total == 0 {
				t.Fatalf("%s, device %q: %v", what, kind, err)
			}
			return store
		}
		same := func(what string, change func(o *tsavorite.Options)) {
			t.Helper()
			store := again(what, change)
			wantSameContents(t, allOf(t, store), want)
			if info := store.Info(); info.ResidentBytes > info.MemoryBytes {
				t.Errorf("%s: %d bytes are resident, %d allowed", what, info.ResidentBytes, info.MemoryBytes)
			}
			closeStore(t, store)
		}
		same("more memory", func(o *tsavorite.Options) { o.MemoryBytes *= 4 })
		same("a bigger index", func(o *tsavorite.Options) { o.IndexBytes *= 64 })
		same("the checkpoint's page size", func(o *tsavorite.Options) { o.PageBytes = 0 })
		l.settings.options = base
		l.settings.options.PageBytes *= 2
		l.openDevice(t, false)
		if _, _, err := l.tryRecover(tsavorite.RecoverOptions{}); err == nil || !strings.Contains(err.Error(), "4096") {
			t.Errorf("another page size: %v", err)
		}
		if kind == "file" {
			same("less memory", func(o *tsavorite.Options) { o.MemoryBytes = 3 * 4096 })
			continue
		}
		l.settings.options = base
		l.settings.options.MemoryBytes = 3 * 4096
		if _, _, err := l.tryRecover(tsavorite.RecoverOptions{}); err == nil || !strings.Contains(err.Error(), "12288") {
			t.Errorf("less memory than the %d bytes of the snapshot: %v", used.TailAddress, err)
		}
		evicting := again("evicting", func(o *tsavorite.Options) { o.MemoryBytes, o.EvictOldest = 4*4096, true })
		if got := allOf(t, evicting); len(got) == 0 || len(got) >= len(want) || !evicting.HasEvicted() {
			t.Errorf("%d of %d keys stayed", len(got), len(want))
		}
		closeStore(t, evicting)
		l.deviceKind = "file"
		same("less memory and a device", func(o *tsavorite.Options) { o.MemoryBytes = 3 * 4096 })
		store = again("less memory and a device", func(o *tsavorite.Options) { o.MemoryBytes = 3 * 4096 })
		fillStore(t, store, 2, 200)
		want = allOf(t, store)
		l.checkpoint(t, store)
		closeStore(t, store)
		same("a fold-over after that", func(o *tsavorite.Options) { o.MemoryBytes = 3 * 4096 })
	}
}

// TestDeviceKeepsWhatACheckpointNeeds: records that are dropped after a checkpoint stay on the device until the next one.
func TestDeviceKeepsWhatACheckpointNeeds(t *testing.T) {
	clock := newTestClock()
	l := newLasting(t, storeCase{device: "file", options: tsavorite.Options{PageBytes: 4096, MemoryBytes: 4 * 4096, IndexBytes: 512, Clock: clock.Load}})
	store := l.open(t)
	fillStore(t, store, 1, 3000)
	want := allOf(t, store)
	l.checkpoint(t, store)
	store.DropBelow(store.Tail())
	fillStore(t, store, 2, 1000)
	if err := store.Truncate(); err != nil {
		t.Fatal(err)
	}
	closeStore(t, store)
	store, _ = l.recover(t)
	wantSameContents(t, allOf(t, store), want)
	if err := store.Truncate(); err != nil {
		t.Fatal(err)
	}
	l.checkpoint(t, store)
	fillStore(t, store, 3, 3000) // the pager has turns to take
	closeStore(t, store)
	if _, err := os.Stat(filepath.Join(l.deviceDir, "hlog.0")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the first segment is still there: %v", err)
	}
	store, _ = l.recover(t)
	if got := allOf(t, store); len(got) != 0 {
		t.Errorf("%d keys came back after a truncation", len(got))
	}
	closeStore(t, store)
}
