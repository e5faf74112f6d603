package network

// A runner serves batches: what loops and streams have in common.

// runner is what one executing goroutine has: a worker and the buffers that the connections it
// serves need only for the moment. A loop's goroutine has one and takes it along when it hands the
// loop off (N2, N3); a connection's own goroutine borrows one a batch.
type runner struct {
	server *Server
	worker Worker
	in     []byte // the read buffer of who drives a loop, or what is left of it; full length
	used   int    // how much of it is the input being served
	served uint64 // calls of Serve
	out    []byte // where replies go: its free end is lent to the connection being served
	spare  []byte // an input buffer given back by a connection; empty

	lent    uint16 // the buffer of the loop's ring in which the input being served lies
	borrows bool   // there is one

	loop *loop // the loop this runner drives; nil once handed off
	conn *Conn // the connection being served by the loop

	// deferred are connections whose replies lie in out and are sent together, once all that the
	// loop found ready is served. Sending wakes the peer; a client with many connections then
	// wakes once, finds many replies and sends as many requests at once.
	deferred []*Conn
}

const (
	// maxDeferredBytes is the most output of one connection that waits for the others'.
	maxDeferredBytes = 4 << 10
	// batchOutputBytes is how much one Serve appends before OutputFull asks it to let it be sent.
	batchOutputBytes = 1 << 20
	// maxIdleBufferBytes is the largest buffer a runner keeps for reuse.
	maxIdleBufferBytes = 1 << 20
	// smallInputBytes is the largest rest of a batch that is copied before the next one in the
	// runner's read buffer; more of it stays in the connection's own buffer and grows there.
	smallInputBytes = 16 << 10
	// minOutputBytes is the smallest buffer a runner keeps for replies.
	minOutputBytes = 16 << 10
	// minInputBytes is the smallest buffer a connection gets for an incomplete request.
	minInputBytes = 512
)

func newRunner(s *Server) *runner {
	r := &runner{server: s}
	r.worker = s.handler.NewWorker(r.handOff)
	return r
}

// turn serves input: what was read, with what was left of the batch before at its start. It
// returns what stays unserved, and whether the connection may live on.
func (r *runner) turn(c *Conn, input []byte) (rest []byte, alive bool) {
	for r.servable(c, input) {
		r.lendOutput(c)
		c.Out = c.AppendPushes(c.Out)
		c.NeedBytes, c.again = 0, false
		c.fullAt = len(c.Out) + batchOutputBytes
		c.parker = r.parker()
		r.served++
		consumed := r.worker.Serve(c, input)
		if consumed < 0 || consumed > len(input) {
			panic("BUG: Serve says it used more than its input")
		}
		input = input[consumed:]
		if consumed > 0 && c.admission != nil {
			c.admission.served = true
		}
		full := c.OutputFull()
		r.notePark(c)
		if r.tryDefer(c) {
			return input, true
		}
		if !c.flush(r) || c.killed.Load() {
			return nil, false
		}
		if !full {
			break
		}
	}
	return input, true
}

// release tells whether the connection's output may be sent, since what it promises is durable, and if not, whether the connection
// may live on: its output may be set aside (N13). Otherwise it waits. What may not be sent stays held for good.
func (r *runner) release(c *Conn) (released, alive bool) {
	if c.killed.Load() {
		return false, false
	}
	c.commitWaits.Store(true)
	if r.setAside(c) {
		return false, true
	}
	durable := r.server.committer.Release(c.Hold)
	c.commitWaits.Store(false)
	if !durable {
		return false, false
	}
	c.Hold = 0
	return true, true
}

// servable tells whether a connection may be served and input may hold a request.
func (r *runner) servable(c *Conn, input []byte) bool {
	return !c.closeAfterReply && c.awaits == 0 && (len(input) > 0 && len(input) >= c.NeedBytes || c.again) &&
		c.unsentBytes() < r.server.options.OutputSoftBytes
}

