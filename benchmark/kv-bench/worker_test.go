package main

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/pyropedb/pyrope/benchmark/numa"
)

// loadedBench opens and loads a store for the flags.
func loadedBench(t *testing.T, line string) (*bench, *target, *plan) {
	t.Helper()
	o := parse(t, line)
	b := &bench{options: o, output: new(bytes.Buffer), interrupted: new(atomic.Bool)}
	target, err := openTarget(&o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := target.close(); err != nil {
			t.Error(err)
		}
	})
	p, err := b.newPlan()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.load(target, p); err != nil {
		t.Fatal(err)
	}
	b.chooseReadMode(target, p)
	return b, target, p
}

// loaded returns a worker on a loaded store for the flags.
func loaded(t *testing.T, line string) *worker {
	t.Helper()
	_, target, p := loadedBench(t, line)
	workers, err := openWorkers(target, p, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeWorkers(workers) })
	return workers[0]
}

func TestChunksAllocateNothing(t *testing.T) {
	for _, line := range []string{
		"-n 20000 --page-size 64k --device null",
		"-n 20000 --page-size 64k --device null --rumd 25,25,25,25",
		"-n 20000 --page-size 64k --device null -d zipf --read-mode single",
		"-n 20000 --page-size 64k --log-memory 64m --device null --preset D",
		small + "--device localmemory --device-inline-completion",
		small + "--device localmemory --device-inline-completion --read-mode batch",
	} {
		w := loaded(t, line)
		chunk := func() {
			w.session.Enter()
			w.session.CompletePending(false)
			w.chunk()
			w.session.Leave()
			w.show()
		}
		for range 50 {
			chunk() // the session makes its buffers
		}
		if n := testing.AllocsPerRun(50, chunk); n != 0 {
			t.Errorf("%s: %v allocations a chunk, want none", line, n)
		}
		if w.hasFailed() {
			t.Error(w.failure)
		}
	}
}

func TestMixIsKept(t *testing.T) {
	w := loaded(t, "-n 20000 --page-size 64k --device null --rumd 40,30,20,10")
	for range 200 {
		w.session.Enter()
		w.chunk()
		w.session.Leave()
	}
	total := float64(w.tally.total())
	if total != 200*1024 {
		t.Fatalf("%v operations, want %d", total, 200*1024)
	}
	for name, c := range map[string]struct{ got, want float64 }{
		"reads": {float64(w.tally.reads), 0.4}, "writes": {float64(w.tally.writes), 0.5}, "deletes": {float64(w.tally.deletes), 0.1},
	} {
		if share := c.got / total; share < c.want-0.01 || share > c.want+0.01 {
			t.Errorf("%s are %.3f of all, want %.2f", name, share, c.want)
		}
	}
	if w.tally.misses != 0 {
		t.Errorf("%d reads found nothing though every deleted key is put back", w.tally.misses)
	}
}

func TestLatestReadsWhatWasAddedLast(t *testing.T) {
	w := loaded(t, "-n 20000 --page-size 64k --log-memory 64m --device null --preset D")
	before := 0
	for range 1000 {
		if w.pick() >= 20000-200 {
			before++
		}
	}
	for range 40 {
		w.session.Enter()
		w.chunk()
		w.session.Leave()
	}
	if share := float64(w.added) / (40 * 1024); share < 0.03 || share > 0.07 || w.tally.writes != w.added || w.tally.misses != 0 {
		t.Errorf("%d keys were added by %d writes, with %d misses; want 5 of 100 operations and none", w.added, w.tally.writes, w.tally.misses)
	}
	after := 0
	for range 1000 {
		number := w.pick()
		if number > w.addedKey(w.added) || number >= w.plan.keys && number < w.addedKey(1) {
			t.Fatalf("key %d is picked, which was never written", number)
		}
		if number > w.addedKey(w.added)-200 {
			after++
		}
	}
	// With theta 0.99, the first 200 of 20,000 ranks are a good half.
	if before < 450 || after < 450 {
		t.Errorf("%d, then %d of 1000 keys are among the latest 200", before, after)
	}
}

func TestWorkersOfAPlanAddKeysOfTheirOwn(t *testing.T) {
	_, target, p := loadedBench(t, "-n 1000 --page-size 64k --device null --preset D")
	seen := map[uint64]bool{}
	for range 2 {
		workers, err := openWorkers(target, p, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range workers {
			if number := w.addedKey(1); seen[number] || number < maxKeys {
				t.Errorf("key %d is added twice, or is one that was loaded", number)
			}
			seen[w.addedKey(1)] = true
		}
		closeWorkers(workers)
	}
}

func TestPinnedWorkers(t *testing.T) {
	topology, err := numa.System()
	if err != nil {
		t.Fatal(err)
	}
	b, target, p := loadedBench(t, "-n 1000 --page-size 64k --device null")
	if topology.NodeCount() > 0 {
		if p.processors, err = topology.Order(0); err != nil {
			t.Fatal(err)
		}
	}
	if r, _, err := b.measure(target, p, 3, 1, 0, 50*time.Millisecond); err != nil || r.whole.reads == 0 {
		t.Errorf("%d reads, %v", r.whole.reads, err)
	}
	p.processors = []int{1 << 9}
	if topology.NodeCount() <= 1 {
		if _, _, err := b.measure(target, p, 1, 1, 0, 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "cannot pin a worker to processor 512") {
			t.Errorf("a processor that is not there: %v", err)
		}
	}
}

func TestScoreboardHasCacheLinesOfItsOwn(t *testing.T) {
	var w worker
	first, last := unsafe.Offsetof(w.shown.reads), unsafe.Offsetof(w.shown.misses)
	if first < 128 || unsafe.Sizeof(w.shown)-last < 128 {
		t.Errorf("counters from byte %d to %d of a scoreboard of %d", first, last, unsafe.Sizeof(w.shown))
	}
}
