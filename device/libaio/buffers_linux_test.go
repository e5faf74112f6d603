package libaio_test

import (
	"testing"

	"github.com/pyropedb/pyrope/device/aligned"
)

func newBuffers(t *testing.T, count, size int) [][]byte {
	t.Helper()
	buffers, area, err := aligned.Buffers(count, size, 4096)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = aligned.Unmap(area) })
	return buffers
}
