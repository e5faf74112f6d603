package main

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/pyropedb/pyrope/benchmark/workload"
)

// Latencies are kept in microseconds, with the bounds of redis-benchmark, so that percentiles fall on
// the same values.
const (
	lowestLatency  = 10
	highestLatency = 3_000_000
)

// measuring is the run of one test.
type measuring struct {
	options *options
	setup   template
	issued  atomic.Int64 // requests taken from the budget
	stop    atomic.Bool  // an interrupt, or a lane has failed

	sequence *atomic.Uint64 // the next number of --sequential; nil without
	lanes    []*lane
}

// lane is some of the connections of a run and what they measured.
type lane struct {
	run         *measuring
	connections []*connection
	received    []byte // scratch for what arrives

	guard     sync.Mutex // of histogram; contended only where connections have goroutines of their own
	histogram *hdrhistogram.Histogram

	finished atomic.Int64 // requests; read for progress
	sum      atomic.Int64 // of their latencies in microseconds
	_        [128]byte    // lanes share no cache line
}

// newMeasuring connects the clients of a test, in as many lanes as there are threads.
func newMeasuring(o *options, t *test, stream uint64) (*measuring, error) {
	m := &measuring{options: o, setup: o.setup(), lanes: make([]*lane, max(1, min(o.Threads, o.Clients)))}
	for i := range m.lanes {
		m.lanes[i] = &lane{
			run: m, received: make([]byte, receiveBytes),
			histogram: hdrhistogram.New(lowestLatency, highestLatency, min(o.Digits, 3)),
		}
	}
	if o.Sequential {
		m.sequence = new(atomic.Uint64)
	}
	batch := t.request.repeat(int(o.Pipeline))
	for i := range o.Clients {
		l := m.lanes[i%len(m.lanes)]
		c := &connection{lane: l, batch: batch.own(), random: workload.NewRandom(o.Seed, stream<<20+uint64(i)), fresh: true}
		if err := c.connect(o); err != nil {
			m.close()
			return nil, err
		}
		l.connections = append(l.connections, c)
	}
	return m, nil
}

// close ends all connections.
func (m *measuring) close() {
	for _, l := range m.lanes {
		for _, c := range l.connections {
			c.disconnect()
		}
	}
}

// drive runs every lane to its end; the first failure ends the others.
func (m *measuring) drive() error {
	var group sync.WaitGroup
	failures := make([]error, len(m.lanes))
	for i, l := range m.lanes {
		group.Go(func() {
			if failures[i] = l.drive(); failures[i] != nil {
				m.stop.Store(true)
			}
		})
	}
	group.Wait()
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}

// record notes the latency of a batch of requests.
func (l *lane) record(latency time.Duration, requests int) {
	micros := min(latency.Microseconds(), highestLatency)
	l.guard.Lock()
	_ = l.histogram.RecordValues(micros, int64(requests)) // never out of range
	l.guard.Unlock()
	l.finished.Add(int64(requests))
	l.sum.Add(micros * int64(requests))
}

// totals adds up how many requests are finished and their latencies in microseconds.
func (m *measuring) totals() (finished, sum int64) {
	for _, l := range m.lanes {
		finished += l.finished.Load()
		sum += l.sum.Load()
	}
	return finished, sum
}

// latencies merges what the lanes measured; they must be over.
func (m *measuring) latencies() *hdrhistogram.Histogram {
	for _, l := range m.lanes[1:] {
		m.lanes[0].histogram.Merge(l.histogram)
	}
	return m.lanes[0].histogram
}
