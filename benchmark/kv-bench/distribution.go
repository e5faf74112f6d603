package main

import "github.com/pyropedb/pyrope/benchmark/report"

// entriesPerBucket is how many entries of the index lie on one cache line.
const entriesPerBucket = 7

// chains is what a histogram of the index's buckets comes to.
type chains struct {
	buckets, entries uint64
	visits           uint64 // cache lines that look-ups of all entries visit together
	lines            uint64 // that the chains have; a look-up of a key that is not there visits all of its chain's
}

// sumUp adds a histogram up. Entries fill the lines of a chain in order.
func sumUp(histogram []uint64) chains {
	var c chains
	for n, count := range histogram {
		c.buckets += count
		c.entries += uint64(n) * count
		c.lines += count * uint64(max(1, (n+entriesPerBucket-1)/entriesPerBucket))
		for place := range n {
			c.visits += count * uint64(place/entriesPerBucket+1)
		}
	}
	return c
}

// printDistribution writes how full the index's buckets are.
func (b *bench) printDistribution(t *target) {
	if !b.options.DumpDistribution {
		return
	}
	histogram := t.store.IndexHistogram()
	c := sumUp(histogram)
	b.printf("[index]  %s entries in %s buckets; %.3f cache lines a hit, %.3f a miss\n", report.N0(c.entries), report.N0(c.buckets),
		float64(c.visits)/float64(max(c.entries, 1)), float64(c.lines)/float64(max(c.buckets, 1)))
	for n, count := range histogram {
		b.printf("[index]  %3d entries: %15s buckets (%.2f%%)\n", n, report.N0(count), 100*float64(count)/float64(max(c.buckets, 1)))
	}
}
