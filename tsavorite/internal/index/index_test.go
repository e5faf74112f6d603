package index_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/tsavorite/internal/index"
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

const (
	bucketBytes = 64
	begin       = record.Address(64)
)

func newIndex(t testing.TB, buckets uint64) *index.Index {
	t.Helper()
	x, err := index.New(buckets * bucketBytes)
	if err != nil {
		t.Fatalf("cannot make an index of %d buckets: %v", buckets, err)
	}
	t.Cleanup(x.Close)
	return x
}

// hashOf builds a hash from the two parts the index looks at. What lies between them is noise.
func hashOf(tag, low uint64) uint64 { return tag<<49 | 0x5A5A<<33 | low }

// put gives a hash an address, the way a writer does: latch, find or claim, publish.
func put(t testing.TB, table *index.Table, hash uint64, address, begin record.Address) {
	t.Helper()
	b := table.Bucket(hash)
	if outcome := b.TryExclusive(); outcome != index.Latched {
		t.Fatalf("TryExclusive of a free bucket says %d", outcome)
	}
	defer b.ReleaseExclusive()
	slot, _ := table.Find(b, index.TagOf(hash), begin)
	if slot == nil {
		var err error
		if slot, err = table.Claim(b, index.TagOf(hash), begin); err != nil {
			t.Fatalf("cannot claim an entry: %v", err)
		}
	}
	index.Publish(slot, index.TagOf(hash), address)
}

func find(table *index.Table, hash uint64, begin record.Address) record.Address {
	_, address := table.Find(table.Bucket(hash), index.TagOf(hash), begin)
	return address
}

// entry is one thing that a test has put into an index.
type entry struct {
	hash    uint64
	address record.Address
}

// randomEntries returns count entries with pairwise different bucket and tag in an index that starts with
// so many buckets. The n-th has address 64 + 8 n.
func randomEntries(count int, buckets, seed uint64) []entry {
	random := rand.New(rand.NewPCG(seed, 1))
	seen := map[[2]uint64]bool{}
	var entries []entry
	for len(entries) < count {
		hash := random.Uint64()
		place := [2]uint64{hash % buckets, hash >> 49}
		if !seen[place] {
			seen[place] = true
			entries = append(entries, entry{hash, begin + record.Address(8*len(entries))})
		}
	}
	return entries
}

// chosenBucket is where a hash lies in a table of 2^bits buckets of an index that started with 2^baseBits:
// low bits of the hash, then low bits of the tag (I4).
func chosenBucket(hash uint64, bits, baseBits uint) uint64 {
	return hash%(1<<baseBits) | hash>>49%(1<<(bits-baseBits))<<baseBits
}

// check looks every entry up, and then looks at every bucket: each address lies in the bucket its
// hash chooses (I4), once (I2), and there is nothing else.
func check(t *testing.T, table *index.Table, entries []entry, baseBits uint, begin record.Address) {
	t.Helper()
	bits := uint(0)
	for 1<<bits < table.BucketCount() {
		bits++
	}
	want := map[uint64][]record.Address{}
	for _, e := range entries {
		if e.address < begin {
			if got := find(table, e.hash, begin); got != 0 {
				t.Fatalf("%d buckets: hash %#x has address %d, below begin %d", table.BucketCount(), e.hash, got, begin)
			}
			continue
		}
		if got := find(table, e.hash, begin); got != e.address {
			t.Fatalf("%d buckets: hash %#x has address %d, want %d", table.BucketCount(), e.hash, got, e.address)
		}
		i := chosenBucket(e.hash, bits, baseBits)
		want[i] = append(want[i], e.address)
	}
	var got []record.Address
	for i := range table.BucketCount() {
		got = table.EntryAddresses(got[:0], i, begin)
		slices.Sort(got)
		slices.Sort(want[i])
		if !slices.Equal(got, want[i]) {
			t.Fatalf("bucket %d of %d holds addresses %v, want %v (I2, I4)", i, table.BucketCount(), got, want[i])
		}
	}
}

