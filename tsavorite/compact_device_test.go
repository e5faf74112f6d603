package tsavorite_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/faultdev"
	"github.com/pyropedb/pyrope/device/localmemory"
	"github.com/pyropedb/pyrope/tsavorite"
)

// tieredOptions are those of eight pages of 4 KiB in memory over a device with segments of four.
func tieredOptions(t *testing.T) tsavorite.Options {
	t.Helper()
	return tieredOptionsOf(t, 16<<10)
}

// tieredOptionsOf is tieredOptions with segments of another size.
func tieredOptionsOf(t *testing.T, segmentBytes uint64) tsavorite.Options {
	t.Helper()
	inner, err := localmemory.Open(device.Options{SegmentSizeBytes: segmentBytes})
	if err != nil {
		t.Fatal(err)
	}
	d := faultdev.Wrap(inner, faultdev.Options{})
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return tsavorite.Options{Device: d, MemoryBytes: 32 << 10, PageBytes: 4 << 10, IndexBytes: 512, CompactionMaxDeadPercent: 100}
}

// eachKind runs a test with the options of tieredOptions for each kind of compaction.
func eachKind(t *testing.T, test func(t *testing.T, o tsavorite.Options)) {
	for _, kind := range []tsavorite.CompactionKind{tsavorite.LookUpCompaction, tsavorite.ScanCompaction} {
		t.Run(kind.String(), func(t *testing.T) {
			o := tieredOptions(t)
			o.CompactionKind = kind
			test(t, o)
		})
	}
}

// openOutside opens a store with a session that is outside Enter and Leave; both are closed when the test ends.
func openOutside(t *testing.T, o tsavorite.Options) (*tsavorite.Store, *tsavorite.Session) {
	t.Helper()
	store, err := tsavorite.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	session, err := store.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store, session
}

func tieredValue(n, round int) []byte { return bytes.Repeat([]byte{byte(n), byte(round)}, 20+n%40) }

// writeRounds gives keys 0 to count-1 a value per round, each round over all of them.
func writeRounds(t *testing.T, s *tsavorite.Session, count, rounds int) {
	t.Helper()
	for round := range rounds {
		for n := range count {
			s.Enter()
			status := s.Upsert(compactKey(n), tieredValue(n, round), tsavorite.Metadata{})
			s.Leave()
			if status > tsavorite.Blind {
				t.Fatalf("upsert of key %d in round %d: %v (%v)", n, round, status, s.Err())
			}
		}
	}
}

func wantRound(t *testing.T, s *tsavorite.Session, count, round int) {
	t.Helper()
	s.Enter()
	defer s.Leave()
	for n := range count {
		wantRead(t, s, compactKey(n), tieredValue(n, round))
	}
}

// TestCompactFreesTheDevice: a forced run leaves what is live and not much else, and reports so.
func TestCompactFreesTheDevice(t *testing.T) { eachKind(t, compactFreesTheDevice) }

func compactFreesTheDevice(t *testing.T, o tsavorite.Options) {
	store, s := openOutside(t, o)
	const count = 1000
	writeRounds(t, s, count, 6)
	before := store.Info()
	var run tsavorite.CompactionRun
	for range 2 { // what was live in the first run's pages may have died in memory meanwhile
		var err error
		if run, err = store.Compact(); err != nil {
			t.Fatal(err)
		}
	}
	after := store.Info()
	live := uint64(count * 200)
	if after.DeviceBytes > 2*live || before.DeviceBytes < 3*live {
		t.Errorf("the device held %d bytes and holds %d, with about %d live", before.DeviceBytes, after.DeviceBytes, live)
	}
	if !run.Forced || run.Kind != o.CompactionKind || run.SweptBytes != 0 != (run.Kind == tsavorite.ScanCompaction) || run.ReadBytes == 0 || after.Compactions != 2 || after.LastCompaction.MovedBytes != run.MovedBytes || after.CompactionFreed == 0 {
		t.Errorf("the run says %+v, the store %+v", run, after)
	}
	wantRound(t, s, count, 5)
}

// TestDeadShareStartsCompaction: without a command, once too much is dead.
func TestDeadShareStartsCompaction(t *testing.T) { eachKind(t, deadShareStartsCompaction) }

func deadShareStartsCompaction(t *testing.T, o tsavorite.Options) {
	o.CompactionMaxDeadPercent = 40
	store, s := openOutside(t, o)
	const count = 600
	writeRounds(t, s, count, 8)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		info := store.Info()
		if info.DeviceBytes < 8*count*160/3 && info.LastCompaction.FreedBytes > 0 && !info.Compacting {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing was compacted: %+v", info)
		}
	}
	wantRound(t, s, count, 7)
}

// TestExpiredPagesAreNotRead: pages of which every record is past its deadline are dropped without a look.
func TestExpiredPagesAreNotRead(t *testing.T) { eachKind(t, expiredPagesAreNotRead) }

