package ring

import (
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/internal/eventfd"
	"github.com/pyropedb/pyrope/device/internal/list"
	"github.com/pyropedb/pyrope/device/internal/segment"
)

const (
	// maxPieceBytes bounds one operation; the kernel moves a little less than 2 GiB at once.
	maxPieceBytes = 1 << 30
	// busyPause is how long a leader stays away from a kernel that takes nothing.
	busyPause = 100 * time.Microsecond
	reapBatch = 128
	// patientDepth is how many requests a queue needs in flight to wait for more than one completion.
	patientDepth = 8
)

// What a request's Scratch words mean while it is in flight.
const (
	scratchOutstanding = iota // pieces in the kernel
	scratchNext               // first byte not yet staged
	scratchGood               // bytes before it have not come short or failed
)

// slot is a piece of a request, lying in one segment file, while the kernel has it.
type slot struct {
	request *device.Request
	file    *segment.File // a reference is held
	start   int           // of the piece within the request's buffer; moves up when part of it is done
	end     int
}

// ring is one kernel ring with the queues bound to it. All fields are guarded by mutex.
type ring struct {
	kind            string
	sectorSizeBytes int
	files           *segment.Files

	mutex    sync.Mutex
	kernel   Kernel
	slots    []slot
	free     []uint32      // slots not in use, a stack
	waiting  list.Requests // not yet staged, or the first of them in part
	leading  bool          // somebody waits in the kernel, or drainers do for good
	drained  bool          // drainers lead
	closed   bool
	queues   int
	waiters  []*Queue  // followers, oldest first
	idle     sync.Cond // a closing ring made progress
	work     sync.Cond // drainers: something is in flight, or closed
	eventFD  int       // -1 until a queue asks for it
	announce bool      // a completion went to a queue that does not look by itself
	added    uint64    // requests that were submitted, ever
	finished uint64    // requests that came back, ever
	reaped   [reapBatch]Completion
}

func newRing(kind string, sectorSizeBytes int, files *segment.Files, kernel Kernel, limit int) *ring {
	r := &ring{kind: kind, sectorSizeBytes: sectorSizeBytes, files: files, kernel: kernel, eventFD: -1}
	r.idle.L, r.work.L = &r.mutex, &r.mutex
	r.slots, r.free = make([]slot, limit), make([]uint32, limit)
	for i := range r.free {
		r.free[i] = uint32(limit - 1 - i)
	}
	return r
}

func (r *ring) inFlightLocked() int { return len(r.slots) - len(r.free) }

// leastLocked is the number of completions that q should wait for: half of its requests, if there are
// several and the ring has no others.
func (r *ring) leastLocked(q *Queue) int {
	alone := uint64(q.inFlight-q.done.Len()) == r.added-r.finished
	if q.inFlight < patientDepth || !alone {
		return 1
	}
	return max(1, min(q.inFlight, len(r.slots))/2)
}

// addLocked takes a batch of q's and stages what the cap allows. flushLocked must follow.
func (r *ring) addLocked(q *Queue, batch []*device.Request) {
	r.added += uint64(len(batch))
	for _, request := range batch {
		request.Transferred, request.Err, request.Owner = 0, nil, q
		request.Scratch = [4]uint64{scratchGood: uint64(len(request.Buffer))}
		err := device.CheckAlignment(request, r.sectorSizeBytes)
		if r.closed || q.closed {
			err = device.ErrClosed
		}
		if err != nil {
			r.failLocked(request, 0, err)
			r.finishLocked(nil, request)
			continue
		}
		r.waiting.Push(request)
	}
	r.startLocked(nil)
}

// startLocked stages waiting requests in order while there are slots.
func (r *ring) startLocked(self *Queue) {
	for {
		request := r.waiting.First()
		if request == nil || !r.stageLocked(request) {
			return
		}
		r.waiting.Pop()
		if request.Scratch[scratchOutstanding] == 0 {
			r.finishLocked(self, request)
		}
	}
}

// stageLocked stages the pieces of a request that are not staged yet, segment by segment (D3). It
// returns false when slots ran out before the end. A piece that cannot be staged ends the request:
// what lies behind it would not count (D4).
func (r *ring) stageLocked(request *device.Request) bool {
	next := int(request.Scratch[scratchNext])
	for next < len(request.Buffer) {
		if len(r.free) == 0 {
			return false
		}
		address := request.Address + uint64(next)
		_, fit := r.files.Split(address, min(len(request.Buffer)-next, maxPieceBytes))
		file, err := r.files.Acquire(address, request.Op)
		if err != nil {
			r.failLocked(request, next, err)
		}
		if file == nil {
			request.Scratch[scratchGood] = min(request.Scratch[scratchGood], uint64(next))
			break
		}
		index := r.free[len(r.free)-1]
		r.free = r.free[:len(r.free)-1]
		r.slots[index] = slot{request: request, file: file, start: next, end: next + fit}
		request.Scratch[scratchOutstanding]++
		r.stageSlotLocked(index)
		next += fit
		request.Scratch[scratchNext] = uint64(next)
	}
	request.Scratch[scratchNext] = uint64(len(request.Buffer))
	return true
}

func (r *ring) stageSlotLocked(index uint32) {
	s := &r.slots[index]
	offset, _ := r.files.Split(s.request.Address+uint64(s.start), 0)
	r.kernel.Stage(Operation{
		Slot: index, Op: s.request.Op, Descriptor: s.file.Descriptor(), Offset: offset,
		Memory: s.request.Buffer[s.start:s.end], Registered: s.request.Registered,
	})
}

