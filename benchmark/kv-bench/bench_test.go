package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/benchmark/program"
	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/open"
	"github.com/pyropedb/pyrope/tsavorite"
)

// small is a store of a few pages: 20,000 keys of 136 bytes are ten times as much.
const small = "-n 20000 --page-size 64k --segment-size 256k --log-memory 256k --runsec 0.2 --warmup-sec 0.05 -b 128 "

// runFlags runs the program and returns its exit code, output and error output.
func runFlags(t *testing.T, flags string) (code int, out, failures string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	arguments := append(strings.Fields(flags), "--data-path", t.TempDir())
	code = run(arguments, &stdout, &stderr, new(atomic.Bool))
	return code, stdout.String(), stderr.String()
}

func TestInMemoryRuns(t *testing.T) {
	for _, flags := range []string{
		"", "-d zipf", "--rumd 50,50,0,0 -t 2", "--rumd 0,100,0,0", "--rumd 0,0,100,0 -t 2", "--rumd 25,25,25,25 -t 3 --load-threads 2", "--read-mode async --rumd 50,0,50,0", "--read-mode single",
		"--value-size-max 4000 --rumd 40,20,20,20 -t 2", "--preallocate-log", "--preset A", "--preset B -t 2", "--preset C", "--preset D -t 2 --log-memory 16m", "--preset F",
	} {
		code, out, failures := runFlags(t, "-n 20000 --page-size 64k --device null --runsec 0.1 --warmup-sec 0.05 "+flags)
		if code != 0 || !strings.Contains(out, "[load]   20,000 ops in ") || !strings.Contains(out, "[run t=") || strings.Contains(out, "  0 ops") {
			t.Errorf("%s: exit %d: %s%s", flags, code, out, failures)
		}
	}
}

func TestDeviceRuns(t *testing.T) {
	for _, flags := range []string{
		"--device localmemory", "--device localmemory --device-inline-completion --warm", "--device file --warm -t 2", "--device file --read-mode batch", "--device default",
		"--device localmemory --read-mode single --rumd 50,20,20,10", "--device file --rumd 50,20,20,10 -t 2",
		"--device localmemory --preset D -t 2 -i 2", "--device localmemory -d zipf --copy-reads-to-tail",
	} {
		code, out, failures := runFlags(t, small+flags)
		if code != 0 || !strings.Contains(out, "[run t=") || strings.Contains(out, "  0 ops") {
			t.Errorf("%s: exit %d: %s%s", flags, code, out, failures)
		}
		if strings.Contains(flags, "--copy-reads") != regexp.MustCompile(`(?m)^  copied to the tail: [1-9][0-9,]* records$`).MatchString(out) {
			t.Errorf("%s: of copies it says: %s", flags, out)
		}
		if strings.Contains(flags, "--warm") && !regexp.MustCompile(`(?m)^\[warm\]   read [0-9,]{7,} bytes of the device`).MatchString(out) {
			t.Errorf("%s: the device was not read through: %s", flags, out)
		}
		if !strings.Contains(flags, "--read-mode") && !strings.Contains(out, "[mode]   reads are async\n") {
			t.Errorf("%s: reads are not asynchronous: %s", flags, out)
		}
	}
}

