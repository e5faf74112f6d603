package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// resultOf is a result with the given latencies in microseconds.
func resultOf(digits int, micros ...int64) *result {
	h := hdrhistogram.New(lowestLatency, highestLatency, digits)
	for _, m := range micros {
		if err := h.RecordValue(m); err != nil {
			panic(err)
		}
	}
	return &result{title: "SET", elapsed: 250 * time.Millisecond, finished: int64(len(micros)), latencies: h}
}

// reportOf is what a report looks like.
func reportOf(t *testing.T, flags string, r *result) string {
	t.Helper()
	var out bytes.Buffer
	b := &bench{options: parse(t, flags), output: &out, persistence: configuration{true, "3600 1", "no"}}
	b.report(r)
	return out.String()
}

func TestReportIsRedisBenchmarks(t *testing.T) {
	want := `====== SET ======
  6 requests completed in 0.25 seconds
  50 parallel clients
  3 bytes payload
  keep alive: 1
  host configuration "save": 3600 1
  host configuration "appendonly": no
  multi-thread: no

Latency by percentile distribution:
0.000% <= 0.047 milliseconds (cumulative count 1)
50.000% <= 0.063 milliseconds (cumulative count 4)
75.000% <= 0.223 milliseconds (cumulative count 5)
87.500% <= 3.159 milliseconds (cumulative count 6)
100.000% <= 3.159 milliseconds (cumulative count 6)

Cumulative distribution of latencies:
66.667% <= 0.103 milliseconds (cumulative count 4)
83.333% <= 0.303 milliseconds (cumulative count 5)
100.000% <= 4.103 milliseconds (cumulative count 6)

Summary:
  throughput summary: 24.00 requests per second
  latency summary (msec):
          avg       min       p50       p95       p99       max
        0.600     0.040     0.063     3.159     3.159     3.159
`
	if got := reportOf(t, "", resultOf(3, 42, 56, 60, 63, 220, 3155)); got != want {
		t.Errorf("the report is\n%s\nwant\n%s", got, want)
	}
}

func TestShortReports(t *testing.T) {
	r := resultOf(3, 100, 200, 300, 5000)
	for flags, want := range map[string]string{
		"-q":    "SET: 16.00 requests per second, p50=0.207 msec\n",
		"--csv": `"SET","16.00","1.402","0.096","0.207","5.007","5.007","5.007"` + "\n",
	} {
		if got := reportOf(t, flags, r); got != want {
			t.Errorf("%s prints %q, want %q", flags, got, want)
		}
	}
}

func TestThreadsAreReported(t *testing.T) {
	if got := reportOf(t, "--threads 2 -k 0", resultOf(3, 1)); !bytes.Contains([]byte(got), []byte("  keep alive: 0\n  host configuration \"save\": 3600 1\n  host configuration \"appendonly\": no\n  multi-thread: yes\n  threads: 2\n\n")) {
		t.Error(got)
	}
}

func TestStepsEndWhereTheHistogramsDo(t *testing.T) {
	for digits := 1; digits <= 3; digits++ {
		for _, level := range []int64{100, 200, 400, 900, 1000, 1100, 2000, 2100, 3100, 17_100, 900_100, 2_999_100} {
			if got, want := endOfStep(level, int64(digits)), resultOf(digits, level).latencies.Max(); got != want {
				t.Errorf("with %d digits %d ends at %d, want %d", digits, level, got, want)
			}
		}
	}
}

func TestProgressReplacesItself(t *testing.T) {
	var out bytes.Buffer
	b := &bench{options: parse(t, ""), output: &out}
	began := time.Now()
	first := progress{at: began.Add(time.Second), finished: 10, sum: 20_000}
	b.printProgress("GET", began, progress{at: began}, first)
	b.printProgress("GET", began, first, progress{at: began.Add(2 * time.Second), finished: 40, sum: 50_000})
	b.clearProgress()
	want := " \rGET: rps=10.0 (overall: 10.0) avg_msec=2.000 (overall: 2.000)\r" +
		"                                                              \rGET: rps=30.0 (overall: 20.0) avg_msec=1.000 (overall: 1.250)\r" +
		"                                                              \r"
	if out.String() != want {
		t.Errorf("progress is %q, want %q", &out, want)
	}
}
