package main

import (
	"bytes"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/benchmark/report"
	"github.com/pyropedb/pyrope/benchmark/usage"
)

// ran is a run of n reads in two seconds.
func ran(threads int, n uint64) result {
	return result{phase: "run", threads: threads, iteration: 1, elapsed: 2 * time.Second, tally: tally{reads: n}}
}

func TestAggregate(t *testing.T) {
	for _, c := range []struct {
		ops                            []uint64
		mean, stdev, min, max, trimmed float64
	}{
		{[]uint64{8}, 4, 0, 4, 4, 4},
		{[]uint64{8, 12}, 5, math.Sqrt(2), 4, 6, 5},
		{[]uint64{100, 8, 12}, 20, math.Sqrt(676), 4, 50, 6},
		{[]uint64{20, 2, 10, 8}, 5, math.Sqrt(42.0 / 3), 1, 10, 4.5},
	} {
		var runs []result
		for _, n := range c.ops {
			runs = append(runs, ran(2, n))
		}
		a := aggregateOf(2, runs)
		if a.threads != 2 || a.iterations != len(c.ops) || a.mean != c.mean || math.Abs(a.stdev-c.stdev) > 1e-9 || a.min != c.min || a.max != c.max || a.trimmed != c.trimmed {
			t.Errorf("%v: %+v, want %+v", c.ops, a, c)
		}
	}
}

// quiet returns a bench that prints into the buffer.
func quiet(line string, t *testing.T) (*bench, *bytes.Buffer) {
	var out bytes.Buffer
	return &bench{options: parse(t, line), output: &out}, &out
}

func TestOutputTemplates(t *testing.T) {
	b, out := quiet("", t)
	b.printResult(&result{phase: "load", threads: 2, elapsed: 12340 * time.Millisecond, tally: tally{writes: 100_000_000}, used: usage.Usage{AllocatedBytes: 5000, Collections: 3}})
	b.printResult(&result{
		phase: "run", threads: 4, iteration: 2, elapsed: 2 * time.Second, tally: tally{reads: 5000, writes: 2000, deletes: 1000},
		overshoot: tally{reads: 1024, writes: 5}, exitLag: 1500 * time.Microsecond,
	})
	b.printAggregate(aggregate{threads: 4, iterations: 3, mean: 4_000_000, stdev: 10_000, min: 3_990_000, max: 4_010_000, trimmed: 4_000_001})
	want := "[load]   100,000,000 ops in 12.34 s  (8,103,727 ops/sec)  reads=0 writes=100,000,000 deletes=0 overshoot=0 exit-lag=0.0ms gc=0/0/3 alloc/wkr=2500B\n" +
		"[run t=4 i=2]  8,000 ops in 2.00 s  (4,000 ops/sec)  reads=5,000 writes=2,000 deletes=1,000 overshoot=1,029 exit-lag=1.5ms gc=0/0/0 alloc/wkr=0B\n" +
		"[aggregate t=4] iterations=3 mean=4,000,000 ops/sec stdev=10,000 (0.25%) min=3,990,000 max=4,010,000 trimmed=4,000,001\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out, want)
	}
}

func TestSummaryTable(t *testing.T) {
	b, out := quiet("", t)
	b.aggregates = []aggregate{{threads: 1, mean: 1_000_000, trimmed: 1_000_000, stdev: 20_000}, {threads: 2, mean: 1_950_000, trimmed: 1_900_000}}
	b.printSummary()
	want := "\n threads          trimmed             mean   stdev%  speedup\n" +
		"       1        1,000,000        1,000,000     2.00     1.00\n" +
		"       2        1,900,000        1,950,000     0.00     1.90\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out, want)
	}
}

func TestCSVColumns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.csv")
	if err := report.Write(report.Files{CSVOutput: file}, nil, "", []row{{Phase: "run", Mix: "50,50,0,0", OpsPerSecond: 12.5}}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(lines) != 2 {
		t.Fatal(lines, err)
	}
	want := "schema_version, timestamp_utc, git_sha, hostname, phase, iteration, threads, keys, value_size, distribution, rumd, delete_reinsert, " +
		"reader_copy_bytes, device, device_throttle, device_completion_threads, device_io_backend, session_context, hashpack_configured, hashpack_effective, " +
		"index_size_requested, index_size_applied, log_memory, page_size, segment_size, mutable_fraction, warmup_sec, runsec, elapsed_sec, " +
		"total_ops_for_throughput, ops_per_sec, overshoot_ops, max_worker_exit_lag_ms, reads, writes, deletes, gc_gen0, gc_gen1, gc_gen2, " +
		"alloc_bytes_by_worker_max, log_begin, log_head, log_readonly, log_tail, agg_mean_ops_per_sec, agg_stdev_ops_per_sec, agg_trimmed_mean, agg_min, agg_max, max_gc_pause_ms"
	if got := strings.Join(lines[0], ", "); got != want {
		t.Errorf("columns are\n%s\nwant\n%s", got, want)
	}
	if lines[1][10] != "50,50,0,0" || lines[1][30] != "12.5" {
		t.Errorf("the line is %q", lines[1])
	}
}
