package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/benchmark/program"
)

// TestOfflineClients: each client carries out what is counted, no more and no less.
func TestOfflineClients(t *testing.T) {
	for _, client := range []string{"SERedis", "GoRedis", "GarnetClientSession", "PipelinedSession --itp 7", "PipelinedSession --burst", "GarnetClient"} {
		for _, op := range []string{"GET", "SET", "MGET", "MSET", "PING", "INCR", "BITFIELD"} {
			s := startFakeServer(t)
			flags := fmt.Sprintf("--client %s --op %s --dbsize 300 --valuelength 20 --totalops 900 -b 30 -t 3 --runtime 0", client, op)
			if code, out, failures := runBench(s, flags); code != 0 {
				t.Fatalf("%s: exit %d: %s%s", flags, code, out, failures)
			}
			s.mu.Lock()
			loaded := s.names[op]
			s.mu.Unlock()
			code, out, failures := runBench(s, "-s "+flags)
			if code != 0 || !strings.Contains(out, "ms for 900.00 ops\n") || strings.Contains(out, "[Misses]") {
				t.Fatalf("-s %s: exit %d: %s%s", flags, code, out, failures)
			}
			s.mu.Lock()
			seen, want := s.names[op], 900
			s.mu.Unlock()
			if traits[opOf(t, op)].oneMany {
				want /= 30
			}
			if op == "PING" {
				want *= 2 // nothing is loaded: the first run ran them too
			}
			if seen-loaded != want && seen != want {
				t.Errorf("%s: the server saw %d after %d, want %d more", flags, seen, loaded, want)
			}
		}
	}
}

// opOf is the operation of a name.
func opOf(t *testing.T, name string) (op operation) {
	t.Helper()
	if err := op.UnmarshalText([]byte(name)); err != nil {
		t.Fatal(err)
	}
	return op
}

func TestOfflineClientsSeeWhatIsWrong(t *testing.T) {
	for _, op := range []string{"GET", "MGET"} {
		s := startFakeServer(t)
		flags := "--client GoRedis --dbsize 500 --valuelength 20 --totalops 2000 -b 50 -t 2 --verify --runtime 0 --op " + op
		if code, out, failures := runBench(s, flags); code != 0 {
			t.Fatalf("%s: exit %d: %s%s", op, code, out, failures)
		}
		code, out, failures := runBench(s, "-s "+flags)
		if code != 0 || !strings.Contains(out, "[Verified]: 2,000 values, 0 mismatches, 0 nil\n") {
			t.Errorf("%s: exit %d: %s%s", op, code, out, failures)
		}
	}
	for _, client := range []string{"GoRedis", "PipelinedSession --itp 3"} {
		s := startFakeServer(t)
		flags := "-s --op GET --dbsize 100 --totalops 200 -b 20 -t 1 --runtime 0 --client " + client
		if code, out, _ := runBench(s, flags); code != 0 || !strings.Contains(out, "[Misses]: 200 replies were nil") {
			t.Errorf("%s: exit %d: %s", client, code, out)
		}
		s.refuse = func(name string) string { return map[string]string{"GET": "LOADING wait"}[name] }
		if code, out, failures := runBench(s, flags); code != program.Failure || !strings.Contains(failures, "LOADING wait") {
			t.Errorf("%s: exit %d: %s%s", client, code, out, failures)
		}
	}
}

func TestGoRedisNoticesWrongValues(t *testing.T) {
	s := startFakeServer(t)
	if code, _, failures := runBench(s, "--op GET --dbsize 100 --runtime 0"); code != 0 {
		t.Fatal(failures)
	}
	reads := 0
	s.corrupt = func(string) bool { reads++; return reads > 100 } // after the verification of every key; under the server's lock
	code, out, failures := runBench(s, "-s --client GoRedis --op GET --dbsize 100 --totalops 500 -b 50 -t 1 --runtime 0 --verify")
	if code != program.Mismatch || !strings.Contains(out, "[Verified]: 500 values, 500 mismatches, 0 nil\n[First mismatch]: key ") {
		t.Errorf("exit %d: %s%s", code, out, failures)
	}
}

func TestSplitRequest(t *testing.T) {
	k := keyspace{dbSize: 100, keyLength: 4, valueLength: 3}
	request := k.appendBatch(k.appendBatch(nil, opPing, 1, nil1), opSet, 2, func(i int) uint64 { return uint64(i) })
	commands := splitRequest(request)
	if len(commands) != 3 || fmt.Sprintf("%s", commands[0]) != "[PING]" || fmt.Sprintf("%s", commands[1]) != fmt.Sprintf("[SET XXX0 %s]", k.appendValue(nil, 0)) || len(commands[2]) != 3 {
		t.Errorf("%q is split into %q", request, commands)
	}
}

// nil1 names key 0 always.
func nil1(int) uint64 { return 0 }
