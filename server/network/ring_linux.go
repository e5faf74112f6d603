package network

// The event loops over io_uring: receives and sends go through the kernel's ring, and one call a turn submits what the
// turn has left to be done and waits.

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pyropedb/pyrope/server/network/internal/uring"
)

// ringed is a loop's part of it. Whoever drives the loop owns it.
//
// A connection has at most one operation in the ring, its armed one: a receive, or, while it has output that its peer
// has not taken, a poll. It has none while it is served, parked, held or detached, so that nothing is read then (N4, N11), and
// who wants it back from the ring recalls it. Short replies are staged as sends, which the next call carries out at once,
// with the receive for the next request behind them.
type ringed struct {
	*uring.Ring
	completions []uring.Completion // reaped; those before next are acted upon
	next        int
	armed       int       // operations in the ring, other than sends and cancels
	sends       []sending // staged since the last call
	arrivals    arrivals
	spare       sync.Pool // of *[]byte: buffers that were replaced, and whose content has been served
}

// sending is a staged send. Its data lies in the output buffer of the runner that drives the loop, or in one of its own.
type sending struct {
	c    *Conn
	data []byte
}

// arrivals are connections that were attached and are yet to be armed.
type arrivals struct {
	pending atomic.Bool
	mu      sync.Mutex
	conns   []*Conn // guarded by mu
}

// What a mark begins with; in its lower half is a descriptor or an index.
const (
	markedConn = iota
	markedSend
	markedCancel
	markedWake
	markedParker
	markedListener
)

func ringMark(kind, which int) uint64 { return uint64(kind)<<32 | uint64(which) }

// Sizes of a loop's ring. A receive that finds no buffer is made up for by a call of its own.
const (
	ringEntries     = 512
	ringCompletions = 4096
	ringBuffers     = 128
	ringBufferBytes = 16 << 10
)

func newRinged() (*ringed, error) {
	ring, err := uring.Open(uring.Options{Entries: ringEntries, Completions: ringCompletions, Buffers: ringBuffers})
	if err != nil {
		return nil, fmt.Errorf("io_uring cannot be had, though epoll may: %w", err)
	}
	return &ringed{Ring: ring}, nil
}

// start makes the ring ready to be driven.
func (q *ringed) start(s *Server) {
	size := min(ringBufferBytes, s.options.ReadBufferBytes)
	q.Fill(size)
	q.spare.New = func() any {
		buffer := make([]byte, size)
		return &buffer
	}
}

// ringTurn waits for completions and acts upon them, and returns how many there were.
func (l *loop) ringTurn(r *runner, busy bool) (count int) {
	q := l.ring
	if q.next == len(q.completions) { // else the runner before has left some
		q.completions, q.next = q.completions[:0], 0
		l.ringWait(r, busy)
	}
	now := time.Now()
	for ; r.loop == l && q.next < len(q.completions); count++ { // what was handed off is another goroutine's
		e := q.completions[q.next]
		q.next++
		l.complete(r, e, now)
	}
	return count
}

// ringWait submits what is staged and waits until something has completed; see wait.
func (l *loop) ringWait(r *runner, busy bool) {
	if busy {
		l.enter()
		if len(l.ring.completions) == 0 {
			syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
			l.enter()
		}
	}
	if len(l.ring.completions) == 0 {
		l.ring.Wait(time.Duration(l.waitLimit()) * time.Millisecond)
		l.reap()
	}
	if len(r.deferred) == 0 {
		r.out = r.out[:0]
	}
}

// enter submits what is staged.
func (l *loop) enter() {
	l.ring.Submit()
	l.reap()
}

// reap takes what has completed off the ring. When it returns the staged sends are carried out.
func (l *loop) reap() {
	q := l.ring
	first := len(q.completions)
	q.completions = q.Reap(q.completions)
	for q.Staged() > 0 {
		q.Submit()
		q.completions = q.Reap(q.completions)
	}
	if len(q.sends) == 0 {
		return
	}
	sends := q.sends
	q.sends = nil
	for _, s := range sends {
		s.c.socket.sending = false
	}
	q.completions = append(q.completions[:first], slices.DeleteFunc(q.completions[first:], func(e uring.Completion) bool {
		if e.Mark>>32 != markedSend {
			return false
		}
		l.sentShort(&sends[uint32(e.Mark)], int(e.Result))
		return true
	})...)
	clear(sends)
	if q.sends == nil {
		q.sends = sends[:0]
	}
}

