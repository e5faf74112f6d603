package worker

import (
	"sync"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/internal/eventfd"
	"github.com/pyropedb/pyrope/device/internal/list"
)

// Queue is a device.Queue whose requests go through a pool.
type Queue struct {
	pool     *Pool
	mover    Mover                          // the submitter's
	chunk    [chunkRequests]*device.Request // the submitter's
	inFlight int                            // the submitter's: submitted and not yet handed back
	closed   bool                           // the submitter's

	mutex   sync.Mutex
	ready   sync.Cond     // on mutex: done is not empty
	done    list.Requests // guarded by mutex
	eventFD int           // guarded by mutex; -1 until asked for
}

// NewQueue returns a queue of the pool, or ErrClosed.
func (p *Pool) NewQueue() (*Queue, error) {
	p.mutex.Lock()
	closed := p.closed
	p.mutex.Unlock()
	if closed {
		return nil, device.ErrClosed
	}
	q := &Queue{pool: p, mover: p.newMover(), eventFD: -1}
	q.ready.L = &q.mutex
	return q, nil
}

// complete takes finished requests, all of this queue.
func (q *Queue) complete(finished []*device.Request) {
	q.mutex.Lock()
	for _, r := range finished {
		q.done.Push(r)
	}
	if q.eventFD >= 0 {
		eventfd.Signal(q.eventFD)
	}
	q.mutex.Unlock()
	q.ready.Signal()
}

// Submit hands the batch to the pool and tries as many requests as the batch has, its own before any
// that others hand in meanwhile. Workers are woken for a batch that is worth the wake-up.
func (q *Queue) Submit(batch []*device.Request) {
	q.inFlight += len(batch)
	p := q.pool
	p.mutex.Lock()
	if p.closed || q.closed {
		p.mutex.Unlock()
		q.refuse(batch)
		return
	}
	writes := 0
	for _, r := range batch {
		r.Transferred, r.Err, r.Owner = 0, nil, q
		if r.Op == device.OpWrite {
			p.slow.Push(r)
			writes++
		} else {
			p.fresh.Push(r)
		}
	}
	reads := len(batch) - writes
	p.wakeLocked(writes + min(p.helpers, reads/(2*chunkRequests)))
	for reads > 0 {
		n := p.takeLocked(q.chunk[:min(reads, chunkRequests)])
		if n == 0 {
			break
		}
		p.mutex.Unlock()
		p.try(q.mover, q.chunk[:n])
		reads -= n
		p.mutex.Lock()
	}
	p.mutex.Unlock()
}

// refuse ends the requests of a closed pool or queue.
func (q *Queue) refuse(batch []*device.Request) {
	for _, r := range batch {
		r.Transferred, r.Owner = 0, q
		r.Err = device.Errorf(q.pool.kind, r, device.ErrClosed)
	}
	q.complete(batch)
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

// SubmitAndPoll does one after the other. Who waits for a single request carries it out itself: a worker would
// cost two wake-ups.
func (q *Queue) SubmitAndPoll(batch, done []*device.Request, wait bool) int {
	if wait && len(batch) == 1 && q.inFlight == 0 && q.carryOut(batch[0]) {
		done[0] = batch[0]
		return 1
	}
	q.Submit(batch)
	return q.Poll(done, wait)
}

// carryOut carries out a request, however long it takes, unless the pool is closed. Close waits for it.
func (q *Queue) carryOut(r *device.Request) bool {
	p := q.pool
	p.mutex.Lock()
	if p.closed || q.closed {
		p.mutex.Unlock()
		return false
	}
	p.trying++
	p.mutex.Unlock()
	r.Transferred, r.Err, r.Owner = 0, nil, q
	p.move(q.mover, r)
	p.mutex.Lock()
	p.trying--
	if p.closed {
		p.wakeLocked(p.idle)
	}
	p.mutex.Unlock()
	return true
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
	if q.closed {
		return nil
	}
	q.closed = true
	q.mover.Close()
	if q.eventFD >= 0 {
		eventfd.Close(q.eventFD)
		q.eventFD = -1
	}
	return nil
}
