package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pyropedb/pyrope/benchmark/report"
	"github.com/pyropedb/pyrope/benchmark/usage"
)

// row is the result of one configuration, as people and machines read it.
type row struct {
	report.Origin
	DeviceType        string  `json:"device_type"`
	Device            string  `json:"device"` // what the type came out as
	FileName          string  `json:"file_name"`
	FileSize          uint64  `json:"file_size"`
	SectorSize        uint64  `json:"sector_size"`
	SegmentSize       uint64  `json:"segment_size"`
	IOBackend         string  `json:"device_io_backend"`
	CompletionThreads int     `json:"device_completion_threads"`
	Rings             int     `json:"device_rings"`
	QueueDepth        int     `json:"device_queue_depth"`
	ThrottleLimit     int     `json:"device_throttle"`
	InFlightLimit     int     `json:"in_flight_limit"`
	InlineCompletion  bool    `json:"inline_completion"`
	Verify            bool    `json:"verify"`
	Threads           int     `json:"threads"`
	BatchSize         int     `json:"batch_size"`
	Elapsed           float64 `json:"elapsed_sec"`
	OK                uint64  `json:"ok"`
	Failed            uint64  `json:"errors"`
	Submitted         uint64  `json:"submitted"`
	OpsPerSecond      float64 `json:"ops_per_sec"`
	Codes             string  `json:"error_breakdown"` // code5=2 code-1=7
	UserMicros        float64 `json:"user_us_per_read"`
	SystemMicros      float64 `json:"system_us_per_read"`
	Allocations       float64 `json:"allocations_per_read"`
}

// newRow is the result of one configuration.
func (b *bench) newRow(threads, batchSize int, t *tally, elapsed time.Duration, used usage.Usage) row {
	o := &b.options
	reads := float64(max(t.ok+t.failed, 1))
	return row{
		Origin: report.NewOrigin(), DeviceType: o.DeviceType.String(), Device: b.info.Kind, FileName: o.FileName,
		FileSize: uint64(o.FileSize), SectorSize: uint64(o.SectorSize), SegmentSize: uint64(o.SegmentSize),
		IOBackend: o.IOBackend.String(), CompletionThreads: o.CompletionThreads, Rings: b.info.RingCount,
		QueueDepth: o.QueueDepth, ThrottleLimit: o.ThrottleLimit, InFlightLimit: b.info.InFlightLimit,
		InlineCompletion: o.InlineCompletion, Verify: o.Verify, Threads: threads, BatchSize: batchSize,
		Elapsed: elapsed.Seconds(), OK: t.ok, Failed: t.failed, Submitted: t.submitted,
		OpsPerSecond: float64(t.ok) / elapsed.Seconds(), Codes: t.breakdown(),
		UserMicros: micros(used.User) / reads, SystemMicros: micros(used.System) / reads,
		Allocations: float64(used.Allocations) / reads,
	}
}

// breakdown lists how often each code came up, in the order of the codes.
func (t *tally) breakdown() string {
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(t.codes)) {
		parts = append(parts, fmt.Sprintf("code%d=%d", code, t.codes[code]))
	}
	return strings.Join(parts, " ")
}

// printResult writes the lines of one configuration.
func (b *bench) printResult(r *row, t *tally) {
	fmt.Fprintf(b.output, "Benchmark finished: %d ok, %d err, %d submitted in %.2f s, throughput: %.2f ops/sec\n",
		r.OK, r.Failed, r.Submitted, r.Elapsed, r.OpsPerSecond)
	if r.Failed > 0 {
		fmt.Fprintf(b.output, "  error breakdown: %s\n  first error: %v\n", r.Codes, t.firstError)
	}
	fmt.Fprintf(b.output, "  CPU a read: %.3f us (user %.3f, system %.3f); allocations a read: %.3f\n",
		r.UserMicros+r.SystemMicros, r.UserMicros, r.SystemMicros, r.Allocations)
}

// micros is a duration in microseconds.
func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
