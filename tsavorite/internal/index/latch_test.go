package index_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/tsavorite/internal/epoch"
	"github.com/pyropedb/pyrope/tsavorite/internal/index"
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

func wantOutcome(t *testing.T, what string, got, want index.Outcome) {
	t.Helper()
	if got != want {
		t.Errorf("%s says %d, want %d", what, got, want)
	}
}

// TestLatchExclusion: readers share, a writer is alone, and whoever is refused holds nothing.
func TestLatchExclusion(t *testing.T) {
	b := newIndex(t, 1).Table().Bucket(0)
	wantOutcome(t, "the first TryShared", b.TryShared(), index.Latched)
	wantOutcome(t, "the second TryShared", b.TryShared(), index.Latched)
	b.ReleaseShared()
	b.ReleaseShared()
	wantOutcome(t, "TryExclusive", b.TryExclusive(), index.Latched)
	wantOutcome(t, "TryShared beside a writer", b.TryShared(), index.Busy)
	wantOutcome(t, "TryExclusive beside a writer", b.TryExclusive(), index.Busy)
	b.ReleaseExclusive()
	wantOutcome(t, "TryExclusive after refusals", b.TryExclusive(), index.Latched)
	b.ReleaseExclusive()
	wantOutcome(t, "TryShared in the end", b.TryShared(), index.Latched)
	b.ReleaseShared()
}

// TestLatchKeepsTheChain: latching does not disturb the number of the overflow bucket in the same word.
func TestLatchKeepsTheChain(t *testing.T) {
	table := newIndex(t, 1).Table()
	entries := randomEntries(50, 1, 3)
	for _, e := range entries {
		put(t, table, e.hash, e.address, begin)
	}
	b := table.Bucket(0)
	for range 3 {
		b.TryShared()
		check(t, table, entries, 0, begin)
	}
	for range 3 {
		b.ReleaseShared()
	}
	b.TryExclusive()
	check(t, table, entries, 0, begin)
	b.ReleaseExclusive()
	check(t, table, entries, 0, begin)
}

// TestWriterWaitsForReaders: the writer's claim keeps new readers out, and it gets the latch when the
// last reader has gone.
func TestWriterWaitsForReaders(t *testing.T) {
	b := newIndex(t, 1).Table().Bucket(0)
	b.TryShared()
	var latched atomic.Bool
	done := make(chan index.Outcome)
	go func() {
		outcome := b.TryExclusive()
		latched.Store(true)
		done <- outcome
	}()
	for deadline := time.Now().Add(time.Minute); b.TryShared() == index.Latched; runtime.Gosched() {
		b.ReleaseShared()
		if time.Now().After(deadline) {
			t.Fatal("a waiting writer does not keep new readers out")
		}
	}
	if latched.Load() {
		t.Fatal("a writer got the latch beside a reader")
	}
	b.ReleaseShared()
	wantOutcome(t, "TryExclusive once the reader has gone", <-done, index.Latched)
	b.ReleaseExclusive()
}

// TestLatchUnderLoad: plain words behind the latch are never seen half changed, nor by two writers.
func TestLatchUnderLoad(t *testing.T) {
	b := newIndex(t, 1).Table().Bucket(0)
	rounds := 20_000
	if testing.Short() {
		rounds = 2000
	}
	var left, right int
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for range rounds {
				for b.TryExclusive() != index.Latched {
					runtime.Gosched()
				}
				left++
				right++
				b.ReleaseExclusive()
			}
		})
		group.Go(func() {
			for range rounds {
				for b.TryShared() != index.Latched {
					runtime.Gosched()
				}
				if left != right {
					t.Errorf("a reader sees %d and %d", left, right)
				}
				b.ReleaseShared()
			}
		})
	}
	group.Wait()
	if left != 2*rounds || right != left {
		t.Errorf("%d and %d changes were counted, want %d", left, right, 2*rounds)
	}
}

// grower is an index that sessions use while it doubles.
type grower struct {
	t       *testing.T
	index   *index.Index
	epochs  *epoch.Table
	hashes  []uint64
	version []atomic.Uint64 // what was last published for a hash
}

// versionBits of an address say how often it was changed, the bits above which hash it belongs to.
const versionBits = 20

func (g *grower) address(i int, version uint64) record.Address {
	return record.Address(uint64(i+1)<<versionBits | version<<3)
}

// latch takes a hash's latch, following moved buckets, and returns the table and bucket it is in.
func (g *grower) latch(e *epoch.Entry, hash uint64, try func(*index.Bucket) index.Outcome) (*index.Table, *index.Bucket) {
	for {
		for table := g.index.Table(); table != nil; table = table.Next() {
			b := table.Bucket(hash)
			outcome := try(b)
			if outcome == index.Latched {
				return table, b
			}
			if outcome == index.Busy {
				break
			}
		}
		e.Leave()
		runtime.Gosched()
		e.Enter()
	}
}

// write changes the i-th hash's entry; only one goroutine does for each i.
func (g *grower) write(e *epoch.Entry, i int) {
	e.Enter()
	defer e.Leave()
	hash, tag := g.hashes[i], index.TagOf(g.hashes[i])
	table, b := g.latch(e, hash, (*index.Bucket).TryExclusive)
	defer b.ReleaseExclusive()
	version := g.version[i].Load()
	slot, address := table.Find(b, tag, begin)
	switch {
	case version == 0 && slot != nil:
		g.t.Errorf("hash %d was never written and has address %#x", i, address)
	case version != 0 && address != g.address(i, version):
		g.t.Errorf("hash %d has address %#x, want %#x", i, address, g.address(i, version))
	}
	if slot == nil {
		var err error
		if slot, err = table.Claim(b, tag, begin); err != nil {
			g.t.Errorf("cannot claim: %v", err)
			return
		}
		if version%2 == 1 { // gives up at first, as a writer without room does
			index.Abandon(slot)
			slot, _ = table.Claim(b, tag, begin)
		}
	}
	index.Publish(slot, tag, g.address(i, version+1))
	g.version[i].Store(version + 1)
}

