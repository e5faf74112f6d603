package main

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/benchmark/program"
	"github.com/pyropedb/pyrope/benchmark/reply"
	"github.com/pyropedb/pyrope/benchmark/usage"
	"github.com/pyropedb/pyrope/benchmark/workload"
)

// drainGrace is how long replies may take to arrive after a run is over.
const drainGrace = 10 * time.Second

// measurement is what one run found.
type measurement struct {
	elapsed     time.Duration
	used        usage.Usage // by this process
	batches     uint64
	bytes       uint64 // of replies
	nils        uint64
	errors      uint64
	firstError  string
	checked     uint64
	mismatches  uint64
	firstWrong  string
	checkedNils uint64
}

// runControl is shared by the workers of a run.
type runControl struct {
	batches []batch
	start   chan struct{}
	stop    atomic.Bool
	bounded bool         // end when budget is used up
	budget  atomic.Int64 // batches left
}

// worker is one thread of a run. Its counters are its own: it shares no written cache line with
// another worker while it runs, for each is allocated apart and padded.
type worker struct {
	control *runControl
	carrier carrier
	random  workload.Random
	replies reply.Scanner
	checker *checker
	batches uint64
	err     error
	_       [128]byte
}

// run exchanges batches chosen at random until the run is over. This is the measured loop; it
// allocates nothing.
func (w *worker) run() {
	count := uint64(len(w.control.batches))
	for !w.control.stop.Load() {
		if w.control.bounded && w.control.budget.Add(-1) < 0 {
			return
		}
		next := &w.control.batches[w.random.Below(count)]
		if w.checker != nil {
			w.checker.startBatch(next.numbers)
		}
		if w.err = w.carrier.carry(next, &w.replies); w.err != nil {
			w.control.stop.Store(true)
			return
		}
		w.batches++
	}
}

// finish waits for what is in flight.
func (w *worker) finish() {
	if failure := w.carrier.finish(&w.replies); w.err == nil {
		w.err = failure
	}
}

// measure runs threads workers over the batches, for the options' runtime or number of operations.
func (b *bench) measure(batches []batch, batchSize, threads int) (measurement, error) {
	carriers, err := openAll(threads, b.newCarrier)
	if err != nil {
		return measurement{}, err
	}
	defer closeAll(carriers)

	control := &runControl{batches: batches, start: make(chan struct{}), bounded: b.options.Runtime == 0}
	control.budget.Store(int64((b.options.Total + uint64(batchSize) - 1) / uint64(batchSize)))
	workers := make([]*worker, threads)
	var group sync.WaitGroup
	for i := range workers {
		w := &worker{control: control, carrier: carriers[i], random: workload.NewRandom(requestSeed, uint64(i)+1)}
		if b.options.Verify {
			w.checker = &checker{keys: b.keys}
			w.replies.Check = w.checker
		}
		workers[i] = w
		group.Go(func() {
			<-control.start
			w.run()
			w.finish()
		})
	}

	before, began := usage.Now(), time.Now()
	close(control.start)
	over := make(chan struct{})
	go func() { group.Wait(); close(over) }()
	clock := program.NewClock()
	defer clock.Close()
	limit := time.Duration(b.options.Runtime) * time.Second
	if b.options.Runtime == 0 { // the budget ends it
		limit = -1
	}
	clock.Pass(limit, over, func(time.Time) bool { return b.interrupted.Load() || control.stop.Load() })
	control.stop.Store(true)
	for _, c := range carriers {
		c.interruptBy(time.Now().Add(drainGrace))
	}
	<-over
	m, err := collect(workers, time.Since(began))
	m.used = usage.Now().Since(before)
	return m, err
}

// collect adds the workers' counters up; the first failure among them is the error.
func collect(workers []*worker, elapsed time.Duration) (measurement, error) {
	m := measurement{elapsed: elapsed}
	var failure error
	for _, w := range workers {
		if failure == nil {
			failure = w.err
		}
		m.batches += w.batches
		m.bytes += w.replies.Bytes
		m.nils += w.replies.Nils
		m.errors += w.replies.Errors
		if m.firstError == "" {
			m.firstError = w.replies.FirstError
		}
		if w.checker != nil {
			m.addChecks(w.checker)
		}
	}
	return m, failure
}

// addChecks adds the findings of a checker.
func (m *measurement) addChecks(c *checker) {
	m.checked += c.checked
	m.mismatches += c.mismatches
	m.checkedNils += c.nils
	if m.firstWrong == "" {
		m.firstWrong = c.firstMismatch
	}
}
