package main

import (
	"bytes"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pyropedb/pyrope/benchmark/program"
	"github.com/pyropedb/pyrope/benchmark/reply"
	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
)

// runFlags runs the program and returns its exit code, output and error output.
func runFlags(flags string) (code int, out, failures string) {
	var stdout, stderr bytes.Buffer
	code = run(strings.Fields(flags), &stdout, &stderr, new(atomic.Bool))
	return code, stdout.String(), stderr.String()
}

func TestOperationsRunInProcess(t *testing.T) {
	for _, flags := range []string{
		"--op GET --verify -b 100 --runtime 1",
		"--op INCR -b 256 --runtime 1",
		"--op SETEX --ttl 9 -b 64 --runtime 0",
		"--op PING -b 1 --runtime 0",
	} {
		code, out, failures := runFlags("--client InProc -i 1m --memory 64m --dbsize 5003 --valuelength 50 --totalops 20000 -t 2 " + flags)
		if code != 0 {
			t.Fatalf("%s: exit %d: %s%s", flags, code, out, failures)
		}
		for _, want := range []string{"------EMBEDDED-SERVER-CONFIG------\nindex: 1m\nmemory: 64m\n", "[BytesConsumed]: ", " GiB/sec\n"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: the output lacks %q:\n%s", flags, want, out)
			}
		}
		if loads := strings.HasSuffix(flags, "1"); loads != strings.Contains(out, ">>> Loaded 5003 keys into the DB >>>") {
			t.Errorf("%s: not all keys were loaded:\n%s", flags, out)
		}
	}
}

// startServer starts a server of this project and returns its port.
func startServer(t *testing.T) string {
	t.Helper()
	s, err := server.New(server.Options{Options: config.Options{Memory: 64 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(s.Addr().(*net.TCPAddr).Port)
}

// unknownCommand is how the program ends when the server has no sorted sets.
var unknownCommand = regexp.MustCompile(`error replies to [A-Z]+; the first is "ERR unknown command '(ZADD|ZREM|ZCARD|GEOADD)'`)

// TestEveryOperationOnTheServer: each operation is counted as often as it was asked for, and none gets an error reply but that
// of a command which the server does not know; then the program says so.
func TestEveryOperationOnTheServer(t *testing.T) {
	flags := "-p " + startServer(t) + " --dbsize 500 --valuelength 24 --totalops 1500 --runtime 0 -b 50 -t 2 --ttl 9 --op "
	for i := range traits {
		op := operation(i)
		if !isOffline(op) {
			continue
		}
		if op.loads() { // also what INCR counts: other operations leave no numbers
			if code, out, failures := runFlags(flags + op.String()); code != 0 {
				t.Fatalf("%s: exit %d: %s%s", op, code, out, failures)
			}
		}
		code, out, failures := runFlags("-s " + flags + op.String())
		if code == program.Failure && unknownCommand.MatchString(failures) {
			continue
		}
		if code != 0 || !strings.Contains(out, "Operation type: "+op.String()+"\n") || !strings.Contains(out, "ms for 1,500.00 ops\n") {
			t.Errorf("%s: exit %d: %s%s", op, code, out, failures)
		}
	}
}

// TestServerOptions: the embedded server takes the options of the command line, here a device that most of the data lies on.
func TestServerOptions(t *testing.T) {
	code, out, failures := runFlags("--client InProc -i 1m --memory 1m --server-option page=64k --server-option storage-tier=yes;device-type=LocalMemory --server-option logdir=" + t.TempDir() +
		" --dbsize 8000 --valuelength 200 --totalops 8000 -t 2 -b 100 --runtime 0 -s --op SET")
	if code != 0 || !strings.Contains(out, "\nstorage-tier: yes\n") || !strings.Contains(out, "\npage: 64k\n") || !regexp.MustCompile(`\n\[CPU\]: \d+\.\d\d\d us an operation\n`).MatchString(out) {
		t.Errorf("exit %d: %s%s", code, out, failures)
	}
	if code, _, failures = runFlags("--client InProc -i 1m --server-option page=3k --server-option checkpointdir=" + t.TempDir()); code != program.Failure || !strings.Contains(failures, "page") {
		t.Errorf("pages of 3k: exit %d: %s", code, failures)
	}
}

func TestInProcessExchangeAllocatesNothing(t *testing.T) {
	o, err := parseOptions(strings.Fields("--client InProc -i 1m --memory 64m --dbsize 1000"), nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{options: o, keys: o.keyspace(), output: new(bytes.Buffer), interrupted: new(atomic.Bool)}
	stop, err := b.startEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if err := b.load(); err != nil {
		t.Fatal(err)
	}
	l, err := b.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	request := b.keys.appendBatch(nil, opGet, 512, func(i int) uint64 { return uint64(i) })
	var r reply.Scanner
	if n := testing.AllocsPerRun(100, func() {
		r.Expect(512)
		if err := l.exchange(request, &r); err != nil || r.Nils != 0 {
			t.Fatal(err, r.Nils)
		}
	}); n != 0 {
		t.Errorf("%v allocations an exchange, want none", n)
	}
}

func TestRealServerOverTCP(t *testing.T) {
	port := startServer(t)
	for _, flags := range []string{
		"--op MSET --dbsize 2003 --keylength 16 --valuelength 96 --load-threads 7 --runtime 0",
		"-s --op GET --dbsize 2003 --keylength 16 --valuelength 96 -t 1,3 -b 1024 --totalops 50000 --runtime 0 --verify",
		"-s --op MGET --dbsize 2003 --keylength 16 --valuelength 96 -t 2 -b 1000 --totalops 50000 --runtime 0 --verify --zipf",
		"-s --op SET --dbsize 2003 --keylength 16 --valuelength 96 -t 2 -b 5000 --totalops 50000 --runtime 0",
		"-s --op GET --dbsize 2003 --keylength 16 --valuelength 96 -t 2 -b 64 --totalops 50000 --runtime 0 --verify",
	} {
		if code, out, failures := runFlags("-p " + port + " " + flags); code != 0 {
			t.Fatalf("%s: exit %d: %s%s", flags, code, out, failures)
		}
	}
}