// TestClaim walks through the life of one entry.
func TestClaim(t *testing.T) {
	table := newIndex(t, 1).Table()
	const tag, address = 77, record.Address(4096)
	b := table.Bucket(hashOf(tag, 0))
	if slot, got := table.Find(b, tag, begin); slot != nil || got != 0 {
		t.Fatalf("an empty bucket has address %d", got)
	}
	slot, err := table.Claim(b, tag, begin)
	if err != nil {
		t.Fatal(err)
	}
	if other, got := table.Find(b, tag, begin); other != nil || got != 0 {
		t.Errorf("Find sees a tentative entry, address %d (I3)", got)
	}
	if got := table.EntryAddresses(nil, 0, begin); len(got) != 0 {
		t.Errorf("EntryAddresses sees a tentative entry: %v (I3)", got)
	}
	if other, err := table.Claim(b, tag+1, begin); err != nil || other == slot {
		t.Errorf("a second Claim returns the slot that is claimed (error %v)", err)
	} else {
		index.Abandon(other)
	}
	index.Publish(slot, tag, address)
	if again, got := table.Find(b, tag, begin); again != slot || got != address {
		t.Errorf("Find returns address %d, want %d in the slot that was published", got, address)
	}
	for _, other := range []uint64{0, tag - 1, tag + 1, tag | 1<<14} {
		if slot, got := table.Find(b, other, begin); slot != nil {
			t.Errorf("tag %d is found, at %d", other, got)
		}
	}
	index.Abandon(slot)
	if found, _ := table.Find(b, tag, begin); found != nil {
		t.Error("an abandoned entry is found")
	}
	if again, err := table.Claim(b, tag, begin); err != nil || again != slot {
		t.Errorf("an abandoned slot is not used again (error %v)", err)
	}
}

// TestExtremeEntries: lowest and highest tag and address do not get into each other's bits.
func TestExtremeEntries(t *testing.T) {
	table := newIndex(t, 1).Table()
	var entries []entry
	for _, tag := range []uint64{0, 1, 1<<15 - 1} {
		entries = append(entries, entry{hashOf(tag, 0), record.AddressMask &^ 7})
	}
	for _, e := range entries {
		put(t, table, e.hash, e.address, begin)
	}
	for _, e := range entries {
		if got := find(table, e.hash, begin); got != e.address {
			t.Errorf("tag %d has address %#x, want %#x", index.TagOf(e.hash), got, e.address)
		}
	}
	if got := table.EntryAddresses(nil, 0, begin); len(got) != len(entries) {
		t.Errorf("%d entries are %v", len(entries), got)
	}
}

// TestOverflowChains fills 64 buckets until their overflow buckets take more than one chunk, then changes all.
func TestOverflowChains(t *testing.T) {
	x := newIndex(t, 64)
	table := x.Table()
	var entries []entry
	perBucket, chunkBuckets := 512, uint64(4096)
	if testing.Short() {
		perBucket, chunkBuckets = 100, 0
	}
	for n := range uint64(64 * perBucket) {
		entries = append(entries, entry{hashOf(n/64, n%64), begin + record.Address(8*n)})
	}
	for _, e := range entries {
		put(t, table, e.hash, e.address, begin)
	}
	check(t, table, entries, 6, begin)
	sizes := x.Sizes()
	if want := uint64(64 * ((perBucket - 7 + 6) / 7)); sizes.OverflowBuckets != want || want <= chunkBuckets {
		t.Errorf("%d overflow buckets, want %d, which is more than %d", sizes.OverflowBuckets, want, chunkBuckets)
	}
	if sizes.Buckets != 64 || sizes.Bytes != 64*bucketBytes || sizes.OverflowBytes < sizes.OverflowBuckets*bucketBytes {
		t.Errorf("sizes are %+v", sizes)
	}
	if !x.Crowded() {
		t.Error("the index is not crowded")
	}
	for i := range entries {
		entries[i].address += 8 * record.Address(len(entries))
		put(t, table, entries[i].hash, entries[i].address, begin)
	}
	check(t, table, entries, 6, begin)
	if again := x.Sizes().OverflowBuckets; again != sizes.OverflowBuckets {
		t.Errorf("changing entries took %d more overflow buckets", again-sizes.OverflowBuckets)
	}
}

