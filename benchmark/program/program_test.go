package program_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/benchmark/program"
	"github.com/pyropedb/pyrope/device"
)

func TestCodes(t *testing.T) {
	for want, err := range map[int]error{
		0: nil, 1: errors.New("the disk is gone"),
		2:   fmt.Errorf("validation: %w", program.ErrMismatch),
		130: errors.Join(program.ErrInterrupted, errors.New("cannot close")),
	} {
		if got := program.Code(err); got != want {
			t.Errorf("the code of %v is %d, want %d", err, got, want)
		}
	}
}

// flags are a program's options with a check of their own.
type flags struct {
	program.Help
	program.Device
	Threads int `short:"t" default:"1" help:"Workers."`
}

func (f *flags) Check() error {
	if f.Threads < 1 {
		return fmt.Errorf("--threads is %d", f.Threads)
	}
	return nil
}

func TestParse(t *testing.T) {
	var f flags
	line := "-t 3 --device-io-backend URING --device-queue-depth 4 --device-io-contexts 2 --device-throttle-limit 8 --device-completion-threads 1 --device-inline-completion"
	if err := program.Parse("bench", "Measures.", &f, strings.Fields(line), nil); err != nil {
		t.Fatal(err)
	}
	want := device.Options{
		Fresh: true, SegmentSizeBytes: 4096, Backend: device.Uring, CompletionThreads: 1,
		IOContexts: 2, QueueDepth: 4, ThrottleLimit: 8, InlineCompletion: true,
	}
	if got := f.Options(4096); got != want || f.Threads != 3 {
		t.Errorf("%d threads and %+v, want 3 and %+v", f.Threads, got, want)
	}
}

func TestRefusals(t *testing.T) {
	for line, want := range map[string]struct {
		code int
		text string
	}{
		"--help":                    {program.Success, ""},
		"-t 0":                      {program.Usage, "ERROR: --threads is 0\n"},
		"--frobnicate":              {program.Usage, "ERROR: unknown flag --frobnicate\n"},
		"--device-io-backend epoll": {program.Usage, "ERROR: --device-io-backend: device-io-backend is \"epoll\"; it must be one of Default, Libaio, Uring\n"},
	} {
		var f flags
		var stdout, stderr bytes.Buffer
		err := program.Parse("bench", "Measures.", &f, strings.Fields(line), &stdout)
		if err == nil {
			t.Errorf("%s is taken", line)
			continue
		}
		if code := program.Refuse(err, &stderr); code != want.code || stderr.String() != want.text {
			t.Errorf("%s: code %d and %q, want %d and %q", line, code, &stderr, want.code, want.text)
		}
		if help := strings.Contains(stdout.String(), "Measures."); help != (line == "--help") {
			t.Errorf("%s: prints %q", line, &stdout)
		}
	}
}