// read finds at least what had been published before.
func (g *grower) read(e *epoch.Entry, i int) {
	e.Enter()
	defer e.Leave()
	version := g.version[i].Load()
	table, b := g.latch(e, g.hashes[i], (*index.Bucket).TryShared)
	defer b.ReleaseShared()
	slot, address := table.Find(b, index.TagOf(g.hashes[i]), begin)
	if version == 0 && slot == nil {
		return
	}
	if address < g.address(i, version) || address >= g.address(i+1, 0) {
		g.t.Errorf("hash %d has address %#x, want %#x or a later version", i, address, g.address(i, version))
	}
	if again, same := table.Find(b, index.TagOf(g.hashes[i]), begin); again != slot || same != address {
		g.t.Errorf("the entry of hash %d changes under a shared latch (I1)", i)
	}
}

// TestDoublingUnderLoad doubles twelve times while writers and readers go on. Old tables are unmapped as
// soon as the epoch allows, so a use after that shows as a fault.
func TestDoublingUnderLoad(t *testing.T) {
	const buckets, count, writers = 4, 1500, 2
	g := &grower{t: t, index: newIndex(t, buckets), epochs: epoch.New(), version: make([]atomic.Uint64, count)}
	for _, e := range randomEntries(count, buckets, 11) {
		g.hashes = append(g.hashes, e.hash)
	}
	var stop atomic.Bool
	var group sync.WaitGroup
	for w := range writers {
		e := g.epochs.Register()
		group.Go(func() {
			for round := 0; !stop.Load() || round < 2; round++ {
				for i := w; i < count && !t.Failed(); i += writers {
					g.write(e, i)
				}
			}
		})
		reader := g.epochs.Register()
		group.Go(func() {
			for n := w; !stop.Load(); n++ {
				g.read(reader, n*7%count)
			}
		})
	}
	for range index.MaxDoublings {
		time.Sleep(2 * time.Millisecond)
		if err := g.index.Double(atBegin, g.epochs.Bump, nil); err != nil {
			t.Errorf("cannot double: %v", err)
		}
	}
	stop.Store(true)
	group.Wait()
	var entries []entry
	for i, hash := range g.hashes {
		entries = append(entries, entry{hash, g.address(i, g.version[i].Load())})
	}
	check(t, g.index.Table(), entries, 2, begin)
}

// TestVersions: a version tells exclusive latches apart, whatever readers do, and is not free while one is held
// or once the bucket has moved.
func TestVersions(t *testing.T) {
	x := newIndex(t, 1)
	b := x.Table().Bucket(0)
	first, free := b.Version()
	if !free || !b.Unchanged(first) {
		t.Fatal("a fresh bucket is not free, or not unchanged")
	}
	b.TryShared()
	if beside, free := b.Version(); !free || !b.Unchanged(first) || !b.Unchanged(beside) {
		t.Error("a reader's latch changes the version")
	}
	b.ReleaseShared()
	b.TryExclusive()
	if _, free := b.Version(); free || b.Unchanged(first) {
		t.Error("a bucket that is latched exclusively looks free")
	}
	b.ReleaseExclusive()
	second, free := b.Version()
	if !free || b.Unchanged(first) || !b.Unchanged(second) {
		t.Error("the version after a write is not a new one")
	}
	var retired []func()
	if err := x.Double(atBegin, keepRetired(t, &retired), nil); err != nil {
		t.Fatal(err)
	}
	if _, free := b.Version(); free || b.Unchanged(second) {
		t.Error("a bucket that has moved looks free")
	}
}

// TestVersionUnderLoad: what was read between two loads of a free version is never half of a write (I6), and a
// version never comes back.
func TestVersionUnderLoad(t *testing.T) {
	b := newIndex(t, 1).Table().Bucket(0)
	rounds := uint64(300_000)
	if testing.Short() {
		rounds = 20_000
	}
	var left, right atomic.Uint64
	done := make(chan uint64)
	for range 2 {
		go func() {
			whole := uint64(0)
			for last := uint64(0); last < rounds; {
				version, free := b.Version()
				l, r := left.Load(), right.Load()
				if free && b.Unchanged(version) {
					whole++
					if l != r || l < last {
						t.Errorf("a reader sees %d and %d after %d (I6)", l, r, last)
						break
					}
					last = l
				}
			}
			done <- whole
		}()
	}
	for range rounds {
		if b.TryExclusive() == index.Latched {
			left.Add(1)
			right.Add(1)
			b.ReleaseExclusive()
		}
	}
	for range 2 {
		if <-done == 0 {
			t.Error("no read was whole")
		}
	}
}

// TestSharedLatchesAreCounted: the count of readers does not run into the exclusive bit.
func TestSharedLatchesAreCounted(t *testing.T) {
	b := newIndex(t, 1).Table().Bucket(0)
	held := 0
	for b.TryShared() == index.Latched {
		held++
	}
	if held < 1000 {
		t.Errorf("only %d readers share a latch", held)
	}
	for range held {
		b.ReleaseShared()
	}
	wantOutcome(t, "TryExclusive once all readers have gone", b.TryExclusive(), index.Latched)
	b.ReleaseExclusive()
}