func expiredPagesAreNotRead(t *testing.T, o tsavorite.Options) {
	clock := newTestClock()
	o.Clock, o.CompactionMaxDeadPercent = clock.Load, 50
	store, s := openOutside(t, o)
	for n := range 2000 {
		s.Enter()
		s.Upsert(compactKey(n), tieredValue(n, 0), tsavorite.Metadata{Deadline: clock.Load() + 1000})
		s.Leave()
	}
	before := store.Info()
	clock.Add(2000)
	for deadline := time.Now().Add(20 * time.Second); store.Info().DeviceBytes > 2*o.PageBytes; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("expired pages are still there: %+v", store.Info())
		}
	}
	if after := store.Info(); after.DeviceReads != before.DeviceReads || after.LastCompaction.SkippedBytes == 0 {
		t.Errorf("%d reads were needed; the last run is %+v", after.DeviceReads-before.DeviceReads, after.LastCompaction)
	}
	s.Enter()
	wantRead(t, s, compactKey(3), nil)
	s.Leave()
}

// TestBoundOfTheDevice: what is dead makes room below the bound; what is live does not, and writes say so until
// something is deleted.
func TestBoundOfTheDevice(t *testing.T) {
	o := tieredOptions(t)
	o.MaxDeviceBytes = 128 << 10
	store, s := openOutside(t, o)
	const count = 400
	writeRounds(t, s, count, 20)
	wantRound(t, s, count, 19)
	full := -1
	for n := count; n < 4000 && full < 0; n++ {
		s.Enter()
		status := s.Upsert(compactKey(n), tieredValue(n, 0), tsavorite.Metadata{})
		s.Leave()
		switch status {
		case tsavorite.Created, tsavorite.Blind:
		case tsavorite.OutOfMemory:
			full = n
		default:
			t.Fatalf("upsert of key %d: %v (%v)", n, status, s.Err())
		}
	}
	if info := store.Info(); full < 0 || info.DeviceBytes > o.MaxDeviceBytes+2*o.PageBytes {
		t.Fatalf("full at key %d with %d bytes on the device", full, info.DeviceBytes)
	}
	wantRound(t, s, count, 19)
	s.Enter()
	for n := range full {
		for deadline := time.Now().Add(time.Minute); s.Delete(compactKey(n)) > tsavorite.Blind; {
			if time.Now().After(deadline) {
				t.Fatalf("key %d cannot be deleted: %v", n, s.Err())
			}
		}
	}
	s.Leave()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		s.Enter()
		status := s.Upsert(compactKey(1), []byte("room"), tsavorite.Metadata{})
		s.Leave()
		if status <= tsavorite.Blind {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("there is no room after everything was deleted: %v, %+v", status, store.Info())
		}
	}
}

// TestBoundThatEvicts: the oldest records are dropped instead.
func TestBoundThatEvicts(t *testing.T) {
	o := tieredOptions(t)
	o.MaxDeviceBytes, o.EvictOldest = 64<<10, true
	store, s := openOutside(t, o)
	const count = 5000
	writeRounds(t, s, count, 1)
	info := store.Info()
	if info.EvictedBytes == 0 || !store.HasEvicted() || info.DeviceBytes > o.MaxDeviceBytes+o.PageBytes {
		t.Errorf("%d bytes were dropped, %d lie on the device", info.EvictedBytes, info.DeviceBytes)
	}
	s.Enter()
	defer s.Leave()
	wantRead(t, s, compactKey(0), nil)
	wantRead(t, s, compactKey(count-1), tieredValue(count-1, 0))
}

// TestCompactionSurvivesFaults: a device error at every read and write of a run ends the run, or is of no consequence, and loses nothing; the
// next one does the work.
func TestCompactionSurvivesFaults(t *testing.T) {
	eachKind(t, func(t *testing.T, o tsavorite.Options) {
		for op, step := range map[device.Op]int{device.OpRead: 2, device.OpWrite: 1} {
			if testing.Short() {
				step *= 3
			}
			n, failures := 1, 0
			for ; compactionSurvives(t, o.CompactionKind, op, n, &failures); n += step {
			}
			if n <= step || op == device.OpRead && failures == 0 {
				t.Errorf("the last %v that failed was number %d, and %d runs said so", op, n, failures)
			}
		}
	})
}

