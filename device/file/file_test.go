package file_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/devicetest"
	"github.com/pyropedb/pyrope/device/file"
)

func openFile(o device.Options) (device.Device, error) { return file.Open(o) }

func TestDevice(t *testing.T) {
	for name, o := range map[string]device.Options{
		"defaults":   {},
		"one worker": {CompletionThreads: 1},
		"throttled":  {CompletionThreads: 5, ThrottleLimit: 2, SectorSizeBytes: 512},
	} {
		t.Run(name, func(t *testing.T) {
			devicetest.Run(t, devicetest.Config{
				Open: openFile, Options: o,
				Reopens: true, AllocatesNothing: true, HasEventFD: runtime.GOOS == "linux",
			})
		})
	}
}

func TestInfo(t *testing.T) {
	d, err := file.Open(device.Options{Directory: t.TempDir(), CompletionThreads: 6, ThrottleLimit: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	want := device.Info{Kind: "file", Reason: "asked for", SectorSizeBytes: 1, SegmentSizeBytes: 1 << 30, FileName: "hlog", InFlightLimit: 3, RingCount: 3}
	if got := d.Info(); got != want {
		t.Errorf("Info is %+v, want %+v", got, want)
	}
}

func TestOpenRefusesADirectoryThatIsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Open(device.Options{Directory: path}); err == nil {
		t.Error("a plain file was accepted as directory")
	}
}

// TestWriteErrorIsReported takes the file away from under the device by making its name a directory.
func TestWriteErrorIsReported(t *testing.T) {
	directory := t.TempDir()
	d, err := file.Open(device.Options{Directory: directory})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if err := os.Mkdir(filepath.Join(directory, "hlog.0"), 0o755); err != nil {
		t.Fatal(err)
	}
	q, err := d.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	r := &device.Request{Op: device.OpWrite, Buffer: make([]byte, 100)}
	q.Submit([]*device.Request{r})
	if n := q.Poll(make([]*device.Request, 1), true); n != 1 || r.Err == nil {
		t.Errorf("a write to a directory: %d back, error %v", n, r.Err)
	}
}
