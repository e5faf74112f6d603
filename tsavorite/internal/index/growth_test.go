package index_test

import (
	"testing"

	"github.com/pyropedb/pyrope/tsavorite/internal/index"
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// fill is what an index looks like at one moment, counted.
type fill struct {
	bytesAKey   float64
	bucketsAHit float64 // cache lines that a look-up of a key that is there visits, on average over the keys
}

// countFill walks all chains. Entries fill the buckets of a chain in order, seven each.
func countFill(x *index.Index, keys int) fill {
	visits := 0
	table := x.Table()
	var chain []record.Address
	for i := range table.BucketCount() {
		chain = table.EntryAddresses(chain[:0], i, begin)
		for place := range chain {
			visits += place/7 + 1
		}
	}
	sizes := x.Sizes()
	return fill{
		float64(sizes.Bytes+sizes.OverflowBuckets*bucketBytes) / float64(keys),
		float64(visits) / float64(keys),
	}
}

// fillTo puts entries in until there are count of them, and doubles when the index is crowded if it may.
func fillTo(t *testing.T, x *index.Index, entries []entry, count int, doubles bool, crowded func(keys int)) {
	t.Helper()
	var retired []func()
	retire := keepRetired(t, &retired)
	for n, e := range entries[:count] {
		put(t, x.Table(), e.hash, e.address, begin)
		if doubles && x.Crowded() {
			crowded(n + 1)
			if err := x.Double(atBegin, retire, nil); err != nil {
				t.Fatal(err)
			}
			crowded(n + 1)
		}
	}
}

// TestBytesAKeyWhileItGrows counts what decision 12 weighs: with the rule as it is an index takes 14.6 bytes a key before it
// doubles and 26.1 after, and a look-up visits 1.05 buckets at worst. The middle of a doubling, where an index is on
// average, is below 20.
func TestBytesAKeyWhileItGrows(t *testing.T) {
	const buckets, count = 4096, 90_000
	x := newIndex(t, buckets)
	entries := randomEntries(count, buckets, 11)
	var states []fill
	var at []int
	fillTo(t, x, entries, count, true, func(keys int) {
		states, at = append(states, countFill(x, keys)), append(at, keys)
	})
	if len(states) != 2*3 && len(states) != 2*4 {
		t.Fatalf("%d keys in %d buckets doubled %d times", count, buckets, len(states)/2)
	}
	for i, s := range states {
		low, high, visits := 14.2, 15.0, 1.055
		if i%2 == 1 {
			low, high, visits = 25.0, 27.0, 1.006
		}
		if s.bytesAKey < low || s.bytesAKey > high || s.bucketsAHit > visits {
			t.Errorf("at %d keys: %.2f bytes a key and %.4f buckets a hit; want %v to %v and at most %v", at[i], s.bytesAKey, s.bucketsAHit, low, high, visits)
		}
	}
}

// TestSixteenBytesAKey counts the price of a rule that keeps every index at 16 bytes a key or less: it would double at
// 8.7 keys a bucket, when a hit visits a quarter more buckets. An index that must not grow further comes to the same.
func TestSixteenBytesAKey(t *testing.T) {
	const buckets = 4096
	entries := randomEntries(8*buckets+3*buckets/4, buckets, 13)
	for _, c := range []struct {
		quartersABucket int // keys, in quarters of one a bucket
		want            fill
	}{
		{18, fill{15.6, 1.035}}, {32, fill{12.6, 1.215}}, {35, fill{12.4, 1.265}},
	} {
		keys := c.quartersABucket * buckets / 4
		x := newIndex(t, buckets)
		fillTo(t, x, entries, keys, false, nil)
		got := countFill(x, keys)
		if got.bytesAKey > c.want.bytesAKey || got.bucketsAHit > c.want.bucketsAHit || got.bucketsAHit < c.want.bucketsAHit-0.03 {
			t.Errorf("%d/4 keys a bucket: %.2f bytes a key and %.4f buckets a hit, want %+v at most, and hardly less", c.quartersABucket, got.bytesAKey, got.bucketsAHit, c.want)
		}
	}
}
