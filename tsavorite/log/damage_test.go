package log_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/tsavorite/log"
)

// sample makes a log of a few commits and a block that was flushed and not committed, and abandons it.
func sample(t testing.TB, directory string) (entries []recorded, durable int) {
	t.Helper()
	l := mustOpen(t, directory)
	for n := range 12 {
		l.mustAppend(t, content(n, 40+n*17))
		if n%3 == 2 && n < 9 {
			if err := l.Commit(); err != nil {
				t.Fatal(err)
			}
			durable = n + 1
		}
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	l.abandon(t)
	return l.entries, durable
}

// write replaces the log's files.
func write(t testing.TB, directory string, all map[string][]byte) {
	t.Helper()
	old, _ := filepath.Glob(filepath.Join(directory, "log.*"))
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	for name, bytes := range all {
		if err := os.WriteFile(filepath.Join(directory, filepath.Base(name)), bytes, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// lastBlock is where the last block of the file begins.
func lastBlock(t testing.TB, directory string) log.Address {
	t.Helper()
	d := openFile(t, directory)
	defer d.Close()
	last := log.Address(0)
	if _, err := log.Check(d, func(at log.Address, _ []byte) error {
		last = at
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return last
}

// TestTornTail cuts the file at each byte of its last block: the entries before it are found, the cut is reported, and
// the log goes on there (L5, L6).
func TestTornTail(t *testing.T) {
	from := t.TempDir()
	entries, durable := sample(t, from)
	all := files(t, from)
	if len(all) != 1 {
		t.Fatalf("%d files", len(all))
	}
	for name, bytes := range all {
		end := len(strings.TrimRight(string(bytes), "\x00"))
		start := int(entries[durable].at) - 48
		step := 1
		if testing.Short() {
			step = 5
		}
		for cut := start; cut <= end; cut += min(step, max(end-cut, 1)) { // the end itself too
			directory := t.TempDir()
			write(t, directory, map[string][]byte{name: bytes[:cut]})
			l := mustOpen(t, directory)
			want := entries[:durable]
			if cut == end {
				want = entries
			}
			same(t, fmt.Sprintf("cut at %d", cut), l.entries, want)
			if found := l.Found(); (found.TornBytes > 0) != (cut > start && cut < end) || found.TornBytes > uint64(cut-start) {
				t.Fatalf("cut at %d of %d to %d: torn bytes %d, %q", cut, start, end, found.TornBytes, found.TornReason)
			}
			l.mustAppend(t, content(99, 10))
			want = l.entries
			l.shut(t)
			l = mustOpen(t, directory)
			same(t, "after the cut", l.entries, want)
			if found := l.Found(); found.TornBytes != 0 || !found.Clean {
				t.Fatalf("cut at %d, after it: %+v", cut, found)
			}
			l.shut(t)
		}
	}
}

// TestFlippedBytes changes each byte of a log. It is refused, with file and offset, unless the change lies in what was
// not durable: then the entries before are found. Nothing else ever comes out (L5).
func TestFlippedBytes(t *testing.T) {
	from := t.TempDir()
	entries, durable := sample(t, from)
	for name, bytes := range files(t, from) {
		end := len(strings.TrimRight(string(bytes), "\x00"))
		directory := t.TempDir()
		refused, step := 0, 1
		if testing.Short() {
			step = 7
		}
		for i := 0; i < end; i += step {
			bytes[i] ^= 0x41
			write(t, directory, map[string][]byte{name: bytes})
			d := openFile(t, directory)
			l, err := openLog(d)
			switch {
			case err == nil:
				same(t, fmt.Sprintf("byte %d changed", i), l.entries, entries[:len(l.entries)])
				if len(l.entries) < durable {
					t.Fatalf("byte %d changed: %d entries are found, %d were durable", i, len(l.entries), durable)
				}
			case !errors.Is(err, log.ErrDamaged) || !strings.Contains(err.Error(), "offset"):
				t.Fatalf("byte %d changed: %v", i, err)
			default:
				refused++
			}
			l.abandon(t)
			bytes[i] ^= 0x41
		}
		if start := int(entries[durable].at) - 48; refused < start/step*9/10 {
			t.Errorf("%d of %d changes were refused", refused, start/step)
		}
	}
}

// TestCleanLogDetectsEveryChange changes each byte of a log that was closed: the last entries too are durable, and
// it says so.
func TestCleanLogDetectsEveryChange(t *testing.T) {
	from := t.TempDir()
	l := mustOpen(t, from)
	for n := range 5 {
		l.mustAppend(t, content(n, 60))
	}
	want := l.entries
	l.shut(t)
	for name, bytes := range files(t, from) {
		end := len(strings.TrimRight(string(bytes), "\x00"))
		directory := t.TempDir()
		for i := range end {
			bytes[i] ^= 0x80
			write(t, directory, map[string][]byte{name: bytes})
			d := openFile(t, directory)
			l, err := openLog(d)
			if err == nil {
				same(t, fmt.Sprintf("byte %d changed", i), l.entries, want)
				if l.Found().Clean {
					t.Errorf("byte %d changed: the log is said to be clean", i)
				}
			} else if !errors.Is(err, log.ErrDamaged) {
				t.Fatal(err)
			}
			l.abandon(t)
			bytes[i] ^= 0x80
		}
	}
}

// TestMissingSegments removes each file of a log of several: all but the loss of the last one are refused, and that one
// too when the log was closed and the file held entries (L7).
func TestMissingSegments(t *testing.T) {
	from := t.TempDir()
	l := mustOpen(t, from)
	for n := range 200 {
		l.mustAppend(t, content(n, 500))
		if n == 100 {
			if err := l.Truncate(l.entries[50].at); err != nil {
				t.Fatal(err)
			}
		}
	}
	l.shut(t)
	all := files(t, from)
	if len(all) < 4 {
		t.Fatalf("%d files", len(all))
	}
	last := filepath.Join(from, fmt.Sprintf("log.%d", l.Tail()/testSegment))
	for name := range all {
		directory := t.TempDir()
		rest := files(t, from)
		delete(rest, name)
		write(t, directory, rest)
		d := openFile(t, directory)
		found, err := openLog(d)
		if name != last && !errors.Is(err, log.ErrDamaged) {
			t.Errorf("without %s: %v, %d entries", filepath.Base(name), err, len(found.entries))
		}
		found.abandon(t)
	}
}

// TestCutTailStaysCut lets a log be torn before blocks that are whole, then written again with blocks of the same
// sizes, so that the old ones fit behind the new ones: they must not come back (L6).
func TestCutTailStaysCut(t *testing.T) {
	directory := t.TempDir()
	l := mustOpen(t, directory)
	for n := range 6 {
		l.mustAppend(t, content(n, 100))
		if n == 0 {
			if err := l.Commit(); err != nil {
				t.Fatal(err)
			}
		} else if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	l.abandon(t)
	entries := l.entries
	for name, bytes := range files(t, directory) {
		bytes[entries[2].at+50] ^= 1
		write(t, directory, map[string][]byte{name: bytes})
	}
	for round := range 3 {
		l = mustOpen(t, directory)
		same(t, fmt.Sprint("round ", round), l.entries, entries[:2+round])
		entries = append([]recorded{}, l.entries...)
		l.mustAppend(t, content(50+round, 100))
		entries = append(entries, l.entries[len(l.entries)-1])
		if err := l.Commit(); err != nil {
			t.Fatal(err)
		}
		l.abandon(t)
	}
}

// TestCheckChangesNothing compares the files before and after.
func TestCheckChangesNothing(t *testing.T) {
	directory := t.TempDir()
	entries, _ := sample(t, directory)
	before := files(t, directory)
	if last := lastBlock(t, directory); last != entries[len(entries)-1].at {
		t.Errorf("the last entry is at %d", last)
	}
	for name, bytes := range files(t, directory) {
		if string(before[name]) != string(bytes) {
			t.Errorf("%s has changed", name)
		}
	}
}

// FuzzOpen opens any bytes as a log's first segment: it is refused or it opens, it takes an entry, and opens again with it.
func FuzzOpen(f *testing.F) {
	directory := f.TempDir()
	sample(f, directory)
	for _, bytes := range files(f, directory) {
		f.Add(bytes[:min(len(bytes), 4096)], uint16(100), byte(1))
	}
	f.Add([]byte{}, uint16(0), byte(0))
	f.Fuzz(func(t *testing.T, bytes []byte, at uint16, change byte) {
		if len(bytes) > testSegment {
			return
		}
		if len(bytes) > 0 {
			bytes[int(at)%len(bytes)] ^= change
		}
		directory := t.TempDir()
		write(t, directory, map[string][]byte{"log.0": bytes})
		d := openFile(t, directory)
		l, err := openLog(d)
		if err != nil {
			if !errors.Is(err, log.ErrDamaged) {
				t.Errorf("it is refused with %v", err)
			}
			d.Close()
			return
		}
		l.mustAppend(t, content(7, 30))
		want := l.entries
		l.shut(t)
		l = mustOpen(t, directory)
		same(t, "again", l.entries, want)
		l.shut(t)
	})
}
