package log_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/faultdev"
	"github.com/pyropedb/pyrope/device/localmemory"
	"github.com/pyropedb/pyrope/tsavorite/log"
)

func memory(t testing.TB) device.Device {
	t.Helper()
	d, err := localmemory.Open(device.Options{SegmentSizeBytes: testSegment, InlineCompletion: true})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// reopen wraps a device that a crash has left behind, and opens the log on it.
func reopen(t testing.TB, inner device.Device) *opened {
	t.Helper()
	l, err := openLog(faultdev.Wrap(inner, faultdev.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// script appends and commits until something fails, and returns how many entries were acknowledged as durable.
func script(l *opened) (acknowledged int, err error) {
	for n := range 30 {
		at, end, err := l.Append(content(n, 100+(n%5)*1500))
		if err != nil {
			return acknowledged, err
		}
		l.entries = append(l.entries, recorded{at, content(n, 100+(n%5)*1500)})
		if n%2 == 1 {
			if err := l.WaitCommit(end); err != nil {
				return acknowledged, err
			}
			acknowledged = n + 1
		}
	}
	return acknowledged, nil
}

// TestFailedWrites makes the Nth write fail, for every N. Once the fault is over, what failed is written by itself, and
// nothing is lost (L4).
func TestFailedWrites(t *testing.T) {
	for n := 1; ; n++ {
		inner := memory(t)
		faulty := faultdev.Wrap(inner, faultdev.Options{})
		l, err := openLog(faulty)
		if err != nil {
			t.Fatal(err)
		}
		if n%2 == 0 {
			faulty.TearNthWrite(n, 60)
		} else {
			faulty.FailNth(device.OpWrite, n, syscall.ENOSPC)
		}
		_, failed := script(l)
		if _, writes, _ := faulty.Counts(); writes < n {
			faulty.Disarm()
			l.shut(t)
			return
		}
		if failed != nil && n%2 == 1 && !errors.Is(failed, syscall.ENOSPC) {
			t.Fatalf("write %d fails with %v", n, failed)
		}
		for end := time.Now().Add(time.Minute); l.Err() != nil; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("write %d: the log does not recover from %v", n, l.Err())
			}
		}
		l.mustAppend(t, content(77, 10))
		want := l.entries
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		again := reopen(t, inner)
		same(t, fmt.Sprint("write ", n, " failed"), again.entries, want)
		again.shut(t)
	}
}

// TestFullDevice fails every write for a while, as a full disk does: entries are refused with the cause, none that
// was taken is lost, and the log goes on when there is room.
func TestFullDevice(t *testing.T) {
	inner := memory(t)
	faulty := faultdev.Wrap(inner, faultdev.Options{})
	l, err := openLog(faulty)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 100000 {
		faulty.FailNth(device.OpWrite, n+1, syscall.ENOSPC)
	}
	l.mustAppend(t, content(1, 100))
	if err := l.Commit(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("a commit on a full device: %v", err)
	}
	if _, _, err := l.Append([]byte("refused")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("an append: %v", err)
	}
	if info := l.Info(); info.Error == "" || info.Committed != 0 {
		t.Errorf("info: %+v", info)
	}
	faulty.Disarm()
	for end := time.Now().Add(time.Minute); l.Err() != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the log does not recover")
		}
	}
	l.mustAppend(t, content(2, 100))
	if err := l.Commit(); err != nil {
		t.Fatal(err)
	}
	want := l.entries
	l.Close()
	again := reopen(t, inner)
	defer again.shut(t)
	same(t, "after the full device", again.entries, want)
}

// TestFailedSyncs makes the Nth sync fail, for every N: nothing is taken or committed from then on, although later
// syncs would succeed (L4).
func TestFailedSyncs(t *testing.T) {
	for n := 1; ; n++ {
		inner := memory(t)
		faulty := faultdev.Wrap(inner, faultdev.Options{Volatile: true})
		l, err := openLog(faulty)
		if err != nil {
			t.Fatal(err)
		}
		faulty.FailNthSync(n, nil)
		acknowledged, failed := script(l)
		if failed == nil {
			l.Close()
			return
		}
		for range 3 {
			if err := l.Commit(); !errors.Is(err, faultdev.ErrInjected) {
				t.Fatalf("sync %d: a later commit: %v", n, err)
			}
			if _, _, err := l.Append([]byte("x")); !errors.Is(err, faultdev.ErrInjected) {
				t.Fatalf("sync %d: a later append: %v", n, err)
			}
		}
		if err := l.Close(); !errors.Is(err, faultdev.ErrInjected) {
			t.Fatalf("sync %d: Close: %v", n, err)
		}
		if err := faulty.Crash(nil); err != nil {
			t.Fatal(err)
		}
		again := reopen(t, inner)
		if len(again.entries) < acknowledged {
			t.Fatalf("sync %d: %d entries survive, %d were acknowledged", n, len(again.entries), acknowledged)
		}
		same(t, "after the crash", again.entries, l.entries[:len(again.entries)])
		again.shut(t)
	}
}

