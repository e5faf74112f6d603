// Package worker runs requests on a few goroutines, for devices whose calls block (file) or copy
// (localmemory):
//
//	queue --Submit--> | waiting, one list a pool | --> worker --> done list of the request's queue --Poll-->
//
// One lock guards the waiting list, one lock each queue's done list; neither is held during a call.
package worker

import (
	"sync"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/internal/eventfd"
	"github.com/pyropedb/pyrope/device/internal/list"
)

// Execute carries one request out on the worker of that number, from 0: it returns the bytes moved
// and what went wrong.
type Execute func(worker int, r *device.Request) (int, error)

// Pool is a set of workers.
type Pool struct {
	kind            string
	sectorSizeBytes int
	execute         Execute

	mutex   sync.Mutex
	ready   sync.Cond     // on mutex: a request waits, or the pool is closed
	waiting list.Requests // guarded by mutex
	closed  bool          // guarded by mutex
	workers sync.WaitGroup
}

// NewPool starts count workers. kind and sectorSizeBytes are the device's.
func NewPool(kind string, sectorSizeBytes, count int, execute Execute) *Pool {
	p := &Pool{kind: kind, sectorSizeBytes: sectorSizeBytes, execute: execute}
	p.ready.L = &p.mutex
	p.workers.Add(count)
	for i := range count {
		go p.work(i)
	}
	return p
}

// Close refuses later requests, waits for those in the pool and stops the workers.
func (p *Pool) Close() {
	p.mutex.Lock()
	p.closed = true
	p.mutex.Unlock()
	p.ready.Broadcast()
	p.workers.Wait()
}

func (p *Pool) work(worker int) {
	defer p.workers.Done()
	for {
		p.mutex.Lock()
		for p.waiting.Len() == 0 && !p.closed {
			p.ready.Wait()
		}
		r := p.waiting.Pop()
		p.mutex.Unlock()
		if r == nil {
			return
		}
		p.carryOut(worker, r)
		r.Owner.(*Queue).complete(r)
	}
}

func (p *Pool) carryOut(worker int, r *device.Request) {
	err := device.CheckAlignment(r, p.sectorSizeBytes)
	if err == nil {
		r.Transferred, err = p.execute(worker, r)
	}
	if err != nil {
		r.Err = device.Errorf(p.kind, r, err)
	}
}

// NewQueue returns a queue of the pool, or ErrClosed.
func (p *Pool) NewQueue() (*Queue, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.closed {
		return nil, device.ErrClosed
	}
	q := &Queue{pool: p, inFlight: 0}
	q.ready.L = &q.mutex
	q.eventFD = -1
	return q, nil
}

// Queue is a device.Queue whose requests go through a pool.
type Queue struct {
	pool     *Pool
	inFlight int  // the submitter's: submitted and not yet handed back
	closed   bool // the submitter's

	mutex   sync.Mutex
	ready   sync.Cond     // on mutex: done is not empty
	done    list.Requests // guarded by mutex
	eventFD int           // guarded by mutex; -1 until asked for
}

// complete takes a finished request from a worker.
func (q *Queue) complete(r *device.Request) {
	q.mutex.Lock()
	q.done.Push(r)
	if q.eventFD >= 0 {
		eventfd.Signal(q.eventFD)
	}
	q.mutex.Unlock()
	q.ready.Signal()
}

// Submit hands the batch to the workers.
func (q *Queue) Submit(batch []*device.Request) {
	q.inFlight += len(batch)
	p := q.pool
	p.mutex.Lock()
	refused := p.closed || q.closed
	for _, r := range batch {
		r.Transferred, r.Err, r.Owner = 0, nil, q
		if !refused {
			p.waiting.Push(r)
		}
	}
	p.mutex.Unlock()
	for _, r := range batch {
		if refused {
			r.Err = device.Errorf(p.kind, r, device.ErrClosed)
			q.complete(r)
		} else {
			p.ready.Signal()
		}
	}
}

// Poll hands back finished requests.
func (q *Queue) Poll(done []*device.Request, wait bool) int {
	q.mutex.Lock()
	for wait && q.done.Len() == 0 && q.inFlight > 0 {
		q.ready.Wait()
	}
	n := q.done.PopInto(done)
	q.mutex.Unlock()
	q.inFlight -= n
	return n
}

// SubmitAndPoll does one after the other.
func (q *Queue) SubmitAndPoll(batch, done []*device.Request, wait bool) int {
	q.Submit(batch)
	return q.Poll(done, wait)
}

// InFlight counts what Poll has not handed back.
func (q *Queue) InFlight() int { return q.inFlight }

// EventFD makes the descriptor at the first call.
func (q *Queue) EventFD() int {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.eventFD < 0 && !q.closed {
		q.eventFD = eventfd.New()
	}
	return q.eventFD
}

// Close waits for what is in flight.
func (q *Queue) Close() error {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for q.done.Len() < q.inFlight {
		q.ready.Wait()
	}
	q.closed = true
	if q.eventFD >= 0 {
		eventfd.Close(q.eventFD)
		q.eventFD = -1
	}
	return nil
}
