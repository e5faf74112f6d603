package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/benchmark/program"
)

func TestOnlineOptionsOfTheGuide(t *testing.T) {
	for line, right := range map[string]func(o *options) bool{
		"--online": func(o *options) bool {
			return o.workloadNames() == "GET,SET,DEL" && joinNumbers(o.Percent) == "60,30,10"
		},
		"--online --op-workload GET --op-percent 100 --dbsize 1000000 -t 1 -b 1 --runtime 30":                                func(o *options) bool { return o.Runtime == 30 },
		"--online --op-workload GET,SET --op-percent 50,50 --dbsize 1000000 -t 16 --runtime 60 --client GarnetClientSession": func(o *options) bool { return o.Client == sessionType },
		"-o --op-workload GET --op-percent 100 -t 8 --itp 64 --client pipelinedsession":                                      func(o *options) bool { return o.InFlight == 64 && o.Client == sessionType },
		"-o --client SERedis --pool --runtime -1":                                                                            func(o *options) bool { return o.Client == goRedisType && o.Pool && o.Runtime == -1 },
		"-o --client GoRedis --client-hist":                                                                                  func(o *options) bool { return o.ClientHist },
		"-o --op-workload SETEX,ping --op-percent 1,99 --ttl 5 --zipf":                                                       func(o *options) bool { return o.workloadNames() == "SETEX,PING" && o.Zipf },
	} {
		o, err := parseOptions(strings.Fields(line), nil)
		if err != nil || !o.Online || !right(&o) {
			t.Errorf("%s is read as %+v, %v", line, o, err)
		}
	}
}

func TestRefusedOnlineOptions(t *testing.T) {
	for line, want := range map[string]string{
		"-s":                                    "Skipload not supported with --online",
		"--op SET":                              "OpType not supported for online benchmark (defaults to get/set)",
		"--op-percent 60,30,11":                 "opPercent must sum to 100, distribution: 60,30,11",
		"--op-percent=110,-20,10":               "opPercent must sum to 100, distribution: 110,-20,10",
		"--op-percent 50,50":                    "equal length (got 3 and 2)",
		"--pool":                                "Pooling of LightClient is not supported",
		"--pool --client InProc":                "Pooling of InProc is not supported",
		"--pool --client-hist --client SERedis": "Client hisogram and pool are not supported at the same time.",
		"--runtime 0":                           "--runtime must be -1 or at least 1 second",
		"--itp 0":                               "--itp must be from 1",
		"--burst --client PipelinedSession":     "--burst is for offline runs",
		"--sync --itp 2":                        "--sync waits for each reply: --itp must be 1 (got 2)",
		"--rate -1":                             "--rate must be 0 or a number",
		"--verify":                              "--verify is not supported with --online",
		"--save-freq -2":                        "--save-freq must be 0",
		"--op-workload MGET --op-percent 100":   "opType: MGET benchmark not supported with LightClient ClientType!",
		"--op-workload PFADD --op-percent 100":  "opType: PFADD benchmark not supported with LightClient ClientType!",
		"--txn":                                 "opType: GET benchmark not supported with LightClient ClientType!",
		"--txn -s":                              "Skipload not supported with --txn",
		"--op-workload READ_TXN --op-percent 100": "opType: READ_TXN benchmark not supported with LightClient ClientType!",
		"--op-workload SETEX --op-percent 100":    "TTL must be positive for SETEX operations.",
	} {
		if _, err := parseOptions(strings.Fields("--online "+line), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", line, err, want)
		}
	}
}

const onlineHeaderText = `min \(us\);      5th \(us\);      median \(us\);   avg \(us\);      95th \(us\);     99th \(us\);     99\.9th \(us\);   total_ops;     iter_tops;     tpt \(Kops/sec\) *`

