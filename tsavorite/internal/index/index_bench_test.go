package index_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pyropedb/pyrope/tsavorite/internal/index"
)

// benchBuckets make a table of 16 MiB: most look-ups miss the nearer caches.
const benchBuckets = 1 << 18

// BenchmarkFind looks up keys that are there and keys that are not, at the fills between which an index grows.
func BenchmarkFind(b *testing.B) {
	for _, tenthsABucket := range []int{25, 49} {
		x := newIndex(b, benchBuckets)
		random := rand.New(rand.NewPCG(5, 1))
		hashes := make([]uint64, benchBuckets*tenthsABucket/10) // few of them share bucket and tag
		for i := range hashes {
			hashes[i] = random.Uint64()
			put(b, x.Table(), hashes[i], begin, begin)
		}
		for _, c := range []struct {
			name string
			flip uint64 // of a hash: another tag in the same bucket
			want bool
		}{{"hit", 0, true}, {"miss", 1 << 63, false}} {
			b.Run(fmt.Sprintf("keys=%d.%d/%s", tenthsABucket/10, tenthsABucket%10, c.name), func(b *testing.B) {
				table, found, next := x.Table(), 0, 0
				b.ReportAllocs()
				for b.Loop() {
					hash := hashes[next] ^ c.flip
					if slot, _ := table.Find(table.Bucket(hash), index.TagOf(hash), begin); slot != nil {
						found++
					}
					if next += 7919; next >= len(hashes) {
						next -= len(hashes)
					}
				}
				if c.want && found != b.N || !c.want && found > b.N/100+1 {
					b.Errorf("%d of %d keys were found", found, b.N)
				}
			})
		}
	}
}
