package release_test

import (
	"sync/atomic"
	"testing"

	"github.com/pyropedb/pyrope/tsavorite/internal/release"
)

// TestStoresAreSeenInOrder is P1: whoever sees the number of a round finds the words of that round, or later ones.
func TestStoresAreSeenInOrder(t *testing.T) {
	const rounds = 200_000
	var words [8]uint64
	var number uint64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for seen := uint64(0); seen < rounds; {
			seen = atomic.LoadUint64(&number)
			for i := range words {
				if word := atomic.LoadUint64(&words[i]); word < seen {
					t.Errorf("word %d is of round %d when round %d is announced", i, word, seen)
					return
				}
			}
		}
	}()
	for round := uint64(1); round <= rounds; round++ {
		for i := range words {
			release.Store(&words[i], round)
		}
		release.Store(&number, round)
	}
	<-done
}
