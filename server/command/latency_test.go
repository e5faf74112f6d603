package command_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/command"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/resp"
	"github.com/pyropedb/pyrope/server/servertest"
	"github.com/pyropedb/pyrope/tsavorite"
)

// texts are the texts of the elements of an array.
func texts(values []resp.Value) (words []string) {
	for _, v := range values {
		words = append(words, string(v.Text))
	}
	return words
}

// TestSlowLogIsThatOfRedis has both servers log every call, and compares what they keep of the arguments.
func TestSlowLogIsThatOfRedis(t *testing.T) {
	long := strings.Repeat("x", 129)
	var logs [2][]string
	for i, address := range []string{startPyrope(t), servertest.StartRedis(t)} {
		client := servertest.Dial(t, address)
		do := func(words ...string) resp.Value {
			t.Helper()
			reply, err := client.Do(words...)
			if err != nil {
				t.Fatalf("%q: %v", words, err)
			}
			return reply
		}
		do("CONFIG", "SET", "slowlog-log-slower-than", "0")
		do("SLOWLOG", "RESET")
		do("AUTH", "secret")
		do("HELLO", "2", "AUTH", "default", "secret", "SETNAME", "me")
		do("CONFIG", "SET", "requirepass", "", "maxclients", "5000")
		do("SET", "key", long)
		do("GET", "key")
		do("INCR", "key")
		do("NOSUCH", "key")
		do("INCR")
		do("DEL", strings.Repeat("y", 128))
		for _, count := range []int{31, 32, 33, 50} {
			do(slices.Repeat([]string{"EXISTS"}, count)...)
		}
		for _, entry := range do("SLOWLOG", "GET", "-1").Elements {
			if len(entry.Elements) != 6 || entry.Elements[1].Integer == 0 || !strings.HasPrefix(string(entry.Elements[4].Text), "127.0.0.1:") {
				t.Fatalf("%s: an entry is %s", address, servertest.Notation(entry))
			}
			logs[i] = append(logs[i], fmt.Sprintf("%d %q %s", entry.Elements[0].Integer, texts(entry.Elements[3].Elements), entry.Elements[5].Text))
		}
	}
	if !slices.Equal(logs[0], logs[1]) {
		t.Errorf("the slow log is\n%s\nwant\n%s", strings.Join(logs[0], "\n"), strings.Join(logs[1], "\n"))
	}
}

// TestGatheredRunsAreOneSlowCall looks at what the slow log says of pipelined GETs and SETs.
func TestGatheredRunsAreOneSlowCall(t *testing.T) {
	h := servertest.NewHandler(t, tsavorite.Options{})
	send := func(words ...string) resp.Value {
		t.Helper()
		reply, err := h.Do(words...)
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	send("CONFIG", "SET", "slowlog-log-slower-than", "0")
	send("SLOWLOG", "RESET")
	var pipeline []byte
	for i := range 5 {
		pipeline = servertest.AppendCommand(pipeline, "SET", fmt.Sprint("key", i), "value")
	}
	for i := range 3 {
		pipeline = servertest.AppendCommand(pipeline, "GET", fmt.Sprint("key", i))
	}
	pipeline = servertest.AppendCommand(pipeline, "INCR", "n")
	pipeline = servertest.AppendCommand(pipeline, "INCR", "m")
	h.Context.Serve(&command.Client{}, pipeline)
	var got []string
	for _, entry := range send("SLOWLOG", "GET").Elements {
		got = append(got, strings.Join(texts(entry.Elements[3].Elements), " "))
	}
	want := []string{"INCR m", "INCR n", "GET key0 ... (2 more calls)", "SET key0 value ... (4 more calls)", "SLOWLOG RESET"}
	if !slices.Equal(got, want) {
		t.Errorf("the slow log is %q, want %q", got, want)
	}
	histogram := send("LATENCY", "HISTOGRAM", "set", "GET").Elements
	if len(histogram) != 4 || histogram[1].Elements[1].Integer != 5 || histogram[3].Elements[1].Integer != 3 {
		t.Errorf("the histograms are %v", histogram)
	}
}

// TestLatencyIsThatOfRedis has both servers sleep, and compares the shape of what they say of it.
func TestLatencyIsThatOfRedis(t *testing.T) {
	digits := regexp.MustCompile(`\d+`)
	var said [2][]string
	for i, address := range []string{startPyrope(t), servertest.StartRedis(t)} {
		client := servertest.Dial(t, address)
		for _, words := range [][]string{
			{"CONFIG", "SET", "latency-monitor-threshold", "15"}, {"DEBUG", "SLEEP", "0.02"}, {"SET", "a", "b"},
			{"LATENCY", "LATEST"}, {"LATENCY", "HISTORY", "command"}, {"LATENCY", "GRAPH", "command"},
			{"LATENCY", "HISTOGRAM", "debug"}, {"LATENCY", "HISTOGRAM", "config"}, {"LATENCY", "HISTOGRAM", "config|get", "config|set"},
		} {
			reply, err := client.Do(words...)
			if err != nil {
				t.Fatalf("%q: %v", words, err)
			}
			said[i] = append(said[i], fmt.Sprint(words, digits.ReplaceAllString(servertest.Notation(reply), "N")))
		}
		reply, err := client.Do("INFO", "latencystats")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(reply.Text)) {
			if strings.Contains(line, "_debug:") || strings.Contains(line, "_set:") {
				said[i] = append(said[i], digits.ReplaceAllString(line, "N"))
			}
		}
		slices.Sort(said[i])
	}
	if !slices.Equal(said[0], said[1]) {
		t.Errorf("Pyrope says\n%s\nwant\n%s", strings.Join(said[0], "\n"), strings.Join(said[1], "\n"))
	}
}

