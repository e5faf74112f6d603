package log_test

import "testing"

// TestAppendAllocatesNothing holds the hot path to no allocation but that of a buffer a page.
func TestAppendAllocatesNothing(t *testing.T) {
	l, d := openLarge(t, t.TempDir(), nil)
	defer d.Close()
	defer l.Close()
	header, value := make([]byte, 20), make([]byte, 80)
	if allocations := testing.AllocsPerRun(1000, func() {
		if ok, err := l.TryReserve(100); !ok || err != nil {
			t.Fatal(ok, err)
		}
		l.AppendReserved(100, header, value)
	}); allocations != 0 {
		t.Errorf("%v allocations an entry", allocations)
	}
}
