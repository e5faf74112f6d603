package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/pyropedb/pyrope/benchmark/report"
	"github.com/pyropedb/pyrope/server/config"
)

// printf writes to the program's output, whose failure has nobody to be told to.
func (b *bench) printf(format string, arguments ...any) {
	fmt.Fprintf(b.output, format, arguments...)
}

// text is printf for what --quiet leaves out.
func (b *bench) text(format string, arguments ...any) {
	if !b.options.Quiet {
		b.printf(format, arguments...)
	}
}

// printConfig writes the options and what followed from them.
func (b *bench) printConfig(t *target, p *plan) {
	o := &b.options
	d := t.device.Info()
	b.text("=== KV.benchmark config ===\n")
	for _, line := range []struct {
		name  string
		value any
	}{
		{"threads", strings.Trim(fmt.Sprint(o.runThreads()), "[]")},
		{"load-threads", o.loadThreads()},
		{"keys", report.N0(o.Keys)},
		{"value-size", o.ValueSize},
		{"value-size-max", o.ValueSizeMax},
		{"record-size", recordBytes(o.ValueSize)},
		{"rumd", o.Mix},
		{"distribution", o.describeDistribution()},
		{"batch-size", o.Batch},
		{"preset", strings.Join(o.Preset, ",")},
		{"read-mode", o.ReadMode},
		{"copy-reads-to-tail", o.CopyReads},
		{"warmup-sec", o.WarmupSecs},
		{"runsec", o.RunSeconds},
		{"iterations", o.Iterations},
		{"seed", o.Seed},
		{"device", fmt.Sprintf("%s (%s: %s)", o.DeviceName, d.Kind, d.Reason)},
		{"device-in-flight", d.InFlightLimit},
		{"device-rings", d.RingCount},
		{"device-sector", d.SectorSizeBytes},
		{"hashpack", fmt.Sprintf("%v (effective %.2f)", o.HashPack, effectiveHashPack(o, t))},
		{"index-size", config.Size(t.sizes.indexBytes)},
		{"log-memory", config.Size(t.sizes.memoryBytes)},
		{"preallocate-log", o.Preallocate},
		{"page-size", o.PageSize},
		{"segment-size", o.SegmentSize},
		{"mutable-percent", mutablePercent},
		{"data-path", t.directory},
		{"pinned-to", describeProcessors(p.processors)},
		{"GOMAXPROCS", runtime.GOMAXPROCS(0)},
	} {
		b.text("%-18s %v\n", line.name, line.value)
	}
	b.text("===========================\n")
}

// describeDistribution names the key choice.
func (o *options) describeDistribution() string {
	if o.Distribution == uniform {
		return uniform
	}
	return fmt.Sprintf("%s theta=%v", o.Distribution, o.ZipfTheta)
}

// describeProcessors lists the processors that workers are pinned to.
func describeProcessors(processors []int) string {
	if len(processors) == 0 {
		return "nothing"
	}
	return strings.Trim(fmt.Sprint(processors), "[]")
}

// effectiveHashPack is the keys an index bucket, as the index came out.
func effectiveHashPack(o *options, t *target) float64 {
	return float64(o.Keys) / float64(t.sizes.indexBytes/bucketBytes)
}

// printResult writes the line of a load or a run.
func (b *bench) printResult(r *result) {
	label := "[load]   "
	if r.phase == "run" {
		label = fmt.Sprintf("[run t=%d i=%d]  ", r.threads, r.iteration)
	}
	b.printf("%s%s ops in %.2f s  (%s ops/sec)  reads=%s writes=%s deletes=%s overshoot=%s exit-lag=%.1fms gc=0/0/%d alloc/wkr=%dB\n",
		label, report.N0(r.tally.total()), r.elapsed.Seconds(), report.N0(uint64(r.opsPerSecond())),
		report.N0(r.tally.reads), report.N0(r.tally.writes), report.N0(r.tally.deletes), report.N0(r.overshoot.total()),
		float64(r.exitLag.Microseconds())/1000, r.used.Collections, r.allocatedByWorker())
}

// printCost writes what an operation of a load or a run cost.
func (b *bench) printCost(r *result) {
	operations := float64(max(r.tally.total(), 1))
	micros := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) / operations }
	b.text("  CPU an operation: %.3f us (user %.3f, system %.3f)\n", micros(r.used.CPU()), micros(r.used.User), micros(r.used.System))
	if r.phase == "run" {
		b.text("  longest GC pause: %.3f ms\n", float64(r.pause)/float64(time.Millisecond))
	}
	if b.options.CopyReads {
		b.text("  copied to the tail: %s records\n", report.N0(r.copied))
	}
}

// printMemory writes what memory the index takes a key: all that a key costs whose record is on the device.
func (b *bench) printMemory(t *target, p *plan) {
	info := t.store.Info()
	index := info.IndexBytes + info.OverflowBytes
	b.text("[memory] index %s bytes, %.1f a key; log in memory %s bytes\n", report.N0(index), float64(index)/float64(p.keys), report.N0(info.ResidentBytes))
}

// printAggregate writes the line of a thread count.
func (b *bench) printAggregate(a aggregate) {
	b.printf("[aggregate t=%d] iterations=%d mean=%s ops/sec stdev=%s (%.2f%%) min=%s max=%s trimmed=%s\n",
		a.threads, a.iterations, report.N0(uint64(a.mean)), report.N0(uint64(a.stdev)), a.stdevPercent(),
		report.N0(uint64(a.min)), report.N0(uint64(a.max)), report.N0(uint64(a.trimmed)))
}

// printSummary writes the table of all thread counts.
func (b *bench) printSummary() {
	if len(b.aggregates) == 0 {
		return
	}
	b.text("\n%8s %16s %16s %8s %8s\n", "threads", "trimmed", "mean", "stdev%", "speedup")
	first := b.aggregates[0].trimmed
	for _, a := range b.aggregates {
		speedup := 0.0
		if first > 0 {
			speedup = a.trimmed / first
		}
		b.text("%8d %16s %16s %8.2f %8.2f\n", a.threads, report.N0(uint64(a.trimmed)), report.N0(uint64(a.mean)), a.stdevPercent(), speedup)
	}
}
