package command

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// placeOf returns the register of an element, and the value it raises it to: by MurmurHash64A,
// whose low bits choose the register, and the number of zeros behind them, plus 1, is the value.
func placeOf(element []byte) (index int, value byte) {
	const (
		seed      = 0xadc83b19
		indexBits = 14
	)
	hash := murmur64A(element, seed)
	rest := hash>>indexBits | 1<<(64-indexBits)
	return int(hash & (registerCount - 1)), byte(bits.TrailingZeros64(rest) + 1)
}

// murmur64A is Austin Appleby's 64-bit hash for 64-bit machines.
func murmur64A(data []byte, seed uint64) uint64 {
	const (
		multiplier = 0xc6a4a7935bd1e995
		shift      = 47
	)
	hash := seed ^ uint64(len(data))*multiplier
	for ; len(data) >= 8; data = data[8:] {
		word := binary.LittleEndian.Uint64(data) * multiplier
		word ^= word >> shift
		hash = (hash ^ word*multiplier) * multiplier
	}
	if len(data) > 0 {
		for i, b := range data {
			hash ^= uint64(b) << (8 * i)
		}
		hash *= multiplier
	}
	hash ^= hash >> shift
	hash *= multiplier
	return hash ^ hash>>shift
}

// rankHistogram counts the registers by value.
type rankHistogram [registerMax + 1]int32

// estimate estimates the number of elements. ok is false if the runs are wrong.
func (s sketch) estimate() (estimate int64, ok bool) {
	var h rankHistogram
	if s.isDense() {
		h.addDense(s[sketchHeaderBytes:])
		return h.estimate(), true
	}
	total := 0
	for at := sketchHeaderBytes; at < len(s); {
		r := s.runAt(at)
		h[r.value] += int32(r.length)
		total += r.length
		at += r.size
	}
	if total != registerCount {
		return 0, false
	}
	return h.estimate(), true
}

// estimate is the same for registers that are unpacked.
func (r *sketchRegisters) estimate() int64 {
	var h rankHistogram
	for _, value := range r {
		h[value&registerMax]++
	}
	return h.estimate()
}

// addDense counts packed registers: four in three bytes.
func (h *rankHistogram) addDense(packed []byte) {
	for ; len(packed) >= 3; packed = packed[3:] {
		four := uint32(packed[0]) | uint32(packed[1])<<8 | uint32(packed[2])<<16
		h[four&registerMax]++
		h[four>>6&registerMax]++
		h[four>>12&registerMax]++
		h[four>>18&registerMax]++
	}
}

// rankMax is the greatest value an element can raise a register to.
const rankMax = 51

// estimate is Otmar Ertl's estimator ("New cardinality estimation algorithms for HyperLogLog
// sketches", arXiv:1702.01284, section 4). The steps and their order are Redis's, so that the sums
// are rounded alike; the conversions keep the compiler from fusing a product with a sum.
func (h *rankHistogram) estimate() int64 {
	const (
		count         = float64(registerCount)
		alphaInfinity = 0.721347520444481703680 // 1 / (2 ln 2)
	)
	z := float64(count * tau((count-float64(h[rankMax]))/count))
	for rank := rankMax - 1; rank >= 1; rank-- {
		z += float64(h[rank])
		z *= 0.5
	}
	z += float64(count * sigma(float64(h[0])/count))
	alpha := float64(alphaInfinity) // a variable, so that each product is rounded
	estimate := math.Round(alpha * count * count / z)
	if !(estimate < 1<<63) { // registers that no elements can make: what x86 converts it to
		return math.MinInt64
	}
	return int64(estimate)
}

// tau accounts for registers at their greatest value; x is the share of the others.
func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for before := math.NaN(); before != z; {
		before = z
		x = math.Sqrt(x)
		y *= 0.5
		z -= float64(float64((1-x)*(1-x)) * y)
	}
	return z / 3
}

// sigma accounts for registers that are 0; x is their share.
func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	y, z := 1.0, x
	for before := math.NaN(); before != z; {
		before = z
		x *= x
		z += float64(x * y)
		y += y
	}
	return z
}
