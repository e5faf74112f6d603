package network

// The event loops: who waits, who owns a connection, and how a loop changes hands.

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// loopsSupported tells whether the platform has event loops.
const loopsSupported = true

// loop is one epoll set and the connections watched by it. One goroutine at a time drives it.
// Watching is level triggered: an event that is not acted upon comes again, to whoever waits next.
type loop struct {
	server      *Server
	epoll       int     // descriptor of the epoll set; -1 if there is a ring
	ring        *ringed // instead of an epoll set, or nil
	wake        int     // descriptor of the eventfd that ends a wait
	listeners   []*loopListener
	connections atomic.Int32 // attached or detached; what new connections are spread by
	started     bool         // guarded by the server's mu
	gift        atomic.Pointer[gift]
	pushed      pushQueue
	parking     parking
	held        held
	buffer      []byte // what the runner before has left of its read buffer
}

// owns tells the loop's goroutine whether a connection is its own (N1). Only that goroutine takes the
// name of its loop off a connection, and whoever writes it there detaches the connection before: hence the order.
func (l *loop) owns(c *Conn) bool { return c.socket.loop.Load() == l && !c.detached.Load() }

// rouse ends the loop's wait. Any goroutine.
func (l *loop) rouse() {
	// It fails only when the counter is full, and then the loop is awake.
	_, _ = syscall.Write(l.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

// Marks in the Pad field of an event. Those of connections are the low 31 bits of their ID, so
// that an event for a descriptor's former user is not taken for its present one's.
const (
	markWake          = -1
	markParker        = -2
	markFirstListener = -3 // and downward
)

func connMark(c *Conn) int32 { return int32(c.ID & (1<<31 - 1)) }

// startLoops opens the loops, gives the listeners to the first and starts them.
func (s *Server) startLoops() error {
	count := s.options.Loops
	if count == 0 {
		count = runtime.GOMAXPROCS(0)
	}
	for range count {
		l, err := newLoop(s)
		if err != nil {
			return fmt.Errorf("cannot open an event loop: %w", err)
		}
		s.loops = append(s.loops, l)
	}
	for i, listener := range s.listeners {
		if err := s.loops[0].listen(listener, markFirstListener-i); err != nil {
			return fmt.Errorf("cannot watch %s: %w", s.addresses[i], err)
		}
	}
	if s.options.Loops > 0 || count == 1 {
		s.setActive(count)
		return nil
	}
	s.setActive(1)
	s.stopBalance = make(chan struct{})
	s.goroutines.Add(1)
	go s.balance(s.stopBalance)
	return nil
}

// startLoopLocked gives a loop its goroutine, if it has none yet.
func (s *Server) startLoopLocked(l *loop) {
	if !l.started {
		l.started = true
		if l.ring != nil {
			l.ring.start(l.server)
		}
		l.openParker()
		s.goroutines.Add(1)
		go l.run(nil)
	}
}

func newLoop(s *Server) (*loop, error) {
	wake, _, errno := syscall.Syscall(syscall.SYS_EVENTFD2, 0, syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if errno != 0 {
		return nil, errno
	}
	l := &loop{server: s, epoll: -1, wake: int(wake)}
	var err error
	if s.options.Rings {
		l.ring, err = newRinged()
	} else {
		l.epoll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	}
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	if l.ring != nil {
		l.pollFor(l.wake, ringMark(markedWake, 0))
		return l, nil
	}
	if err := l.watch(syscall.EPOLL_CTL_ADD, l.wake, syscall.EPOLLIN, markWake); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// watch changes what the epoll set watches of a descriptor.
func (l *loop) watch(operation, descriptor int, events uint32, mark int32) error {
	event := syscall.EpollEvent{Events: events, Fd: int32(descriptor), Pad: mark}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_CTL, uintptr(l.epoll), uintptr(operation),
		uintptr(descriptor), uintptr(unsafe.Pointer(&event)), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// stopLoops ends the loops, waits for all goroutines of the server and closes the descriptors.
func (s *Server) stopLoops() error {
	if s.stopBalance != nil {
		close(s.stopBalance)
	}
	for _, l := range s.loops {
		l.rouse()
	}
	s.goroutines.Wait()
	var problems []error
	for _, l := range s.loops {
		problems = append(problems, l.close())
	}
	return errors.Join(problems...)
}

func (l *loop) close() error {
	if l.parking.parker != nil {
		l.parking.parker.Close()
	}
	problems := []error{syscall.Close(l.wake)}
	if l.epoll >= 0 {
		problems = append(problems, syscall.Close(l.epoll))
	}
	if l.ring != nil {
		problems = append(problems, l.ring.Close())
	}
	for _, listener := range l.listeners {
		problems = append(problems, syscall.Close(listener.descriptor))
	}
	return errors.Join(problems...)
}

// maxEvents is how many ready connections one wait returns.
const maxEvents = 256

// run drives the loop until the server closes or the runner hands the loop off; then it ends as
// the goroutine of one connection. A loop has a thread to itself, so that waking it takes one
// switch, from the kernel, and not a second one, between goroutines.
func (l *loop) run(r *runner) {
	defer l.server.goroutines.Done()
	runtime.LockOSThread()
	if r == nil {
		r = l.server.takeRunner()
	}
	r.loop = l
	r.takeBuffer(l)
	count := 0
	var events [maxEvents]syscall.EpollEvent
	l.parking.due = l.parking.count > 0 // the runner before may have left some, and its last events
	l.endTurn(r)
	for r.loop == l && !l.server.closing.Load() {
		if l.gift.Load() != nil {
			l.carryOut(r, l.gift.Swap(nil))
		}
		if l.ring != nil {
			count = l.ringTurn(r, count > 1)
		} else {
			count = l.turn(r, &events, count > 1)
		}
		if r.loop == l {
			l.endTurn(r)
		}
	}
	if r.loop == l {
		l.finish(r)
	}
	l.server.putRunner(r)
}

// turn waits for events and acts upon them, and returns how many there were.
func (l *loop) turn(r *runner, events *[maxEvents]syscall.EpollEvent, busy bool) (count int) {
	count = l.wait(events, busy)
	now := time.Now()
	for i := 0; i < count && r.loop == l; i++ {
		l.event(r, &events[i], now)
	}
	return count
}

// wait returns what is ready, and waits if nothing is. A busy loop, one that found several
// connections ready the last time, looks without telling Go's scheduler of the call, and before it
// sleeps it lets the other threads of the core run once and looks again: where clients share the
// core, they fill the next batch meanwhile, which then costs one wake-up instead of many (measured:
// half the processor time an operation with two loops on two shared cores).
func (l *loop) wait(events *[maxEvents]syscall.EpollEvent, busy bool) int {
	if busy {
		count := l.look(events)
		if count == 0 {
			syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
			count = l.look(events)
		}
		if count > 0 {
			return count
		}
	}
	for {
		count, _, errno := syscall.Syscall6(syscall.SYS_EPOLL_PWAIT, uintptr(l.epoll),
			uintptr(unsafe.Pointer(events)), maxEvents, uintptr(l.waitLimit()), 0, 0)
		if errno == 0 {
			return int(count)
		}
		if errno != syscall.EINTR {
			panic("BUG: the epoll set of a loop is gone: " + errno.Error())
		}
	}
}

// look returns what is ready now.
func (l *loop) look(events *[maxEvents]syscall.EpollEvent) int {
	count, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(l.epoll),
		uintptr(unsafe.Pointer(events)), maxEvents, 0, 0, 0)
	if errno != 0 {
		return 0 // wait meets it again
	}
	return int(count)
}

// event acts upon one ready descriptor.
func (l *loop) event(r *runner, e *syscall.EpollEvent, now time.Time) {
	switch {
	case e.Pad >= 0:
		c := l.server.table.load(int(e.Fd))
		if c == nil || connMark(c) != e.Pad || !l.owns(c) {
			return // an event from before it closed, or went away
		}
		if c.awaits != 0 {
			l.ignore(c)
			return
		}
		if c.killed.Load() {
			l.drop(c)
			return
		}
		if c.socket.interest == watchNothing {
			return // its end is met when it is read
		}
		if c.socket.interest&syscall.EPOLLIN == 0 || e.Events&syscall.EPOLLOUT != 0 {
			l.drain(r, c, e.Events&syscall.EPOLLHUP != 0) // input is reported again
			return
		}
		l.receive(r, c, now)
	case e.Pad == markWake:
		var count [8]byte
		_, _ = syscall.Read(l.wake, count[:]) // empty when another wake was read with it
	case e.Pad == markParker:
		l.parking.due = true
	default:
		l.accept(r, l.listeners[markFirstListener-e.Pad])
	}
}

// receive reads what the socket has delivered and serves it as one batch.
func (l *loop) receive(r *runner, c *Conn, now time.Time) {
	buffer, filled, own := r.window(c)
	n, errno := c.socket.read(buffer[filled:])
	switch {
	case errno == syscall.EAGAIN || errno == syscall.EINTR:
		l.settle(r, c, true)
		return
	case errno != 0:
		l.drop(c)
		return
	case n == 0:
		c.endOfInput = true
		l.settle(r, c, true)
		return
	}
	c.bytesIn.Store(c.bytesIn.Load() + uint64(n))
	c.touch(now)
	r.conn = c
	if !own {
		r.used = filled + n
	}
	rest, alive := r.turn(c, buffer[:filled+n])
	l.conclude(r, c, alive && r.keep(c, rest, own))
}

// drain sends more of what the peer had no room for, and once it may, serves what it had to leave.
func (l *loop) drain(r *runner, c *Conn, hungUp bool) {
	if !c.flush(r) || hungUp && c.unsentBytes() > 0 {
		l.drop(c)
		return
	}
	r.conn = c
	rest, alive := r.turn(c, c.input)
	l.conclude(r, c, alive && r.keep(c, rest, true))
}

// conclude ends a batch: at once, or together with others once its replies are sent.
func (l *loop) conclude(r *runner, c *Conn, alive bool) {
	r.conn, r.used = nil, 0
	if last := len(r.deferred) - 1; last >= 0 && r.deferred[last] == c {
		if alive {
			return
		}
		r.deferred = r.deferred[:last]
	}
	l.settle(r, c, alive)
}

// sendDeferred sends the replies that waited for the others of their turn.
func (l *loop) sendDeferred(r *runner) {
	if l.ring != nil {
		l.stageSends(r)
		return
	}
	for i, c := range r.deferred {
		r.deferred[i] = nil
		l.settle(r, c, c.flush(r))
	}
	r.deferred = r.deferred[:0]
	r.out = r.out[:0]
}

// settle decides how a connection goes on after a batch, in the loop or handed off.
func (l *loop) settle(r *runner, c *Conn, alive bool) {
	switch {
	case c.awaits != 0:
		if !alive {
			c.killed.Store(true) // it ends when what it waits for is over (N11, N13)
		}
	case !alive || c.killed.Load() || c.over() && c.unsentBytes() == 0:
		l.drop(c)
	case r.loop == nil:
		l.attach(r, c)
	case l.ring != nil:
		l.arm(r, c)
	default:
		interest := l.interest(c)
		if interest == c.socket.interest {
			return
		}
		if c.socket.heir != nil && r.conn == nil { // not within a Serve: the server may close, and the connection end in attach
			l.bequeath(r, c)
			return
		}
		c.socket.interest = interest
		if err := l.watch(syscall.EPOLL_CTL_MOD, c.socket.descriptor, interest, connMark(c)); err != nil {
			l.drop(c)
		}
	}
}

// interest is what to watch a connection for: input, unless too much output is unsent (N7) or there is no room for its request (N12), and
// room for output when any is.
func (l *loop) interest(c *Conn) uint32 {
	var events uint32
	if c.over() || c.unsentBytes() >= l.server.options.OutputSoftBytes {
		c.endAdmission()
	} else if c.mayRead() {
		events |= syscall.EPOLLIN
	}
	if c.unsentBytes() > 0 {
		events |= syscall.EPOLLOUT
	}
	if events == 0 {
		return watchNothing
	}
	return events
}

// watchNothing is the interest in a connection that is not to be met. The end of its stream is reported whatever is watched: so at most once.
const watchNothing = edgeTriggered

// attach puts a connection the caller owns into the epoll set, and with that into the hands of the
// loop's goroutine; when the server closes, it ends the connection instead.
func (l *loop) attach(r *runner, c *Conn) {
	if l.ring == nil {
		c.socket.heir = nil
	}
	c.socket.interest = l.interest(c)
	events, mark := c.socket.interest, connMark(c)
	l.server.mu.Lock()
	if !l.server.closing.Load() {
		c.detached.Store(false)
		// From here on the connection belongs to the loop, unless it cannot be watched. The loop may have met it while it was
		// detached: for a push, or because there is room for its request.
		unread := events&syscall.EPOLLIN == 0
		if l.ring != nil {
			l.arrive(r, c)
			l.server.mu.Unlock()
			if unread || c.pushedBytes.Load() > 0 {
				l.requestPush(c)
			}
			return
		}
		if err := l.watch(syscall.EPOLL_CTL_ADD, c.socket.descriptor, events, mark); err == nil {
			l.server.mu.Unlock()
			if unread || c.pushedBytes.Load() > 0 {
				l.requestPush(c)
			}
			return
		}
		c.detached.Store(true)
	}
	l.server.mu.Unlock()
	l.finishConn(r, c, l.server.grace())
}

// drop closes a connection, or if it is armed has it closed once it is not.
func (l *loop) drop(c *Conn) {
	if c.socket.armed {
		c.killed.Store(true)
		l.recall(c)
		return
	}
	c.settleSends()
	l.server.table.store(c.socket.descriptor, nil)
	l.connections.Add(-1)
	l.server.closeConn(c)
}

// handOff is what a worker calls before it waits (N5).
func (r *runner) handOff() {
	l, c := r.loop, r.conn
	if l == nil || c == nil {
		return
	}
	l.sendDeferred(r) // theirs need not wait
	if l.ring != nil {
		r.leaveRing(l)
	}
	runtime.UnlockOSThread()
	r.loop, c.parker = nil, nil
	r.leaveBuffer(l)
	l.detach(c)
	l.server.goroutines.Add(1)
	go l.run(nil)
	if l.ring != nil {
		runtime.Gosched() // to let it have this thread, on which the ring's receives are done
	}
}

// takeBuffer gives a runner that begins to drive a loop something to read into.
func (r *runner) takeBuffer(l *loop) {
	switch {
	case l.buffer != nil:
		r.in, l.buffer = l.buffer, nil
	case r.in == nil:
		r.in = make([]byte, l.server.options.ReadBufferBytes)
	}
}

// leaveBuffer leaves to the loop what the input being served does not fill of the read buffer, if that is much: a
// request that waits for long then holds little more than its own bytes.
func (r *runner) leaveBuffer(l *loop) {
	if rest := r.in[r.used:]; len(rest) >= r.server.options.ReadBufferBytes/2 {
		r.in, l.buffer = r.in[:r.used:r.used], rest
	}
}

// detach takes a connection out of the hands of the loop (N4): attach gives it back, to this or another one.
func (l *loop) detach(c *Conn) {
	c.detached.Store(true)
	if l.ring != nil {
		return // it is not armed
	}
	if err := l.watch(syscall.EPOLL_CTL_DEL, c.socket.descriptor, 0, 0); err != nil {
		panic("BUG: a connection was not watched by its loop: " + err.Error())
	}
}

// owned lists the loop's connections, for its goroutine. Those that are being attached are left out: they are the
// loop's when attach gives the server's mu up.
func (l *loop) owned() (conns []*Conn) {
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	l.server.table.each(func(c *Conn) {
		if l.owns(c) {
			conns = append(conns, c)
		}
	})
	return conns
}

// finish ends the connections that are attached to the loop when the server closes.
func (l *loop) finish(r *runner) {
	runtime.UnlockOSThread()
	r.loop = nil // Serve may wait as it likes now
	l.finishParked(r)
	l.finishHeld(r)
	if l.ring != nil {
		l.quiesce(r)
	}
	deadline := l.server.grace()
	// Whoever attaches a connection has seen closing, or was done before this.
	for _, c := range l.owned() {
		deadline = l.finishConn(r, c, deadline)
	}
}

// finishConn serves what was read and sends what the peer takes until the deadline, then closes.
// As long as the peer takes something the deadline moves, but not beyond closeBy; it returns where
// that is at the end.
func (l *loop) finishConn(r *runner, c *Conn, deadline time.Time) time.Time {
	c.endOfInput = true
	driven := r.loop
	r.loop = nil // Serve may wait as it likes, and no reply is deferred
	defer func() { r.loop = driven }()
	for c.unsentBytes() > 0 && !c.killed.Load() && time.Now().Before(l.server.closeBy) &&
		waitWritable(c.socket.descriptor, time.Until(deadline)) {
		if !c.flush(r) {
			break
		}
		deadline = l.server.grace()
		rest, alive := r.turn(c, c.input)
		if !alive || !r.keep(c, rest, true) {
			break
		}
	}
	l.drop(c)
	return deadline
}

// waitWritable waits for a socket to take output, not longer than timeout.
func waitWritable(descriptor int, timeout time.Duration) bool {
	type pollDescriptor struct {
		descriptor      int32
		events, arrived int16
	}
	const pollOut = 4
	entry := pollDescriptor{descriptor: int32(descriptor), events: pollOut}
	limit := syscall.NsecToTimespec(int64(max(timeout, 0)))
	count, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&entry)), 1,
		uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	runtime.KeepAlive(&limit)
	return errno == 0 && count == 1 || errno == syscall.EINTR
}
