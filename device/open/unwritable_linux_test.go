package open

import (
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/device"
)

// TestUnwritableDirectory: where no file can be made no device of files opens, not only at its first write.
// A directory of /proc refuses files to root too.
func TestUnwritableDirectory(t *testing.T) {
	for _, kind := range []device.Kind{device.Default, device.Native, device.RandomAccess} {
		d, err := Device(kind, device.Options{Directory: "/proc/self/task", IOContexts: 1, QueueDepth: 8})
		if err == nil {
			_ = d.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "/proc/self/task") {
			t.Errorf("%s in a directory that takes no files: %v", kind, err)
		}
		if err != nil && kind != device.Native && !strings.Contains(err.Error(), "cannot make a file in the device's directory") {
			t.Errorf("%s says %v", kind, err)
		}
	}
}
