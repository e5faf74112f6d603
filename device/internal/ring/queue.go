package ring

import (
	"runtime"
	"slices"
	"sync"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/internal/eventfd"
	"github.com/pyropedb/pyrope/device/internal/list"
)

// leadsPerYield is how often a queue waits in the kernel before it passes through the scheduler. A
// goroutine that only comes back from system calls looks as if it had run all the time: from 10 ms on,
// the runtime's monitor takes its processor away in every call, and polls each 20 µs to do so, for a
// tenth of all CPU. A yield shows otherwise. It comes where the device has work and no lock is held.
const leadsPerYield = 4

// Queue is a device.Queue bound to a ring.
type Queue struct {
	ring     *ring
	inFlight int // the submitter's: submitted and not yet handed back
	leads    int // the submitter's: waits in the kernel since the last yield

	ready     sync.Cond     // on the ring's mutex: following was cleared
	done      list.Requests // guarded by the ring's mutex
	following bool          // guarded by the ring's mutex: waits for a completion or for the lead
	closed    bool          // guarded by the ring's mutex

	registered []uint32 // what Register returned, guarded by the ring's mutex
}

// Register implements device.Registrar.
func (q *Queue) Register(memory []byte) uint32 {
	r := q.ring
	r.mutex.Lock()
	defer r.mutex.Unlock()
	registrar, can := r.kernel.(Registrar)
	if !can || r.closed || q.closed {
		return 0
	}
	number := registrar.Register(memory)
	if number > 0 {
		q.registered = append(q.registered, number)
	}
	return number
}

// unregisterLocked takes back what Register did. A ring that is gone has forgotten it.
func (q *Queue) unregisterLocked() {
	if registrar, can := q.ring.kernel.(Registrar); can {
		for _, number := range q.registered {
			registrar.Unregister(number)
		}
	}
	q.registered = nil
}

// Submit stages the batch and passes it to the kernel.
func (q *Queue) Submit(batch []*device.Request) {
	q.inFlight += len(batch)
	r := q.ring
	r.mutex.Lock()
	r.addLocked(q, batch)
	r.flushLocked()
	r.mutex.Unlock()
}

// Poll hands back completed requests, reaping for all queues of the ring.
func (q *Queue) Poll(done []*device.Request, wait bool) int {
	if q.inFlight == 0 {
		return 0
	}
	q.ring.mutex.Lock()
	return q.pollAndUnlock(done, wait)
}

// SubmitAndPoll submits and waits in one system call if the kernel's ring can.
func (q *Queue) SubmitAndPoll(batch, done []*device.Request, wait bool) int {
	q.inFlight += len(batch)
	if q.inFlight == 0 {
		return 0
	}
	q.ring.mutex.Lock()
	q.ring.addLocked(q, batch)
	return q.pollAndUnlock(done, wait)
}

func (q *Queue) pollAndUnlock(done []*device.Request, wait bool) int {
	r := q.ring
	if q.done.Len() == 0 && !r.leading {
		r.reapLocked(q)
	}
	if wait {
		least := min(r.leastLocked(q), len(done))
		for q.done.Len() < least {
			q.awaitLocked(least - q.done.Len())
			least = 1
		}
	}
	n := q.done.PopInto(done)
	q.inFlight -= n
	r.flushLocked()
	r.mutex.Unlock()
	if q.leads >= leadsPerYield {
		q.leads = 0
		runtime.Gosched()
	}
	return n
}

// awaitLocked leads once, waiting for least completions, or follows until there is a completion or
// the lead to be had.
func (q *Queue) awaitLocked(least int) {
	r := q.ring
	if !r.leading {
		q.leads++
		r.leadLocked(q, least)
		return
	}
	q.following = true
	r.waiters = append(r.waiters, q)
	r.flushLocked()
	for q.following {
		q.ready.Wait()
	}
	i := slices.Index(r.waiters, q)
	r.waiters = slices.Delete(r.waiters, i, i+1)
}

// InFlight counts what Poll has not handed back.
func (q *Queue) InFlight() int { return q.inFlight }

// EventFD is the ring's descriptor, made at the first call.
func (q *Queue) EventFD() int {
	r := q.ring
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.eventFD >= 0 || r.closed {
		return r.eventFD
	}
	fd := eventfd.New()
	if fd >= 0 && r.kernel.Announce(fd) != nil {
		eventfd.Close(fd)
		fd = -1
	}
	r.eventFD = fd
	return fd
}

// Close waits for what is in flight and leaves the ring.
func (q *Queue) Close() error {
	r := q.ring
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for q.done.Len() < q.inFlight {
		q.awaitLocked(1)
	}
	r.flushLocked()
	if !q.closed {
		q.unregisterLocked()
		q.closed = true
		r.queues--
	}
	return nil
}
