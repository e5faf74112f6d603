package main

import (
	"bytes"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/benchmark/program"
)

// runBench runs the program against a server and returns its exit code, output and error output.
func runBench(s *fakeServer, flags string) (code int, out, failures string) {
	return runWith(s.port(), flags)
}

// runWith is runBench with the port of any server.
func runWith(port, flags string) (code int, out, failures string) {
	var stdout, stderr bytes.Buffer
	code = run(append([]string{"-p", port}, strings.Fields(flags)...), &stdout, &stderr, new(atomic.Bool))
	return code, stdout.String(), stderr.String()
}

func TestLoadWritesEveryKeyWhateverTheThreads(t *testing.T) {
	for _, c := range []struct{ dbSize, threads int }{{1, 8}, {7, 3}, {1000, 7}, {10_007, 8}, {9_000, 1}, {5, 5}, {12_289, 3}} {
		for _, more := range []string{"--op MSET", "--op GET --lset"} {
			s := startFakeServer(t)
			flags := fmt.Sprintf("%s --dbsize %d --load-threads %d --keylength 10 --valuelength 13 --runtime 0", more, c.dbSize, c.threads)
			code, out, failures := runBench(s, flags)
			if code != 0 {
				t.Fatalf("%s: exit %d: %s", flags, code, failures)
			}
			k := keyspace{dbSize: uint64(c.dbSize), keyLength: 10, valueLength: 13}
			for number := range uint64(c.dbSize) {
				if got := s.values[string(k.appendKey(nil, number))]; got != string(k.appendValue(nil, number)) {
					t.Fatalf("%s: key %d holds %q", flags, number, got)
				}
			}
			if len(s.values) != c.dbSize || !strings.Contains(out, fmt.Sprintf(">>> Loaded %d keys into the DB >>>", c.dbSize)) {
				t.Errorf("%s: %d keys stored; output:\n%s", flags, len(s.values), out)
			}
			if lset := strings.Contains(more, "--lset"); lset != (s.names["SET"] > 0) || lset == (s.names["MSET"] > 0) {
				t.Errorf("%s: loaded with %v", flags, s.names)
			}
		}
	}
}

func TestSharesAreAPartition(t *testing.T) {
	for total := range uint64(40) {
		for count := uint64(1); count < 12; count++ {
			next := uint64(0)
			for i := range count {
				begin, end := share(total, count, i)
				if begin != next || end < begin || end-begin > total/count+1 {
					t.Fatalf("share %d of %d of %d is [%d, %d)", i, count, total, begin, end)
				}
				next = end
			}
			if next != total {
				t.Fatalf("%d shares of %d end at %d", count, total, next)
			}
		}
	}
}

func TestShortLoadIsAnError(t *testing.T) {
	s := startFakeServer(t)
	s.drop = func(key string) bool { return strings.HasSuffix(key, "77") || strings.HasSuffix(key, "78") }
	code, out, failures := runBench(s, "--op GET --dbsize 1000 --runtime 1 -t 1")
	if code != program.Failure || !strings.Contains(failures, "it holds 980 keys after 1000 were written; at least 990") {
		t.Errorf("exit %d: %s", code, failures)
	}
	if strings.Contains(out, "Operation type: GET") {
		t.Error("a partial load was measured")
	}
}

func TestIncrRunsOnTheLoadedKeys(t *testing.T) {
	s := startFakeServer(t)
	code, _, failures := runBench(s, "--op INCR --dbsize 100 --totalops 5000 -b 50 -t 2 --runtime 1")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, failures)
	}
	k := keyspace{dbSize: 100, keyLength: 8, valueLength: 8}
	increments := 0
	for number := range uint64(100) {
		loaded, _ := strconv.Atoi(string(k.appendNumericValue(nil, number)))
		now, err := strconv.Atoi(s.values[string(k.appendKey(nil, number))])
		if err != nil || now < loaded {
			t.Fatalf("key %d went from %d to %d (%v)", number, loaded, now, err)
		}
		increments += now - loaded
	}
	if len(s.values) != 100 || increments != s.names["INCR"] {
		t.Errorf("%d keys, %d increments of %d commands", len(s.values), increments, s.names["INCR"])
	}
}

