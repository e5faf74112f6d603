package workload_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/pyropedb/pyrope/benchmark/workload"
)

func TestRandomIsAFunctionOfSeedAndStream(t *testing.T) {
	a, b := workload.NewRandom(211, 3), workload.NewRandom(211, 3)
	other, stream := workload.NewRandom(212, 3), workload.NewRandom(211, 4)
	for i := range 100 {
		x := a.Next()
		if x != b.Next() {
			t.Fatalf("draw %d differs between equal seeds", i)
		}
		if x == other.Next() || x == stream.Next() {
			t.Fatalf("draw %d is the same for another seed or stream", i)
		}
	}
}

func TestBelowCoversEveryKeyEvenly(t *testing.T) {
	const keys, draws = 1000, 1_000_000
	random := workload.NewRandom(1, 0)
	var counts [keys]int
	for range draws {
		counts[random.Below(keys)]++
	}
	// Pearson's statistic has mean 999 and deviation 45 here; 1250 is more than five deviations off.
	statistic, expected := 0.0, float64(draws)/keys
	for _, n := range counts {
		statistic += (float64(n) - expected) * (float64(n) - expected) / expected
	}
	if statistic > 1250 || statistic < 750 {
		t.Errorf("chi squared is %.0f over %d keys, want about %d", statistic, keys, keys-1)
	}
}

func TestBelowOneIsZero(t *testing.T) {
	random := workload.NewRandom(1, 0)
	for range 1000 {
		if n := random.Below(1); n != 0 {
			t.Fatalf("Below(1) is %d", n)
		}
	}
}

func TestZipfMatchesTheAnalyticFrequencies(t *testing.T) {
	const keys, draws, theta = 10_000, 2_000_000, 0.99
	zipf, err := workload.NewZipf(keys, theta)
	if err != nil {
		t.Fatal(err)
	}
	random := workload.NewRandom(7, 0)
	counts := make([]int, keys)
	for range draws {
		counts[zipf.Draw(&random)]++
	}
	zeta := 0.0
	for i := 1; i <= keys; i++ {
		zeta += math.Pow(float64(i), -theta)
	}
	// Gray's method is exact for the first two ranks and an approximation beyond: cumulative shares
	// stay within a few percent of the exact ones.
	share := func(ranks int) (got, want float64) {
		for i := range ranks {
			got += float64(counts[i]) / draws
			want += math.Pow(float64(i+1), -theta) / zeta
		}
		return got, want
	}
	for _, c := range []struct {
		ranks     int
		tolerance float64
	}{{1, 0.01}, {2, 0.01}, {10, 0.15}, {100, 0.06}, {1000, 0.04}, {keys, 1e-9}} {
		got, want := share(c.ranks)
		if math.Abs(got-want)/want > c.tolerance {
			t.Errorf("the first %d ranks get %.4f of the draws, want %.4f within %.0f%%", c.ranks, got, want, c.tolerance*100)
		}
	}
}

func TestZipfStaysInRange(t *testing.T) {
	for _, keys := range []uint64{1, 2, 3, 1 << 20, 100_000_000} {
		for _, theta := range []float64{0, 0.5, 0.99} {
			zipf, err := workload.NewZipf(keys, theta)
			if err != nil {
				t.Fatal(err)
			}
			random := workload.NewRandom(keys, 0)
			for range 20_000 {
				if rank := zipf.Draw(&random); rank >= keys {
					t.Fatalf("rank %d of %d keys (theta %v)", rank, keys, theta)
				}
			}
		}
	}
}

func TestZipfWithoutSkewIsUniform(t *testing.T) {
	const keys, draws = 100, 1_000_000
	zipf, err := workload.NewZipf(keys, 0)
	if err != nil {
		t.Fatal(err)
	}
	random := workload.NewRandom(3, 0)
	var counts [keys]int
	for range draws {
		counts[zipf.Draw(&random)]++
	}
	for rank, n := range counts {
		if n < draws/keys*95/100 || n > draws/keys*105/100 {
			t.Errorf("rank %d came up %d times, want about %d", rank, n, draws/keys)
		}
	}
}

