package metamorphic

import (
	"flag"
	"os"
	"runtime/pprof"
	"testing"
	"time"
)

var (
	seedFlag = flag.Uint64("seed", 1, "draw the operations from this seed; 0 is one from the clock")
	opsFlag  = flag.Int("ops", 0, "operations of a run; 0 is 20,000, or 2,000 in short mode")
)

// TestMetamorphic runs the same operations under every configuration.
func TestMetamorphic(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	count := 20_000
	if testing.Short() {
		count = 2_000
	}
	if *opsFlag != 0 {
		count = *opsFlag
	}
	for _, settings := range configurations(t) {
		t.Run(settings.name, func(t *testing.T) {
			t.Parallel()
			watch(t, 4*time.Minute)
			r := newRun(t, settings, seed)
			for g := newGenerator(seed); g.count < count/max(settings.slow, 1); {
				r.execute(g.next())
			}
			r.finish()
		})
	}
}

// watch ends the process with every goroutine's stack if the test is still running after limit:
// what waits for ever in an engine is found by looking at who waits for whom.
func watch(t *testing.T, limit time.Duration) {
	name := t.Name()
	timer := time.AfterFunc(limit, func() {
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 2)
		panic(name + " is still running after " + limit.String())
	})
	t.Cleanup(func() { timer.Stop() })
}

// TestGeneratorRepeats: a seed gives the same operations every time, or printing it is no use.
func TestGeneratorRepeats(t *testing.T) {
	first, second := newGenerator(7), newGenerator(7)
	verbs := map[verb]int{}
	for range 5_000 {
		a, b := first.next(), second.next()
		if a.String() != b.String() {
			t.Fatalf("the seed gave %v and then %v", a, b)
		}
		verbs[a.verb]++
	}
	for v, name := range verbNames {
		if verbs[verb(v)] == 0 {
			t.Errorf("%s is never drawn", name)
		}
	}
}
