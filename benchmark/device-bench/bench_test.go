package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/benchmark/pass"
	"github.com/pyropedb/pyrope/benchmark/program"
	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/localmemory"
)

// runProgram runs the program on a small file and returns its code and what it printed.
func runProgram(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	directory := t.TempDir()
	args = append([]string{"--file-name", filepath.Join(directory, "data", "test.dat"), "--file-size", "4m", "--segment-size", "1m", "--runtime", "0.1"}, args...)
	for flag, value := range map[string]string{"-t": "1", "-b": "16"} {
		if !slices.Contains(args, flag) {
			args = append(args, flag, value)
		}
	}
	var out, errors bytes.Buffer
	var interrupted atomic.Bool
	code = run(args, &out, &errors, &interrupted, 0)
	return code, out.String(), errors.String()
}

func TestOutputLines(t *testing.T) {
	code, stdout, stderr := runProgram(t, "--device-type", "localmemory", "--device-inline-completion", "-t", "1,2", "-b", "8,64", "--warm", "--verify")
	if code != program.Success || stderr != "" {
		t.Fatalf("exit code %d, %s\n%s", code, stderr, stdout)
	}
	for _, pattern := range []string{
		`^<<<<<<< Start Benchmark Configuration >>>>>>>>$`,
		`^Filling device with test data\.\.\.$`,
		`^Warmed: read 4194304 bytes once from end to end in \d+\.\d\d s, \d+\.\d\d MB/s$`,
		`^Starting benchmark\.\.\.$`,
		`^Starting benchmark with 2 threads and batch size 64$`,
		`^Benchmark finished: [1-9]\d* ok, 0 err, [1-9]\d* submitted in \d+\.\d\d s, throughput: \d+\.\d\d ops/sec$`,
		`^  CPU a read: \d+\.\d+ us \(user \d+\.\d+, system \d+\.\d+\); allocations a read: 0\.\d+$`,
	} {
		if !regexp.MustCompile("(?m)" + pattern).MatchString(stdout) {
			t.Errorf("no line matches %s in\n%s", pattern, stdout)
		}
	}
	if n := strings.Count(stdout, "Benchmark finished"); n != 4 {
		t.Errorf("%d configurations were run, want 4", n)
	}
}

