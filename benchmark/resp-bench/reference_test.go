package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestReferenceOptions: every option of the tool whose output this program follows is taken, with its default as the
// default here, or is refused with the reason.
func TestReferenceOptions(t *testing.T) {
	read := func(line string) options {
		t.Helper()
		o, err := parseOptions(strings.Fields(line), nil)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return o
	}
	defaults := read("")
	for _, line := range []string{
		"-p 6379", "--port 6379", "-h 127.0.0.1", "--host 127.0.0.1", "--skipload=false", "--dbsize 1024", "--totalops 33554432", "--op GET", "--keylength 8",
		"--valuelength 8", "-b 4096", "--batchsize 4096", "--pipeline 4096", "--runtime 15", "-t 1,2,4,8,16,32", "--threads 1,2,4,8,16,32", "--load-threads 8",
		"--burst=false", "--lset=false", "--zipf=false", "--client LightClient", "--pool=false", "--tls=false", "--tlshost GarnetTest", "--online=false", "--txn=false",
		"--itp 1", "--sync=false", "--ttl 0", "--sscardinality 0", "--client-hist=false", "--op-percent 60,30,10", "--op-workload GET,SET,DEL", "--save-freq 0", "-i 1g", "--index 1g",
		"--logger-level Information", "--disable-console-logger=false",
	} {
		if o := read(line); !reflect.DeepEqual(o, defaults) {
			t.Errorf("%s is not the default: %+v, want %+v", line, o, defaults)
		}
	}
	for _, line := range []string{
		"--clientaddr 10.0.0.1", "-s", "--skipload", "-a secret", "--auth secret", "--client GarnetClientSession --burst", "--lset", "--zipf", "--client SERedis",
		"--client GarnetClient", "--client InProc", "-o --client SERedis --pool", "--tls --cert-file-name x --cert-password y", "-o", "--online", "-x --op-workload READ_TXN --op-percent 100",
		"--txn --op-workload WATCH_TXN,READWRITETX --op-percent 50,50", "-o --itp 4", "-o --client GarnetClient --sync", "--op SETEX --ttl 5", "--sscardinality 4",
		"-o --client-hist", "--save-freq 5", "--runtime -1", "--logger-level Warning", "--disable-console-logger", "--file-logger x",
	} {
		if o := read(line); reflect.DeepEqual(o, defaults) {
			t.Errorf("%s changes nothing", line)
		}
	}
	for line, reason := range map[string]string{
		"--cluster-bench": "no cluster", "--cluster": "no cluster", "--workload-seed -1": "no cluster", "--offline-buffers 128": "no cluster", "--broadcast": "no cluster",
		"--replica-ops-percent 0": "no cluster", "--aof-bench": "append-only file", "--aof-bench-type Replay": "append-only file", "--aof-gen-pages 64": "append-only file",
		"--aof": "--server-option aof=yes", "--aof-null-device": "append-only file", "--aof-commit-freq 0": "append-only file", "--aof-memory-size 128m": "append-only file",
		"--aof-page-size 32m": "append-only file", "--aof-physical-sublog-count 1": "append-only file", "--aof-replay-task-count 1": "append-only file",
	} {
		if _, err := parseOptions(strings.Fields(line), nil); err == nil || !strings.Contains(err.Error(), "there is no flag ") || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v; want the reason %q", line, err, reason)
		}
	}
}

