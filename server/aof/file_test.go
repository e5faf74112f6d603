package aof_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server/aof"
	"github.com/pyropedb/pyrope/tsavorite"
	"github.com/pyropedb/pyrope/tsavorite/log"
)

// stack is a store with its append-only file.
type stack struct {
	file    *aof.File
	store   *tsavorite.Store
	session *tsavorite.Session
}

// open opens a store and loads the file in a directory into it.
func open(t testing.TB, directory string, interval time.Duration) *stack {
	t.Helper()
	s, err := tryOpen(directory, interval)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tryOpen(directory string, interval time.Duration) (*stack, error) {
	s := &stack{file: aof.New(aof.Options{Directory: directory, CommitInterval: interval})}
	var err error
	if s.store, err = tsavorite.Open(tsavorite.Options{Journal: s.file}); err != nil {
		return nil, err
	}
	replayer, err := s.store.NewReplaySession()
	if err != nil {
		return nil, err
	}
	replayer.Enter()
	err = s.file.Load(0, 0, func(e *tsavorite.Entry) error {
		_, err := replayer.Apply(e)
		return err
	})
	replayer.Leave()
	replayer.Close()
	if err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	s.session, err = s.store.NewSession()
	s.session.Enter()
	return s, err
}

func (s *stack) close(t testing.TB) {
	t.Helper()
	s.session.Leave()
	s.session.Close()
	if err := errors.Join(s.store.Close(), s.file.Close()); err != nil {
		t.Fatal(err)
	}
}

// contents is everything live, as text.
type contents map[string]string

func (c contents) Visit(key []byte, r tsavorite.Record) bool {
	c[string(key)] = fmt.Sprintf("%q %+v", r.Value, r.Metadata)
	return true
}

func (s *stack) contents(t testing.TB) contents {
	t.Helper()
	c := contents{}
	if _, err := s.session.Scan(0, 0, 0, c); err != nil {
		t.Fatal(err)
	}
	return c
}

func key(n int) tsavorite.Key { return tsavorite.Key{Bytes: fmt.Appendf(nil, "key:%d", n)} }

// TestRestart carries out writes at random, closes, opens, and finds the same (deadlines are absolute).
func TestRestart(t *testing.T) {
	directory := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	want := contents{}
	for range 4 {
		s := open(t, directory, aof.Manual)
		if got := s.contents(t); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("loaded %d keys, want %d:\n%.300v\n%.300v", len(got), len(want), got, want)
		}
		for range 2000 {
			k := key(random.IntN(300))
			switch random.IntN(5) {
			case 0:
				s.session.Delete(k)
			case 1:
				s.session.Latch([]tsavorite.Key{k, key(1000)})
				s.session.Upsert(k, []byte("one"), tsavorite.Metadata{})
				s.session.Upsert(key(1000), []byte("other"), tsavorite.Metadata{})
				s.session.Unlatch()
			default:
				m := tsavorite.Metadata{Kind: tsavorite.Kind(random.IntN(2)), Etag: uint64(random.IntN(2))}
				if random.IntN(3) == 0 {
					m.Deadline = s.session.Now() + 3_600_000
				}
				s.session.Upsert(k, make([]byte, random.IntN(2000)), m)
			}
		}
		want = s.contents(t)
		s.close(t)
	}
}

// TestUnitsAreWhole leaves a unit open when the file is closed: nothing of it is there afterwards, and a unit of
// the same number that comes after the next start has nothing to do with it (A2, A3).
func TestUnitsAreWhole(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, 0)
	s.session.Upsert(key(1), []byte("before"), tsavorite.Metadata{})
	s.session.BeginUnit()
	s.session.Upsert(key(1), []byte("half"), tsavorite.Metadata{})
	s.session.Upsert(key(2), []byte("half"), tsavorite.Metadata{})
	if err := s.file.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s = open(t, directory, 0)
		want := contents{"key:1": `"before" {Deadline:0 Etag:0 Kind:0}`}
		if got := s.contents(t); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("loaded %v", got)
		}
		// The first unit of this start.
		s.session.BeginUnit()
		s.session.Upsert(key(3), []byte("whole"), tsavorite.Metadata{})
		s.session.Delete(key(3))
		s.session.EndUnit()
		s.close(t)
	}
}

