package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/pyropedb/pyrope/benchmark/report"
)

// writePage writes the results with plots, where --html-output asks for it: offline the throughput by
// threads, a line for each batch size; online the latency by percentile.
func (b *bench) writePage() error {
	page := report.Page{
		Title:  fmt.Sprintf("resp-bench: %s, %s, %d keys, values of %d bytes", b.options.benchmarkType(), b.title(), b.options.DBSize, b.options.ValueLength),
		Header: []string{"op", "threads", "batch", "in flight", "seconds", "ops", "ops/sec", "median us", "99th us", "99.9th us", "max us"},
	}
	for _, r := range b.rows {
		page.Rows = append(page.Rows, []string{
			r.Operation, strconv.Itoa(r.Threads), strconv.Itoa(r.BatchSize), strconv.Itoa(r.InFlight), report.N2(r.Elapsed), report.N0(r.Operations),
			report.N2(r.OpsPerSecond), rounded(r.Median), rounded(r.P99), rounded(r.P999), rounded(r.Max),
		})
	}
	if b.options.Online {
		page.Charts = []report.Chart{b.latencyChart()}
	} else {
		page.Charts = []report.Chart{b.throughputChart()}
	}
	return report.WritePage(b.options.HTMLOutput, page)
}

// title is what was run.
func (b *bench) title() string {
	if b.options.Online {
		return b.options.workloadNames()
	}
	return b.options.Op.String()
}

// throughputChart has a line for each batch size over the thread counts.
func (b *bench) throughputChart() report.Chart {
	c := report.Chart{Title: "Throughput by threads", Unit: "ops/sec"}
	for _, threads := range b.options.Threads {
		c.Categories = append(c.Categories, strconv.Itoa(threads))
	}
	for _, size := range b.options.Batch {
		s := report.Series{Name: fmt.Sprintf("batch %d", size), Values: slices.Repeat([]float64{math.NaN()}, len(b.options.Threads))}
		for _, r := range b.rows {
			if i := slices.Index(b.options.Threads, r.Threads); i >= 0 && r.BatchSize == size {
				s.Values[i] = r.OpsPerSecond
			}
		}
		c.Series = append(c.Series, s)
	}
	return c
}

// latencyChart is the distribution of the run.
func (b *bench) latencyChart() report.Chart {
	c := report.Chart{Title: "Latency by percentile", Unit: "us", Categories: []string{"min", "5", "50", "95", "99", "99.9", "max"}}
	for _, r := range b.rows {
		c.Series = append(c.Series, report.Series{
			Name: fmt.Sprintf("%d threads", r.Threads), Values: []float64{r.Min, r.P5, r.Median, r.P95, r.P99, r.P999, r.Max},
		})
	}
	return c
}
