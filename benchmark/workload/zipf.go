package workload

import (
	"fmt"
	"math"
	"math/bits"
)

// exactTerms is how many terms of the zeta sum are added one by one; the rest comes from the
// Euler-Maclaurin formula, whose error is then far below the rounding of a float64.
const exactTerms = 10_000

// Zipf draws ranks 0 to n-1 so that rank i comes up in proportion to 1/(i+1)^theta, by the method
// of Gray et al., "Quickly Generating Billion-Record Synthetic Databases" (SIGMOD 1994). It is
// immutable: many goroutines may draw from one Zipf, each with its own Random.
type Zipf struct {
	n          uint64
	zetaN      float64
	alpha, eta float64
	stride     uint64  // see Place
	secondRank float64 // 1 + 0.5^theta: below it, u*zetaN is rank 1
}

// NewZipf returns a generator over n ranks. theta is the skew, in [0, 1); 0 is uniform.
func NewZipf(n uint64, theta float64) (*Zipf, error) {
	if n == 0 {
		return nil, fmt.Errorf("workload: a Zipf distribution over %d keys; it needs at least 1", n)
	}
	if !(theta >= 0 && theta < 1) {
		return nil, fmt.Errorf("workload: Zipf theta is %v; it must be at least 0 and less than 1", theta)
	}
	zetaN := zeta(n, theta)
	return &Zipf{
		n:          n,
		stride:     strideOf(n),
		zetaN:      zetaN,
		alpha:      1 / (1 - theta),
		eta:        (1 - math.Pow(2/float64(n), 1-theta)) / (1 - zeta(2, theta)/zetaN),
		secondRank: 1 + math.Pow(0.5, theta),
	}, nil
}

// Key is Draw scattered over the keys: ranks that are drawn often would else be neighbours, written one after the
// other, and share pages, sectors and cache lines, which flatters whatever keeps what is hot.
func (z *Zipf) Key(r *Random) uint64 { return z.Place(z.Draw(r)) }

// Place is the key of a rank, the same in every run: rank times stride, modulo the number of keys. The stride
// has no divisor in common with it, so no two ranks share a key.
func (z *Zipf) Place(rank uint64) uint64 {
	high, low := bits.Mul64(rank, z.stride)
	_, place := bits.Div64(high, low, z.n)
	return place
}

// strideOf is the number nearest below n over the golden ratio that is coprime to n: multiples of it stay apart from
// each other for as long as they can.
func strideOf(n uint64) uint64 {
	stride := max(uint64(float64(n)*(math.Sqrt(5)-1)/2), 1)
	for gcd(stride, n) != 1 {
		stride--
	}
	return stride
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Draw returns a rank; 0 is the most frequent.
func (z *Zipf) Draw(r *Random) uint64 {
	u := r.Float()
	scaled := u * z.zetaN
	if scaled < 1 {
		return 0
	}
	if scaled < z.secondRank {
		return 1
	}
	// x^alpha as exp(alpha*log x): a third of the cost of math.Pow, and x is never zero here.
	rank := uint64(float64(z.n) * math.Exp(z.alpha*math.Log(z.eta*u-z.eta+1)))
	return min(rank, z.n-1)
}

// zeta returns the sum of i^-theta for i from 1 to n.
func zeta(n uint64, theta float64) float64 {
	first := min(n, exactTerms)
	sum := 0.0
	for i := uint64(1); i <= first; i++ {
		sum += math.Pow(float64(i), -theta)
	}
	if n == first {
		return sum
	}
	a, b := float64(first), float64(n)
	integral := (math.Pow(b, 1-theta) - math.Pow(a, 1-theta)) / (1 - theta)
	ends := (math.Pow(b, -theta) - math.Pow(a, -theta)) / 2
	slopes := theta / 12 * (math.Pow(a, -theta-1) - math.Pow(b, -theta-1))
	return sum + integral + ends + slopes
}
