package segment

import (
	"bytes"
	"syscall"
	"testing"

	"github.com/pyropedb/pyrope/device"
)

// TestTruncationGivesBlocksBack: also those of a segment that begins below and ends above, unless somebody may be reading there.
func TestTruncationGivesBlocksBack(t *testing.T) {
	f, err := Open(device.Options{Directory: t.TempDir(), FileName: "hlog", SegmentSizeBytes: 1 << 20}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	file, err := f.Acquire(0, device.OpWrite)
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("pyrope!\n"), 64<<10)
	if _, err := file.Handle().WriteAt(want, 0); err != nil {
		t.Fatal(err)
	}
	if err := file.Handle().Sync(); err != nil {
		t.Fatal(err)
	}
	blocks := func() int64 {
		var stat syscall.Stat_t
		if err := syscall.Fstat(file.Descriptor(), &stat); err != nil {
			t.Fatal(err)
		}
		return stat.Blocks * 512
	}
	before := blocks()
	if err := f.Truncate(100_000); err != nil {
		t.Fatal(err)
	}
	if blocks() != before {
		t.Errorf("blocks went under a reader: %d of %d bytes are left", blocks(), before)
	}
	file.Release()
	if err := f.Truncate(300_000); err != nil {
		t.Fatal(err)
	}
	if after := blocks(); before-after < 256<<10 {
		t.Errorf("%d of %d bytes are still there", after, before)
	}
	again, err := f.Acquire(300_000, device.OpRead)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Release()
	got := make([]byte, 1000)
	if _, err := again.Handle().ReadAt(got, 300_000); err != nil || !bytes.Equal(got, want[300_000:301_000]) {
		t.Errorf("what lies above begin has changed: %v", err)
	}
}
