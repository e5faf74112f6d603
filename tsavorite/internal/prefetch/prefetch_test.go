package prefetch_test

import (
	"testing"
	"unsafe"

	"github.com/pyropedb/pyrope/tsavorite/internal/prefetch"
)

// TestTouchIsAHint passes full, partial and empty groups, nil and an address that is mapped nowhere.
func TestTouchIsAHint(t *testing.T) {
	memory := make([]byte, 4096)
	var lines prefetch.Lines
	for i := range lines {
		lines[i] = unsafe.Pointer(&memory[i*64])
	}
	lines[3] = nil
	for count := 0; count <= prefetch.Width; count++ {
		prefetch.Touch(&lines, count, 0)
		prefetch.Touch(&lines, count, 1<<40)
	}
	for i, b := range memory {
		if b != 0 {
			t.Fatalf("byte %d became %d", i, b)
		}
	}
	if n := testing.AllocsPerRun(100, func() { prefetch.Touch(&lines, prefetch.Width, 64) }); n != 0 {
		t.Fatalf("%v allocations a call", n)
	}
}
