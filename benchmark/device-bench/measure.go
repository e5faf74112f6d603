package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

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
	runtime.GC()
	before := takeUsage()
	for _, w := range workers {
		group.Go(func() { w.run(&stop) })
	}
	b.awaitEnd(before.at)
	stop.Store(true)
	group.Wait()
	after := takeUsage()

	total := tally{codes: map[int]uint64{}}
	for _, w := range workers {
		total.add(&w.tally)
		err = errors.Join(err, w.close())
	}
	b.printResult(&total, before, after)
	switch {
	case b.interrupted.Load():
		return errors.Join(err, errInterrupted)
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

// awaitEnd sleeps until --runtime is over or the user interrupts.
func (b *bench) awaitEnd(start time.Time) {
	end := start.Add(time.Duration(b.options.Runtime * float64(time.Second)))
	for left := time.Until(end); left > 0 && !b.interrupted.Load(); left = time.Until(end) {
		time.Sleep(min(left, 100*time.Millisecond))
	}
}

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

func (b *bench) printResult(t *tally, before, after usage) {
	seconds := after.at.Sub(before.at).Seconds()
	fmt.Fprintf(b.output, "Benchmark finished: %d ok, %d err, %d submitted in %.2f s, throughput: %.2f ops/sec\n",
		t.ok, t.failed, t.submitted, seconds, float64(t.ok)/seconds)
	if t.failed > 0 {
		codes := make([]int, 0, len(t.codes))
		for code := range t.codes {
			codes = append(codes, code)
		}
		slices.Sort(codes)
		fmt.Fprint(b.output, "  error breakdown:")
		for _, code := range codes {
			fmt.Fprintf(b.output, " code%d=%d", code, t.codes[code])
		}
		fmt.Fprintf(b.output, "\n  first error: %v\n", t.firstError)
	}
	reads := float64(max(t.ok+t.failed, 1))
	user, system := after.user-before.user, after.system-before.system
	fmt.Fprintf(b.output, "  CPU a read: %.3f us (user %.3f, system %.3f); allocations a read: %.3f\n",
		micros(user+system)/reads, micros(user)/reads, micros(system)/reads, float64(after.allocations-before.allocations)/reads)
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// usage is what the process had used at a moment.
type usage struct {
	at           time.Time
	user, system time.Duration
	allocations  uint64
}

func takeUsage() usage {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	u := usage{at: time.Now(), allocations: memory.Mallocs}
	u.user, u.system = processTimes()
	return u
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
	for i := range requests {
		requests[i].Buffer = buffers[i]
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
	codeShort = -1
	codeOther = -2
)

// codeOf is the system's error number behind err, or one of ours.
func codeOf(err error) int {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return int(errno)
	case errors.Is(err, errShort):
		return codeShort
	}
	return codeOther
}
