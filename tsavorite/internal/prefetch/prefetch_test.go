package prefetch_test

import (
	"testing"
	"unsafe"

	"github.com/pyropedb/pyrope/tsavorite/internal/prefetch"
)

// TestTouchIsAHint (T1) passes full, partial and empty groups, and places that are mapped nowhere.
func TestTouchIsAHint(t *testing.T) {
	memory := make([]byte, 4096)
	base := unsafe.Pointer(&memory[0])
	var places prefetch.Places
	for i := range places {
		places[i] = uint64(i * 64)
	}
	places[3] = 1 << 46
	for count := 0; count <= prefetch.Width; count++ {
		prefetch.Touch(base, &places, count, 0)
		prefetch.Touch(base, &places, count, 1000)
	}
	for i, b := range memory {
		if b != 0 {
			t.Fatalf("byte %d became %d", i, b)
		}
	}
	if n := testing.AllocsPerRun(100, func() { prefetch.Touch(base, &places, prefetch.Width, 64) }); n != 0 {
		t.Fatalf("%v allocations a call", n)
	}
}
