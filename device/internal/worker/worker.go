// Package worker carries requests out for devices whose calls block (file) or copy (localmemory). A
// submitter tries its reads itself, which is all that most of them need; what would block goes to a few goroutines:
//
//	queue --Submit--> | fresh | --Try, by the submitter and awake workers--> done list of the request's queue --Poll-->
//	                      \--would block--> | slow | --Move, by a worker each--> /
//
// One lock guards fresh and slow, one lock each queue's done list; neither is held during a call.
// Writes go to slow at once: a page cache that is full makes them wait for the disk.
//
//	W1  A request is in fresh, in slow, in one goroutine's hands, or in its queue's done list, and gets there once (D1).
//	W2  A submitter waits for no device: it tries, and what would wait goes to a worker. The exception is one that
//	    submits a single request and waits for it, with nothing else in flight.
//	W3  No worker ends before the pool is closed, both lists are empty and nobody is trying what may yet go to slow.
package worker

import (
	"runtime"
	"sync"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/internal/list"
)

// Mover carries requests out for one goroutine at a time: each worker has one, and each queue.
type Mover interface {
	// Try carries a read out if that waits for nobody, and says whether it did.
	Try(r *device.Request) (moved int, done bool, err error)
	// Move carries a request out, however long it takes: the bytes moved and what went wrong.
	Move(r *device.Request) (int, error)
	// Close frees the mover.
	Close()
}

// chunkRequests is how many fresh requests are taken at once, so that locks are paid once a chunk.
const chunkRequests = 16

// Pool is a set of workers.
type Pool struct {
	kind            string
	sectorSizeBytes int
	newMover        func() Mover
	helpers         int // workers that a submitter wakes at most to try with it

	mutex   sync.Mutex
	ready   sync.Cond     // on mutex: something waits, or the pool is closed
	fresh   list.Requests // nobody has tried; guarded by mutex
	slow    list.Requests // need Move; guarded by mutex
	idle    int           // workers that wait for ready; guarded by mutex
	trying  int           // goroutines with a chunk that may yet fill slow; guarded by mutex
	closed  bool          // guarded by mutex
	workers sync.WaitGroup
}

// NewPool starts count workers. kind and sectorSizeBytes are the device's.
func NewPool(kind string, sectorSizeBytes, count int, newMover func() Mover) *Pool {
	p := &Pool{kind: kind, sectorSizeBytes: sectorSizeBytes, newMover: newMover, helpers: min(count, runtime.GOMAXPROCS(0)-1)}
	p.ready.L = &p.mutex
	for range count {
		p.workers.Go(p.work)
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

// work is a worker's life: slow requests one by one, else a chunk of fresh ones.
func (p *Pool) work() {
	mover := p.newMover()
	defer mover.Close()
	var chunk [chunkRequests]*device.Request
	for {
		p.mutex.Lock()
		for p.slow.Len()+p.fresh.Len() == 0 && !(p.closed && p.trying == 0) {
			p.idle++
			p.ready.Wait()
			p.idle--
		}
		n := 0
		if chunk[0] = p.slow.Pop(); chunk[0] == nil {
			n = p.takeLocked(chunk[:])
		}
		p.mutex.Unlock()
		switch {
		case n > 0:
			p.try(mover, chunk[:n])
		case chunk[0] != nil:
			p.move(mover, chunk[0])
			chunk[0].Owner.(*Queue).complete(chunk[:1])
		default:
			return
		}
	}
}

// takeLocked takes fresh requests, which try must follow.
func (p *Pool) takeLocked(chunk []*device.Request) int {
	n := 0
	for n < len(chunk) && p.fresh.Len() > 0 {
		chunk[n] = p.fresh.Pop()
		n++
	}
	if n > 0 {
		p.trying++
	}
	return n
}

// try carries out what can be without waiting, and leaves the rest to the workers.
func (p *Pool) try(mover Mover, chunk []*device.Request) {
	var slow list.Requests
	kept := 0
	for _, r := range chunk {
		if p.tried(mover, r) {
			chunk[kept] = r
			kept++
		} else {
			slow.Push(r)
		}
	}
	for done := chunk[:kept]; len(done) > 0; {
		n := 1
		for n < len(done) && done[n].Owner == done[0].Owner {
			n++
		}
		done[0].Owner.(*Queue).complete(done[:n])
		done = done[n:]
	}
	p.mutex.Lock()
	p.trying--
	wake := slow.Len()
	for r := slow.Pop(); r != nil; r = slow.Pop() {
		p.slow.Push(r)
	}
	if p.closed {
		wake = p.idle
	}
	p.wakeLocked(wake)
	p.mutex.Unlock()
}

// wakeLocked wakes so many of the workers that are idle.
func (p *Pool) wakeLocked(count int) {
	for range min(count, p.idle) {
		p.ready.Signal()
	}
}

// tried says whether r is over.
func (p *Pool) tried(mover Mover, r *device.Request) (done bool) {
	err := device.CheckAlignment(r, p.sectorSizeBytes)
	if done = err != nil; !done {
		r.Transferred, done, err = mover.Try(r)
	}
	if err != nil {
		r.Err = device.Errorf(p.kind, r, err)
	}
	return done
}

func (p *Pool) move(mover Mover, r *device.Request) {
	err := device.CheckAlignment(r, p.sectorSizeBytes)
	if err == nil {
		r.Transferred, err = mover.Move(r)
	}
	if err != nil {
		r.Err = device.Errorf(p.kind, r, err)
	}
}
