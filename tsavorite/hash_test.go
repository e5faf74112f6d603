package tsavorite_test

import (
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/pyropedb/pyrope/tsavorite"
)

// TestHashIsXXHash: keys of every length hash as the library hashes them, however short they are.
func TestHashIsXXHash(t *testing.T) {
	key := []byte("The five boxing wizards jump quickly over the lazy dog.")
	for n := range len(key) + 1 {
		if got, want := tsavorite.HashOf(tsavorite.Key{Bytes: key[:n]}), xxhash.Sum64(key[:n]); got != want {
			t.Errorf("%d bytes hash to %#x, want %#x", n, got, want)
		}
		if tsavorite.HashOf(tsavorite.Key{Namespace: 1, Bytes: key[:n]}) == tsavorite.HashOf(tsavorite.Key{Bytes: key[:n]}) {
			t.Errorf("%d bytes hash alike in two namespaces", n)
		}
	}
}
