package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/pyropedb/pyrope/benchmark/report"
)

// openLog adds the file of --file-logger to the program's output, or puts it in its place.
func (b *bench) openLog() (closeLog func() error, err error) {
	o := &b.options
	if o.FileLogger == "" {
		return func() error { return nil }, nil
	}
	file, err := os.OpenFile(o.FileLogger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot open the file of --file-logger: %w", err)
	}
	if o.ConsoleOff {
		b.output = file
	} else {
		b.output = io.MultiWriter(b.output, file)
	}
	return file.Close, nil
}

// printf writes to the program's output, whose failure has nobody to be told to.
func (b *bench) printf(format string, arguments ...any) {
	fmt.Fprintf(b.output, format, arguments...)
}

// printConfig writes the options the run was started with.
func (b *bench) printConfig() {
	o := &b.options
	auth := ""
	if o.Auth != "" {
		auth = "set" // a log is no place for a password
	}
	b.printf("<<<<<<< Benchmark Configuration >>>>>>>>\n")
	for _, line := range []struct {
		name  string
		value any
	}{
		{"benchmarkType", o.benchmarkType()},
		{"skipLoad", o.SkipLoad},
		{"DBsize", o.DBSize},
		{"TotalOps", o.Total},
		{"Op Benchmark", o.Op},
		{"KeyLength", o.KeyLength},
		{"ValueLength", o.ValueLength},
		{"BatchSize", joinNumbers(o.Batch)},
		{"RunTime", o.Runtime},
		{"NumThreads", joinNumbers(o.Threads)},
		{"Auth", auth},
		{"Load Using SET", o.LSet},
		{"Zipf", o.Zipf},
		{"Verify", o.Verify},
		{"ClientType used for benchmarking", o.Client},
		{"TLS", o.TLS},
		{"GOMAXPROCS", runtime.GOMAXPROCS(0)},
	} {
		b.printf("%s: %v\n", line.name, line.value)
	}
	if o.Online {
		b.printOnlineConfig()
	}
	b.printf("----------------------------------\n")
}

// printResult writes the figures of a load or a run.
func (b *bench) printResult(op operation, threads int, elapsed time.Duration, ops uint64) {
	b.printf("\nOperation type: %s\n", op)
	b.printf("Num threads: %d\n", threads)
	b.printTotals(elapsed, ops)
}

// printTotals writes time, operations and rate.
func (b *bench) printTotals(elapsed time.Duration, ops uint64) {
	b.printf("[Total time]: %sms for %s ops\n", report.N2(float64(elapsed.Microseconds())/1000), report.N2(float64(ops)))
	b.printf("[Throughput]: %s ops/sec\n", report.N2(perSecond(ops, elapsed)))
}

// printRemarks writes what a run found beside its speed.
func (b *bench) printRemarks(m *measurement, ops uint64) {
	if b.options.Client == inProcType {
		b.printf("[BytesConsumed]: %s bytes\n", report.N0(m.bytes))
		b.printf("[BytesConsumedPerSecond]: %s GiB/sec\n", report.N2(perSecond(m.bytes, m.elapsed)/(1<<30)))
		b.printf("[CPU]: %.3f us an operation\n", float64(m.used.CPU().Nanoseconds())/1000/float64(max(ops, 1)))
	}
	if b.options.Verify {
		b.printVerified(m)
	} else if m.nils > 0 {
		b.printf("[Misses]: %s replies were nil; a miss costs less than a read\n", report.N0(m.nils))
	}
}

// printVerified writes what the checks of values found.
func (b *bench) printVerified(m *measurement) {
	b.printf("[Verified]: %s values, %s mismatches, %s nil\n", report.N0(m.checked), report.N0(m.mismatches), report.N0(m.checkedNils))
	if m.firstWrong != "" {
		b.printf("[First mismatch]: %s\n", m.firstWrong)
	}
}

// perSecond is a rate.
func perSecond(count uint64, elapsed time.Duration) float64 {
	if elapsed <= 0 {
		return 0
	}
	return float64(count) / elapsed.Seconds()
}
