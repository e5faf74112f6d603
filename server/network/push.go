package network

// Pushes: output that comes of what other connections do.

// Push has data sent to the peer behind the replies so far, soon and without waiting: a published
// message, say. It returns false, and sends nothing, when the connection is closed, or when more than limit
// bytes would then wait for the peer; 0 is no limit. Any goroutine.
//
// The bytes go through a mailbox that the owner empties (N1): before it serves the next input, so
// that a reply never overtakes what was pushed before its request came, and otherwise when its loop
// or its goroutine is woken for it. An in-memory connection's owner calls AppendPushes itself.
func (c *Conn) Push(data []byte, limit int) bool {
	c.mu.Lock()
	waiting := int(c.outputBytes.Load()) + len(c.pushes)
	if c.closed || limit > 0 && waiting+len(data) > limit {
		c.mu.Unlock()
		return false
	}
	first := len(c.pushes) == 0
	c.pushes = append(c.pushes, data...)
	c.pushedBytes.Store(int64(len(c.pushes)))
	if first && c.server != nil {
		c.wakeOwner() // under mu, so that the descriptor is still ours
	}
	c.mu.Unlock()
	return true
}

// AppendPushes empties the mailbox into dst. The owner calls it where the order of pushes and replies
// matters.
func (c *Conn) AppendPushes(dst []byte) []byte {
	if c.pushedBytes.Load() == 0 {
		return dst
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	dst = append(dst, c.pushes...)
	c.forgetPushesLocked()
	return dst
}

// forgetPushesLocked empties the mailbox, for which a connection at rest keeps no memory (N6).
func (c *Conn) forgetPushesLocked() {
	c.pushes = nil
	c.pushedBytes.Store(0)
}

// sendPushes sends what was pushed to a connection that has no input to serve, and tells whether it may live on.
func (r *runner) sendPushes(c *Conn) (alive bool) {
	r.lendOutput(c)
	c.Out = c.AppendPushes(c.Out)
	return c.flush(r)
}
