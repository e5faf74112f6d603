package main

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pyropedb/pyrope/benchmark/program"
	"github.com/pyropedb/pyrope/benchmark/usage"
	"github.com/pyropedb/pyrope/benchmark/workload"
	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
)

// seed of the addresses; each thread has a stream of its own.
const seed = 211

// tally is what one thread counted. Threads keep their own and write it once, at the end.
type tally struct {
	ok, failed, submitted uint64
	codes                 map[int]uint64
	firstError            error
}

// measure runs one configuration and prints its result.
func (b *bench) measure(threads, batchSize int) error {
	fmt.Fprintf(b.output, "Starting benchmark with %d threads and batch size %d\n", threads, batchSize)
	workers, err := b.newWorkers(threads, batchSize)
	if err != nil {
		return err
	}
	var stop atomic.Bool
	var group sync.WaitGroup
	clock := program.NewClock()
	defer clock.Close()
	runtime.GC()
	before, began := usage.Now(), time.Now()
	for _, w := range workers {
		group.Go(func() { w.run(&stop) })
	}
	clock.Pass(time.Duration(b.options.Runtime*float64(time.Second)), nil, func(time.Time) bool { return b.interrupted.Load() })
	stop.Store(true)
	group.Wait()
	elapsed, used := time.Since(began), usage.Now().Since(before)

	total := tally{codes: map[int]uint64{}}
	for _, w := range workers {
		total.add(&w.tally)
		err = errors.Join(err, w.close())
	}
	r := b.newRow(threads, batchSize, &total, elapsed, used)
	b.rows = append(b.rows, r)
	b.printResult(&r, &total)
	switch {
	case b.interrupted.Load():
		return errors.Join(err, program.ErrInterrupted)
	case total.firstError != nil && b.options.Verify:
		return errors.Join(err, fmt.Errorf("a read failed: %w", total.firstError))
	}
	return err
}

// newWorkers makes the threads' queues and buffers.
func (b *bench) newWorkers(threads, batchSize int) ([]*worker, error) {
	var workers []*worker
	for i := range threads {
		w, err := newWorker(b, i, batchSize)
		if err != nil {
			for _, w := range workers {
				err = errors.Join(err, w.close())
			}
			return nil, err
		}
		workers = append(workers, w)
	}
	return workers, nil
}

// add takes what another thread counted.
func (t *tally) add(other *tally) {
	t.ok += other.ok
	t.failed += other.failed
	t.submitted += other.submitted
	for code, n := range other.codes {
		t.codes[code] += n
	}
	if t.firstError == nil {
		t.firstError = other.firstError
	}
}

// worker is one thread's loop and what it needs.
type worker struct {
	bench    *bench
	queue    device.Queue
	area     []byte
	requests []*device.Request // to submit next
	done     []*device.Request
	random   workload.Random
	sectors  uint64
	tally    tally
}

func newWorker(b *bench, number, batchSize int) (*worker, error) {
	q, err := b.device.NewQueue()
	if err != nil {
		return nil, err
	}
	sectorSize := int(b.options.SectorSize)
	buffers, area, err := aligned.Buffers(batchSize, sectorSize, min(sectorSize, aligned.PageBytes()))
	if err != nil {
		return nil, errors.Join(err, q.Close())
	}
	w := &worker{
		bench: b, queue: q, area: area, random: workload.NewRandom(seed, uint64(number)),
		requests: make([]*device.Request, batchSize), done: make([]*device.Request, batchSize),
		sectors: uint64(b.options.FileSize / b.options.SectorSize), tally: tally{codes: map[int]uint64{}},
	}
	requests := make([]device.Request, batchSize)
	registered := uint32(0)
	if registrar, can := q.(device.Registrar); can {
		registered = registrar.Register(area)
	}
	for i := range requests {
		requests[i].Buffer, requests[i].Registered = buffers[i], registered
		w.requests[i] = &requests[i]
	}
	return w, nil
}

func (w *worker) close() error { return errors.Join(w.queue.Close(), aligned.Unmap(w.area)) }

// run is the measured loop: what came back goes down again with the call that waits for the next.
func (w *worker) run(stop *atomic.Bool) {
	sectorSize := uint64(w.bench.options.SectorSize)
	batch := w.requests
	for !stop.Load() {
		for _, r := range batch {
			r.Address = w.random.Below(w.sectors) * sectorSize
		}
		w.tally.submitted += uint64(len(batch))
		n := w.queue.SubmitAndPoll(batch, w.done, true)
		w.count(w.done[:n])
		batch = append(w.requests[:0], w.done[:n]...)
	}
	for w.queue.InFlight() > 0 {
		w.count(w.done[:w.queue.Poll(w.done, true)])
	}
}

// count tallies what came back.
func (w *worker) count(done []*device.Request) {
	for _, r := range done {
		err := w.bench.checkTransfer(r)
		if err == nil {
			w.tally.ok++
			continue
		}
		w.tally.failed++
		w.tally.codes[codeOf(err)]++
		if w.tally.firstError == nil {
			w.tally.firstError = err
		}
	}
}

// The codes of failures that have no error number.
const (
	codeShort = -1 // fewer bytes came than were asked for
	codeOther = -2
	codeWrong = -3 // --verify found a wrong byte
)

// codeOf is the system's error number behind err, or one of ours.
func codeOf(err error) int {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return int(errno)
	case errors.Is(err, errShort):
		return codeShort
	case errors.Is(err, program.ErrMismatch):
		return codeWrong
	}
	return codeOther
}
