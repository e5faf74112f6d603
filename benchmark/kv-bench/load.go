package main

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/benchmark/program"
	"github.com/pyropedb/pyrope/benchmark/report"
	"github.com/pyropedb/pyrope/benchmark/usage"
	"github.com/pyropedb/pyrope/server/config"
)

// load writes every key once. A store that could not take them all, or that has lost some since,
// is refused: reads of keys that are not there cost a fraction of the others.
func (b *bench) load(t *target, p *plan) error {
	workers, err := openWorkers(t, p, b.options.loadThreads())
	if err != nil {
		return err
	}
	var next atomic.Uint64
	var group sync.WaitGroup
	before := usage.Now()
	began := time.Now()
	for _, w := range workers {
		group.Go(func() { w.load(&next, b.interrupted) })
	}
	group.Wait()
	r := result{phase: "load", threads: len(workers), elapsed: time.Since(began)}
	r.used = usage.Now().Since(before)
	for _, w := range workers {
		err = errors.Join(err, w.failure)
		r.tally.writes += w.look().writes
	}
	closeWorkers(workers)
	if err != nil {
		return fmt.Errorf("cannot load: %w", err)
	}
	if b.interrupted.Load() {
		return program.ErrInterrupted
	}
	if r.tally.writes != p.keys {
		return fmt.Errorf("cannot load: %s of %s keys were written", report.N0(r.tally.writes), report.N0(p.keys))
	}
	b.finishResult(&r, t)
	return b.checkLoad(t)
}

// checkLoad refuses a store that does not hold what was loaded.
func (b *bench) checkLoad(t *target) error {
	info := t.store.Info()
	if info.FlushError != "" {
		return fmt.Errorf("cannot load: the device does not take the log: %s", info.FlushError)
	}
	if t.keepsNothing() && t.hasLeftMemory() {
		return fmt.Errorf("cannot measure a partial load: the log has %d bytes, --log-memory holds %v and the null device keeps nothing; raise --log-memory to %v",
			info.TailAddress, config.Size(t.sizes.memoryBytes), config.Size(b.options.autoMemoryBytes()))
	}
	return nil
}

// load takes chunks of keys from next and writes them.
func (w *worker) load(next *atomic.Uint64, interrupted *atomic.Bool) {
	w.pin()
	keys, batch := w.plan.keys, uint64(w.plan.batch)
	for w.failure == nil && !interrupted.Load() {
		first := next.Add(batch) - batch
		if first >= keys {
			break
		}
		w.session.Enter()
		for number := first; number < min(first+batch, keys) && w.failure == nil; number++ {
			w.add(number, mixUpsert)
		}
		w.flush()
		w.session.Leave()
		w.show()
	}
}

// openWorkers returns count workers with sessions.
func openWorkers(t *target, p *plan, count int) ([]*worker, error) {
	workers := make([]*worker, 0, count)
	for i := range count {
		w, err := newWorker(t.store, p, i)
		if err != nil {
			closeWorkers(workers)
			return nil, err
		}
		workers = append(workers, w)
	}
	return workers, nil
}

// closeWorkers closes the workers' sessions.
func closeWorkers(workers []*worker) {
	for _, w := range workers {
		w.session.Close()
	}
}
