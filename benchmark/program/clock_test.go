package program_test

import (
	"testing"
	"time"

	"github.com/pyropedb/pyrope/benchmark/program"
)

func TestClock(t *testing.T) {
	c := program.NewClock()
	defer c.Close()
	never := func(time.Time) bool { return false }
	began := time.Now()
	c.Pass(30*time.Millisecond, nil, never)
	if took := time.Since(began); took < 30*time.Millisecond {
		t.Errorf("30 ms took %v", took)
	}
	c.Pass(0, nil, never)
	over := make(chan struct{}, 1)
	over <- struct{}{}
	c.Pass(-1, over, never)
	looks := 0
	c.Pass(-1, nil, func(now time.Time) bool { looks++; return looks == 3 && now.After(began) })
	if looks != 3 {
		t.Errorf("it looked up %d times, want 3", looks)
	}
	c.Pass(20*time.Millisecond, nil, never) // the end of an endless pass leaves nothing behind
}
