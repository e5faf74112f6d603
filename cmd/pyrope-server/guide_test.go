package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/server/config"
)

// TestGuideLines: the servers of the benchmark guides start with the same words here.
func TestGuideLines(t *testing.T) {
	tiered := "--port 6379 --bind 127.0.0.1 --memory 16m --page 4m --segment 1g --index 8g --storage-tier --logdir /raid/cache "
	for line, right := range map[string]func(o config.Options) bool{
		"--port 6379": func(o config.Options) bool { return o.Port == 6379 && o.StorageTier != config.On },
		tiered + "--device-type Native --device-io-backend Libaio --logger-level Warning": func(o config.Options) bool {
			return o.StorageTier == config.On && o.DeviceType == device.Native && o.DeviceBackend == device.Libaio && o.Memory == 16<<20 && o.Index == 8<<30
		},
		tiered + "--device-type Native --device-io-backend Uring --device-io-contexts 96 --device-completion-threads 8 --device-throttle-limit 4096": func(o config.Options) bool {
			return o.DeviceBackend == device.Uring && o.DeviceContexts == 96 && o.DeviceCompletionThreads == 8 && o.DeviceThrottle == 4096
		},
		tiered + "--device-type LocalMemory --device-completion-threads 4 --device-throttle-limit 512": func(o config.Options) bool {
			return o.DeviceType == device.LocalMemory && o.DeviceCompletionThreads == 4 && o.DeviceThrottle == 512
		},
	} {
		if o, err := parsed(t, line); err != nil || !right(o) {
			t.Errorf("%s is read as %+v, %v", line, o, err)
		}
	}
	for line, want := range map[string]string{
		"--latency-monitor":         "there is nothing to switch on",
		"--metrics-sampling-freq 5": "counters are always on",
	} {
		if _, err := parsed(t, line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", line, err, want)
		}
	}
}

// TestGuideServersStart starts the tiered servers of the guides, whose sizes suit this machine too but for the index.
func TestGuideServersStart(t *testing.T) {
	for _, device := range []string{
		"--device-type LocalMemory --device-completion-threads 4 --device-throttle-limit 512",
		"--device-type RandomAccess",
		"",
	} {
		line := "--port 0 --bind 127.0.0.1 --memory 16m --page 4m --segment 1g --index 8m --storage-tier --logger-level Warning --quiet --logdir " +
			filepath.Join(t.TempDir(), "log") + " " + device
		p := launch(strings.Fields(line)...)
		p.stdout.waitFor(t, "Ready to accept connections")
		p.signals <- os.Interrupt
		p.exits(t, 0)
	}
}
