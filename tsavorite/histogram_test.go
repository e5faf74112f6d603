package tsavorite_test

import (
	"testing"

	"github.com/pyropedb/pyrope/tsavorite"
)

// TestIndexHistogram: every bucket is counted once, and the entries are the keys, but for the few that share bucket and tag.
func TestIndexHistogram(t *testing.T) {
	store, s := openStore(t, tsavorite.Options{IndexBytes: 64 << 10, IndexMaxBytes: 64 << 10})
	for _, keys := range []int{0, 500, 8000} {
		for n := range keys {
			s.Upsert(growthKey(0, n), nil, tsavorite.Metadata{})
		}
		buckets, entries := uint64(0), 0
		for n, count := range store.IndexHistogram() {
			buckets += count
			entries += n * int(count)
		}
		if buckets != 1024 || entries > keys || entries < keys*999/1000 {
			t.Errorf("%d keys are %d entries in %d buckets, want as many in 1024", keys, entries, buckets)
		}
	}
}
