package main

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pyropedb/pyrope/benchmark/program"
	"github.com/pyropedb/pyrope/benchmark/report"
)

// validate reads every key and compares every byte. If the mix writes, it then runs the mix for
// --runsec, comparing what it reads, and reads every key once more.
func (b *bench) validate(t *target, p *plan) error {
	loaded, misses, err := b.checkAllKeys(t, p)
	if err != nil {
		return err
	}
	if loaded.updates > 0 {
		loaded.note(0, fmt.Sprintf("values were raised by %d before any update", loaded.updates))
	}
	if p.mix.readsOnly() {
		return b.printVerdict(loaded, p.keys, misses)
	}
	r, during, err := b.measure(t, p, b.options.Threads, 1, 0, seconds(b.options.RunSeconds))
	if err != nil {
		return err
	}
	loaded.add(during)
	if p.mix[mixDelete] == 0 {
		misses += r.whole.misses
	}
	after, missing, err := b.checkAllKeys(t, p)
	if err != nil {
		return err
	}
	// When nothing else writes, each update shows in exactly one first word.
	if p.mix[mixUpsert]+p.mix[mixDelete] == 0 && after.updates != r.whole.writes {
		after.note(0, fmt.Sprintf("the values count %d updates of %d", after.updates, r.whole.writes))
	}
	loaded.add(after)
	return b.printVerdict(loaded, 2*p.keys+r.whole.reads, misses+missing)
}

// checkAllKeys reads every key once, in chunks that the workers share.
func (b *bench) checkAllKeys(t *target, p *plan) (found *checker, misses uint64, err error) {
	workers, err := openWorkers(t, p, b.options.Threads)
	if err != nil {
		return nil, 0, err
	}
	defer closeWorkers(workers)
	var next atomic.Uint64
	var group sync.WaitGroup
	for _, w := range workers {
		group.Go(func() { w.checkAll(&next, b.interrupted) })
	}
	group.Wait()
	found = &checker{}
	var seen uint64
	for _, w := range workers {
		err = errors.Join(err, w.failure)
		found.add(&w.checker)
		seen += w.tally.reads
		misses += w.tally.misses
	}
	if err == nil && b.interrupted.Load() {
		err = program.ErrInterrupted
	}
	if err == nil && seen != p.keys {
		err = fmt.Errorf("cannot validate: %s of %s reads came back", report.N0(seen), report.N0(p.keys))
	}
	return found, misses, err
}

// checkAll takes chunks of keys from next and reads them.
func (w *worker) checkAll(next *atomic.Uint64, interrupted *atomic.Bool) {
	w.pin()
	keys, batch := w.plan.keys, uint64(w.plan.batch)
	for !w.hasFailed() && !interrupted.Load() {
		first := next.Add(batch) - batch
		if first >= keys {
			break
		}
		w.session.Enter()
		for number := first; number < min(first+batch, keys); number++ {
			w.add(number, mixRead)
		}
		w.flush()
		w.session.CompletePending(false)
		w.session.Leave()
	}
	w.session.Enter()
	w.session.CompletePending(true)
	w.session.Leave()
	w.hasFailed()
}

// printVerdict says whether all values were right.
func (b *bench) printVerdict(c *checker, reads, misses uint64) error {
	if c.mismatches == 0 && misses == 0 {
		b.printf("[validate] OK: %s reads, every byte as written\n", report.N0(reads))
		return nil
	}
	b.printf("[validate] FAILED: mismatches=%d misses=%d\n", c.mismatches, misses)
	if c.first != "" {
		b.printf("[validate] first mismatch: %s\n", c.first)
	}
	return program.ErrMismatch
}