func TestEveryOperationRuns(t *testing.T) {
	for op := range traits {
		if !isOffline(operation(op)) {
			continue
		}
		s := startFakeServer(t)
		flags := fmt.Sprintf("--op %s --dbsize 200 --totalops 2000 -b 20 -t 3 --ttl 9 --runtime 0", operation(op))
		code, out, failures := runBench(s, flags)
		if code != 0 || strings.Contains(out, ">>> Loaded") != operation(op).loads() {
			t.Fatalf("%s: exit %d: %s%s", flags, code, out, failures)
		}
		if code, out, failures = runBench(s, "-s "+flags); code != 0 || strings.Contains(out, ">>> Loaded") {
			t.Fatalf("-s %s: exit %d: %s%s", flags, code, out, failures)
		}
		command, _, _ := strings.Cut(operation(op).String(), "_")
		known := map[string]string{"MPFADD": "PFADD", "ZADDREM": "ZREM", "ZADDCARD": "ZCARD", "GEOADDREM": "GEOADD"}
		if other, is := known[command]; is {
			command = other
		}
		if s.names[command] == 0 || !strings.Contains(out, "ms for 2,000.00 ops\n") {
			t.Errorf("%s: commands %v; output:\n%s", flags, s.names, out)
		}
	}
}

func TestRuntimeZeroWithSkipLoadRunsTotalOps(t *testing.T) {
	s := startFakeServer(t)
	code, out, failures := runBench(s, "-s --op SET --dbsize 100 --totalops 1000 -b 30 -t 1,3 --runtime 0")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, failures)
	}
	// 34 batches of 30 are the fewest that make 1,000 operations.
	if got := strings.Count(out, "ms for 1,020.00 ops\n"); got != 2 || s.names["SET"] != 2040 {
		t.Errorf("%d runs of 1,020 operations, %d commands seen; output:\n%s", got, s.names["SET"], out)
	}
}

func TestVerifyPassesAndFails(t *testing.T) {
	for _, op := range []string{"GET", "MGET"} {
		load := "--op " + op + " --dbsize 5003 --valuelength 100 --totalops 20000 -b 100 -t 2 --runtime 0 --verify"
		flags := "-s " + load
		s := startFakeServer(t)
		if code, out, failures := runBench(s, load); code != 0 || !strings.Contains(out, "\nVerification of every key\n[Verified]: 5,003 values, 0 mismatches, 0 nil\n") {
			t.Fatalf("%s: exit %d: %s%s", load, code, out, failures)
		}
		if code, out, failures := runBench(s, flags); code != 0 || !strings.Contains(out, "[Verified]: 20,000 values, 0 mismatches, 0 nil\n") {
			t.Fatalf("%s: exit %d: %s%s", flags, code, out, failures)
		}
		s.corrupt = func(key string) bool { return key == "XXXX3123" }
		delete(s.values, "XXXX4321")
		code, out, failures := runBench(s, flags)
		if code != program.Mismatch || !strings.Contains(out, "[Verified]: 5,003 values, 1 mismatches, 1 nil\n[First mismatch]: key XXXX3123: ") || strings.Contains(out, "Operation type") {
			t.Errorf("%s: exit %d: %s%s", flags, code, out, failures)
		}
	}
}

func TestRunsVerifyToo(t *testing.T) {
	s := startFakeServer(t)
	if code, _, failures := runBench(s, "--op GET --dbsize 100 --runtime 0"); code != 0 {
		t.Fatal(failures)
	}
	var reads atomic.Int64
	s.corrupt = func(string) bool { return reads.Add(1) > 100 } // after the verification of every key
	code, out, failures := runBench(s, "-s --op GET --dbsize 100 --totalops 500 -b 50 -t 1,2 --runtime 0 --verify")
	if code != program.Mismatch || strings.Count(out, "[Verified]: 500 values, 500 mismatches, 0 nil\n") != 2 {
		t.Errorf("exit %d: %s%s", code, out, failures)
	}
}

func TestMissesAreReported(t *testing.T) {
	s := startFakeServer(t)
	if code, out, _ := runBench(s, "-s --op GET --dbsize 100 --totalops 200 -b 20 -t 1 --runtime 0"); code != 0 || !strings.Contains(out, "[Misses]: 200 replies were nil") {
		t.Errorf("exit %d: %s", code, out)
	}
}

