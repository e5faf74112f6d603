package main

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// result is what a test found.
type result struct {
	title     string
	elapsed   time.Duration
	finished  int64
	latencies *hdrhistogram.Histogram // microseconds
}

// rate is the requests a second.
func (r *result) rate() float64 { return float64(r.finished) / max(r.elapsed.Seconds(), 1e-6) }

// millis is a latency in milliseconds at a percentile.
func (r *result) millis(percentile float64) float64 {
	return float64(r.latencies.ValueAtPercentile(percentile)) / 1000
}

// summary is average, minimum, three percentiles and maximum, in milliseconds.
func (r *result) summary() [6]float64 {
	h := r.latencies
	return [6]float64{h.Mean() / 1000, float64(h.Min()) / 1000, r.millis(50), r.millis(95), r.millis(99), float64(h.Max()) / 1000}
}

// progress is how far a test was at a moment.
type progress struct {
	at            time.Time
	finished, sum int64
}

// printf writes to the program's output, whose failure has nobody to be told to.
func (b *bench) printf(format string, arguments ...any) int {
	n, _ := fmt.Fprintf(b.output, format, arguments...)
	return n
}

// printProgress writes the line that the next one replaces.
func (b *bench) printProgress(title string, began time.Time, last, now progress) {
	b.clearProgress()
	finished, sum := now.finished-last.finished, now.sum-last.sum
	b.printedBytes = b.printf("%s: rps=%.1f (overall: %.1f) avg_msec=%.3f (overall: %.3f)\r", title,
		float64(finished)/now.at.Sub(last.at).Seconds(), float64(now.finished)/now.at.Sub(began).Seconds(),
		float64(sum)/1000/float64(max(finished, 1)), float64(now.sum)/1000/float64(max(now.finished, 1)))
}

// clearProgress overwrites the progress line with blanks.
func (b *bench) clearProgress() {
	if !b.options.CSV {
		b.printf("%*s\r", b.printedBytes, " ")
		b.printedBytes = 0
	}
}

// printCSVHeader names the columns.
func (b *bench) printCSVHeader() {
	b.printf(`"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"` + "\n")
}

// report writes what a test found, in the format that was asked for.
func (b *bench) report(r *result) {
	s := r.summary()
	switch {
	case b.options.CSV:
		b.printf(`"%s","%.2f","%.3f","%.3f","%.3f","%.3f","%.3f","%.3f"`+"\n", r.title, r.rate(), s[0], s[1], s[2], s[3], s[4], s[5])
	case b.options.Quiet:
		b.printf("%s: %.2f requests per second, p50=%.3f msec\n", r.title, r.rate(), s[2])
	default:
		b.printTitle(r)
		b.printPercentiles(r)
		b.printCumulative(r)
		b.printf("\nSummary:\n  throughput summary: %.2f requests per second\n  latency summary (msec):\n", r.rate())
		b.printf("    %9s %9s %9s %9s %9s %9s\n", "avg", "min", "p50", "p95", "p99", "max")
		b.printf("    %9.3f %9.3f %9.3f %9.3f %9.3f %9.3f\n", s[0], s[1], s[2], s[3], s[4], s[5])
	}
}

// printTitle writes what was measured and how.
func (b *bench) printTitle(r *result) {
	o := &b.options
	b.printf("====== %s ======\n", r.title)
	b.printf("  %d requests completed in %.2f seconds\n", r.finished, r.elapsed.Seconds())
	b.printf("  %d parallel clients\n  %d bytes payload\n  keep alive: %d\n", o.Clients, o.DataSize, o.Keep)
	if b.persistence.known {
		b.printf("  host configuration \"save\": %s\n", b.persistence.save)
		b.printf("  host configuration \"appendonly\": %s\n", b.persistence.appendOnly)
	}
	if o.Threads > 0 {
		b.printf("  multi-thread: yes\n  threads: %d\n\n", o.Threads)
	} else {
		b.printf("  multi-thread: no\n\n")
	}
}

// printPercentiles writes the latencies at percentiles that halve the rest, one after another.
func (b *bench) printPercentiles(r *result) {
	b.printf("Latency by percentile distribution:\n")
	for _, bracket := range r.latencies.CumulativeDistributionWithTicks(1) {
		b.printf("%3.3f%% <= %.3f milliseconds (cumulative count %d)\n", bracket.Quantile, float64(bracket.ValueAt)/1000, bracket.Count)
	}
}

// printCumulative writes how many requests took up to so many tenths of a millisecond, and beyond
// two milliseconds up to so many whole ones; steps that add nothing are left out.
func (b *bench) printCumulative(r *result) {
	b.printf("\nCumulative distribution of latencies:\n")
	total, seen, printed := r.latencies.TotalCount(), int64(0), int64(-1)
	bars := r.latencies.Distribution()
	for level, step := int64(100), int64(100); seen < total; level += step {
		end := endOfStep(level, r.latencies.SignificantFigures())
		for len(bars) > 0 && bars[0].To <= end {
			seen += bars[0].Count
			bars = bars[1:]
		}
		if seen != printed {
			b.printf("%3.3f%% <= %.3f milliseconds (cumulative count %d)\n", 100*float64(seen)/float64(total), float64(end)/1000, seen)
			printed = seen
		}
		if level >= 2100 {
			step = 1000
		}
	}
}

// endOfStep is the highest latency that a histogram of so many digits does not tell from level.
func endOfStep(level, digits int64) int64 {
	subBuckets := map[int64]int64{1: 32, 2: 256, 3: 2048}[digits]
	width := int64(8) // the power of two within lowestLatency
	for level >= width*subBuckets {
		width *= 2
	}
	return level/width*width + width - 1
}
