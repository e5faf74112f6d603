package network

// Pushes: output that comes of what other connections do.

// Push has data sent to the peer behind the replies so far, soon and without waiting: a published
// message, say. It returns false, and sends nothing, when the connection is closed, or when more than limit
// bytes would then wait for the peer; 0 is no limit. Any goroutine.
//
// The bytes go through a mailbox that the owner empties (N1): before it serves the next input, so
// that a reply never overtakes what was pushed before its request came, and otherwise when its loop
// or its goroutine is woken for it. An in-memory connection's owner finds them in Out after the next Serve.
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

// TakePushes moves what was pushed to the end of Out, and tells whether there was any. The owner
// calls it where the order of pushes and replies matters.
func (c *Conn) TakePushes() bool {
	if c.pushedBytes.Load() == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Out = append(c.Out, c.pushes...)
	c.forgetPushesLocked()
	return true
}

// forgetPushesLocked empties the mailbox, which a rest keeps no memory for (N6).
func (c *Conn) forgetPushesLocked() {
	c.pushes = nil
	c.pushedBytes.Store(0)
}

// sendPushes sends what was pushed to a connection that has no input to serve, and tells whether it may live on.
func (r *runner) sendPushes(c *Conn) (alive bool) {
	r.lendOutput(c)
	c.TakePushes()
	return c.flush(r)
}
