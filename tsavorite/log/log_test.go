package log_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/file"
	"github.com/pyropedb/pyrope/tsavorite/log"
)

const (
	testSegment = 16 << 10
	testPage    = 4 << 10
)

// openFile opens the files in a directory, with small segments.
func openFile(t testing.TB, directory string) device.Device {
	t.Helper()
	d, err := file.Open(device.Options{Directory: directory, FileName: "log", SegmentSizeBytes: testSegment})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// recorded is an entry that was appended or found.
type recorded struct {
	at    log.Address
	bytes []byte
}

// opened is a log with what was found in it.
type opened struct {
	*log.Log
	device  device.Device
	entries []recorded
}

// openLog opens a log over a device.
func openLog(d device.Device) (*opened, error) {
	o := &opened{device: d}
	var err error
	o.Log, err = log.Open(log.Options{Device: d, PageBytes: testPage, MemoryBytes: 4 * testPage, Replay: func(at log.Address, entry []byte) error {
		o.entries = append(o.entries, recorded{at, bytes.Clone(entry)})
		return nil
	}})
	return o, err
}

// mustOpen opens the log in a directory.
func mustOpen(t testing.TB, directory string) *opened {
	t.Helper()
	d := openFile(t, directory)
	l, err := openLog(d)
	if err != nil {
		t.Fatal(errors.Join(err, d.Close()))
	}
	return l
}

// shut closes log and device.
func (o *opened) shut(t testing.TB) {
	t.Helper()
	if err := errors.Join(o.Close(), o.device.Close()); err != nil {
		t.Fatal(err)
	}
}

// abandon leaves a log as a killed process does: what is in memory is lost.
func (o *opened) abandon(t testing.TB) {
	t.Helper()
	if err := o.device.Close(); err != nil {
		t.Fatal(err)
	}
}

// content is the nth entry of a length: it can be told from every other.
func content(n, length int) []byte {
	b := make([]byte, length)
	for i := range b {
		b[i] = byte(n*31 + i*7 + i>>8)
	}
	if length >= 8 {
		binary.LittleEndian.PutUint64(b, uint64(n))
	}
	return b
}

// mustAppend appends an entry in parts and notes it.
func (o *opened) mustAppend(t testing.TB, bytes []byte) {
	t.Helper()
	cut := len(bytes) / 3
	at, end, err := o.Append(bytes[:cut], bytes[cut:2*cut], nil, bytes[2*cut:])
	if err != nil || end <= at {
		t.Fatalf("append: %d, %d, %v", at, end, err)
	}
	o.entries = append(o.entries, recorded{at, bytes})
}

// same compares entries, with their addresses.
func same(t testing.TB, what string, got, want []recorded) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i].at != want[i].at || !bytes.Equal(got[i].bytes, want[i].bytes) {
			t.Fatalf("%s: entry %d is %d bytes at %d, want %d bytes at %d", what, i, len(got[i].bytes), got[i].at, len(want[i].bytes), want[i].at)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d entries, want %d", what, len(got), len(want))
	}
}