// failLocked notes the first failure of a request, at byte position of its buffer.
func (r *ring) failLocked(request *device.Request, position int, cause error) {
	if request.Err == nil {
		request.Err = device.Errorf(r.kind, request, cause)
	}
	request.Scratch[scratchGood] = min(request.Scratch[scratchGood], uint64(position))
}

// reapLocked takes the completions that are there, and starts what waited for their slots. self is
// the queue whose goroutine does it, if any.
func (r *ring) reapLocked(self *Queue) {
	for {
		n := r.kernel.Reap(r.reaped[:])
		for _, c := range r.reaped[:n] {
			r.completeLocked(self, c)
		}
		if n > 0 {
			r.startLocked(self)
		}
		if n < len(r.reaped) {
			return
		}
	}
}

// completeLocked ends a piece, or stages the rest of it when the kernel moved only a part. A read
// is at the end of the file when it moves nothing, or less than whole sectors.
func (r *ring) completeLocked(self *Queue, c Completion) {
	s := &r.slots[c.Slot]
	request := s.request
	moved := max(0, int(c.Result))
	wasPart := moved > 0 && moved < s.end-s.start && moved&(r.sectorSizeBytes-1) == 0
	if wasPart || isTransient(c.Result) {
		s.start += moved
		r.stageSlotLocked(c.Slot)
		return
	}
	switch {
	case c.Result < 0:
		r.failLocked(request, s.start, syscall.Errno(-c.Result))
	case s.start+moved < s.end && request.Op == device.OpWrite:
		r.failLocked(request, s.start+moved, io.ErrShortWrite)
	case s.start+moved < s.end:
		request.Scratch[scratchGood] = min(request.Scratch[scratchGood], uint64(s.start+moved))
	}
	if request.Op == device.OpWrite {
		s.file.MarkDirty()
	}
	s.file.Release()
	*s = slot{}
	r.free = append(r.free, c.Slot)
	request.Scratch[scratchOutstanding]--
	if request.Scratch[scratchOutstanding] == 0 && request.Scratch[scratchNext] == uint64(len(request.Buffer)) {
		r.finishLocked(self, request)
	}
}

// isTransient says that an operation failed for no fault of its own. io_uring cancels what a thread
// had submitted when the thread ends.
func isTransient(result int64) bool {
	switch syscall.Errno(-result) {
	case syscall.EAGAIN, syscall.EINTR, syscall.ECANCELED:
		return true
	}
	return false
}

// finishLocked puts a request into its queue's done list and wakes who waits for it.
func (r *ring) finishLocked(self *Queue, request *device.Request) {
	request.Transferred = int(request.Scratch[scratchGood])
	q := request.Owner.(*Queue)
	q.done.Push(request)
	r.finished++
	if q == self {
		return
	}
	r.announce = true
	if q.following {
		q.following = false
		q.ready.Signal()
	}
}

// submitLocked passes on what is staged. What the kernel refuses is complete.
func (r *ring) submitLocked(waitFollows bool) error {
	for {
		err := r.kernel.Submit(waitFollows)
		refused := r.kernel.Refused()
		for _, c := range refused {
			r.completeLocked(nil, c)
		}
		if len(refused) == 0 || err != nil {
			return err
		}
		r.startLocked(nil)
	}
}

// flushLocked submits what is staged, and tells whoever must know what happened under the lock. It
// comes before the lock is given up.
func (r *ring) flushLocked() {
	busy := r.kernel != nil && r.submitLocked(false) != nil
	if r.eventFD >= 0 && (r.announce || busy) {
		eventfd.Signal(r.eventFD)
	}
	r.announce = false
	if !r.leading && len(r.waiters) > 0 && r.waiters[0].following {
		r.waiters[0].following = false
		r.waiters[0].ready.Signal()
	}
	if r.drained && r.inFlightLocked() > 0 {
		r.work.Signal()
	}
	if r.closed {
		r.idle.Broadcast()
	}
}

// leadLocked waits in the kernel for least completions, without the lock, and reaps. It returns at
// once when a request came back because the kernel refused it.
func (r *ring) leadLocked(self *Queue, least int) {
	finished := r.finished
	err := r.submitLocked(true)
	if r.announce {
		r.flushLocked()
	}
	if r.finished != finished {
		return
	}
	r.leading = true
	r.mutex.Unlock()
	if err == nil {
		err = r.kernel.Wait(least)
	}
	switch err {
	case nil:
	case ErrBusy:
		time.Sleep(busyPause)
	default:
		panic(fmt.Sprintf("BUG: %s ring with %d slots: cannot wait: %v", r.kind, len(r.slots), err))
	}
	r.mutex.Lock()
	r.leading = r.drained
	r.reapLocked(self)
}

// drain is a drainer's life: it leads whenever something is in flight.
func (r *ring) drain() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for {
		for r.inFlightLocked() == 0 && !r.closed {
			r.work.Wait()
		}
		if r.inFlightLocked() == 0 {
			return
		}
		r.leadLocked(nil, 1)
		r.flushLocked()
	}
}

// close refuses later requests and waits for those in flight.
func (r *ring) close() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.closed = true
	for r.inFlightLocked() > 0 {
		if r.leading {
			r.idle.Wait()
			continue
		}
		r.leadLocked(nil, 1)
		r.flushLocked()
	}
	r.work.Broadcast()
}

// release gives the kernel's ring back; nobody waits in it any more.
func (r *ring) release() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.kernel == nil {
		return nil
	}
	if r.eventFD >= 0 {
		eventfd.Close(r.eventFD)
		r.eventFD = -1
	}
	err := r.kernel.Close()
	r.kernel = nil
	return err
}
