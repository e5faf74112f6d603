package usage_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/benchmark/usage"
)

var kept []byte

func TestSince(t *testing.T) {
	before := usage.Now()
	for range 10 {
		kept = make([]byte, 100_000)
	}
	runtime.GC()
	for began := time.Now(); time.Since(began) < 30*time.Millisecond; {
	}
	used := usage.Now().Since(before)
	if used.Allocations < 10 || used.AllocatedBytes < 1_000_000 || used.Collections == 0 {
		t.Errorf("%+v, want at least 10 allocations of 100,000 bytes and a collection", used)
	}
	if runtime.GOOS == "linux" && (used.CPU() <= 0 || used.CPU() != used.User+used.System) {
		t.Errorf("30 ms of work are %v of CPU", used.CPU())
	}
}

func TestPauses(t *testing.T) {
	p := usage.NewPauses()
	p.Start()
	if longest := p.Longest(); longest != 0 {
		t.Errorf("without a collection the longest pause is %v", longest)
	}
	runtime.GC()
	if longest := p.Longest(); longest <= 0 || longest > 10*time.Second {
		t.Errorf("after a collection the longest pause is %v", longest)
	}
	p.Start()
	if longest := p.Longest(); longest != 0 {
		t.Errorf("a new stretch begins with a pause of %v", longest)
	}
}