// TestCrashes lets the device forget unsynced writes, or keep any part of them, in any order: the entries found are a
// prefix that holds all acknowledged ones, again and again on the same device (L3, L5, L6).
func TestCrashes(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 2))
		inner := memory(t)
		var entries []recorded
		for round := range 6 {
			faulty := faultdev.Wrap(inner, faultdev.Options{Volatile: true})
			l, err := openLog(faulty)
			if err != nil {
				t.Fatalf("seed %d, round %d: %v", seed, round, err)
			}
			if len(l.entries) < len(entries) {
				t.Fatalf("seed %d, round %d: %d entries, %d were acknowledged", seed, round, len(l.entries), len(entries))
			}
			same(t, fmt.Sprint("seed ", seed, ", round ", round), l.entries[:len(entries)], entries)
			durable := len(l.entries)
			for n := range random.IntN(40) {
				at, end, err := l.Append(content(n, random.IntN(2000)))
				if err != nil {
					t.Fatal(err)
				}
				l.entries = append(l.entries, recorded{at, nil})
				switch random.IntN(4) {
				case 0:
					if err := l.WaitCommit(end); err != nil {
						t.Fatal(err)
					}
					durable = len(l.entries)
				case 1:
					if err := l.Flush(); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := faulty.Crash(func(_, length int) int {
				return []int{0, length, random.IntN(length + 1)}[random.IntN(3)]
			}); err != nil {
				t.Fatal(err)
			}
			l.Close()
			entries = found(t, inner)
			if len(entries) < durable {
				t.Fatalf("seed %d, round %d: %d entries survive, %d were acknowledged", seed, round, len(entries), durable)
			}
			for i, e := range entries {
				if e.at != l.entries[i].at {
					t.Fatalf("seed %d: entry %d is at %d, was at %d", seed, i, e.at, l.entries[i].at)
				}
			}
		}
	}
}

// found returns the entries on a device.
func found(t testing.TB, d device.Device) (entries []recorded) {
	t.Helper()
	if _, err := log.Check(d, func(at log.Address, bytes []byte) error {
		entries = append(entries, recorded{at, append([]byte{}, bytes...)})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return entries
}

// TestOneSyncForAllThatWait has many goroutines commit at once: they share syncs.
func TestOneSyncForAllThatWait(t *testing.T) {
	const workers = 32
	faulty := faultdev.Wrap(memory(t), faultdev.Options{Delay: 2 * time.Millisecond})
	l, err := openLog(faulty)
	if err != nil {
		t.Fatal(err)
	}
	defer l.shut(t)
	before := l.Info().Syncs
	var ready, wait sync.WaitGroup
	ready.Add(workers)
	for n := range workers {
		wait.Go(func() {
			_, end, err := l.Append(content(n, 50))
			ready.Done()
			ready.Wait()
			if err == nil {
				err = l.WaitCommit(end)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if syncs := l.Info().Syncs - before; syncs > 2 {
		t.Errorf("%d commits took %d syncs", workers, syncs)
	}
}

// TestClosedLog refuses everything.
func TestClosedLog(t *testing.T) {
	l := mustOpen(t, t.TempDir())
	scanner, err := l.Scan(0)
	if err != nil {
		t.Fatal(err)
	}
	l.shut(t)
	if _, _, err := l.Append(nil); !errors.Is(err, log.ErrClosed) {
		t.Errorf("Append: %v", err)
	}
	if err := l.Commit(); !errors.Is(err, log.ErrClosed) {
		t.Errorf("Commit: %v", err)
	}
	if err := l.WaitRoom(1); !errors.Is(err, log.ErrClosed) {
		t.Errorf("WaitRoom: %v", err)
	}
	if err := l.Close(); !errors.Is(err, log.ErrClosed) {
		t.Errorf("Close: %v", err)
	}
	if err := scanner.Wait(nil); !errors.Is(err, log.ErrClosed) {
		t.Errorf("Wait: %v", err)
	}
}
