package main

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latencies are kept in microseconds with two digits.
const (
	lowestLatency  = 1
	highestLatency = 100_000_000
	latencyDigits  = 2
)

// newHistogram returns an empty histogram of latencies.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(lowestLatency, highestLatency, latencyDigits)
}

// recorder counts the operations of one client and their latencies. The client writes to present;
// take swaps it with spare, so that nobody reads a histogram that is written to.
type recorder struct {
	guard   sync.Mutex // of all below; taken for nanoseconds, and by nobody else between two ticks
	present *hdrhistogram.Histogram
	spare   *hdrhistogram.Histogram
	ops     uint64 // since the last take
	misses  uint64
	_       [128]byte // recorders of two clients share no cache line
}

// newRecorder returns a recorder that has seen nothing.
func newRecorder() *recorder {
	return &recorder{present: newHistogram(), spare: newHistogram()}
}

// record notes one latency that stands for so many operations.
func (r *recorder) record(latency time.Duration, ops, misses uint64) {
	micros := min(max(latency.Microseconds(), lowestLatency), highestLatency)
	r.guard.Lock()
	_ = r.present.RecordValue(micros) // never out of range
	r.ops += ops
	r.misses += misses
	r.guard.Unlock()
}

// take returns what was recorded since it was last called. The histogram is valid until the next call.
func (r *recorder) take() (h *hdrhistogram.Histogram, ops, misses uint64) {
	r.spare.Reset()
	r.guard.Lock()
	defer r.guard.Unlock()
	r.present, r.spare = r.spare, r.present
	ops, misses = r.ops, r.misses
	r.ops, r.misses = 0, 0
	return r.spare, ops, misses
}

// latencyColumns are the columns of online output that come from a histogram.
var latencyColumns = []string{"min (us);", "5th (us);", "median (us);", "avg (us);", "95th (us);", "99th (us);", "99.9th (us);"}

// percentiles are the values of these columns, in microseconds.
func percentiles(h *hdrhistogram.Histogram) [7]float64 {
	at := func(p float64) float64 { return float64(h.ValueAtPercentile(p)) }
	return [7]float64{float64(h.Min()), at(5), at(50), h.Mean(), at(95), at(99), at(99.9)}
}

// columnWidth is the width of a column of online output.
const columnWidth = 15

// appendColumn writes text left-justified.
func appendColumn(line *strings.Builder, text string) {
	line.WriteString(text)
	for n := len(text); n < columnWidth; n++ {
		line.WriteByte(' ')
	}
}

// onlineHeader names the columns; lines of transactions count those of the line only.
func onlineHeader(transactions bool) string {
	names := append(latencyColumns[:7:7], "total_ops;", "iter_tops;", "tpt (Kops/sec)")
	if transactions {
		names = append(latencyColumns[:7:7], "cnt;", "tpt (Kops/sec)")
	}
	var line strings.Builder
	for _, name := range names {
		appendColumn(&line, name)
	}
	return line.String()
}

// onlineLine writes the values of the columns.
func onlineLine(transactions bool, h *hdrhistogram.Histogram, total, ops uint64, elapsed time.Duration) string {
	var line strings.Builder
	for _, value := range percentiles(h) {
		appendColumn(&line, rounded(value)+";")
	}
	if !transactions {
		appendColumn(&line, strconv.FormatUint(total, 10)+";")
	}
	appendColumn(&line, strconv.FormatUint(ops, 10)+";")
	appendColumn(&line, rounded(perSecond(ops, elapsed)/1000))
	return line.String()
}

// rounded writes x with at most two decimals.
func rounded(x float64) string {
	return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64)
}