// TestReferenceOperations: every operation of that tool is there for its mode, or is refused with the reason.
func TestReferenceOperations(t *testing.T) {
	for _, name := range strings.Fields("MGET INCR MSET SET SETEX GET DEL PING PFADD MPFADD PFCOUNT PFMERGE ZADD ZREM ZADDREM GEOADD GEOADDREM ZCARD ZADDCARD SETBIT GETBIT BITCOUNT BITPOS " +
		"BITOP_AND BITOP_OR BITOP_XOR BITOP_NOT BITFIELD BITFIELD_GET BITFIELD_SET BITFIELD_INCR DBSIZE PUBLISH SPUBLISH") {
		if _, err := parseOptions([]string{"--op", name, "--ttl", "1"}, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range strings.Fields("PING GET SET SETEX DEL ZADD ZREM ZCARD SETBIT GETBIT PUBLISH SPUBLISH") {
		for _, client := range strings.Fields("LightClient GarnetClientSession GarnetClient SERedis InProc") {
			if _, err := parseOptions([]string{"-o", "--op-workload", name, "--op-percent", "100", "--ttl", "1", "--client", client}, nil); err != nil {
				t.Errorf("%s online with %s: %v", name, client, err)
			}
		}
	}
	for _, name := range strings.Fields("READ_TXN WRITE_TXN READWRITETX WATCH_TXN") {
		if _, err := parseOptions([]string{"-x", "--op-workload", name, "--op-percent", "100"}, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range strings.Fields("SETIFPM MYDICTGET MYDICTSET SAMPLEUPDATETX SAMPLEDELETETX SCRIPTSET SCRIPTGET SCRIPTRETKEY READONLY AUTH NONE") {
		if _, err := parseOptions([]string{"--op", name}, nil); err == nil || !strings.Contains(err.Error(), "opType: "+name+" benchmark not supported: ") {
			t.Errorf("%s: %v, want the reason", name, err)
		}
	}
}

// TestFileLogger: what is printed goes to the file too, or to it alone; a level above Information leaves the lines of the clock out.
func TestFileLogger(t *testing.T) {
	s := startFakeServer(t)
	file := filepath.Join(t.TempDir(), "log")
	code, out, failures := runBench(s, "-s --op PING --totalops 10 --runtime 0 -t 1 -b 1 --file-logger "+file)
	text, err := os.ReadFile(file)
	if code != 0 || err != nil || string(text) != out || !strings.Contains(out, "[Throughput]") {
		t.Errorf("exit %d: %s%s; the file has %s, %v", code, out, failures, text, err)
	}
	code, out, failures = runBench(s, "--online -t 1 -b 1 --runtime 1 --disable-console-logger --logger-level Warning --file-logger "+file)
	more, err := os.ReadFile(file)
	if code != 0 || out != "" || err != nil || !strings.HasPrefix(string(more), string(text)) || !strings.Contains(string(more), "tpt (Kops/sec) \n\nOperation type: GET,SET,DEL") {
		t.Errorf("exit %d: %s%s; the file has %s, %v", code, out, failures, more, err)
	}
	if code, _, failures := runBench(s, "-s --op PING --file-logger /none/x"); code != 1 || !strings.Contains(failures, "cannot open the file of --file-logger") {
		t.Errorf("exit %d: %s", code, failures)
	}
}

// TestReferenceConfiguration: the block of options has the lines that scripts of that tool read.
func TestReferenceConfiguration(t *testing.T) {
	lines := strings.Split("<<<<<<< Benchmark Configuration >>>>>>>>\nbenchmarkType: \nskipLoad: \nDBsize: \nTotalOps: \nOp Benchmark: \nKeyLength: \nValueLength: \nBatchSize: \nRunTime: \n"+
		"NumThreads: \nAuth: \nLoad Using SET: \nClientType used for benchmarking: \nTLS: ", "\n")
	online := strings.Split("Pool: \nOpWorkload: \nOpPercent: \nTtl: \nSorted set cardinality: \nIntra thread parallelism: \nSyncMode: \nClientHistogram: ", "\n")
	for flags, want := range map[string][]string{"-s --op PING --totalops 10 --runtime 0 -t 1 -b 1": lines, "--online -t 1 --runtime 1 -b 1": append(lines, online...)} {
		s := startFakeServer(t)
		code, out, failures := runBench(s, flags)
		if code != 0 {
			t.Errorf("%s: exit %d: %s", flags, code, failures)
		}
		for _, line := range want {
			if !strings.Contains("\n"+out, "\n"+line) {
				t.Errorf("%s: no line begins with %q in\n%s", flags, line, out)
			}
		}
	}
}
