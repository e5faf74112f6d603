package command

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// latencyHistogram counts calls by the time they took. Each power of two of nanoseconds is cut into 16 parts, so a
// time is known to within 6.25%.
//
//	time in ns        0 … 15    16 … 31    32 … 63    …    2^30 and more
//	bucket            itself    16 … 31    32 … 47    …    the last
//	width in ns       1         1          2          …
type latencyHistogram [latencyBuckets]counter

const (
	latencyParts   = 16
	latencyBuckets = latencyParts * 28 // the last begins at 31/16 of 2^30 ns, about two seconds
)

// add counts calls that took so many nanoseconds each.
func (h *latencyHistogram) add(nanoseconds, calls uint64) { h[latencyBucket(nanoseconds)].add(calls) }

// latencyBucket is the bucket of a time in nanoseconds.
func latencyBucket(nanoseconds uint64) int {
	shift := max(bits.Len64(nanoseconds)-5, 0) // five bits are left: the leading one and the part
	return min(shift*latencyParts+int(nanoseconds>>shift), latencyBuckets-1)
}

// latencyCeiling is the longest time in nanoseconds that a bucket counts, as if the last had an end.
func latencyCeiling(bucket int) uint64 {
	shift := max(bucket/latencyParts-1, 0)
	return (uint64(bucket-shift*latencyParts)+1)<<shift - 1
}

// latencies returns the command's histogram; the owner's.
func (s *CommandStats) latencies() *latencyHistogram {
	h := s.histogram.Load()
	if h == nil {
		h = new(latencyHistogram)
		s.histogram.Store(h)
	}
	return h
}

// addTo adds the counts of h, factor times, to those of a command.
func (h *latencyHistogram) addTo(sum *CommandStats, factor uint64) {
	if h == nil {
		return
	}
	to := sum.latencies()
	for i := range h {
		to[i].add(factor * h[i].Load())
	}
}

// calls is the number of calls counted. A nil histogram has none.
func (h *latencyHistogram) calls() (sum uint64) {
	if h != nil {
		for i := range h {
			sum += h[i].Load()
		}
	}
	return sum
}

// percentile is the time in nanoseconds within which so many percent of all calls were done.
func (h *latencyHistogram) percentile(percent float64, calls uint64) uint64 {
	wanted := max(uint64(percent/100*float64(calls)+0.5), 1)
	var sum uint64
	for i := range h {
		if sum += h[i].Load(); sum >= wanted {
			return latencyCeiling(i)
		}
	}
	return latencyCeiling(latencyBuckets - 1)
}

// cumulative returns the counts of LATENCY HISTOGRAM: pairs of a time in microseconds and how many calls were within
// it, at the powers of two of nanoseconds from 1024 on where the number grows. The times are those Redis names, whose
// histograms end a little past the power.
func (h *latencyHistogram) cumulative() (pairs [][2]int64) {
	var sum, told uint64
	power := 10
	for i := range h {
		sum += h[i].Load()
		if ceiling := latencyCeiling(i); ceiling+1 < 1<<power && i < latencyBuckets-1 {
			continue
		}
		if sum > told {
			pairs = append(pairs, [2]int64{(1<<power + 1<<(power-7) - 1) / 1000, int64(sum)})
			told = sum
		}
		power++
	}
	return pairs
}

// infoLatencyStats writes the percentiles of the time that each command takes.
func infoLatencyStats(s *State, w *infoWriter) {
	percentiles := s.latency.percentiles.Load()
	if s.latency.untracked.Load() || percentiles == nil {
		return
	}
	totals := s.Totals()
	for i, d := range commandsByIndex {
		histogram := totals.Commands[i].histogram.Load()
		calls := histogram.calls()
		if calls == 0 {
			continue
		}
		parts := make([]string, 0, len(*percentiles))
		for _, percent := range *percentiles {
			nanoseconds := histogram.percentile(percent, calls)
			parts = append(parts, fmt.Sprintf("p%s=%d.%03d", percentText(percent), nanoseconds/1000, nanoseconds%1000))
		}
		w.line("latency_percentiles_usec_"+d.fullName, strings.Join(parts, ","))
	}
}

// percentText is a percentile as it was given: 99.9.
func percentText(percent float64) string { return strconv.FormatFloat(percent, 'f', -1, 64) }