// sentShort goes on with a connection whose staged send has failed, or has not sent all.
func (l *loop) sentShort(s *sending, result int) {
	c := s.c
	if result < 0 && result != -int(syscall.EAGAIN) && result != -int(syscall.EINTR) {
		c.killed.Store(true)
	}
	rest := s.data[max(result, 0):]
	c.bytesOut.Store(c.bytesOut.Load() - uint64(len(rest)))
	c.Out = append(append(make([]byte, 0, len(rest)+c.unsentBytes()), rest...), c.Out[c.sent:]...)
	c.sent = 0
	c.outputBytes.Store(int64(len(c.Out)))
	c.noteHeld()
	if c.OutputHardBytes > 0 && len(c.Out) > c.OutputHardBytes {
		c.killed.Store(true)
	}
	if c.socket.armed {
		l.recall(c)
	}
}

// settleSends has a staged send of the connection carried out: what follows must not overtake it.
func (c *Conn) settleSends() {
	if c.socket.sending {
		c.socket.loop.Load().enter()
	}
}

// makeRoom sees to it that one more operation may be staged.
func (l *loop) makeRoom() {
	if l.ring.Room() == 0 {
		l.enter()
	}
}

// stageSends stages the replies that waited for the others of their turn.
func (l *loop) stageSends(r *runner) {
	q := l.ring
	for i, c := range r.deferred {
		r.deferred[i] = nil
		if c.Hold != 0 {
			if released, alive := r.release(c); !released {
				l.settle(r, c, alive)
				continue
			}
		}
		switch {
		case c.over() || c.killed.Load() || c.sent > 0 || c.socket.heir != nil:
			l.settle(r, c, c.flush(r))
		default:
			l.makeRoom()
			q.Send(c.socket.descriptor, c.Out, ringMark(markedSend, len(q.sends)))
			q.sends = append(q.sends, sending{c, c.Out})
			c.bytesOut.Store(c.bytesOut.Load() + uint64(len(c.Out)))
			c.Out, c.socket.sending = nil, true
			l.settle(r, c, true)
		}
	}
	r.deferred = r.deferred[:0]
}

// arm has the ring watch a connection that is at rest, or gives it to the loop it is meant for.
func (l *loop) arm(r *runner, c *Conn) {
	k := &c.socket
	switch {
	case k.armed && (k.heir != nil || k.interest != l.interest(c)):
		l.recall(c)
	case k.armed:
	case k.heir != nil:
		l.bequeath(r, c)
	default:
		if k.interest = l.interest(c); k.interest == watchNothing {
			if c.killed.Load() { // looked at after inputWaits was stored: else Kill wakes the loop
				l.drop(c)
			}
			return
		}
		k.armed = true
		l.makeRoom()
		l.ring.armed++
		if mark := ringMark(markedConn, k.descriptor); k.interest == syscall.EPOLLIN {
			l.ring.Receive(k.descriptor, mark)
		} else {
			l.ring.Poll(k.descriptor, k.interest, mark)
		}
	}
}

// recall has the armed operation of a connection complete soon.
func (l *loop) recall(c *Conn) {
	if !c.socket.recalled {
		c.socket.recalled = true
		l.makeRoom()
		l.ring.Cancel(ringMark(markedConn, c.socket.descriptor), ringMark(markedCancel, 0))
	}
}

// arrive queues a connection that is now the loop's. r is whose goroutine it is on.
func (l *loop) arrive(r *runner, c *Conn) {
	a := &l.ring.arrivals
	a.mu.Lock()
	a.conns = append(a.conns, c)
	first := len(a.conns) == 1
	a.pending.Store(true)
	a.mu.Unlock()
	if first && r.loop != l {
		l.rouse()
	}
}

// armArrivals arms the connections that were attached since the last turn, and listeners and the like.
func (l *loop) armArrivals(r *runner) {
	for i, listener := range l.listeners {
		if !listener.armed && !listener.paused.Load() {
			listener.armed = true
			l.pollFor(listener.descriptor, ringMark(markedListener, i))
		}
	}
	a := &l.ring.arrivals
	if !a.pending.Load() {
		return
	}
	a.mu.Lock()
	conns := a.conns
	a.conns = nil
	a.pending.Store(false)
	a.mu.Unlock()
	for _, c := range conns {
		if l.owns(c) && l.server.table.load(c.socket.descriptor) == c { // else it was met by other means and has gone
			l.settle(r, c, true)
		}
	}
}

// pollFor waits for input at a descriptor that is no connection's.
func (l *loop) pollFor(descriptor int, mark uint64) {
	l.makeRoom()
	l.ring.armed++
	l.ring.Poll(descriptor, syscall.EPOLLIN, mark)
}

// drainCounter empties the counter of an eventfd, which would stay readable.
func drainCounter(descriptor int) {
	var count [8]byte
	_, _ = syscall.Read(descriptor, count[:])
}