func TestErrorRepliesFail(t *testing.T) {
	s := startFakeServer(t)
	s.refuse = func(name string) string { return map[string]string{"GET": "LOADING wait"}[name] }
	if code, _, failures := runBench(s, "--op GET --dbsize 100 -t 1 -b 10 --totalops 100 --runtime 1"); code != program.Failure || !strings.Contains(failures, `the first is "LOADING wait"`) {
		t.Errorf("exit %d: %s", code, failures)
	}
	s = startFakeServer(t)
	s.refuse = func(name string) string { return map[string]string{"MSET": "OOM full"}[name] }
	if code, _, failures := runBench(s, "--op GET --dbsize 100 --runtime 0"); code != program.Failure || !strings.Contains(failures, `"OOM full"`) {
		t.Errorf("exit %d: %s", code, failures)
	}
}

func TestPassword(t *testing.T) {
	s := startFakeServer(t)
	s.password = "secret"
	if code, _, failures := runBench(s, "-a secret --op GET --dbsize 100 --runtime 0"); code != 0 {
		t.Errorf("exit %d: %s", code, failures)
	}
	if code, out, failures := runBench(s, "-a wrong --op GET --dbsize 100 --runtime 0"); code != program.Failure || !strings.Contains(failures, "WRONGPASS") || strings.Contains(out, "wrong") {
		t.Errorf("exit %d: %s%s", code, out, failures)
	}
}

func TestUsageErrorsExitWith64(t *testing.T) {
	var out, failures bytes.Buffer
	if code := run([]string{"--load-threads", "0"}, &out, &failures, new(atomic.Bool)); code != program.Usage || failures.String() != "ERROR: --load-threads must be at least 1 (got 0)\n" {
		t.Errorf("exit %d: %s", code, &failures)
	}
}

func TestUnreachableServerFails(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().(*net.TCPAddr)
	listener.Close()
	var out, failures bytes.Buffer
	var interrupted atomic.Bool
	interrupted.Store(true) // or it would wait for the server to come up
	code := run([]string{"-p", strconv.Itoa(address.Port)}, &out, &failures, &interrupted)
	if code != program.Failure || !strings.Contains(failures.String(), "cannot reach the server at "+address.String()) {
		t.Errorf("exit %d: %s", code, &failures)
	}
}

func TestInterruptEndsARunWithItsFigures(t *testing.T) {
	s := startFakeServer(t)
	var out, failures bytes.Buffer
	var interrupted atomic.Bool
	timer := time.AfterFunc(300*time.Millisecond, func() { interrupted.Store(true) })
	defer timer.Stop()
	code := run([]string{"-p", s.port(), "--op", "PING", "-t", "1,2", "-b", "10", "--totalops", "100", "--runtime", "-1"}, &out, &failures, &interrupted)
	if code != 0 || strings.Count(out.String(), "[Throughput]") != 1 {
		t.Errorf("exit %d: %s%s", code, &out, &failures)
	}
}

func TestOutputTemplates(t *testing.T) {
	s := startFakeServer(t)
	code, out, failures := runBench(s, "--op GET --dbsize 1500 --load-threads 7 --totalops 40000 -b 4000 -t 2 --runtime 1")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, failures)
	}
	number := `[0-9]{1,3}(,[0-9]{3})*\.[0-9]{2}`
	want := regexp.MustCompile(`^<<<<<<< Benchmark Configuration >>>>>>>>
benchmarkType: Offline
skipLoad: false
DBsize: 1500
TotalOps: 40000
Op Benchmark: GET
KeyLength: 8
ValueLength: 8
BatchSize: 4000
RunTime: 1
NumThreads: 2
Auth: 
Load Using SET: false
Zipf: false
Verify: false
ClientType used for benchmarking: LightClient
TLS: false
GOMAXPROCS: [0-9]+
----------------------------------

Operation type: MSET
Num threads: 7
\[Total time\]: ` + number + `ms for 1,500\.00 ops
\[Throughput\]: ` + number + ` ops/sec
>>> Loaded 1500 keys into the DB >>>
Generating 10 GET request batches of size 4000 each; total 40000 ops
Resizing request buffer from 65536 to 131072
Request generation complete
maxBytesWritten out of maxBufferSize: 108000/131072
Loading time: ` + number + ` secs

Operation type: GET
Num threads: 2
\[Total time\]: ` + number + `ms for ` + number + ` ops
\[Throughput\]: ` + number + ` ops/sec
$`)
	if !want.MatchString(out) {
		t.Errorf("output is\n%s\nwant it to match\n%s", out, want)
	}
}
