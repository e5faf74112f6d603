package main

import (
	"strings"
	"time"

	"github.com/pyropedb/pyrope/benchmark/report"
)

// row is one result as a machine reads it: an object in JSON, a line in CSV. The tags are the
// column names and their order is the columns' order.
type row struct {
	report.Origin
	Phase         string  `json:"phase"`
	Iteration     int     `json:"iteration"`
	Threads       int     `json:"threads"`
	Keys          uint64  `json:"keys"`
	ValueSize     int     `json:"value_size"`
	Distribution  string  `json:"distribution"`
	Mix           string  `json:"rumd"`
	Reinsert      bool    `json:"delete_reinsert"`
	ReaderCopies  int     `json:"reader_copy_bytes"`
	Device        string  `json:"device"`
	Throttle      int     `json:"device_throttle"`
	Completion    int     `json:"device_completion_threads"`
	IOBackend     string  `json:"device_io_backend"`
	Session       string  `json:"session_context"` // the read mode
	HashPack      float64 `json:"hashpack_configured"`
	HashPackReal  float64 `json:"hashpack_effective"`
	IndexAsked    uint64  `json:"index_size_requested"`
	IndexApplied  uint64  `json:"index_size_applied"`
	LogMemory     uint64  `json:"log_memory"`
	PageSize      uint64  `json:"page_size"`
	SegmentSize   uint64  `json:"segment_size"`
	Mutable       float64 `json:"mutable_fraction"`
	WarmupSeconds float64 `json:"warmup_sec"`
	RunSeconds    float64 `json:"runsec"`
	Elapsed       float64 `json:"elapsed_sec"`
	TotalOps      uint64  `json:"total_ops_for_throughput"`
	OpsPerSecond  float64 `json:"ops_per_sec"`
	Overshoot     uint64  `json:"overshoot_ops"`
	ExitLag       float64 `json:"max_worker_exit_lag_ms"`
	Reads         uint64  `json:"reads"`
	Writes        uint64  `json:"writes"`
	Deletes       uint64  `json:"deletes"`
	GC0           uint32  `json:"gc_gen0"` // Go has no generations: every collection is a full one
	GC1           uint32  `json:"gc_gen1"`
	GC2           uint32  `json:"gc_gen2"`
	Allocated     uint64  `json:"alloc_bytes_by_worker_max"`
	LogBegin      uint64  `json:"log_begin"`
	LogHead       uint64  `json:"log_head"`
	LogReadOnly   uint64  `json:"log_readonly"`
	LogTail       uint64  `json:"log_tail"`
	AggMean       float64 `json:"agg_mean_ops_per_sec"` // of the row's thread count; 0 for the load
	AggStdev      float64 `json:"agg_stdev_ops_per_sec"`
	AggTrimmed    float64 `json:"agg_trimmed_mean"`
	AggMin        float64 `json:"agg_min"`
	AggMax        float64 `json:"agg_max"`
	LongestPause  float64 `json:"max_gc_pause_ms"` // of the window
}

// rows turns the results into rows.
func (b *bench) rows(t *target, p *plan) []row {
	o := &b.options
	common := row{
		Origin: report.NewOrigin(), Keys: o.Keys, ValueSize: o.ValueSize, Distribution: o.Distribution, Mix: o.Mix.String(),
		Reinsert: o.Mix[mixDelete] > 0, ReaderCopies: o.sizes().Most(),
		Device: t.device.Info().Kind, Throttle: o.ThrottleLimit, Completion: o.CompletionThreads, IOBackend: strings.ToLower(o.IOBackend.String()),
		Session: string(p.mode), HashPack: o.HashPack, HashPackReal: effectiveHashPack(o, t),
		IndexAsked: uint64(o.IndexSize), IndexApplied: t.sizes.indexBytes, LogMemory: t.sizes.memoryBytes,
		PageSize: uint64(o.PageSize), SegmentSize: uint64(o.SegmentSize), Mutable: mutablePercent / 100.0,
		WarmupSeconds: o.WarmupSecs, RunSeconds: o.RunSeconds,
	}
	rows := make([]row, len(b.results))
	for i := range b.results {
		rows[i] = common
		rows[i].fill(&b.results[i])
		for _, a := range b.aggregates {
			if b.results[i].phase == "run" && a.threads == b.results[i].threads {
				rows[i].AggMean, rows[i].AggStdev, rows[i].AggTrimmed, rows[i].AggMin, rows[i].AggMax = a.mean, a.stdev, a.trimmed, a.min, a.max
			}
		}
	}
	return rows
}

// fill sets what one result says.
func (w *row) fill(r *result) {
	w.Phase, w.Iteration, w.Threads = r.phase, r.iteration, r.threads
	w.Elapsed, w.TotalOps, w.OpsPerSecond = r.elapsed.Seconds(), r.tally.total(), r.opsPerSecond()
	w.Overshoot, w.ExitLag = r.overshoot.total(), float64(r.exitLag.Microseconds())/1000
	w.Reads, w.Writes, w.Deletes = r.tally.reads, r.tally.writes, r.tally.deletes
	w.GC2, w.Allocated = r.used.Collections, r.allocatedByWorker()
	w.LongestPause = float64(r.pause) / float64(time.Millisecond)
	w.LogBegin, w.LogHead, w.LogReadOnly, w.LogTail = r.logBegin, r.logHead, r.logReadOnly, r.logTail
}