// TestKernelRings runs on libaio and io_uring where the system has them, and else wants to be told.
func TestKernelRings(t *testing.T) {
	for _, backend := range []device.Backend{device.Libaio, device.Uring} {
		probe, missing := open.Device(device.Native, device.Options{Directory: t.TempDir(), Backend: backend})
		if missing == nil {
			if err := probe.Close(); err != nil {
				t.Fatal(err)
			}
		}
		flags := small + "--device native --validate --rumd 50,20,20,10 --device-io-backend " + backend.String()
		code, out, failures := runFlags(t, flags)
		switch {
		case missing != nil && (code != program.Failure || !strings.Contains(failures, "cannot open the device")):
			t.Errorf("%s: without the device (%v) exit %d: %s%s", flags, missing, code, out, failures)
		case missing == nil && (code != 0 || !strings.Contains(out, "[validate] OK: ")):
			t.Errorf("%s: exit %d: %s%s", flags, code, out, failures)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, flags := range []string{
		"--device null --log-memory auto --rumd 100,0,0,0",
		"--device null --log-memory auto --rumd 0,0,100,0",
		"--device null --log-memory auto --rumd 40,20,20,20",
		"--device localmemory --read-mode batch --rumd 50,0,50,0",
		"--device localmemory --read-mode async --rumd 50,0,50,0",
		"--device localmemory --read-mode single --rumd 50,0,50,0",
		"--device localmemory --read-mode batch --rumd 40,20,20,20",
		"--device file --read-mode async --rumd 40,20,20,20",
		"--device file --read-mode async",
		"--device localmemory --preset D",
		"--device localmemory --read-mode async --value-size-max 8000 --rumd 40,20,20,20",
		"--device localmemory --read-mode batch -v 32 --value-size-max 300 --rumd 50,0,50,0 --preallocate-log",
		"--device localmemory --preset F --copy-reads-to-tail",
	} {
		t.Run(flags, func(t *testing.T) {
			if code, out, failures := runFlags(t, small+"--validate -t 2 "+flags); code != 0 || !strings.Contains(out, "[validate] OK: ") {
				t.Errorf("exit %d: %s%s", code, out, failures)
			}
		})
	}
}

// keyOf is the key of a number.
func keyOf(number uint64) tsavorite.Key {
	return tsavorite.Key{Bytes: binary.LittleEndian.AppendUint64(nil, number)}
}

func TestValidateFindsAWrongValue(t *testing.T) {
	b, target, p := loadedBench(t, small+"--device localmemory --validate")
	out := b.output.(*bytes.Buffer)
	workers, err := openWorkers(target, p, 1)
	if err != nil {
		t.Fatal(err)
	}
	w := workers[0]
	w.session.Enter()
	wrong := w.session.Upsert(keyOf(77), valueOf(78, p.sizes.Of(78), 0), tsavorite.Metadata{})
	gone := w.session.Delete(keyOf(88))
	w.session.Leave()
	closeWorkers(workers)
	if wrong == tsavorite.StatusError || gone == tsavorite.StatusError {
		t.Fatal(wrong, gone)
	}
	if err := b.validate(target, p); !errors.Is(err, program.ErrMismatch) || !strings.Contains(out.String(), "[validate] FAILED: mismatches=1 misses=1\n[validate] first mismatch: key 77: ") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestPartialLoadIsRefused(t *testing.T) {
	code, out, failures := runFlags(t, small+"--device null")
	if code != program.Failure || !strings.Contains(failures, "cannot measure a partial load") || !strings.Contains(failures, "raise --log-memory to 4m") || strings.Contains(out, "[run") {
		t.Errorf("exit %d: %s%s", code, out, failures)
	}
}

func TestSweepAndIterations(t *testing.T) {
	code, out, failures := runFlags(t, "-n 5000 --page-size 64k --device null --runsec 0.05 --warmup-sec 0 --run-threads-sweep 1,2 -i 3 --report-interval-sec 0.05")
	if code != 0 || strings.Count(out, "[sweep] starting run phase with threads=") != 2 || strings.Count(out, "[run t=") != 6 || strings.Count(out, "[aggregate t=") != 2 ||
		!strings.Contains(out, "=== KV.benchmark config ===\nthreads            1 2\n") || !strings.Contains(out, " speedup\n") {
		t.Errorf("exit %d: %s%s", code, out, failures)
	}
}

func TestNumaNodeThatIsNotThere(t *testing.T) {
	code, out, failures := runFlags(t, small+"--device null --log-memory 16m --numa-node 77")
	if code != program.Failure || !strings.Contains(failures, "cannot pin workers to NUMA node 77") {
		t.Errorf("exit %d: %s%s", code, out, failures)
	}
}

// TestDumpDistribution: 20,000 keys in 8,192 buckets, each counted once.
func TestDumpDistribution(t *testing.T) {
	code, out, failures := runFlags(t, "-n 20000 --page-size 64k --device null --runsec 0.05 --warmup-sec 0 --dump-distribution")
	head := regexp.MustCompile(`(?m)^\[index\]  (20,000|19,99\d) entries in 8,192 buckets; 1\.0\d\d cache lines a hit, 1\.0\d\d a miss$`)
	if code != 0 || !head.MatchString(out) || !strings.Contains(out, "[index]    2 entries: ") {
		t.Errorf("exit %d: %s%s", code, out, failures)
	}
	if c := sumUp([]uint64{10, 5, 0, 0, 0, 0, 0, 2, 1}); c != (chains{buckets: 18, entries: 27, visits: 28, lines: 19}) {
		t.Errorf("buckets of 0, 1, 7 and 8 entries come to %+v", c)
	}
}

func TestQuiet(t *testing.T) {
	code, out, failures := runFlags(t, "-n 5000 --page-size 64k --device null --runsec 0.05 --warmup-sec 0 --quiet")
	if code != 0 || strings.Contains(out, "config") || strings.Count(out, "\n") != 3 {
		t.Errorf("exit %d: %s%s", code, out, failures)
	}
}

func TestMachineOutput(t *testing.T) {
	directory := t.TempDir()
	jsonFile, csvFile := filepath.Join(directory, "out.json"), filepath.Join(directory, "out.csv")
	code, out, failures := runFlags(t, "-n 5000 --page-size 64k --device null --runsec 0.05 --warmup-sec 0 -i 2 --json-stdout --json-output "+jsonFile+" --csv-output "+csvFile)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, failures)
	}
	text, err := os.ReadFile(jsonFile)
	if err != nil {
		t.Fatal(err)
	}
	type document struct {
		SchemaVersion string `json:"schema_version"`
		Results       []row
	}
	var fromFile, fromOutput document
	if err := json.Unmarshal(text, &fromFile); err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^KV-RESULT-JSON: (.*)$`).FindStringSubmatch(out)
	if line == nil {
		t.Fatalf("no line of JSON in %s", out)
	}
	if err := json.Unmarshal([]byte(line[1]), &fromOutput); err != nil {
		t.Fatal(err)
	}
	for _, d := range []document{fromFile, fromOutput} {
		if d.SchemaVersion != "1" || len(d.Results) != 3 || d.Results[0].Phase != "load" || d.Results[0].Writes != 5000 || d.Results[2].Iteration != 2 ||
			d.Results[1].OpsPerSecond <= 0 || d.Results[1].AggMean <= 0 || d.Results[1].Device != "null" || d.Results[1].Session != "batch" || d.Results[1].LogTail < 5000*136 {
			t.Errorf("JSON is %+v", d)
		}
	}
	table, err := os.ReadFile(csvFile)
	if err != nil || strings.Count(string(table), "\n") != 4 {
		t.Errorf("CSV is %s, %v", table, err)
	}
}

func TestRunDirectoryIsRemoved(t *testing.T) {
	parent := t.TempDir()
	var out, failures bytes.Buffer
	if code := run(append(strings.Fields(small+"--device file"), "--data-path", parent), &out, &failures, new(atomic.Bool)); code != 0 {
		t.Fatalf("exit %d: %s", code, &failures)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
		t.Errorf("the run leaves %v behind, %v", left, err)
	}
}

func TestInterruptExitsWith130(t *testing.T) {
	var out, failures bytes.Buffer
	var interrupted atomic.Bool
	timer := time.AfterFunc(200*time.Millisecond, func() { interrupted.Store(true) })
	defer timer.Stop()
	code := run(strings.Fields("-n 5000 --page-size 64k --device null --runsec 60 --warmup-sec 60"), &out, &failures, &interrupted)
	if code != program.Interrupted || !strings.Contains(out.String(), "[interrupt] reason=sigint") {
		t.Errorf("exit %d: %s%s", code, &out, &failures)
	}
}

func TestUsageErrorsExitWith64(t *testing.T) {
	if code, _, failures := runFlags(t, "-t 0"); code != program.Usage || failures != "ERROR: --threads is 0; it must be from 1 to 1024\n" {
		t.Errorf("exit %d: %s", code, failures)
	}
}