// TestStaleEntriesAreReused: an entry below begin is free, whatever its tag, and also in the middle of a chain.
func TestStaleEntriesAreReused(t *testing.T) {
	x := newIndex(t, 1)
	table := x.Table()
	const count = 100
	old := make([]entry, count)
	for n := range old {
		old[n] = entry{hashOf(uint64(n), 0), begin + record.Address(8*n)}
		put(t, table, old[n].hash, old[n].address, begin)
	}
	overflow := x.Sizes().OverflowBuckets
	later := old[count/2].address // half of the entries are stale
	check(t, table, old, 0, later)
	all := slices.Clone(old[count/2:])
	for n := range count / 2 {
		e := entry{hashOf(uint64(count+n), 0), begin + record.Address(8*(count+n))}
		if n%2 == 0 {
			e.hash = old[n].hash // the same tag comes back
		}
		put(t, table, e.hash, e.address, later)
		all = append(all, e)
	}
	check(t, table, all, 0, later)
	if again := x.Sizes().OverflowBuckets; again != overflow {
		t.Errorf("as many entries as had become stale took %d more overflow buckets", again-overflow)
	}
}

// keepRetired is a retire function that never runs what it is given: old tables stay readable.
func keepRetired(t *testing.T, retired *[]func()) func(func()) {
	t.Cleanup(func() {
		for _, release := range *retired {
			release()
		}
	})
	return func(release func()) { *retired = append(*retired, release) }
}

func atBegin() record.Address { return begin }

// TestDoubling doubles as often as an index may. After each step every entry lies where I4 says, once,
// and all buckets of the old table are marked as moved and unchanged (I5).
func TestDoubling(t *testing.T) {
	for _, buckets := range []uint64{1, 8} {
		t.Run(fmt.Sprintf("%d buckets", buckets), func(t *testing.T) {
			x := newIndex(t, buckets)
			baseBits := uint(0)
			for 1<<baseBits < buckets {
				baseBits++
			}
			count, more := 2000, 80
			if testing.Short() {
				count, more = 500, 20
			}
			entries := randomEntries(count+more*index.MaxDoublings, buckets, 7)
			for _, e := range entries[:count] {
				put(t, x.Table(), e.hash, e.address, begin)
			}
			var retired []func()
			retire := keepRetired(t, &retired)
			present := entries[:count]
			for step := 1; step <= index.MaxDoublings; step++ {
				if !x.CanDouble(1 << 40) {
					t.Fatalf("CanDouble is false before doubling %d", step)
				}
				old := x.Table()
				if err := x.Double(atBegin, retire, nil); err != nil {
					t.Fatalf("doubling %d: %v", step, err)
				}
				checkMoved(t, old, x.Table(), present, baseBits)
				if got := x.Table().BucketCount(); got != buckets<<step || x.Sizes().Growths != uint64(step) || len(retired) != step {
					t.Fatalf("after doubling %d: %d buckets, %d growths, %d tables retired", step, got, x.Sizes().Growths, len(retired))
				}
				check(t, x.Table(), present, baseBits, begin)
				for range more { // entries made in a grown table
					e := entries[len(present)]
					put(t, x.Table(), e.hash, e.address, begin)
					present = entries[:len(present)+1]
				}
				check(t, x.Table(), present, baseBits, begin)
			}
			if x.CanDouble(1 << 40) {
				t.Errorf("CanDouble is true after %d doublings", index.MaxDoublings)
			}
		})
	}
}

// checkMoved: the old table's buckets refuse their latch and still hold what they held (I5).
func checkMoved(t *testing.T, old, next *index.Table, entries []entry, baseBits uint) {
	t.Helper()
	if old.Next() != next {
		t.Fatal("Next of the old table is not the current table")
	}
	for _, e := range entries {
		b := old.Bucket(e.hash)
		if !b.IsMoved() || b.TryShared() != index.Moved || b.TryExclusive() != index.Moved {
			t.Fatalf("the old bucket of hash %#x can still be latched", e.hash)
		}
		if next.Bucket(e.hash).IsMoved() {
			t.Fatalf("the new bucket of hash %#x is marked as moved", e.hash)
		}
	}
	check(t, old, entries, baseBits, begin)
}