func TestOnlineRuns(t *testing.T) {
	line := `([0-9.]+; +){9}[0-9.]+ *`
	for _, flags := range []string{
		"--client LightClient --itp 7", "--client GarnetClientSession", "--client PipelinedSession --itp 32 --zipf --ttl 50",
		"--client PipelinedSession --pool --itp 5", "--client SERedis", "--client GoRedis --itp 4 --pool --ttl 60", "--client GoRedis --client-hist --itp 2",
	} {
		s := startFakeServer(t)
		directory := t.TempDir()
		flags += " --json-output " + filepath.Join(directory, "out.json") + " --csv-output " + filepath.Join(directory, "out.csv")
		code, out, failures := runBench(s, "--online --dbsize 100 -t 3 --runtime 1 --op-workload GET,SET,DEL,PING --op-percent 50,30,10,10 "+flags)
		if code != 0 {
			t.Errorf("%s: exit %d: %s%s", flags, code, out, failures)
			continue
		}
		want := `^Batch size parameter should be one entry of size 1, for the online benchmark, setting to \[ 1 \]\. Use --itp to control batch size instead\.\n` +
			`(.*\n)*benchmarkType: Online\n(.*\n)*OpPercent: 50,30,10,10\n(.*\n)*\n` + onlineHeaderText + `\n` + line + `\n(.*\n)*\nOperation type: GET,SET,DEL,PING\nNum threads: 3\n\[Total time\]: 1,.*ms for .* ops\n`
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%s: the output is\n%s\nwant it to match\n%s", flags, out, want)
		}
		if clients := strings.Count(out, "\nClient "); clients != map[bool]int{true: 3}[strings.Contains(flags, "hist")] {
			t.Errorf("%s: latencies of %d clients", flags, clients)
		}
		checkRow(t, s, directory, strings.Contains(flags, "--ttl"))
	}
}

