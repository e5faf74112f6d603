package main

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/pyropedb/pyrope/benchmark/program"
	"github.com/pyropedb/pyrope/benchmark/report"
)

const (
	onlineTick   = 2 * time.Second
	summaryTicks = 30 // the percentiles of a line go back this many lines at most
)

// onlineClient is a way to carry a worker's operations to the server.
type onlineClient interface {
	// work carries out operations until stop is set or one fails.
	work(w *onlineWorker) error
	close()
}

// onlineWorker is one thread of an online run.
type onlineWorker struct {
	mix      *mix
	inFlight int
	pacer    pacer
	recorder *recorder
	stop     *atomic.Bool
	err      error
}

// online is an online run under way.
type online struct {
	bench   *bench
	workers []*onlineWorker
	stop    atomic.Bool
	summary *hdrhistogram.Histogram   // of the last lines
	whole   *hdrhistogram.Histogram   // of the run
	clients []*hdrhistogram.Histogram // of each worker, with --client-hist
	ticks   int
	total   uint64
	misses  uint64
	history []string // the lines so far
}

// runOnline runs the mix and prints a line every two seconds.
func (b *bench) runOnline() error {
	count := b.options.Threads[0]
	mixes, err := newMixes(&b.options, b.keys, count)
	if err != nil {
		return err
	}
	client, err := b.newOnlineClient()
	if err != nil {
		return err
	}
	run := &online{bench: b, summary: newHistogram(), whole: newHistogram()}
	var group sync.WaitGroup
	began := time.Now()
	for i := range count {
		w := &onlineWorker{mix: mixes[i], inFlight: b.options.InFlight, recorder: newRecorder(), stop: &run.stop}
		w.pacer = newPacer(b.options.Rate, run.opsPerSample(), count, i, began)
		run.workers = append(run.workers, w)
		run.clients = append(run.clients, newHistogram())
		group.Go(func() {
			if w.err = client.work(w); w.err != nil {
				run.stop.Store(true)
			}
		})
	}
	b.printf("\n%s\n", onlineHeader(b.options.Txn))
	run.tickUntilOver(began)
	run.stop.Store(true)
	client.close()
	group.Wait()
	run.report(time.Since(began))
	var failures []error
	for _, w := range run.workers {
		failures = append(failures, w.err)
	}
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("cannot run the workload: %w", err)
	}
	return nil
}

// newOnlineClient connects as the options say.
func (b *bench) newOnlineClient() (onlineClient, error) {
	switch count := b.options.Threads[0]; b.options.Client {
	case sessionType:
		return newSessions(b, count)
	case goRedisType:
		return newGoRedis(b, count), nil
	default:
		return newLinkClient(b, count)
	}
}

// tickUntilOver prints lines until the runtime has passed, a worker has failed or the user
// interrupts. The last line is of what is left.
func (r *online) tickUntilOver(began time.Time) {
	clock := program.NewClock()
	defer clock.Close()
	limit := time.Duration(r.bench.options.Runtime) * time.Second
	if limit == 0 {
		limit = -1
	}
	last := began
	clock.Pass(limit, nil, func(now time.Time) bool {
		if now.Sub(last) >= onlineTick {
			r.tick(now.Sub(last))
			last = now
		}
		return r.stop.Load() || r.bench.interrupted.Load()
	})
	r.tick(time.Since(last))
}

// tick gathers what the workers recorded and prints a line.
func (r *online) tick(elapsed time.Duration) {
	if r.ticks%summaryTicks == 0 {
		r.summary.Reset()
	}
	r.ticks++
	ops := r.gather()
	if ops > 0 {
		line := onlineLine(r.bench.options.Txn, r.summary, r.total, ops, elapsed)
		r.history = append(r.history, line)
		if r.bench.options.LoggerLevel.Slog() <= slog.LevelInfo {
			r.bench.printf("%s\n", line)
		}
	}
}

// gather adds up what the workers recorded since the last time, and returns their operations.
func (r *online) gather() (ops uint64) {
	for i, w := range r.workers {
		h, n, misses := w.recorder.take()
		r.summary.Merge(h)
		r.whole.Merge(h)
		r.clients[i].Merge(h)
		ops += n
		r.misses += misses
	}
	r.total += ops
	return ops
}

// report writes the figures of the whole run.
func (r *online) report(elapsed time.Duration) {
	b := r.bench
	r.gather() // what came in after the last line
	if b.options.ClientHist {
		for i, h := range r.clients {
			ops := uint64(h.TotalCount()) * uint64(r.opsPerSample())
			b.printf("\nClient %d\n%s\n%s\n", i, onlineHeader(b.options.Txn), onlineLine(b.options.Txn, h, ops, ops, elapsed))
		}
	}
	b.printf("\nOperation type: %s\nNum threads: %d\n", b.options.workloadNames(), len(r.workers))
	b.printTotals(elapsed, r.total)
	if b.options.Txn {
		b.printf("Total time: %sms for %d ops\nThroughput: %s ops/sec\n<<< History >>>\n%s\n",
			rounded(float64(elapsed.Microseconds())/1000), r.total, rounded(perSecond(r.total, elapsed)), onlineHeader(true))
		for _, line := range r.history {
			b.printf("%s\n", line)
		}
	}
	if r.misses > 0 {
		b.printf("[Misses]: %s replies were nil; online runs load nothing\n", report.N0(r.misses))
	}
	result := b.newRow()
	result.Operation, result.Percent = b.options.workloadNames(), joinNumbers(b.options.Percent)
	result.Threads, result.BatchSize = len(r.workers), 1
	result.Elapsed, result.Operations, result.OpsPerSecond, result.Misses = elapsed.Seconds(), r.total, perSecond(r.total, elapsed), r.misses
	p := percentiles(r.whole)
	result.Min, result.P5, result.Median, result.Average = p[0], p[1], p[2], p[3]
	result.P95, result.P99, result.P999, result.Max = p[4], p[5], p[6], float64(r.whole.Max())
	b.rows = append(b.rows, result)
}

// opsPerSample is how many operations a latency stands for: clients that send --itp operations
// together time them together, a session times each.
func (r *online) opsPerSample() int {
	if r.bench.options.Client == sessionType {
		return 1
	}
	return r.bench.options.InFlight
}