// compactionSurvives lets the n-th operation of a run fail, and reports whether there was one. It counts runs that failed.
func compactionSurvives(t *testing.T, kind tsavorite.CompactionKind, op device.Op, n int, failures *int) bool {
	t.Helper()
	o := tieredOptions(t)
	o.CompactionKind = kind
	store, s := openOutside(t, o)
	const count, rounds = 400, 2
	writeRounds(t, s, count, rounds)
	failing := o.Device.(*faultdev.Device)
	counts := func() map[device.Op]int {
		reads, writes, _ := failing.Counts()
		return map[device.Op]int{device.OpRead: reads, device.OpWrite: writes}
	}
	before := counts()
	failing.FailNth(op, n, nil)
	_, err := store.Compact()
	if err != nil && !errors.Is(err, faultdev.ErrInjected) {
		t.Fatalf("%v %d: %v", op, n, err)
	}
	if err != nil {
		*failures++
	}
	struck := counts()[op]-before[op] >= n
	failing.Disarm()
	wantRound(t, s, count, rounds-1)
	awaitFlushed(store)
	if _, err := store.Compact(); err != nil {
		t.Fatalf("after a fault at %v %d: %v", op, n, err)
	}
	wantRound(t, s, count, rounds-1)
	return struck
}

// awaitFlushed waits until the device has taken every page that is to go there: until then one that failed to be written, and is tried again, is the
// failure of whoever comes next too.
func awaitFlushed(store *tsavorite.Store) {
	pending := func(i tsavorite.Info) bool {
		return i.FlushError != "" || i.FlushedUntilAddress < i.SafeReadOnlyAddress
	}
	for end := time.Now().Add(time.Minute); pending(store.Info()) && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
}

// TestCompactionBesideWriters: sessions count keys up while the device is compacted; no count is lost.
func TestCompactionBesideWriters(t *testing.T) { eachKind(t, compactionBesideWriters) }

func compactionBesideWriters(t *testing.T, o tsavorite.Options) {
	watch(t, 2*time.Minute)
	o.IndexMaxBytes = 4096
	store, s := openOutside(t, o)
	const keys, rounds, writers = 300, 25, 3
	var counted [keys]atomic.Int64
	stop := make(chan struct{})
	var compactor, group sync.WaitGroup
	compactor.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if _, err := store.Compact(); err != nil {
					t.Errorf("cannot compact: %v", err)
					return
				}
			}
		}
	})
	for w := range writers {
		group.Go(func() {
			mine := openSession(t, store)
			defer mine.Close()
			for i := range rounds * keys {
				n := (i*7 + w*31) % keys
				mine.Enter()
				if status := mine.RMW(compactKey(n), appendTo([]byte("x"))); status > tsavorite.Blind {
					t.Errorf("RMW: %v (%v)", status, mine.Err())
				}
				mine.Leave()
				counted[n].Add(1)
			}
		})
	}
	group.Wait()
	close(stop)
	compactor.Wait()
	s.Enter()
	defer s.Leave()
	for n := range keys {
		wantRead(t, s, compactKey(n), bytes.Repeat([]byte("x"), int(counted[n].Load())))
	}
	if info := store.Info(); info.CompactionFreed == 0 {
		t.Errorf("nothing was gained: %s", fmt.Sprintf("%+v", info))
	}
}

// TestCompactionWaitsForALatchThatIsHeld: a record whose bucket stays latched is not taken for dead.
func TestCompactionWaitsForALatchThatIsHeld(t *testing.T) {
	eachKind(t, compactionWaitsForALatchThatIsHeld)
}

func compactionWaitsForALatchThatIsHeld(t *testing.T, o tsavorite.Options) {
	store, s := openOutside(t, o)
	const count = 400
	writeRounds(t, s, count, 1)
	holder := openSession(t, store)
	defer holder.Close()
	held := []tsavorite.Key{compactKey(0), compactKey(1), compactKey(2)}
	holder.Enter()
	holder.Latch(held)
	holder.Leave()
	done := make(chan error, 1)
	go func() {
		_, err := store.Compact()
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("compaction went past a latch that is held: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	holder.Enter()
	holder.Unlatch()
	holder.Leave()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	wantRound(t, s, count, 0)
}

// TestDroppedBytesAreNotDead: what a truncation drops leaves the estimate of dead bytes.
func TestDroppedBytesAreNotDead(t *testing.T) {
	o, clock := tieredOptions(t), newTestClock()
	o.Clock = clock.Load
	store, s := openOutside(t, o)
	for round := range 3 {
		for n := range 500 {
			s.Enter()
			s.Upsert(compactKey(n), tieredValue(n, round), tsavorite.Metadata{Deadline: clock.Load() + 1000})
			s.Leave()
		}
	}
	clock.Add(2000)
	if info := store.Info(); info.DeadBytes < 2*info.MemoryBytes {
		t.Errorf("%d bytes are dead of what was overwritten and has expired", info.DeadBytes)
	}
	if err := store.Truncate(); err != nil {
		t.Fatal(err)
	}
	writeRounds(t, s, 300, 1)
	if info := store.Info(); info.DeadBytes > info.LiveBytes/4 {
		t.Errorf("%d bytes are dead and %d live after a truncation and 300 new keys", info.DeadBytes, info.LiveBytes)
	}
}
