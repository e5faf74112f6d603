package open

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
)

// roundTrip writes and reads a page through d and closes it.
func roundTrip(t *testing.T, d device.Device) {
	t.Helper()
	buffers, area, err := aligned.Buffers(2, 4096, 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = aligned.Unmap(area) }()
	q, err := d.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	buffers[0][17] = 42
	done := make([]*device.Request, 1)
	for i, r := range []*device.Request{{Op: device.OpWrite, Buffer: buffers[0]}, {Op: device.OpRead, Buffer: buffers[1]}} {
		if n := q.SubmitAndPoll([]*device.Request{r}, done, true); n != 1 || r.Err != nil || r.Transferred != 4096 {
			t.Fatalf("request %d: %d back, moved %d, %v", i, n, r.Transferred, r.Err)
		}
	}
	if buffers[1][17] != 42 {
		t.Fatal("what was written does not read back")
	}
	if err := errors.Join(q.Close(), d.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestKinds(t *testing.T) {
	for kind, want := range map[device.Kind]string{
		device.RandomAccess: "file", device.FileStream: "file", device.LocalMemory: "localmemory",
	} {
		d, err := Device(kind, device.Options{Directory: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Info().Kind; got != want {
			t.Errorf("%s opened a %s device, want %s", kind, got, want)
		}
		roundTrip(t, d)
	}
	d, err := Device(device.Null, device.Options{})
	if err != nil || d.Info().Kind != "null" {
		t.Fatalf("Null opened %v, %v", d, err)
	}
	if _, err := Device(device.Kind(99), device.Options{}); err == nil {
		t.Error("kind 99 was accepted")
	}
	if _, err := Device(device.Null, device.Options{Backend: device.Uring}); err == nil {
		t.Error("a backend was accepted for a Null device")
	}
}

func TestNativeIsNeverReplaced(t *testing.T) {
	for backend, want := range map[device.Backend]string{device.BackendDefault: "libaio", device.Libaio: "libaio", device.Uring: "uring"} {
		d, err := Device(device.Native, device.Options{Directory: t.TempDir(), Backend: backend, IOContexts: 1, QueueDepth: 8})
		if err != nil {
			if runtime.GOOS != "linux" && !errors.Is(err, device.ErrUnsupported) {
				t.Errorf("%s: %v", backend, err)
			}
			continue
		}
		if got := d.Info().Kind; got != want {
			t.Errorf("backend %s opened a %s device, want %s", backend, got, want)
		}
		roundTrip(t, d)
	}
}

func TestDefaultWorksAndSaysWhy(t *testing.T) {
	d, err := Device(device.Default, device.Options{Directory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	info := d.Info()
	if info.Reason == "" || info.Reason == askedFor {
		t.Errorf("the reason is %q", info.Reason)
	}
	t.Logf("%s: %s", info.Kind, info.Reason)
	roundTrip(t, d)
}

func TestDefaultFallsBackInOrder(t *testing.T) {
	forbidden := func(device.Options) (device.Device, error) { return nil, errors.New("forbidden by a seccomp profile") }
	d, err := openFirst(device.Options{Directory: t.TempDir()}, []candidate{{"io_uring", forbidden}, {"libaio", forbidden}, {"file", openFile}})
	if err != nil {
		t.Fatal(err)
	}
	if info := d.Info(); info.Kind != "file" || !strings.Contains(info.Reason, "seccomp") {
		t.Errorf("Info is %+v", info)
	}
	roundTrip(t, d)
	if _, err := openFirst(device.Options{}, []candidate{{"io_uring", forbidden}}); err == nil {
		t.Error("a device was opened although all candidates failed")
	}
}

func TestOpeningLeavesNoFilesBehind(t *testing.T) {
	directory := t.TempDir()
	d, err := Device(device.Default, device.Options{Directory: filepath.Join(directory, "new", "deep")})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			t.Errorf("%s was left behind", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestADirectoryThatCannotBeMadeIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []device.Kind{device.Default, device.Native, device.FileStream} {
		if _, err := Device(kind, device.Options{Directory: filepath.Join(path, "below")}); err == nil {
			t.Errorf("%s opened below a plain file", kind)
		}
	}
}
