package main

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/pyropedb/pyrope/benchmark/numa"
	"github.com/pyropedb/pyrope/benchmark/workload"
	"github.com/pyropedb/pyrope/tsavorite"
)

// readMode is how a worker asks for reads, and whether it lets cache misses overlap.
type readMode string

// The read modes; auto becomes one of the others once the store is loaded.
const (
	readAuto   readMode = "auto"
	readBatch  readMode = "batch"  // Session.ReadBatch of a chunk's reads at once
	readAsync  readMode = "async"  // Session.ReadAsync, completions collected once a chunk
	readSingle readMode = "single" // Session.Read; also nothing is prefetched, for writes neither
)

// groupSize is how many operations are prefetched together before they are carried out.
const groupSize = 32

// scoreboard is what a worker shows of its progress, once a chunk. Only its worker stores to it; it
// lies on cache lines of its own.
type scoreboard struct {
	_       [128]byte
	reads   atomic.Uint64
	writes  atomic.Uint64 // upserts and RMWs; those that put a deleted key back are not counted
	deletes atomic.Uint64
	misses  atomic.Uint64 // reads that found no record
	_       [128]byte
}

// tally is a snapshot of scoreboards, or a worker's own counters.
type tally struct {
	reads, writes, deletes, misses uint64
}

// total is the number of operations.
func (t tally) total() uint64 { return t.reads + t.writes + t.deletes }

// minus is the difference of two snapshots.
func (t tally) minus(u tally) tally {
	return tally{t.reads - u.reads, t.writes - u.writes, t.deletes - u.deletes, t.misses - u.misses}
}

// plan is what the workers of a phase have in common; it is immutable while they run,
// but for workersMade.
type plan struct {
	keys   uint64
	sizes  workload.Sizes // of values
	batch  int
	mix    mix
	mode   readMode
	zipf   *workload.Zipf // nil: uniform
	latest bool           // ranks count from the newest key on, and upserts add keys
	seed   uint64
	checks bool // compare every value that is read

	processors  []int         // that workers are pinned to, one after another; nil: none
	workersMade atomic.Uint64 // so that no two workers add the same keys
}

// worker carries out operations through one session. It belongs to one goroutine, but for shown.
type worker struct {
	shown scoreboard // first, so that it is padded on both sides

	plan      *plan
	session   *tsavorite.Session
	processor int             // it is pinned to; -1 is none
	random    workload.Random // of keys
	dice      workload.Random // of operations
	tally     tally

	reads    []tsavorite.Key // of a chunk, for ReadBatch; each slices into memory of its own
	numbers  []uint64        // their numbers
	pending  int             // of them, not yet read
	group    []tsavorite.Key // of the operations that are carried out one by one
	steps    [groupSize]step // what is to be done with each
	grouped  int             // of them, not yet carried out
	value    []byte          // scratch of upserts
	received []byte          // where reads copy values to, as a caller would

	serial uint64 // among all workers of the plan, from 1
	added  uint64 // keys that this worker has added

	updater  updater
	updaters []*updater // free ones, for RMWs in flight
	checker  checker
	failed   bool // a read returned StatusError
	failure  error
	_        [128]byte
}

// newWorker returns a worker with a session of its own; stream is its number.
func newWorker(store *tsavorite.Store, p *plan, stream int) (*worker, error) {
	session, err := store.NewSession()
	if err != nil {
		return nil, fmt.Errorf("cannot open a session: %w", err)
	}
	w := &worker{
		plan: p, session: session, processor: -1,
		random:   workload.NewRandom(p.seed, 2*uint64(stream)),
		dice:     workload.NewRandom(p.seed, 2*uint64(stream)+1),
		reads:    makeKeys(p.batch),
		numbers:  make([]uint64, p.batch),
		group:    makeKeys(groupSize),
		value:    make([]byte, p.sizes.Most()),
		received: make([]byte, p.sizes.Most()),
	}
	w.serial = p.workersMade.Add(1)
	if len(p.processors) > 0 {
		w.processor = p.processors[stream%len(p.processors)]
	}
	w.updater = updater{worker: w}
	w.checker.counts = p.mix[mixRMW] > 0
	return w, nil
}

// makeKeys returns count keys with room for their bytes.
func makeKeys(count int) []tsavorite.Key {
	keys := make([]tsavorite.Key, count)
	slots := make([]byte, count*keyBytes)
	for i := range keys {
		keys[i].Bytes = slots[i*keyBytes : (i+1)*keyBytes : (i+1)*keyBytes]
	}
	return keys
}

// step is one operation to be carried out.
type step struct {
	number uint64
	place  uint8 // in the mix: what to do
}

// pin binds the goroutine to the worker's processor, if it has one.
func (w *worker) pin() {
	if w.processor >= 0 && w.failure == nil {
		w.failure = numa.Pin(w.processor)
	}
}

