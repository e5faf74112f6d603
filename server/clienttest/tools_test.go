package clienttest_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// tool runs one of Redis's own tools against a server and returns what it prints.
func tool(t *testing.T, name, host, port string, arguments ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, name+" is not installed (Debian: apt-get install redis-tools)")
	}
	output, err := exec.Command(path, append([]string{"-h", host, "-p", port}, arguments...)...).CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, output)
	}
	return string(output)
}

func TestRedisBenchmark(t *testing.T) {
	host, port := start(t, "")
	output := tool(t, "redis-benchmark", host, port, "-t", "ping,set,get,incr,mset", "-P", "16", "-n", "20000", "-q")
	for _, name := range []string{"PING_INLINE", "PING_MBULK", "SET", "GET", "INCR", "MSET (10 keys)"} {
		if !strings.Contains(output, name+": ") {
			t.Errorf("no figure for %s in %q", name, output)
		}
	}
	lower := strings.ToLower(output)
	if strings.Contains(lower, "error") || strings.Contains(lower, "warn") || strings.Contains(lower, "closed") {
		t.Errorf("redis-benchmark complains: %s", output)
	}
	stats := tool(t, "redis-cli", host, port, "INFO", "commandstats")
	for _, want := range []string{"cmdstat_ping:calls=40000,", "cmdstat_set:calls=20000,", "cmdstat_get:calls=20000,", "cmdstat_mset:calls=20000,"} {
		if !strings.Contains(stats, want) {
			t.Errorf("no %s in\n%s", want, stats)
		}
	}
}

func TestRedisCLI(t *testing.T) {
	host, port := start(t, "secret")
	cli := func(arguments ...string) string {
		t.Helper()
		return strings.TrimSpace(tool(t, "redis-cli", host, port, append([]string{"--no-auth-warning", "-a", "secret"}, arguments...)...))
	}
	want := func(expected string, arguments ...string) {
		t.Helper()
		if got := cli(arguments...); got != expected {
			t.Errorf("redis-cli %s: %q; want %q", strings.Join(arguments, " "), got, expected)
		}
	}
	want("PONG", "PING")
	want("PONG", "-3", "PING")
	want("OK", "-n", "3", "SET", "a", "1")
	want("1", "-n", "3", "GET", "a")
	want("", "GET", "a")
	want("a", "-n", "3", "--scan")
	for i := range 50 {
		want("OK", "SET", fmt.Sprintf("key:%d", i), "x")
	}
	if got := strings.Fields(cli("--scan", "--pattern", "key:*")); len(got) != 50 {
		t.Errorf("--scan finds %d keys", len(got))
	}
	if got := cli("--csv", "CONFIG", "GET", "save"); got != `"save",""` {
		t.Errorf("CONFIG GET save: %s", got)
	}
	for _, section := range []string{"Server", "Clients", "Memory", "Stats", "Store", "Keyspace"} {
		if got := cli("INFO"); !strings.Contains(got, "# "+section) {
			t.Errorf("INFO has no section %s", section)
		}
	}
	if got := tool(t, "redis-cli", host, port, "GET", "a"); !strings.Contains(got, "NOAUTH Authentication required.") {
		t.Errorf("without a password: %s", got)
	}
}