// TestModel appends, commits, flushes, truncates, closes, abandons and opens at random, and compares what is found
// with what was appended (L1, L2, L3).
func TestModel(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { model(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func model(t *testing.T, random *rand.Rand) {
	directory := t.TempDir()
	l := mustOpen(t, directory)
	durable := 0 // how many of l.entries must survive
	for n := range 400 {
		switch pick := random.IntN(100); {
		case pick < 70:
			length := random.IntN(300)
			if random.IntN(20) == 0 {
				length = random.IntN(3 * testSegment) // several pages and segments
			}
			tail := l.Tail()
			l.mustAppend(t, content(n, length))
			if at := l.entries[len(l.entries)-1].at; at < tail {
				t.Fatalf("an entry lies at %d, below the tail %d", at, tail)
			}
		case pick < 85:
			if err := l.Commit(); err != nil {
				t.Fatal(err)
			}
			durable = len(l.entries)
		case pick < 90:
			if err := l.Flush(); err != nil {
				t.Fatal(err)
			}
		case pick < 93 && durable > 0:
			l.entries, durable = truncate(t, l, durable)
		default:
			before := l.entries
			if random.IntN(2) == 0 {
				l.shut(t)
				durable = len(before)
			} else {
				l.abandon(t)
			}
			l = mustOpen(t, directory)
			before = trimTo(before, l)
			durable = min(durable, len(before))
			if len(l.entries) < durable || len(l.entries) > len(before) {
				t.Fatalf("%d entries are found, of %d durable and %d in all", len(l.entries), durable, len(before))
			}
			same(t, "found", l.entries, before[:len(l.entries)])
			durable = len(l.entries)
		}
		info := l.Info()
		if info.Begin > info.Committed || info.Committed > info.Flushed || info.Flushed > info.Tail {
			t.Fatalf("the addresses are out of order: %+v", info)
		}
	}
	l.shut(t)
}

// truncate drops what lies below an entry in the middle of the durable ones.
func truncate(t *testing.T, l *opened, durable int) ([]recorded, int) {
	t.Helper()
	if err := l.Truncate(l.entries[durable/2].at); err != nil {
		t.Fatal(err)
	}
	left := trimTo(l.entries, l)
	return left, durable - (len(l.entries) - len(left))
}

// trimTo leaves out the entries that begin below the log's begin.
func trimTo(entries []recorded, l *opened) []recorded {
	begin := l.Info().Begin
	for len(entries) > 0 && entries[0].at < begin {
		entries = entries[1:]
	}
	return entries
}

// TestTruncateKeepsWhatIsAbove also looks at the files: whole segments go, and the begin survives (L7).
func TestTruncateKeepsWhatIsAbove(t *testing.T) {
	directory := t.TempDir()
	l := mustOpen(t, directory)
	for n := range 200 {
		l.mustAppend(t, content(n, 500))
	}
	if err := l.Truncate(l.Tail()); err == nil {
		// The tail was committed by the call itself.
		files, _ := filepath.Glob(filepath.Join(directory, "log.*"))
		if len(files) != 1 {
			t.Errorf("after a truncation at the tail there are %v", files)
		}
	} else {
		t.Error(err)
	}
	if err := l.Truncate(l.Tail() + 1<<20); err == nil {
		t.Error("a truncation above the tail is not refused")
	}
	left := trimTo(l.entries, l)
	if _, err := l.Scan(0); !errors.Is(err, log.ErrTruncated) {
		t.Errorf("a scan from below the begin: %v", err)
	}
	l.shut(t)
	l = mustOpen(t, directory)
	defer l.shut(t)
	same(t, "found", l.entries, left)
}

// TestConcurrentAppenders has several goroutines append and wait for their commits (run it under the race detector).
// Everything that was acknowledged is there, each goroutine's in its order.
func TestConcurrentAppenders(t *testing.T) {
	const workers, each = 8, 300
	directory := t.TempDir()
	l := mustOpen(t, directory)
	scanner, err := l.Scan(0)
	if err != nil {
		t.Fatal(err)
	}
	defer scanner.Close()
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for n := range each {
				entry := make([]byte, 16+(n*w)%900)
				binary.LittleEndian.PutUint64(entry, uint64(w))
				binary.LittleEndian.PutUint64(entry[8:], uint64(n))
				_, end, err := l.Append(entry[:8], entry[8:])
				if err == nil && n%3 == 0 {
					err = l.WaitCommit(end)
				}
				if err == nil && n%3 == 0 && l.CommittedUntil() < end {
					err = fmt.Errorf("committed until %d, below %d", l.CommittedUntil(), end)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
			if err := l.Commit(); err != nil { // the last entries, for the scanner
				t.Error(err)
			}
		})
	}
	var next [workers]uint64
	for seen := 0; seen < workers*each; {
		entry, ok, err := scanner.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			if err := scanner.Wait(nil); err != nil {
				t.Fatal(err)
			}
			continue
		}
		w, n := binary.LittleEndian.Uint64(entry.Bytes), binary.LittleEndian.Uint64(entry.Bytes[8:])
		if n != next[w] {
			t.Fatalf("entry %d of goroutine %d comes after %d others", n, w, next[w])
		}
		next[w]++
		seen++
	}
	wait.Wait()
	l.shut(t)
	l = mustOpen(t, directory)
	defer l.shut(t)
	if len(l.entries) != workers*each {
		t.Errorf("%d entries are found", len(l.entries))
	}
}

// TestScanFromEveryEntry starts a scan at each entry's address: it finds that one and all behind it.
func TestScanFromEveryEntry(t *testing.T) {
	l := mustOpen(t, t.TempDir())
	defer l.shut(t)
	for n := range 60 {
		l.mustAppend(t, content(n, (n*977)%9000))
		if n%7 == 0 {
			if err := l.Commit(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.Commit(); err != nil {
		t.Fatal(err)
	}
	for i, first := range l.entries {
		scanner, err := l.Scan(first.at)
		if err != nil {
			t.Fatal(err)
		}
		var got []recorded
		for {
			position := scanner.Position()
			entry, ok, err := scanner.Next()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			if entry.Address < position {
				t.Fatalf("an entry at %d lies below the position %d", entry.Address, position)
			}
			got = append(got, recorded{entry.Address, bytes.Clone(entry.Bytes)})
		}
		same(t, "scanned", got, l.entries[i:])
		if err := scanner.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLongEntry appends an entry that is longer than the memory, and than several segments, among others (L8).
func TestLongEntry(t *testing.T) {
	directory := t.TempDir()
	l := mustOpen(t, directory)
	l.mustAppend(t, content(1, 100))
	l.mustAppend(t, content(2, 20*testSegment))
	l.mustAppend(t, nil)
	l.mustAppend(t, content(3, 100))
	if _, _, err := l.Append(make([]byte, log.MaxEntryBytes), []byte{1}); !errors.Is(err, log.ErrTooLarge) {
		t.Errorf("an entry that is too long: %v", err)
	}
	want := l.entries
	l.shut(t)
	l = mustOpen(t, directory)
	defer l.shut(t)
	same(t, "found", l.entries, want)
}

// TestMemoryIsBounded has many appenders reserve at once: never more is admitted than L8 says.
func TestMemoryIsBounded(t *testing.T) {
	l := mustOpen(t, t.TempDir())
	defer l.shut(t)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for n := range 200 {
				if _, _, err := l.Append(content(n, 1500)); err != nil {
					t.Error(err)
				}
				if used := l.Info().BufferedBytes; used > 4*testPage+8*2000 {
					t.Errorf("%d bytes are in memory", used) // eight attempts may be counted and about to be taken back
				}
			}
		})
	}
	wait.Wait()
	if ok, err := l.TryReserve(100); !ok || err != nil {
		t.Fatal(ok, err)
	}
	l.Unreserve(100)
	if err := l.Commit(); err != nil || l.Info().BufferedBytes != 0 {
		t.Errorf("after a commit %d bytes are in memory, %v", l.Info().BufferedBytes, err)
	}
}

// TestOptions checks every bound.
func TestOptions(t *testing.T) {
	d := openFile(t, t.TempDir())
	defer d.Close()
	for _, o := range []log.Options{
		{}, {Device: d, PageBytes: 1 << 10}, {Device: d, PageBytes: 5 << 10}, {Device: d, PageBytes: 2 * testSegment},
		{Device: d, PageBytes: testPage, MemoryBytes: testPage},
	} {
		if _, err := log.Open(o); err == nil {
			t.Errorf("%+v is not refused", o)
		}
	}
	if err := (log.Options{Device: d}).Validate(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
}

// TestReplayErrorEndsOpen expects the replay's own error.
func TestReplayErrorEndsOpen(t *testing.T) {
	directory := t.TempDir()
	l := mustOpen(t, directory)
	l.mustAppend(t, content(1, 10))
	l.shut(t)
	d := openFile(t, directory)
	defer d.Close()
	stop := errors.New("stop")
	if _, err := log.Open(log.Options{Device: d, PageBytes: testPage, Replay: func(log.Address, []byte) error { return stop }}); !errors.Is(err, stop) {
		t.Errorf("Open: %v", err)
	}
}

// files returns the log's files with their bytes.
func files(t testing.TB, directory string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	names, err := filepath.Glob(filepath.Join(directory, "log.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if all[name], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
