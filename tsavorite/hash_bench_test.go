package tsavorite_test

import (
	"fmt"
	"testing"

	"github.com/pyropedb/pyrope/tsavorite"
)

// BenchmarkHash hashes keys of lengths that people use, each depending on the one before.
func BenchmarkHash(b *testing.B) {
	for _, length := range []int{8, 16, 32, 100, 1000} {
		b.Run(fmt.Sprintf("key=%d", length), func(b *testing.B) {
			key := tsavorite.Key{Namespace: 1, Bytes: make([]byte, length)}
			b.SetBytes(int64(length))
			b.ReportAllocs()
			for b.Loop() {
				key.Bytes[0] = byte(tsavorite.HashOf(key))
			}
		})
	}
}