func TestZipfRefusesBadArguments(t *testing.T) {
	for _, c := range []struct {
		keys  uint64
		theta float64
	}{{0, 0.5}, {10, 1}, {10, -0.1}, {10, math.NaN()}} {
		if _, err := workload.NewZipf(c.keys, c.theta); err == nil {
			t.Errorf("NewZipf(%d, %v) is accepted", c.keys, c.theta)
		}
	}
}

func TestValueOfAnyLengthIsCheckable(t *testing.T) {
	for length := range 70 {
		value := make([]byte, length)
		workload.FillValue(value, 42)
		if !workload.CheckValue(value, 42) {
			t.Fatalf("the value of %d bytes does not pass its own check", length)
		}
		for i := range value {
			value[i] ^= 1
			if workload.CheckValue(value, 42) {
				t.Fatalf("a wrong byte %d of %d passes", i, length)
			}
			value[i] ^= 1
		}
	}
}

func TestValuesDifferByKeyAndPlace(t *testing.T) {
	seen := map[string]uint64{}
	for number := range uint64(10_000) {
		var value [16]byte
		workload.FillValue(value[:], number)
		if before, dup := seen[string(value[:])]; dup {
			t.Fatalf("keys %d and %d share a value", before, number)
		}
		seen[string(value[:])] = number
		if bytes.Equal(value[:8], value[8:]) {
			t.Fatalf("both words of key %d are %q", number, value[:8])
		}
		if bytes.IndexFunc(value[:], func(r rune) bool { return r < 'a' || r > 'p' }) >= 0 {
			t.Fatalf("the value of key %d is %q; it must be letters a to p", number, value)
		}
	}
}

func TestCheckValueFromAWord(t *testing.T) {
	value := make([]byte, 45)
	workload.FillValue(value, 9)
	if !workload.CheckValueFrom(value[16:], 9, 2) {
		t.Error("the part from word 2 does not pass")
	}
	if workload.CheckValueFrom(value[16:], 9, 1) {
		t.Error("the part from word 2 passes as the part from word 1")
	}
}

func TestDrawsAndValuesAllocateNothing(t *testing.T) {
	zipf, err := workload.NewZipf(1000, 0.99)
	if err != nil {
		t.Fatal(err)
	}
	random := workload.NewRandom(1, 1)
	value := make([]byte, 100)
	if n := testing.AllocsPerRun(100, func() {
		workload.FillValue(value, zipf.Draw(&random)+random.Below(9))
		workload.CheckValue(value, 1)
	}); n != 0 {
		t.Errorf("%v allocations a draw, want none", n)
	}
}

func TestZipfKeysAreScatteredRanks(t *testing.T) {
	for _, keys := range []uint64{1, 2, 3, 5, 16, 17, 1000, 1 << 16, 100_003} {
		zipf, err := workload.NewZipf(keys, 0.99)
		if err != nil {
			t.Fatal(err)
		}
		seen := make([]bool, keys)
		for rank := range keys {
			place := zipf.Place(rank)
			if place >= keys || seen[place] {
				t.Fatalf("rank %d of %d has key %d, which is out of range or taken", rank, keys, place)
			}
			seen[place] = true
		}
		ranks, places := workload.NewRandom(7, 0), workload.NewRandom(7, 0)
		for range 1000 {
			if want, got := zipf.Place(zipf.Draw(&ranks)), zipf.Key(&places); got != want {
				t.Fatalf("the key is %d, want %d", got, want)
			}
		}
	}
}

// TestHotKeysStayApart: the hundred most frequent keys of a million are at least a thousand apart.
func TestHotKeysStayApart(t *testing.T) {
	zipf, err := workload.NewZipf(1_000_000, 0.99)
	if err != nil {
		t.Fatal(err)
	}
	var hot []uint64
	for rank := range uint64(100) {
		hot = append(hot, zipf.Place(rank))
	}
	slices.Sort(hot)
	for i := range hot[1:] {
		if hot[i+1]-hot[i] < 1000 {
			t.Errorf("keys %d and %d are neighbours", hot[i], hot[i+1])
		}
	}
}
