package workload_test

import (
	"math"
	"testing"

	"github.com/pyropedb/pyrope/benchmark/workload"
)

// TestSizes: each doubling between the bounds has as many keys as any other, and the mean is what Mean says.
func TestSizes(t *testing.T) {
	const keys = 100_000
	s, err := workload.NewSizes(64, 64<<8)
	if err != nil {
		t.Fatal(err)
	}
	var doublings [8]int
	sum := 0
	for n := range uint64(keys) {
		size := s.Of(n)
		if size < 64 || size > s.Most() || size%8 != 0 || size != s.Of(n) {
			t.Fatalf("key %d has size %d and %d", n, size, s.Of(n))
		}
		doublings[min(int(math.Log2(float64(size)/64)), 7)]++
		sum += size
	}
	for i, count := range doublings {
		if count < keys/8*9/10 || count > keys/8*11/10 {
			t.Errorf("from %d bytes to twice that there are %d keys of %d", 64<<i, count, keys)
		}
	}
	if mean := float64(sum) / keys; math.Abs(mean/s.Mean()-1) > 0.02 {
		t.Errorf("sizes are %.0f on average; Mean says %.0f", mean, s.Mean())
	}
}

func TestOneSize(t *testing.T) {
	for _, most := range []int{0, 101} {
		s, err := workload.NewSizes(101, most)
		if err != nil || s.Of(7) != 101 || s.Most() != 101 || s.Mean() != 101 {
			t.Errorf("from 101 to %d: %+v, %v", most, s, err)
		}
	}
	if _, err := workload.NewSizes(100, 50); err == nil {
		t.Error("sizes from 100 to 50 are taken")
	}
}