// TestLatencyDoctor reads the report without and with a sample.
func TestLatencyDoctor(t *testing.T) {
	client := servertest.Dial(t, startPyrope(t))
	for _, step := range []struct {
		words []string
		want  string // in the reply
	}{
		{[]string{"LATENCY", "DOCTOR"}, "CONFIG SET latency-monitor-threshold"},
		{[]string{"CONFIG", "SET", "latency-monitor-threshold", "5"}, "OK"},
		{[]string{"LATENCY", "DOCTOR"}, "Nothing took longer"},
		{[]string{"DEBUG", "SLEEP", "0.01"}, "OK"},
		{[]string{"LATENCY", "DOCTOR"}, "command: 1 samples, 10 ms on average, 10 ms at most.\n  SLOWLOG GET"},
	} {
		reply, err := client.Do(step.words...)
		if err != nil || !strings.Contains(tens.ReplaceAllString(string(reply.Text), "10 ms"), step.want) {
			t.Errorf("%q: %s, error %v; want %q", step.words, servertest.Notation(reply), err, step.want)
		}
	}
}

// tens are the times that a sleep of 10 ms may take.
var tens = regexp.MustCompile(`\d\d ms`)

// TestOptionsOfCommands starts servers with options that commands use, and looks at what is in force.
func TestOptionsOfCommands(t *testing.T) {
	tested := servertest.StartServer(t, server.Options{Options: config.Options{
		SlowMicroseconds: config.Given(-1), SlowEntries: config.Given(7), LatencyThreshold: config.Given(25), LatencyTracking: config.Off,
		LatencyPercentiles: "90", KeyspaceEvents: "EKA", ExpireEffort: 3, TrackedKeys: config.Given(77), EnableDebug: config.DebugNo,
	}})
	client := servertest.Dial(t, tested.Addr().String())
	for name, want := range map[string]string{
		"slowlog-log-slower-than": "-1", "slowlog-max-len": "7", "latency-monitor-threshold": "25", "latency-tracking": "no",
		"latency-tracking-info-percentiles": "90", "notify-keyspace-events": "AKE", "active-expire-effort": "3", "tracking-table-max-keys": "77", "enable-debug-command": "no",
	} {
		reply, err := client.Do("CONFIG", "GET", name)
		if err != nil || len(reply.Elements) != 2 || string(reply.Elements[1].Text) != want {
			t.Errorf("CONFIG GET %s: %s, error %v; want %s", name, servertest.Notation(reply), err, want)
		}
	}
	reply, err := client.Do("DEBUG", "SLEEP", "0")
	if err != nil || !strings.HasPrefix(string(reply.Text), "ERR DEBUG command not allowed. If the enable-debug-command option") {
		t.Errorf("DEBUG: %s, error %v", servertest.Notation(reply), err)
	}
	local := servertest.Dial(t, servertest.StartServer(t, server.Options{Options: config.Options{EnableDebug: config.DebugLocal}}).Addr().String())
	if reply, err := local.Do("DEBUG", "SLEEP", "0"); err != nil || string(reply.Text) != "OK" {
		t.Errorf("DEBUG from this machine: %s, error %v", servertest.Notation(reply), err)
	}
}
