package main

import (
	"strings"
	"testing"
)

// TestGuideLines: the three runs of the benchmark guide, with a database of this size, and their options as they are
// written there.
func TestGuideLines(t *testing.T) {
	for _, line := range []string{
		"--device null",
		"--device native --log-memory 16m",
		"--device native --device-io-backend uring --log-memory 16m -t 64",
		"--device localmemory --device-inline-completion --log-memory 16m -t 32",
		"-n 100000000 --rumd 100,0,0,0 -d zipf --zipf-theta 0.99 --hashpack 2.0 --runsec 30 --warmup-sec 5 -i 3 --run-threads-sweep 1,2,4,8,16,32",
	} {
		parse(t, line)
	}
	for _, line := range []string{
		"--device null", "--device native --log-memory 1m", "--device default --log-memory 1m",
		"--device localmemory --device-inline-completion --log-memory 1m -t 4",
		"--device localmemory --device-completion-threads 4 --device-throttle-limit 512 --log-memory 1m -t 4",
	} {
		code, out, failures := runFlags(t, "-n 20000 --runsec 0.1 --warmup-sec 0.05 "+line)
		if code != 0 && !strings.Contains(failures, "cannot open the device") || code == 0 && !strings.Contains(out, "[run t=") {
			t.Errorf("%s: exit %d: %s%s", line, code, out, failures)
		}
	}
}