// window returns the memory to read into: behind filled bytes that are there already.
func (r *runner) window(c *Conn) (buffer []byte, filled int, own bool) {
	switch length := len(c.input); {
	case length == 0:
		return r.in[:r.mostInput(c)], 0, false
	case length <= smallInputBytes && length < len(r.in)/2 && c.NeedBytes <= len(r.in):
		return r.in[:min(length+r.mostInput(c), len(r.in))], copy(r.in, c.input), false
	}
	if c.inputShort() {
		length, need := len(c.input), c.NeedBytes
		want := nextRoom(length, cap(c.input), need)
		c.input = append(r.inputBuffer(max(want, min(need, len(r.in)))), c.input...)
	}
	return c.input[:cap(c.input)], len(c.input), true
}

// keep stores the rest of a batch with the connection; own says that it lies in its buffer already.
func (r *runner) keep(c *Conn, rest []byte, own bool) (alive bool) {
	switch {
	case len(rest) == 0 && c.input == nil:
		return true
	case len(rest) == 0:
		if cap(c.input) <= maxIdleBufferBytes && cap(c.input) > cap(r.spare) {
			r.spare = c.input[:0]
		}
		c.input = nil
	case own:
		c.keepOwn(rest, 0)
	case cap(c.input) >= len(rest):
		c.input = append(c.input[:0], rest...)
	default:
		c.input = append(r.inputBuffer(len(rest)), rest...)
	}
	c.noteInput()
	return int64(len(c.input)) <= r.server.inputHardBytes.Load()
}

// keepOwn stores the rest of a batch that lies in the connection's own buffer, in a smaller one if that is far too large for it, and
// larger than most.
func (c *Conn) keepOwn(rest []byte, most int) {
	if needed := max(len(rest), c.NeedBytes, ordinaryInputBytes); cap(c.input) > max(4*needed, most) {
		c.input = append(make([]byte, 0, len(rest)), rest...)
		return
	}
	c.input = c.input[:copy(c.input[:cap(c.input)], rest)]
}

// inputBuffer returns an empty buffer with room for size bytes, and not for many more.
func (r *runner) inputBuffer(size int) []byte {
	size = max(size, minInputBytes)
	if buffer := r.spare; cap(buffer) >= size && cap(buffer) <= 4*size {
		r.spare = nil
		return buffer
	}
	return make([]byte, 0, size)
}

// lendOutput gives the connection the free end of the runner's output buffer, or makes room at the
// start of the memory it still has.
func (r *runner) lendOutput(c *Conn) {
	switch {
	case c.Out == nil:
		if room := cap(r.out); room-len(r.out) < maxDeferredBytes {
			// What is full stays with the connections whose replies lie in it.
			r.out = make([]byte, 0, min(max(2*room, minOutputBytes), maxIdleBufferBytes))
		}
		c.Out = r.out[len(r.out):]
	case c.sent > len(c.Out)/2:
		c.Out = c.Out[:copy(c.Out, c.Out[c.sent:])]
		c.sent = 0
	}
}

// tryDefer leaves the connection's replies where they are, to be sent by sendDeferred, if they are
// few and lie in the runner's buffer.
func (r *runner) tryDefer(c *Conn) bool {
	length, used := len(c.Out), len(r.out)
	if r.loop == nil || length == 0 || length > maxDeferredBytes || used == cap(r.out) ||
		&c.Out[0] != &r.out[:used+1][used] {
		return false
	}
	r.out = r.out[:used+length]
	c.Out = c.Out[:length:length] // what follows is lent to others
	r.deferred = append(r.deferred, c)
	return true
}

// sendOrDefer has the replies so far sent, alone or with others', and tells whether the connection may live on.
func (r *runner) sendOrDefer(c *Conn) (alive bool) { return r.tryDefer(c) || c.flush(r) }

// takeOutput takes the emptied output buffer back, when it is better than the one there is.
func (r *runner) takeOutput(c *Conn) {
	if len(r.deferred) == 0 && cap(c.Out) > cap(r.out) && cap(c.Out) >= minOutputBytes && cap(c.Out) <= maxIdleBufferBytes {
		r.out = c.Out[:0]
	}
	c.Out, c.sent = nil, 0
}

// giveOutput lets the connection keep its output, of which the peer has not taken all, together
// with the buffer it may lie in.
func (r *runner) giveOutput() { r.out = nil }
