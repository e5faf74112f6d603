package main

import (
	"math"
	"slices"
	"time"

	"github.com/pyropedb/pyrope/benchmark/usage"
)

// trimmedLeast is how many iterations it takes to leave the best and the worst out.
const trimmedLeast = 3

// result is what one phase found.
type result struct {
	phase     string // load or run
	threads   int
	iteration int // from 1; 0 for the load
	elapsed   time.Duration
	tally     tally // within the window

	overshoot tally // operations that ended after the window
	whole     tally // all operations since the workers started
	exitLag   time.Duration
	used      usage.Usage // within the window, by all workers together

	pause  time.Duration // the longest of the garbage collector within the window
	copied uint64        // records that reads have copied to the tail of the log

	logBegin, logHead, logReadOnly, logTail uint64
}

// opsPerSecond is the throughput of the window.
func (r *result) opsPerSecond() float64 {
	if r.elapsed <= 0 {
		return 0
	}
	return float64(r.tally.total()) / r.elapsed.Seconds()
}

// allocatedByWorker is the bytes allocated a worker.
func (r *result) allocatedByWorker() uint64 {
	return r.used.AllocatedBytes / uint64(max(r.threads, 1))
}

// aggregate sums up the iterations with one thread count, in operations a second.
type aggregate struct {
	threads, iterations            int
	mean, stdev, min, max, trimmed float64
}

// aggregateOf sums up runs; the standard deviation is the sample's.
func aggregateOf(threads int, runs []result) aggregate {
	rates := make([]float64, len(runs))
	for i := range runs {
		rates[i] = runs[i].opsPerSecond()
	}
	slices.Sort(rates)
	a := aggregate{threads: threads, iterations: len(rates), mean: mean(rates), min: rates[0], max: rates[len(rates)-1]}
	a.trimmed = a.mean
	if len(rates) >= trimmedLeast {
		a.trimmed = mean(rates[1 : len(rates)-1])
	}
	if len(rates) > 1 {
		squares := 0.0
		for _, rate := range rates {
			squares += (rate - a.mean) * (rate - a.mean)
		}
		a.stdev = math.Sqrt(squares / float64(len(rates)-1))
	}
	return a
}

// stdevPercent is the standard deviation as a share of the mean.
func (a aggregate) stdevPercent() float64 {
	if a.mean == 0 {
		return 0
	}
	return 100 * a.stdev / a.mean
}

// mean of numbers, of which there is at least one.
func mean(numbers []float64) float64 {
	sum := 0.0
	for _, n := range numbers {
		sum += n
	}
	return sum / float64(len(numbers))
}
