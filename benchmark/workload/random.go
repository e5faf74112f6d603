// Package workload is what the benchmarks ask of the systems they measure: which keys, in which
// order, and which bytes a key's value holds. Everything is a pure function of a seed, so a run
// can be repeated and every value that is read back can be checked without remembering it.
//
//	value of key n, 8 bytes at a time (the last word is cut to fit)
//
//	  word 0          word 1          word 2
//	+---------------+---------------+---------
//	| mix(n, 0)     | mix(n, 1)     | ...          each byte is one of the letters a to p
//	+---------------+---------------+---------
package workload

import "math/bits"

// Random is the xorshift64* generator of Vigna: one word of state, a full period of 2^64-1, and a
// few cycles a draw. It belongs to one goroutine.
type Random struct{ state uint64 }

// NewRandom returns a generator whose sequence depends on seed and stream alone. Workers of one
// run take the same seed and their own number as stream.
func NewRandom(seed, stream uint64) Random {
	state := splitMix(seed ^ splitMix(stream+1))
	if state == 0 {
		state = 1 // zero is the one state that xorshift never leaves
	}
	return Random{state}
}

// Next returns 64 random bits, never all zero.
func (r *Random) Next() uint64 {
	x := r.state
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	r.state = x
	return x * 0x2545F4914F6CDD1D
}

// Below returns a number in [0, n) by Lemire's multiplication; its bias is below n/2^64. n must
// not be zero.
func (r *Random) Below(n uint64) uint64 {
	high, _ := bits.Mul64(r.Next(), n)
	return high
}

// Float returns a number in [0, 1) with 53 random bits.
func (r *Random) Float() float64 {
	return float64(r.Next()>>11) * (1.0 / (1 << 53))
}

// splitMix is the finalizer of SplitMix64: it spreads close inputs over all 64 bits.
func splitMix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
