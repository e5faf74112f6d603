package main

import (
	"strings"
	"testing"
)

// TestGuideLines: the runs of the benchmark guide are read as they are written there.
func TestGuideLines(t *testing.T) {
	for _, line := range []string{
		"--sector-size 512 --file-size 12801015808 --device-type Native --device-io-backend libaio --device-throttle-limit 4096 --device-completion-threads 8 -t 32",
		"--sector-size 512 --file-size 12801015808 --device-type Native --device-io-backend uring --device-io-contexts 8 --device-throttle-limit 4096",
		"--device-type LocalMemory --device-completion-threads 32 -t 32 -b 1024 --runtime 15",
	} {
		if _, err := parseOptions(strings.Fields(line), nil); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if _, err := parseOptions([]string{"--device-uring-sqpoll"}, nil); err == nil || !strings.Contains(err.Error(), "there is no kernel thread that polls") {
		t.Errorf("--device-uring-sqpoll: %v; want the reason", err)
	}
}
