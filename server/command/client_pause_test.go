package command_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server/servertest"
)

// varies are the parts of a monitor's line that differ from run to run.
var varies = regexp.MustCompile(`\d+\.\d+ \[(\d+) [^\]]*\]`)

// TestMonitorIsThatOfRedis compares what a monitor sees of its own commands and of another client's.
func TestMonitorIsThatOfRedis(t *testing.T) {
	var seen [2][]string
	for i, address := range []string{startPyrope(t), servertest.StartRedis(t)} {
		note := func(client *servertest.Client, token string, words ...string) {
			t.Helper()
			for _, reply := range untilToken(t, client, token, words...) {
				seen[i] = append(seen[i], varies.ReplaceAllString(servertest.Notation(reply), "TIME [$1 ADDRESS]"))
			}
		}
		monitor, client := servertest.Dial(t, address), servertest.Dial(t, address)
		note(monitor, "begun", "MONITOR")
		note(monitor, "again", "MONITOR")
		note(monitor, "refused", "GET", "a")
		for _, words := range [][]string{
			{"SET", "a", "\xff\x00\n\r\t\a\b\"\\'ok\x80\x7f"}, {"get", "a"}, {"AUTH", "secret"}, {"HELLO", "2", "AUTH", "default", "x"},
			{"SELECT", "3"}, {"GET"}, {"NOSUCH"}, {"CONFIG", "GET", "nothing"}, {"CLIENT", "GETNAME"}, {"PUBLISH", "c", "m"}, {"INCR", "a"},
		} {
			untilToken(t, client, "done", words...)
		}
		if reply, err := client.Do("CLIENT", "LIST"); err != nil || !strings.Contains(string(reply.Text), " flags=O ") {
			t.Errorf("CLIENT LIST does not show the monitor: %s, error %v", reply.Text, err)
		}
		note(monitor, "seen")
		note(monitor, "over", "RESET")
		untilToken(t, client, "unseen", "SET", "a", "b")
		note(monitor, "end")
	}
	if !slices.Equal(seen[0], seen[1]) {
		t.Errorf("a monitor sees\n%s\nwant\n%s", strings.Join(seen[0], "\n"), strings.Join(seen[1], "\n"))
	}
}

// TestMonitorsSeeRunsThatWouldBeGathered pipelines GETs and SETs, and looks that gathering is back when the monitor is gone.
func TestMonitorsSeeRunsThatWouldBeGathered(t *testing.T) {
	address := startPyrope(t)
	monitor, client := servertest.Dial(t, address), servertest.Dial(t, address)
	untilToken(t, monitor, "begun", "MONITOR")
	var pipeline []byte
	for i := range 10 {
		pipeline = servertest.AppendCommand(pipeline, "SET", fmt.Sprint("key", i), "v")
		pipeline = servertest.AppendCommand(pipeline, "GET", fmt.Sprint("key", i))
	}
	if err := client.Send(pipeline); err != nil {
		t.Fatal(err)
	}
	untilToken(t, client, "done")
	if seen := len(untilToken(t, monitor, "seen")); seen != 22 { // and two PINGs
		t.Errorf("the monitor saw %d commands, want 22", seen)
	}
	if err := monitor.Reconnect(); err != nil {
		t.Fatal(err)
	}
	gathered := func() string {
		var reads []byte
		for range 100 {
			reads = servertest.AppendCommand(reads, "GET", "key1")
		}
		if err := client.Send(reads); err != nil {
			t.Fatal(err)
		}
		untilToken(t, client, "done")
		reply, err := client.Do("INFO", "stats")
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`total_reads_gathered:\d+`).FindString(string(reply.Text))
	}
	first := gathered()
	for deadline := time.Now().Add(time.Minute); gathered() == first; {
		if time.Now().After(deadline) {
			t.Fatalf("GETs are not gathered after the monitor is gone: %s", first)
		}
	}
}

// TestReplyModesAreThoseOfRedis compares the replies that CLIENT REPLY leaves.
func TestReplyModesAreThoseOfRedis(t *testing.T) {
	var got [2][]string
	for i, address := range []string{startPyrope(t), servertest.StartRedis(t)} {
		client := servertest.Dial(t, address)
		var pipeline []byte
		for n, line := range strings.Split("REPLY OFF|ECHO|REPLY SKIP|SET a b|GET a|REPLY ON|GET a|REPLY SKIP|REPLY SKIP|GET a|GET a|"+
			"REPLY SKIP|NOSUCH|GET a|REPLY SKIP|GET|REPLY SKIP|REPLY ON|REPLY SKIP|RESET|GET a|REPLY OFF|RESET|GET a|REPLY FOO|"+
			"REPLY SKIP|REPLY OFF|GET a|REPLY ON", "|") {
			words := strings.Fields(line)
			switch {
			case words[0] == "ECHO":
				words = append(words, fmt.Sprint(n))
			case words[0] == "REPLY":
				words = append([]string{"CLIENT"}, words...)
			}
			pipeline = servertest.AppendCommand(pipeline, words...)
		}
		if err := client.Send(pipeline); err != nil {
			t.Fatal(err)
		}
		for _, reply := range untilToken(t, client, "done") {
			got[i] = append(got[i], servertest.Notation(reply))
		}
	}
	if !slices.Equal(got[0], got[1]) {
		t.Errorf("the replies are\n%s\nwant\n%s", strings.Join(got[0], "\n"), strings.Join(got[1], "\n"))
	}
}

// TestPauseHoldsWritesBack pauses writes, and then everything, and looks what goes on.
func TestPauseHoldsWritesBack(t *testing.T) {
	address := startPyrope(t)
	client, writer := servertest.Dial(t, address), servertest.Dial(t, address)
	do := func(words ...string) string {
		t.Helper()
		reply, err := client.Do(words...)
		if err != nil {
			t.Fatalf("%q: %v", words, err)
		}
		return servertest.Notation(reply)
	}
	// held sends a command whose reply must come after release alone.
	held := func(release func(), words ...string) time.Duration {
		t.Helper()
		begin := time.Now()
		if err := writer.Send(servertest.AppendCommand(nil, words...)); err != nil {
			t.Fatal(err)
		}
		release()
		if reply, _, err := writer.Receive(); err != nil || reply.IsError() {
			t.Fatalf("%q: %s, error %v", words, servertest.Notation(reply), err)
		}
		return time.Since(begin)
	}
	do("SET", "a", "1")
	if got := do("CLIENT", "PAUSE", "60000", "WRITE"); got != "+OK" {
		t.Fatalf("CLIENT PAUSE: %s", got)
	}
	for _, words := range [][]string{{"SET", "a", "2"}, {"INCR", "a"}, {"PUBLISH", "c", "m"}, {"PFCOUNT", "h"}} {
		do("CLIENT", "PAUSE", "60000", "WRITE")
		held(func() {
			if got := do("GET", "a"); got != `"1"` && words[0] == "SET" {
				t.Errorf("%q was executed during the pause: a is %s", words, got)
			}
			do("CLIENT", "UNPAUSE")
		}, words...)
	}
	if got := do("GET", "a"); got != `"3"` {
		t.Errorf("after the pause a is %s, want 3", got)
	}
	do("CLIENT", "PAUSE", "300")
	if took := held(func() {}, "PING"); took < 250*time.Millisecond || took > 10*time.Second {
		t.Errorf("a pause of 300 ms ended after %v", took)
	}
	do("CLIENT", "PAUSE", "300", "ALL")
	if took := held(func() {}, "GET", "a"); took < 250*time.Millisecond {
		t.Errorf("a pause of 300 ms ended after %v", took)
	}
}
