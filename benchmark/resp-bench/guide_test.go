package main

import (
	"strings"
	"testing"
)

// guideLines are the command lines of the benchmark guide with the sizes it gives, and what makes them runs of a moment: a
// later option overrides an earlier one. Lines that follow each other are run against one server, in order.
var guideLines = []struct{ line, scaled string }{
	{"--op GET --dbsize 1000000 -t 8 -b 512 --runtime 15", "--dbsize 2000 -t 2 --runtime 1"},
	{"--op GET --dbsize 16777216 --valuelength 100 --runtime 0", "--dbsize 2000"},
	{"-s --op GET --dbsize 16777216 --valuelength 100 -t 1,2,4,8,16,32 -b 1024", "--dbsize 2000 -t 1,2 --runtime 1"},
	{"--op MSET --dbsize 100000000 --keylength 16 --valuelength 96 --client LightClient --load-threads 32 -b 4096 --runtime 0", "--dbsize 5000"},
	{"-s --op GET --dbsize 100000000 --keylength 16 --valuelength 96 --client LightClient -t 8,32,48,64 -b 1024 --runtime 12", "--dbsize 5000 -t 2,4 --runtime 1"},
	{"--op MGET --dbsize 16777216 --valuelength 8 -t 16 -b 512", "--dbsize 2000 -t 2 --runtime 1"},
	{"--op GET --dbsize 1000000 -v 100 -t 16 -b 1024 --client InProc", "--dbsize 2000 -t 2 --runtime 1 -i 1m --memory 64m"},
	{"--op GET --dbsize 1000000 -v 100 -t 16 -b 256 --client SERedis", "--dbsize 2000 -t 2 --runtime 1"},
	{"--op GET --dbsize 16777216 -v 100 -t 16 -b 1024 --zipf", "--dbsize 2000 -t 2 --runtime 1"},
	{"--online --op-workload GET --op-percent 100 --dbsize 1000000 -t 1 -b 1 --runtime 30", "--dbsize 2000 --runtime 1"},
	{"--online --op-workload GET,SET --op-percent 50,50 --dbsize 1000000 -t 16 --runtime 60 --client GarnetClientSession", "--dbsize 2000 -t 4 --runtime 1"},
	{"--online --op-workload GET --op-percent 100 --dbsize 1000000 -t 8 --itp 64 --client GarnetClientSession", "--dbsize 2000 -t 2 --runtime 1"},
	{"--online --op-workload GET,SET --op-percent 50,50 --dbsize 1000000 -t 16 --client SERedis", "--dbsize 2000 -t 2 --runtime 1"},
}

func TestGuideLines(t *testing.T) {
	port := startServer(t)
	for _, c := range guideLines {
		if _, err := parseOptions(strings.Fields(c.line), nil); err != nil {
			t.Errorf("%s: %v", c.line, err)
		}
		// Lists and numbers may be given twice: what comes later counts.
		line := "-p " + port + " " + overridden(c.line, c.scaled) + " --totalops 100000"
		if code, out, failures := runFlags(line); code != 0 {
			t.Errorf("%s: exit %d: %s%s", line, code, out, failures)
		}
	}
}

// overridden is a line without the options that another one gives, and the other one.
func overridden(line, by string) string {
	words, more := strings.Fields(line), strings.Fields(by)
	given := map[string]bool{}
	for _, word := range more {
		given[word] = strings.HasPrefix(word, "-")
	}
	var kept []string
	for i := 0; i < len(words); i++ {
		if given[words[i]] {
			i++ // and its value
			continue
		}
		kept = append(kept, words[i])
	}
	return strings.Join(append(kept, more...), " ")
}

// TestGuideRefusals: what the guide has and this program has not is refused with the reason, and so is what the guide warns of.
func TestGuideRefusals(t *testing.T) {
	for line, want := range map[string]string{
		"--cluster-bench --op GET --dbsize 16777216 -t 16 -b 1024 --zipf":                     "there is no cluster",
		"-s --online --op-workload GET --op-percent 100":                                      "Skipload not supported with --online",
		"--online --op-workload GET --op-percent 100 --pool --client LightClient -t 2":        "Pooling of LightClient is not supported",
		"--online --op-workload ZADD,ZCARD --op-percent 50,40 --keylength 8 --client SERedis": "opPercent must sum to 100",
	} {
		if _, err := parseOptions(strings.Fields(line), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", line, err, want)
		}
	}
}