// checkRow compares the files of an online run with what the server saw.
func checkRow(t *testing.T, s *fakeServer, directory string, ttl bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(directory, "out.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d struct{ Results []row }
	if err := json.Unmarshal(text, &d); err != nil || len(d.Results) != 1 {
		t.Fatalf("%s: %v", text, err)
	}
	r := d.Results[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := uint64(s.names["GET"] + s.names["SET"] + s.names["DEL"] + s.names["PING"])
	if r.Operations == 0 || r.Operations > seen || seen-r.Operations > 3*64 || r.Mode != "Online" || r.Percent != "50,30,10,10" || r.Misses == 0 ||
		r.Median <= 0 || r.Min > r.Median || r.Median > r.P999 || r.P999 > r.Max || r.OpsPerSecond <= 0 {
		t.Errorf("the server saw %d operations, the result is %+v", seen, r)
	}
	if share := float64(s.names["GET"]) / float64(seen); seen > 2000 && (share < 0.45 || share > 0.55) {
		t.Errorf("the share of GET is %v, want 0.5", share)
	}
	if expires := s.names["EXPIRE"]; ttl && expires+64*3 < s.names["SET"] || !ttl && expires > 0 {
		t.Errorf("%d EXPIRE after %d SET", expires, s.names["SET"])
	}
	file, err := os.Open(filepath.Join(directory, "out.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if rows, err := csv.NewReader(file).ReadAll(); err != nil || len(rows) != 2 || rows[0][4] != "mode" || rows[1][4] != "Online" {
		t.Errorf("the table is %q, %v", rows, err)
	}
}

func TestOnlineInProcess(t *testing.T) {
	code, out, failures := runFlags("--online --client InProc -i 1m --memory 64m -t 2 --runtime 1 --op-workload SETEX,GET --op-percent 50,50 --ttl 60 -b 1 --json-stdout")
	if code != 0 || strings.Contains(out, "Batch size parameter") || !strings.Contains(out, "RESP-RESULT-JSON: {") {
		t.Errorf("exit %d: %s%s", code, out, failures)
	}
}

func TestOnlineErrorsFail(t *testing.T) {
	for _, client := range []string{"LightClient", "PipelinedSession --itp 3", "GoRedis"} {
		s := startFakeServer(t)
		s.refuse = func(name string) string { return map[string]string{"SET": "OOM full"}[name] }
		began := time.Now()
		code, out, failures := runBench(s, "--online --runtime 30 -t 2 --client "+client)
		if code != program.Failure || !strings.Contains(failures, "OOM full") || time.Since(began) > 10*time.Second {
			t.Errorf("%s: exit %d after %v: %s%s", client, code, time.Since(began), out, failures)
		}
	}
}

func TestMixFollowsThePercents(t *testing.T) {
	o, err := parseOptions(strings.Fields("--online --op-workload GET,SET,DEL --op-percent 1,98,1 --zipf --valuelength 5"), nil)
	if err != nil {
		t.Fatal(err)
	}
	mixes, err := newMixes(&o, o.keyspace(), 2)
	if err != nil {
		t.Fatal(err)
	}
	var counts [opPing + 1]int
	lengths := map[int]int{}
	keys := map[uint64]int{}
	for range 100_000 {
		op, number, length := mixes[0].next()
		counts[op]++
		lengths[length]++
		keys[number]++
	}
	if counts[opGet] < 800 || counts[opGet] > 1200 || counts[opDel] < 800 || counts[opDel] > 1200 {
		t.Errorf("the mix is %v, want one, 98 and one percent", counts)
	}
	if len(lengths) != 5 || lengths[0] != 0 || lengths[5] < 15_000 {
		t.Errorf("values are of lengths %v, want 1 to 5", lengths)
	}
	if keys[0] < 10*keys[500] {
		t.Errorf("key 0 comes %d times, key 500 %d times: that is no Zipf distribution", keys[0], keys[500])
	}
}

func TestExpireFollowsSet(t *testing.T) {
	m := &mix{keys: keyspace{dbSize: 1, keyLength: 2, valueLength: 1}, operations: []operation{opSet}, upTo: []uint64{100}, ttl: 9}
	request, replies := m.appendNext([]byte("before"))
	text := string(request)
	if replies != 2 || !strings.HasPrefix(text, "before*3\r\n$3\r\nSET\r\n$2\r\nX0\r\n$1\r\n") || !strings.HasSuffix(text, "*3\r\n$6\r\nEXPIRE\r\n$2\r\nX0\r\n$1\r\n9\r\n") {
		t.Errorf("%d replies to %q", replies, text)
	}
}

func TestRecorderHandsOver(t *testing.T) {
	r := newRecorder()
	r.record(100*time.Microsecond, 4, 1)
	r.record(200*time.Second, 4, 0)
	h, ops, misses := r.take()
	if h.TotalCount() != 2 || ops != 8 || misses != 1 || h.Min() != 100 || h.Max() < 99_000_000 {
		t.Errorf("%d samples from %d to %d, %d operations, %d misses", h.TotalCount(), h.Min(), h.Max(), ops, misses)
	}
	if h, ops, _ := r.take(); h.TotalCount() != 0 || ops != 0 {
		t.Error("what was taken is still there")
	}
	if n := testing.AllocsPerRun(100, func() { r.record(time.Millisecond, 1, 0) }); n != 0 {
		t.Errorf("%v allocations a record, want none", n)
	}
}

func TestOnlineLine(t *testing.T) {
	h := newHistogram()
	for micros := range int64(100) {
		_ = h.RecordValue(micros + 1)
	}
	want := "1;             5;             50;            50.5;          95;            99;            100;           1000;          500;           0.25           "
	if got := onlineLine(false, h, 1000, 500, 2*time.Second); got != want {
		t.Errorf("the line is %q, want %q", got, want)
	}
	if got := onlineHeader(false); !regexp.MustCompile("^" + onlineHeaderText + "$").MatchString(got) {
		t.Errorf("the header is %q", got)
	}
}
