package main

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestReferenceOptions: every option of the tool whose output this program follows is taken, with its default as the
// default here, or is refused with the reason.
func TestReferenceOptions(t *testing.T) {
	defaults := parse(t, "")
	for _, line := range []string{
		"-t 1", "--threads 1", "--load-threads 0", "-n 100000000", "--keys 100000000", "-v 100", "--value-size 100", "--value-size-max 0",
		"--rumd 100,0,0,0", "-d uniform", "--distribution uniform", "--zipf-theta 0.99", "--runsec 30", "--warmup-sec 5", "-b 1024", "--batch-size 1024",
		"-s 211", "--seed 211", "-i 1", "--iterations 1", "--hashpack 2.0", "--log-memory auto", "--page-size 16MB", "--segment-size 1GB",
		"--preallocate-log=false", "--device default", "--device-throttle-limit 0", "--device-io-backend default", "--device-completion-threads 0",
		"--device-io-contexts 0", "--device-queue-depth 0", "--device-inline-completion=false", "--data-path temp/kv-benchmark", "--no-numa-pin=false",
		"--numa-node 0", "--validate=false", "--dump-distribution=false", "--json-stdout=false", "--quiet=false",
	} {
		if o := parse(t, line); !reflect.DeepEqual(o, defaults) {
			t.Errorf("%s is not the default: %+v, want %+v", line, o, defaults)
		}
	}
	for _, line := range []string{
		"--run-threads-sweep 1,2,4", "--value-size-max 4k", "-v 1048576 --page-size 4m", "-v 32", "--rumd 50,20,20,10", "-d zipf", "--log-memory 0.5GB", "--segment-size 1TB",
		"--preallocate-log", "--device native", "--device randomaccess", "--device filestream", "--device localmemory", "--device null",
		"--device-io-backend libaio", "--device-io-backend uring", "--device localmemory --device-inline-completion", "--no-numa-pin", "--numa-node 1",
		"--validate", "--dump-distribution", "--json-output x", "--json-stdout", "--csv-output x", "--quiet",
		"--report-interval-sec 1", // whose default here is none: the lines are printed, and few want them
	} {
		if o := parse(t, line); reflect.DeepEqual(o, defaults) {
			t.Errorf("%s changes nothing", line)
		}
	}
	for line, reason := range map[string]string{
		"--max-inline-value-size 16KB": "values are in the log", "--device-uring-sqpoll": "there is no kernel thread that polls",
		"--device-uring-sqpoll-idle-ms 0": "there is no kernel thread that polls", "--use-native-allocator": "always outside the Go heap",
		"--no-threadpool-tune": "there is no thread pool", "--pool-stats": "bounded by the reads in flight",
		"--use-legacy-buffer-pool": "one kind of buffer", "--pool-budget 0": "bounded by the reads in flight",
	} {
		if _, err := parseOptions(strings.Fields(line), nil); err == nil || !strings.Contains(err.Error(), "there is no flag ") || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v; want the reason %q", line, err, reason)
		}
	}
}

// TestReferenceOutput: the lines that scripts of that tool read are there, in a run with collections forced upon it.
func TestReferenceOutput(t *testing.T) {
	code, out, failures := runFlags(t, "-n 5000 --page-size 64k --device null --runsec 0.4 --warmup-sec 0 --run-threads-sweep 1,2 --gc-every 0.05 --json-stdout")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, failures)
	}
	fields := `[0-9,]+ ops in \d+\.\d\d s  \([0-9,]+ ops/sec\)  reads=[0-9,]+ writes=[0-9,]+ deletes=[0-9,]+ overshoot=[0-9,]+ exit-lag=\d+\.\dms gc=0/0/`
	for _, line := range []string{
		`=== KV\.benchmark config ===`, `\[load\]   ` + fields + `\d+ alloc/wkr=\d+B`, `\[sweep\] starting run phase with threads=2`,
		`\[run t=\d i=1\]  ` + fields + `[1-9]\d* alloc/wkr=\d+B`, `  longest GC pause: (0\.\d*[1-9]\d*|[1-9]\d*\.\d+) ms`,
		`\[aggregate t=1\] iterations=1 mean=[0-9,]+ ops/sec stdev=0 \(0\.00%\) min=[0-9,]+ max=[0-9,]+ trimmed=[0-9,]+`,
		` *threads +trimmed +mean +stdev% +speedup`, `KV-RESULT-JSON: \{"schema_version":"1",.*\}`,
	} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(out) {
			t.Errorf("no line matches %s in\n%s", line, out)
		}
	}
}