// complete acts upon one completion.
func (l *loop) complete(r *runner, e uring.Completion, now time.Time) {
	kind, which := int(e.Mark>>32), int(uint32(e.Mark))
	if kind != markedCancel {
		l.ring.armed--
	}
	switch kind {
	case markedConn:
		c := l.server.table.load(which)
		c.socket.armed, c.socket.recalled = false, false
		l.resume(r, c, e, now)
	case markedWake:
		drainCounter(l.wake)
		l.pollFor(l.wake, e.Mark)
	case markedParker:
		drainCounter(l.parking.parker.EventFD())
		l.pollFor(l.parking.parker.EventFD(), e.Mark)
		l.parking.due = true
	case markedListener:
		l.listeners[which].armed = false
		l.accept(r, l.listeners[which])
	}
}

// resume goes on with a connection whose operation has completed.
func (l *loop) resume(r *runner, c *Conn, e uring.Completion, now time.Time) {
	result := int(e.Result)
	if _, number, used := l.ring.Buffer(e); used && (result <= 0 || c.killed.Load()) {
		l.ring.Recycle(number)
	}
	switch polled := c.socket.interest != syscall.EPOLLIN; {
	case c.killed.Load():
		l.drop(c)
	case result == -int(syscall.ECANCELED):
		l.settle(r, c, true)
	case polled && result > 0 && (c.socket.interest&syscall.EPOLLIN == 0 || result&syscall.EPOLLOUT != 0):
		l.drain(r, c, result&syscall.EPOLLHUP != 0)
	case polled && result > 0, result == -int(syscall.ENOBUFS), result == -int(syscall.EAGAIN), result == -int(syscall.EINTR):
		l.receive(r, c, now)
	case result < 0:
		l.drop(c)
	case result == 0:
		c.endOfInput = true
		l.settle(r, c, true)
	default:
		l.received(r, c, e, now)
	}
}

// received serves what the ring has read for a connection as one batch: in place, unless it belongs behind what came before
// or there may be more.
func (l *loop) received(r *runner, c *Conn, e uring.Completion, now time.Time) {
	buffer, number, _ := l.ring.Buffer(e)
	input, own := buffer[:e.Result], false
	c.bytesIn.Store(c.bytesIn.Load() + uint64(len(input)))
	c.touch(now)
	r.conn = c
	if len(c.input) == 0 && len(input) < len(buffer) {
		r.lent, r.borrows = number, true
	} else {
		input, own = l.join(r, c, input, len(input) == len(buffer))
		l.ring.Recycle(number)
		buffer = nil
		if !own {
			r.used = len(input)
		}
	}
	rest, alive := r.turn(c, input)
	alive = alive && r.keep(c, rest, own)
	l.takeBack(r, number, buffer)
	l.conclude(r, c, alive)
}

// join puts what was read behind what the connection has already, and reads what more there is when there may be some.
func (l *loop) join(r *runner, c *Conn, data []byte, more bool) (input []byte, own bool) {
	buffer, filled, own := r.window(c)
	if len(buffer)-filled < len(data) {
		c.input = append(append(r.inputBuffer(len(c.input)+len(data)), c.input...), data...)
		return c.input, true
	}
	filled += copy(buffer[filled:], data)
	if more && filled < len(buffer) {
		n, _ := c.socket.read(buffer[filled:]) // an end or a failure is met again by the next receive
		c.bytesIn.Store(c.bytesIn.Load() + uint64(n))
		filled += n
	}
	return buffer[:filled], own
}

// takeBack lends a buffer again whose content has been served: to the ring, or if that has got another one for it
// meanwhile, the next time that happens.
func (l *loop) takeBack(r *runner, number uint16, buffer []byte) {
	switch {
	case r.borrows:
		r.borrows = false
		l.ring.Recycle(number)
	case buffer != nil:
		spare := buffer
		l.ring.spare.Put(&spare)
	}
}

// leaveRing does what a hand-over has to do for the ring: replies that wait for others' need not wait longer, and the
// buffer that the input being served lies in stays with the runner.
func (r *runner) leaveRing(l *loop) {
	l.enter()
	r.out = r.out[:0]
	if r.borrows {
		r.borrows = false
		l.ring.Replace(r.lent, *l.ring.spare.Get().(*[]byte))
	}
}

// quiesce ends all operations of the ring: the server closes. What they have read meanwhile is served.
func (l *loop) quiesce(r *runner) {
	q := l.ring
	l.enter()
	r.out = r.out[:0]
	q.CancelAll(ringMark(markedCancel, 0))
	for now := time.Now(); q.armed > 0; {
		for ; q.next < len(q.completions); q.next++ {
			e := q.completions[q.next]
			if kind := e.Mark >> 32; kind != markedConn {
				if kind != markedCancel {
					q.armed--
				}
				continue
			}
			q.armed--
			c := l.server.table.load(int(uint32(e.Mark)))
			c.socket.armed, c.socket.recalled = false, false
			if e.Result > 0 && c.socket.interest == syscall.EPOLLIN {
				l.received(r, c, e, now)
			}
		}
		if q.completions, q.next = q.completions[:0], 0; q.armed > 0 {
			q.Wait(-1)
			l.reap()
		}
	}
}
