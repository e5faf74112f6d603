package workload

import (
	"fmt"
	"math"
)

// sizeStep is what sizes are multiples of.
const sizeStep = 8

// Sizes gives each key a size of its value: all the same, or spread log-uniformly, so that each doubling between the bounds
// has as many keys as any other. A key's size never changes.
type Sizes struct {
	least, most int
	spread      float64 // log of most over least; 0 makes all sizes least
}

// NewSizes returns the sizes from least to most, both counted in; most 0 makes all of them least.
func NewSizes(least, most int) (Sizes, error) {
	switch {
	case most == 0:
		return Sizes{least: least, most: least}, nil
	case least < 1 || most < least:
		return Sizes{}, fmt.Errorf("sizes go from %d to %d; they must go from at least 1 upwards", least, most)
	}
	return Sizes{least, most, math.Log(float64(most) / float64(least))}, nil
}

// Of is the size of a key: a multiple of eight, or a bound.
func (s Sizes) Of(number uint64) int {
	if s.spread == 0 {
		return s.least
	}
	fraction := float64(splitMix(number)>>11) / (1 << 53)
	size := float64(s.least) * math.Exp(s.spread*fraction)
	return max(min(int(size+sizeStep/2)&^(sizeStep-1), s.most), s.least)
}

// Most is the greatest size there may be.
func (s Sizes) Most() int { return s.most }

// Mean is the expected size, in bytes.
func (s Sizes) Mean() float64 {
	if s.spread == 0 {
		return float64(s.least)
	}
	return float64(s.most-s.least) / s.spread
}
