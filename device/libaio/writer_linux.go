package libaio

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/device/internal/eventfd"
	"github.com/pyropedb/pyrope/device/internal/ring"
	"golang.org/x/sys/unix"
)

const (
	// retryPause is how long the writer waits when the kernel takes nothing.
	retryPause = 100 * time.Microsecond
	// lookAgain bounds a wait in the kernel while the writer has blocks: what the kernel refuses it
	// never arrives as an event.
	lookAgain = 20 * time.Millisecond
)

// writer submits the writes of a context on a goroutine of its own. To io_submit a write that makes
// a file longer is to wait for the disk (file systems finish it before they return), which neither
// the submitter nor the others at the ring's lock should.
type writer struct {
	context *context

	mutex   sync.Mutex
	ready   sync.Cond         // on mutex: there are blocks, or closed
	blocks  []uint64          // addresses of control blocks, guarded by mutex
	late    []ring.Completion // writes that the kernel refused, guarded by mutex
	closed  bool              // guarded by mutex
	stopped sync.WaitGroup

	outstanding atomic.Int64 // blocks pushed and not yet submitted; lowered after lateCount is raised
	lateCount   atomic.Int64 // length of late
}

func newWriter(c *context, depth int) *writer {
	w := &writer{context: c, blocks: make([]uint64, 0, depth)}
	w.ready.L = &w.mutex
	w.stopped.Go(func() { w.run(make([]uint64, 0, depth)) })
	return w
}

// push hands over a control block.
func (w *writer) push(block uint64) {
	w.outstanding.Add(1)
	w.context.writes.Add(1)
	w.mutex.Lock()
	w.blocks = append(w.blocks, block)
	w.mutex.Unlock()
	w.ready.Signal()
}

// run submits blocks until close; taken and the list of blocks change places each time.
func (w *writer) run(taken []uint64) {
	for {
		w.mutex.Lock()
		for len(w.blocks) == 0 && !w.closed {
			w.ready.Wait()
		}
		taken, w.blocks = w.blocks, taken[:0]
		w.mutex.Unlock()
		if len(taken) == 0 {
			return
		}
		for _, block := range taken {
			w.submit(block)
			w.context.writes.Add(-1)
			w.outstanding.Add(-1)
		}
	}
}

// submit blocks until the kernel has taken the write, or notes that it refused it.
func (w *writer) submit(block uint64) {
	for {
		errno := ioSubmitOne(w.context.handle, block)
		switch errno {
		case 0:
			return
		case unix.EINTR:
		case unix.EAGAIN, unix.ENOMEM:
			time.Sleep(retryPause)
		default:
			w.mutex.Lock()
			w.late = append(w.late, ring.Completion{Slot: w.context.slotOf(block), Result: -int64(errno)})
			w.mutex.Unlock()
			w.lateCount.Add(1)
			if fd := w.context.eventFD.Load(); fd >= 0 {
				eventfd.Signal(int(fd))
			}
			return
		}
	}
}

// reap hands out refused writes.
func (w *writer) reap(completions []ring.Completion) int {
	if w.lateCount.Load() == 0 {
		return 0
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	n := copy(completions, w.late)
	w.late = append(w.late[:0], w.late[n:]...)
	w.lateCount.Add(-int64(n))
	return n
}

// close ends the goroutine; it has nothing left to do.
func (w *writer) close() {
	w.mutex.Lock()
	w.closed = true
	w.mutex.Unlock()
	w.ready.Signal()
	w.stopped.Wait()
}
