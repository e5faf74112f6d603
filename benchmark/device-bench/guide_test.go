package main

import (
	"reflect"
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

// TestReferenceOptions: every option of the tool whose output this program follows is taken, with its default as the
// default here, or is refused with the reason.
func TestReferenceOptions(t *testing.T) {
	defaults, err := parseOptions(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"--file-size 1073741824", "--sector-size 512", "--device-type Native", "--device-throttle-limit 0", "--device-completion-threads 0",
		"--device-io-contexts 0", "--device-queue-depth 0", "--device-io-backend default", "--segment-size 1g", "-b 1024", "--batch-size 1024",
		"--runtime 15", "-t 1,2,4,8,16,32", "--threads 1,2,4,8,16,32",
	} {
		if o, err := parseOptions(strings.Fields(line), nil); err != nil || !reflect.DeepEqual(o, defaults) {
			t.Errorf("%s is not the default: %+v, %v; want %+v", line, o, err, defaults)
		}
	}
	for _, line := range []string{
		"--file-name c:/data/test.dat", "--sector-size 4096", "--device-type RandomAccess", "--device-type FileStream", "--device-type LocalMemory", "--device-type Null",
		"--device-throttle-limit 512", "--device-completion-threads 2", "--device-io-contexts 2", "--device-queue-depth 64",
		"--device-io-backend libaio", "--device-io-backend uring", "-b 1,16,256", "-t 3",
	} {
		if o, err := parseOptions(strings.Fields(line), nil); err != nil || reflect.DeepEqual(o, defaults) {
			t.Errorf("%s changes nothing, %v", line, err)
		}
	}
	for _, line := range []string{"--device-uring-sqpoll", "--device-uring-sqpoll-idle-ms 0"} {
		if _, err := parseOptions(strings.Fields(line), nil); err == nil || !strings.Contains(err.Error(), "there is no kernel thread that polls") {
			t.Errorf("%s: %v; want the reason", line, err)
		}
	}
}