// TestDoubleLeavesStaleEntriesBehind: only what lies at or above begin goes to the next table, and
// crowding ends with it.
func TestDoubleLeavesStaleEntriesBehind(t *testing.T) {
	x := newIndex(t, 1)
	entries := randomEntries(400, 1, 9)
	for _, e := range entries {
		put(t, x.Table(), e.hash, e.address, begin)
	}
	later := entries[390].address
	var retired []func()
	if err := x.Double(func() record.Address { return later }, keepRetired(t, &retired), nil); err != nil {
		t.Fatal(err)
	}
	check(t, x.Table(), entries, 0, later)
	check(t, x.Table(), entries[390:], 0, begin) // the others are not even there
	if x.Crowded() {
		t.Errorf("two buckets are crowded by 10 entries: %+v", x.Sizes())
	}
}

func TestCanDoubleKeepsToTheBound(t *testing.T) {
	x := newIndex(t, 4)
	for _, bound := range []struct {
		bytes uint64
		want  bool
	}{{4 * bucketBytes, false}, {8*bucketBytes - 1, false}, {8 * bucketBytes, true}} {
		if got := x.CanDouble(bound.bytes); got != bound.want {
			t.Errorf("CanDouble(%d) of %d bytes is %v", bound.bytes, x.Sizes().Bytes, got)
		}
	}
}

// TestDoubleWaitsForALatch: a bucket that is latched stays as it is, and buckets before it are moved.
func TestDoubleWaitsForALatch(t *testing.T) {
	x := newIndex(t, 4)
	table := x.Table()
	first, last := hashOf(1, 0), hashOf(1, 3)
	put(t, table, first, begin, begin)
	held := table.Bucket(last)
	if held.TryExclusive() != index.Latched {
		t.Fatal("cannot latch a free bucket")
	}
	var retired []func()
	retire := keepRetired(t, &retired)
	done := make(chan error, 1)
	go func() { done <- x.Double(atBegin, retire, nil) }()
	for deadline := time.Now().Add(time.Minute); !table.Bucket(first).IsMoved(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the first bucket does not move")
		}
	}
	slot, err := table.Claim(held, index.TagOf(last), begin)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
		t.Fatal("Double ended while a bucket was latched (I1)")
	case <-time.After(10 * time.Millisecond):
	}
	if x.Table() != table || table.Next() == nil {
		t.Error("half-way, the current table is not the old one, or it has no next")
	}
	index.Publish(slot, index.TagOf(last), begin+8)
	held.ReleaseExclusive()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	check(t, x.Table(), []entry{{first, begin}, {last, begin + 8}}, 2, begin)
}

// TestLatchIDs: an ID names the bucket, in the order in which latches are taken.
func TestLatchIDs(t *testing.T) {
	x := newIndex(t, 4)
	old := x.Table()
	var retired []func()
	if err := x.Double(atBegin, keepRetired(t, &retired), nil); err != nil {
		t.Fatal(err)
	}
	next := x.Table()
	for low := range uint64(4) {
		for tag := range uint64(4) {
			hash := hashOf(tag, low)
			a, b := old.LatchID(hash), next.LatchID(hash)
			if !old.Owns(a) || old.Owns(b) || next.Owns(a) || !next.Owns(b) {
				t.Errorf("latches %#x and %#x: the wrong table owns them", a, b)
			}
			if old.LatchedBucket(a) != old.Bucket(hash) || next.LatchedBucket(b) != next.Bucket(hash) {
				t.Errorf("latches %#x and %#x do not lead to the buckets of hash %#x", a, b, hash)
			}
			if a >= b {
				t.Errorf("latch %#x of the smaller table does not come before %#x", a, b)
			}
		}
	}
}
