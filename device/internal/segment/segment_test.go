package segment

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/pyropedb/pyrope/device"
)

const size = 4096

func openFiles(t *testing.T, directory string) *Files {
	t.Helper()
	f, err := Open(device.Options{Directory: directory, SegmentSizeBytes: size}, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// write puts text at the start of a segment.
func write(t *testing.T, f *Files, index uint64, text string) {
	t.Helper()
	file, err := f.Acquire(index*size, device.OpWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Release()
	if _, err := file.Handle().WriteAt([]byte(text), 0); err != nil {
		t.Fatal(err)
	}
	file.MarkDirty()
}

func TestSplit(t *testing.T) {
	f := openFiles(t, t.TempDir())
	for _, c := range []struct {
		address uint64
		length  int
		offset  int64
		fit     int
	}{{0, 10, 0, 10}, {4090, 10, 4090, 6}, {4096, 4096, 0, 4096}, {4096*7 + 1, 9000, 1, 4095}, {8191, 0, 4095, 0}} {
		if offset, fit := f.Split(c.address, c.length); offset != c.offset || fit != c.fit {
			t.Errorf("Split(%d, %d) is %d, %d; want %d, %d", c.address, c.length, offset, fit, c.offset, c.fit)
		}
	}
}

func TestReadersDoNotMakeFiles(t *testing.T) {
	directory := t.TempDir()
	f := openFiles(t, directory)
	if file, err := f.Acquire(0, device.OpRead); file != nil || err != nil {
		t.Errorf("a read of nothing acquires %v, %v", file, err)
	}
	if names, _ := os.ReadDir(directory); len(names) != 0 {
		t.Errorf("the directory holds %v", names)
	}
}

func TestReopenBeginsAtTheLowestFile(t *testing.T) {
	directory := t.TempDir()
	f := openFiles(t, directory)
	for _, index := range []uint64{3, 4, 10} {
		write(t, f, index, "x")
	}
	f.Close()
	for _, name := range []string{"hlog", "hlog.", "hlog.03", "hlog.-1", "hlog.1x", "other.1", "hlog.99999999999999999999"} {
		if err := os.WriteFile(filepath.Join(directory, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f = openFiles(t, directory)
	if f.Begin() != 3*size {
		t.Errorf("addresses begin at %d, want %d", f.Begin(), 3*size)
	}
	if _, err := f.Acquire(2*size, device.OpRead); !errors.Is(err, device.ErrTruncated) {
		t.Errorf("below the beginning: %v", err)
	}
	for index, want := range map[uint64]bool{3: true, 4: true, 5: false, 10: true} {
		file, err := f.Acquire(index*size, device.OpRead)
		if err != nil || (file != nil) != want {
			t.Errorf("segment %d: %v, %v; want it there: %t", index, file, err, want)
		}
		if file != nil {
			file.Release()
		}
	}
}

// TestFreshRemovesOnlyOwnFiles is the second half of S5, TestOneOwner the first.
func TestFreshRemovesOnlyOwnFiles(t *testing.T) {
	directory := t.TempDir()
	f := openFiles(t, directory)
	write(t, f, 0, "x")
	write(t, f, 7, "x")
	f.Close()
	other := filepath.Join(directory, "hlog.0.bak")
	if err := os.WriteFile(other, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	fresh, err := Open(device.Options{Directory: directory, SegmentSizeBytes: size, Fresh: true}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	if names, _ := os.ReadDir(directory); len(names) != 1 || names[0].Name() != "hlog.0.bak" {
		t.Errorf("the directory holds %v", names)
	}
}

// TestTruncatedFileStaysReadableWhileHeld is S2, seen by a reader.
func TestTruncatedFileStaysReadableWhileHeld(t *testing.T) {
	directory := t.TempDir()
	f := openFiles(t, directory)
	write(t, f, 0, "kept")
	write(t, f, 1, "next")
	file, err := f.Acquire(100, device.OpRead)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	if canRemoveOpenFiles {
		if _, err := os.Stat(filepath.Join(directory, "hlog.0")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file is still there: %v", err)
		}
	}
	p := make([]byte, 4)
	if _, err := file.Handle().ReadAt(p, 0); err != nil || string(p) != "kept" {
		t.Errorf("a held file reads %q, %v", p, err)
	}
	file.Release()
	if _, err := file.Handle().ReadAt(p, 0); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the last reference did not close the file: %v", err)
	}
	if _, err := f.Acquire(100, device.OpWrite); !errors.Is(err, device.ErrTruncated) {
		t.Errorf("a write below the beginning: %v", err)
	}
}

// TestAcquireRacesWithTruncate is S1 with several readers.
func TestAcquireRacesWithTruncate(t *testing.T) {
	const segments = 64
	f := openFiles(t, t.TempDir())
	for i := range uint64(segments) {
		write(t, f, i, string([]byte{byte('A' + i)}))
	}
	var readers sync.WaitGroup
	for g := range uint64(4) {
		readers.Go(func() {
			p := make([]byte, 1)
			for round := range uint64(2000) {
				index := (round*7 + g) % segments
				file, err := f.Acquire(index*size, device.OpRead)
				if errors.Is(err, device.ErrTruncated) {
					continue
				}
				if err != nil || file == nil {
					t.Errorf("segment %d: %v, %v", index, file, err)
					return
				}
				if _, err := file.Handle().ReadAt(p, 0); err != nil || p[0] != byte('A'+index) {
					t.Errorf("segment %d reads %q, %v", index, p, err)
					return
				}
				file.Release()
			}
		})
	}
	for i := range uint64(segments - 1) {
		if err := f.Truncate((i + 1) * size); err != nil {
			t.Error(err)
		}
	}
	readers.Wait()
}

// TestAFailedSyncIsNeverForgotten is S4.
func TestAFailedSyncIsNeverForgotten(t *testing.T) {
	f := openFiles(t, t.TempDir())
	write(t, f, 0, "x")
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	write(t, f, 0, "y")
	if err := f.table[0].handle.Close(); err != nil {
		t.Fatal(err)
	}
	first := f.Sync()
	if first == nil {
		t.Fatal("a file that cannot be synced was")
	}
	if second := f.Sync(); second == nil || second.Error() != first.Error() {
		t.Errorf("the next Sync answers %v, want %v", second, first)
	}
}

func TestClosedFiles(t *testing.T) {
	f := openFiles(t, t.TempDir())
	write(t, f, 0, "x")
	held, err := f.Acquire(0, device.OpRead)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := held.Handle().ReadAt(make([]byte, 1), 0); err != nil {
		t.Errorf("a held file of closed files: %v", err)
	}
	held.Release()
	_, acquireErr := f.Acquire(0, device.OpRead)
	for _, err := range []error{acquireErr, f.Sync(), f.Truncate(1)} {
		if !errors.Is(err, device.ErrClosed) {
			t.Errorf("closed files answer %v, want %v", err, device.ErrClosed)
		}
	}
}

// TestOneOwner opens the same directory twice: the second is refused and harms nothing, until the first is closed.
func TestOneOwner(t *testing.T) {
	o := device.Options{Directory: t.TempDir(), SegmentSizeBytes: 1 << 20, Fresh: true}
	first, err := Open(o, 0)
	if err != nil {
		t.Fatal(err)
	}
	file, err := first.Acquire(0, device.OpWrite)
	if err != nil {
		t.Fatal(err)
	}
	file.Release()
	if second, err := Open(o, 0); err == nil {
		second.Close()
		t.Fatal("a second owner was let in")
	}
	if _, err := os.Stat(filepath.Join(o.Directory, "hlog.0")); err != nil {
		t.Fatalf("the refused one has removed the first one's segment: %v", err)
	}
	first.Close()
	again, err := Open(o, 0)
	if err != nil {
		t.Fatalf("after Close: %v", err)
	}
	again.Close()
}