// TestLoadLeavesOutWhatACheckpointHolds skips by position and by version.
func TestLoadLeavesOutWhatACheckpointHolds(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, aof.Manual)
	s.session.Upsert(key(1), nil, tsavorite.Metadata{})
	tail := s.file.Tail()
	s.session.Upsert(key(2), nil, tsavorite.Metadata{})
	s.close(t)
	for _, c := range []struct {
		from, version uint64
		want          int
	}{{0, 0, 2}, {tail, 0, 1}, {tail + 1, 0, 0}, {0, 1 << 40, 0}} {
		count := 0
		f := aof.New(aof.Options{Directory: directory})
		if err := f.Load(c.from, c.version, func(*tsavorite.Entry) error { count++; return nil }); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if count != c.want {
			t.Errorf("from %d, version %d: %d entries, want %d", c.from, c.version, count, c.want)
		}
	}
}

// TestCommitPositions: what a session has written is committed once WaitCommit of its position has returned.
func TestCommitPositions(t *testing.T) {
	s := open(t, t.TempDir(), time.Hour)
	defer s.close(t)
	s.session.Upsert(key(1), []byte("a"), tsavorite.Metadata{})
	position := s.session.Journaled()
	if position == 0 || s.file.CommittedUntil() >= position {
		t.Errorf("position %d, committed until %d", position, s.file.CommittedUntil())
	}
	if err := s.file.WaitCommit(position); err != nil || s.file.CommittedUntil() < position {
		t.Errorf("%v, committed until %d", err, s.file.CommittedUntil())
	}
	s.session.Upsert(key(1), []byte("b"), tsavorite.Metadata{})
	s.file.SetCommitInterval(time.Millisecond)
	for end := time.Now().Add(time.Minute); s.file.CommittedUntil() < s.session.Journaled(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the background does not commit")
		}
	}
}

// TestDamageIsRefused changes a byte in the middle: Load refuses with the place, and the file is left as it is.
func TestDamageIsRefused(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory, 0)
	for n := range 50 {
		s.session.Upsert(key(n), make([]byte, 100), tsavorite.Metadata{})
		if err := s.file.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	s.close(t)
	name := filepath.Join(directory, aof.DirectoryName, "aof.0")
	bytes, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	bytes[2000] ^= 1
	if err := os.WriteFile(name, bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tryOpen(directory, 0); !errors.Is(err, log.ErrDamaged) || !strings.Contains(err.Error(), "offset 1") {
		t.Errorf("Load: %v", err)
	}
	if _, err := aof.Check(directory, true, func(log.Address, []byte) error { return nil }); !errors.Is(err, log.ErrDamaged) {
		t.Errorf("Check: %v", err)
	}
	after, _ := os.ReadFile(name)
	if string(after) != string(bytes) {
		t.Error("the damaged file has changed")
	}
}

// BenchmarkJournaledUpsert shows what the file costs.
func BenchmarkJournaledUpsert(b *testing.B) {
	for _, with := range []bool{false, true} {
		b.Run(fmt.Sprintf("aof=%t", with), func(b *testing.B) {
			var s *stack
			if with {
				s = open(b, b.TempDir(), aof.Manual)
			} else {
				store, err := tsavorite.Open(tsavorite.Options{})
				if err != nil {
					b.Fatal(err)
				}
				session, err := store.NewSession()
				if err != nil {
					b.Fatal(err)
				}
				session.Enter()
				s = &stack{file: aof.New(aof.Options{}), store: store, session: session}
			}
			keys := make([]tsavorite.Key, 1024)
			for i := range keys {
				keys[i] = key(i)
			}
			value := make([]byte, 64)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				s.session.Upsert(keys[n%len(keys)], value, tsavorite.Metadata{})
				n++
			}
			s.close(b)
		})
	}
}
