package network

import (
	"slices"
	"sync"
	"sync/atomic"
)

// pushQueue names the connections of a loop whose mailboxes want to be emptied, or that may be read from again.
type pushQueue struct {
	pending atomic.Bool // whether conns may have some: what a loop looks at once a turn
	mu      sync.Mutex
	conns   []*Conn // guarded by mu
}

// wakeOwner makes the owner look into the mailbox, and whether the connection may be read from. Any goroutine.
func (c *Conn) wakeOwner() {
	if c.stream != nil {
		c.rouseStream()
		return
	}
	c.socket.loop.Load().requestPush(c)
}

// requestPush queues a connection, and wakes the loop for the first one.
func (l *loop) requestPush(c *Conn) {
	q := &l.pushed
	q.mu.Lock()
	q.conns = append(q.conns, c)
	first := len(q.conns) == 1
	q.pending.Store(true)
	q.mu.Unlock()
	if first {
		l.rouse()
	}
}

// sendPushed empties the mailboxes that are queued, and watches connections again that waited for room. A connection that is detached is left to who
// serves it: attach looks for pushes once the loop owns it again.
func (l *loop) sendPushed(r *runner) {
	q := &l.pushed
	if !q.pending.Load() {
		return
	}
	q.mu.Lock()
	conns := q.conns
	q.conns = nil
	q.pending.Store(false)
	q.mu.Unlock()
	l.server.mu.Lock() // attach owns a connection until it gives the lock up
	conns = slices.DeleteFunc(conns, func(c *Conn) bool { return !l.owns(c) })
	l.server.mu.Unlock()
	for _, c := range conns {
		// Neither is left when the connection is closed, or was served meanwhile. While it is held both wait (N13).
		switch {
		case c.awaits&awaitsCommit != 0:
		case c.pushedBytes.Load() > 0:
			l.settle(r, c, r.sendPushes(c))
		case c.admission != nil:
			l.settle(r, c, true)
		}
	}
}