// run carries out chunks until stop is set, then waits for what is pending.
func (w *worker) run(stop *atomic.Bool) error {
	w.pin()
	for !stop.Load() && !w.hasFailed() {
		w.session.Enter()
		w.session.CompletePending(false)
		w.chunk()
		w.session.Leave()
		w.show()
	}
	w.session.Enter()
	w.session.CompletePending(true)
	w.session.Leave()
	w.show()
	w.hasFailed()
	return w.failure
}

// hasFailed reports whether an operation failed, and keeps the reason.
func (w *worker) hasFailed() bool {
	if w.failed && w.failure == nil {
		w.failure = fmt.Errorf("cannot read: %w", w.session.Err())
	}
	return w.failure != nil
}

// show publishes the worker's counters.
func (w *worker) show() {
	w.shown.reads.Store(w.tally.reads)
	w.shown.writes.Store(w.tally.writes)
	w.shown.deletes.Store(w.tally.deletes)
	w.shown.misses.Store(w.tally.misses)
}

// look returns the counters that the worker last published; any goroutine may call it.
func (w *worker) look() tally {
	return tally{w.shown.reads.Load(), w.shown.writes.Load(), w.shown.deletes.Load(), w.shown.misses.Load()}
}

// chunk carries out one batch of operations. Reads in batches come last in it.
func (w *worker) chunk() {
	for range w.plan.batch {
		place := w.roll()
		if w.plan.latest && place == mixUpsert {
			w.added++
			w.add(w.addedKey(w.added), place)
			continue
		}
		w.add(w.pick(), place)
	}
	w.flush()
}

// add takes an operation; it is carried out with others, at the latest by flush.
func (w *worker) add(number uint64, place uint8) {
	if place == mixRead && w.plan.mode == readBatch {
		binary.LittleEndian.PutUint64(w.reads[w.pending].Bytes, number)
		w.numbers[w.pending] = number
		w.pending++
		return
	}
	binary.LittleEndian.PutUint64(w.group[w.grouped].Bytes, number)
	w.steps[w.grouped] = step{number, place}
	w.grouped++
	if w.grouped == groupSize {
		w.carryOut()
	}
}

// flush carries out what add has taken.
func (w *worker) flush() {
	w.carryOut()
	if w.pending > 0 {
		w.session.ReadBatch(w.reads[:w.pending], w)
		w.pending = 0
	}
}

// carryOut carries out the group, one by one, after a look ahead at all of it.
func (w *worker) carryOut() {
	keys := w.group[:w.grouped]
	w.grouped = 0
	if w.plan.mode != readSingle {
		w.session.Prefetch(keys)
	}
	for i, key := range keys {
		number := w.steps[i].number
		switch w.steps[i].place {
		case mixRead:
			w.read(key, number)
		case mixUpsert:
			w.upsert(key, number)
			w.tally.writes++
		case mixRMW:
			w.rmw(key, number)
		case mixDelete:
			w.remove(key, number)
		}
	}
}

// read reads a key that is not part of a batch.
func (w *worker) read(key tsavorite.Key, number uint64) {
	if w.plan.mode == readAsync {
		w.session.ReadAsync(key, number, w)
	} else {
		w.session.Read(key, number, w)
	}
}

// Read receives the result of a read: it implements tsavorite.Reader. The token is the key's number,
// or its place in the batch.
func (w *worker) Read(token uint64, status tsavorite.Status, record tsavorite.Record) {
	switch status {
	case tsavorite.Found:
		w.tally.reads++
		if w.plan.checks {
			number := w.number(token)
			w.checker.check(number, record.Value, w.plan.sizes.Of(number))
			return
		}
		copy(w.received, record.Value)
	case tsavorite.NotFound:
		w.tally.reads++
		w.tally.misses++
	default:
		w.failed = true
	}
}

// number is the key that a token of a read stands for.
func (w *worker) number(token uint64) uint64 {
	if w.plan.mode == readBatch {
		return w.numbers[token]
	}
	return token
}

// upsert gives a key its value.
func (w *worker) upsert(key tsavorite.Key, number uint64) {
	value := w.value[:w.plan.sizes.Of(number)]
	workload.FillValue(value, number)
	switch status := w.session.Upsert(key, value, tsavorite.Metadata{}); status {
	case tsavorite.Found, tsavorite.Created, tsavorite.Blind:
	default:
		w.fail("upsert", number, status)
	}
}

// remove deletes a key and puts it back, so that the population stays constant.
func (w *worker) remove(key tsavorite.Key, number uint64) {
	switch status := w.session.Delete(key); status {
	case tsavorite.Deleted, tsavorite.NotFound, tsavorite.Blind:
		w.tally.deletes++
		w.upsert(key, number)
	default:
		w.fail("delete", number, status)
	}
}

// fail records that a verb on a key was refused.
func (w *worker) fail(verb string, number uint64, status tsavorite.Status) {
	if w.failure != nil {
		return
	}
	w.failure = fmt.Errorf("cannot %s key %d: %v", verb, number, status)
	if status == tsavorite.StatusError {
		w.failure = fmt.Errorf("cannot %s key %d: %w", verb, number, w.session.Err())
	}
}
