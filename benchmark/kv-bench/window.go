package main

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/benchmark/program"
	"github.com/pyropedb/pyrope/benchmark/report"
	"github.com/pyropedb/pyrope/benchmark/usage"
)

// measure runs the plan with threads workers: warm-up, window, and the wait for the last of them.
func (b *bench) measure(t *target, p *plan, threads, iteration int, warmup, window time.Duration) (result, *checker, error) {
	r := result{phase: "run", threads: threads, iteration: iteration}
	workers, err := openWorkers(t, p, threads)
	if err != nil {
		return r, nil, err
	}
	defer closeWorkers(workers)
	runtime.GC() // so that garbage of earlier phases is not collected in the window

	var stop atomic.Bool
	var group sync.WaitGroup
	failed := make(chan struct{}, threads)
	for _, w := range workers {
		group.Go(func() {
			if w.run(&stop) != nil {
				failed <- struct{}{}
			}
		})
	}
	c := program.NewClock()
	defer c.Close()
	pauses := usage.NewPauses()
	b.pass(c, warmup, workers, failed)
	pauses.Start()
	before, atStart, began := usage.Now(), lookAt(workers), time.Now()
	b.pass(c, window, workers, failed)
	atEnd := lookAt(workers)
	r.elapsed = time.Since(began)
	r.used = usage.Now().Since(before)
	r.pause = pauses.Longest()
	stop.Store(true)
	stopped := time.Now()
	group.Wait()
	r.exitLag = time.Since(stopped)

	r.tally = atEnd.minus(atStart)
	r.whole = lookAt(workers)
	r.overshoot = r.whole.minus(atEnd)
	found := &checker{}
	for _, w := range workers {
		err = errors.Join(err, w.failure)
		found.add(&w.checker)
	}
	if err == nil && b.interrupted.Load() {
		err = program.ErrInterrupted
	}
	return r, found, err
}

// lookAt adds the workers' scoreboards up.
func lookAt(workers []*worker) tally {
	var sum tally
	for _, w := range workers {
		t := w.look()
		sum.reads += t.reads
		sum.writes += t.writes
		sum.deletes += t.deletes
		sum.misses += t.misses
	}
	return sum
}

// pass lets a time go by, with progress lines if asked for. A failure or an interrupt cuts it short.
func (b *bench) pass(c *program.Clock, d time.Duration, workers []*worker, failed <-chan struct{}) {
	interval, collect := seconds(b.options.ReportInterval), seconds(b.options.GCEvery)
	last, lastTotal, collected := time.Now(), lookAt(workers).total(), time.Now()
	c.Pass(d, failed, func(now time.Time) bool {
		if interval > 0 && now.Sub(last) >= interval {
			total := lookAt(workers).total()
			b.printf("[progress t=%d] %s ops/sec\n", len(workers), report.N0(uint64(float64(total-lastTotal)/now.Sub(last).Seconds())))
			last, lastTotal = now, total
		}
		if collect > 0 && now.Sub(collected) >= collect {
			runtime.GC()
			collected = now
		}
		return b.interrupted.Load()
	})
}