func TestMachineOutput(t *testing.T) {
	directory := t.TempDir()
	jsonFile, csvFile := filepath.Join(directory, "out.json"), filepath.Join(directory, "out.csv")
	code, stdout, stderr := runProgram(t, "--device-type", "localmemory", "-b", "4,8", "--json-output", jsonFile, "--csv-output", csvFile, "--json-stdout")
	if code != program.Success {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	text, err := os.ReadFile(jsonFile)
	if err != nil {
		t.Fatal(err)
	}
	var d struct{ Results []row }
	if err := json.Unmarshal(text, &d); err != nil || len(d.Results) != 2 {
		t.Fatalf("JSON is %s, %v", text, err)
	}
	for i, r := range d.Results {
		if r.SchemaVersion != "1" || r.Device != "localmemory" || r.FileSize != 4<<20 || r.SectorSize != 512 || r.Threads != 1 || r.BatchSize != 4<<i ||
			r.OK == 0 || r.OK != r.Submitted || r.Failed != 0 || r.OpsPerSecond <= 0 || r.Codes != "" {
			t.Errorf("result %d is %+v", i, r)
		}
	}
	if !strings.Contains(stdout, "\nDEVICE-RESULT-JSON: {") {
		t.Errorf("no line of JSON in %s", stdout)
	}
	if table, err := os.ReadFile(csvFile); err != nil || strings.Count(string(table), "\n") != 3 {
		t.Errorf("CSV is %s, %v", table, err)
	}
}

// memoryBench is a bench on a device in RAM that holds nothing yet.
func memoryBench(t *testing.T) *bench {
	t.Helper()
	d, err := localmemory.Open(device.Options{InlineCompletion: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return &bench{
		options: options{FileSize: 1 << 20, SectorSize: 512, Runtime: 0.01, Verify: true}, output: new(bytes.Buffer),
		interrupted: new(atomic.Bool), device: d, info: d.Info(),
	}
}

// TestWrongBytesAreFailures measures a device whose content was changed behind its back.
func TestWrongBytesAreFailures(t *testing.T) {
	b := memoryBench(t)
	if err := b.fill(); err != nil {
		t.Fatal(err)
	}
	spoil := pass.Pass{
		Device: b.device, Op: device.OpWrite, Begin: 512 << 10, End: 1 << 20, BlockBytes: 64 << 10, Interrupted: b.interrupted,
		Fill: func(block []byte, address uint64) { fillContent(block, address+512) },
	}
	if _, err := spoil.Run(); err != nil {
		t.Fatal(err)
	}
	if err := b.measure(1, 64); program.Code(err) != program.Mismatch {
		t.Errorf("measure: %v, want a mismatch", err)
	}
	if r := b.rows[0]; r.OK == 0 || r.Failed == 0 || r.Codes != fmt.Sprintf("code-3=%d", r.Failed) || r.OpsPerSecond > float64(r.OK)/r.Elapsed {
		t.Errorf("half of the bytes are wrong: %+v", r)
	}
}

func TestEveryDevice(t *testing.T) {
	for _, args := range [][]string{
		{"--device-type", "Default"}, {"--device-type", "filestream"}, {"--device-type", "RandomAccess", "--device-throttle-limit", "2"},
		{"--device-type", "LocalMemory"}, {"--device-type", "LOCALMEMORY", "--device-inline-completion"},
	} {
		if code, stdout, stderr := runProgram(t, append(args, "--verify")...); code != program.Success {
			t.Errorf("%v: exit code %d, %s\n%s", args, code, stderr, stdout)
		}
	}
	if code, stdout, stderr := runProgram(t, "--device-type", "Null"); code != program.Success || !strings.Contains(stdout, " 0 err") {
		t.Errorf("Null: exit code %d, %s\n%s", code, stderr, stdout)
	}
}

func TestBadUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"FileSize must be a perfect multiple of the temporary buffer size (1024 sectors).": {"--file-size", "1000"},
		"--sector-size is 500":       {"--sector-size", "500"},
		"--threads is [0]":           {"-t", "0"},
		"--batch-size is [0]":        {"-b", "0"},
		"--runtime is 0":             {"--runtime", "0"},
		"device-type is \"floppy\"":  {"--device-type", "floppy"},
		"device-io-backend is \"x\"": {"--device-io-backend", "x"},
		"QueueDepth is 99999":        {"--device-queue-depth", "99999"},
		"unknown flag":               {"--frobnicate"},
	} {
		code, _, stderr := runProgram(t, args...)
		if code != program.Usage || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d, %q; want %d and %q", args, code, stderr, program.Usage, want)
		}
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	var interrupted atomic.Bool
	if code := run([]string{"--help"}, &out, io.Discard, &interrupted, 0); code != program.Success {
		t.Errorf("exit code %d", code)
	}
	for _, flag := range []string{"--file-name", "--device-type", "--device-io-backend", "--file-size", "--sector-size", "--segment-size",
		"--batch-size", "--threads", "--device-completion-threads", "--device-io-contexts", "--device-queue-depth", "--device-throttle-limit", "--runtime", "--warm", "--verify"} {
		if !strings.Contains(out.String(), flag) {
			t.Errorf("the help does not name %s", flag)
		}
	}
}

func TestFilesAreRemovedUnlessKept(t *testing.T) {
	for _, keep := range []bool{false, true} {
		name := filepath.Join(t.TempDir(), "test.dat")
		args := []string{"--file-name", name, "--file-size", "2m", "--segment-size", "1m", "--runtime", "0.05", "-t", "1", "-b", "4", "--device-type", "FileStream", fmt.Sprintf("--keep=%t", keep)}
		var interrupted atomic.Bool
		if code := run(args, io.Discard, os.Stderr, &interrupted, 0); code != program.Success {
			t.Fatalf("exit code %d", code)
		}
		for _, segment := range []string{".0", ".1"} {
			if _, err := os.Stat(name + segment); (err == nil) != keep {
				t.Errorf("keep %t: segment %s: %v", keep, segment, err)
			}
		}
	}
}

func TestInterruptEndsEarly(t *testing.T) {
	var interrupted atomic.Bool
	time.AfterFunc(50*time.Millisecond, func() { interrupted.Store(true) })
	start := time.Now()
	args := []string{"--file-size", "1m", "--runtime", "60", "-t", "1", "-b", "4", "--device-type", "LocalMemory", "--segment-size", "1m"}
	if code := run(args, io.Discard, os.Stderr, &interrupted, 0); code != program.Interrupted {
		t.Errorf("exit code %d, want %d", code, program.Interrupted)
	}
	if time.Since(start) > 40*time.Second {
		t.Errorf("it took %v to end", time.Since(start))
	}
}

func TestContent(t *testing.T) {
	p := make([]byte, 512)
	fillContent(p, 1024)
	if err := checkContent(p, 1024); err != nil {
		t.Error(err)
	}
	if checkContent(p, 1536) == nil {
		t.Error("the content of one sector passes for another's")
	}
	p[511] ^= 1
	if checkContent(p, 1024) == nil {
		t.Error("a flipped bit passes")
	}
}

// TestFailuresAreCounted reads a device whose end lies before the file's.
func TestFailuresAreCounted(t *testing.T) {
	b := memoryBench(t)
	err := b.measure(1, 4)
	out := b.output.(*bytes.Buffer).String()
	if !errors.Is(err, errShort) {
		t.Errorf("measure: %v, want %v", err, errShort)
	}
	if !regexp.MustCompile(`(?m)^  error breakdown: code-1=[1-9]\d*$`).MatchString(out) {
		t.Errorf("no error breakdown in\n%s", out)
	}
	if got := codeOf(fmt.Errorf("wrapped: %w", syscall.EIO)); got != int(syscall.EIO) {
		t.Errorf("the code of EIO is %d", got)
	}
	if got := codeOf(errors.New("other")); got != codeOther {
		t.Errorf("the code of another error is %d", got)
	}
}
