package network

// Held replies: those that a loop has set aside until what they promise is durable. A commit is a sync of a disk, and a loop that
// waited for it would serve nobody meanwhile. So a goroutine commits, one a loop and only while there is something to commit, and
// others are served; what they write is in the next commit, which begins when this one has ended. Where commits are quick and all
// who are served wait for them, the loop commits itself: threads need not be woken, and more connections share a commit.
//
//	setAside --> fresh --askCommit--> asked --commit--> durable --collect--> ready --letGo--> sent, and served again
//	                                              \--> lost ----collect--> the end

import (
	"sync"
	"time"
)

const (
	// quickCommit is how long a commit takes at most that a loop waits for.
	quickCommit = time.Millisecond
	// companyTurns is for how many turns with commits a loop waits for none after it has served somebody who waits for none.
	companyTurns = 64
)

// held is a loop's part of it. Whoever drives the loop owns what mu does not guard.
type held struct {
	count   int // connections that are set aside
	fresh   holds
	ready   []*Conn        // those whose replies may be sent
	lost    []*Conn        // empty between calls of collect
	served  uint64         // the runner's, when tendHeld was called last
	company int            // turns left of companyTurns
	commits sync.WaitGroup // the goroutine that commits

	mu struct {
		sync.Mutex
		running bool          // there is a goroutine that commits
		asked   holds         // for whom the next commit is
		took    time.Duration // by the last commit; 0 is unknown
		durable []*Conn       // for whom commits were done
		lost    []*Conn       // for whom they failed
	}
}

// holds are connections, and a position up to which all must be durable that they promise.
type holds struct {
	conns    []*Conn
	position uint64
}

// move appends what is in from and empties it.
func (h *holds) move(from *holds) {
	h.position = max(h.position, from.position)
	from.position = 0
	h.conns, from.conns = moveConns(h.conns, from.conns)
}

func moveConns(to, from []*Conn) (longer, empty []*Conn) {
	to = append(to, from...)
	clear(from)
	return to, from[:0]
}

// setAside leaves the connection's output where it is until it may be sent (N13), and tells whether that is so. Nothing is set aside
// by who may wait, nor for a connection that is alone in its loop: to wait then costs less than to wake two threads.
func (r *runner) setAside(c *Conn) bool {
	if c.awaits&awaitsCommit != 0 {
		return true
	}
	l := r.loop
	if l == nil || l.connections.Load() == 1 {
		return false
	}
	if unsent := c.Out[c.sent:]; len(unsent) <= maxDeferredBytes {
		c.Out, c.sent = append(make([]byte, 0, len(unsent)), unsent...), 0
	} else {
		r.giveOutput()
		c.outputBytes.Store(int64(len(unsent)))
		c.noteHeld()
	}
	c.awaits |= awaitsCommit
	l.held.count++
	l.held.fresh.conns = append(l.held.fresh.conns, c)
	l.held.fresh.position = max(l.held.fresh.position, c.Hold)
	return true
}

// tendHeld has commits done for connections that were set aside, and goes on with those for which they have ended.
func (l *loop) tendHeld(r *runner) {
	if l.waitsItself(r) {
		l.commitNow()
	}
	l.askCommit()
	l.collect(r)
	if l.letGo(r); r.loop == l {
		l.submitParked()
		l.sendDeferred(r)
		l.askCommit()
	}
}

// waitsItself tells whether the loop is to wait for the next commit: all that it has served of late wait for it too, and it will be over soon.
func (l *loop) waitsItself(r *runner) bool {
	h := &l.held
	if r.served-h.served > uint64(len(h.fresh.conns)) {
		h.company = companyTurns
	} else if h.company > 0 {
		h.company--
	}
	h.served = r.served
	if h.company > 0 || len(h.fresh.conns) == 0 {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.mu.running && 0 < h.mu.took && h.mu.took < quickCommit
}

// commitNow does the next commit on the loop's own time.
func (l *loop) commitNow() {
	h := &l.held
	begun := time.Now()
	durable := l.server.committer.Release(h.fresh.position)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.took = time.Since(begun)
	h.end(&h.fresh, durable)
}

// end notes how the commit for some connections has ended; mu is held.
func (h *held) end(batch *holds, durable bool) {
	if durable {
		h.mu.durable, batch.conns = moveConns(h.mu.durable, batch.conns)
	} else {
		h.mu.lost, batch.conns = moveConns(h.mu.lost, batch.conns)
	}
	batch.position = 0
}

// askCommit has the next commit done for the connections that were set aside since the last call.
func (l *loop) askCommit() {
	h := &l.held
	if len(h.fresh.conns) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.asked.move(&h.fresh)
	if !h.mu.running {
		h.mu.running = true
		h.commits.Go(l.commit)
	}
}

// commit does commits as long as there is something to commit.
func (l *loop) commit() {
	h := &l.held
	var batch holds
	h.mu.Lock()
	for len(h.mu.asked.conns) > 0 {
		batch.move(&h.mu.asked)
		h.mu.Unlock()
		begun := time.Now()
		durable := l.server.committer.Release(batch.position)
		h.mu.Lock()
		h.mu.took = time.Since(begun)
		h.end(&batch, durable)
		h.mu.Unlock()
		l.rouse()
		h.mu.Lock()
	}
	h.mu.running = false
	h.mu.Unlock()
}

// collect takes the connections for which commits have ended, and ends those for which they failed: what is held of them
// stays held for good.
func (l *loop) collect(r *runner) {
	h := &l.held
	h.mu.Lock()
	h.ready, h.mu.durable = moveConns(h.ready, h.mu.durable)
	h.lost, h.mu.lost = moveConns(h.lost, h.mu.lost)
	h.mu.Unlock()
	for i, c := range h.lost {
		h.lost[i] = nil
		h.count--
		c.awaits &^= awaitsCommit
		c.commitWaits.Store(false)
		l.settle(r, c, false)
	}
	h.lost = h.lost[:0]
}

// letGo has replies sent that may be, and serves what came in behind their requests. The runner may hand the loop off in that; the
// next one goes on.
func (l *loop) letGo(r *runner) {
	h := &l.held
	for len(h.ready) > 0 {
		last := len(h.ready) - 1
		c := h.ready[last]
		h.ready[last] = nil
		h.ready = h.ready[:last]
		h.count--
		c.awaits &^= awaitsCommit
		c.commitWaits.Store(false)
		c.Hold = 0
		c.Out = c.AppendPushes(c.Out)
		alive := !c.killed.Load()
		if alive && r.loop == l && c.isShort() && !r.servable(c, c.input) {
			r.deferred = append(r.deferred, c)
			continue
		}
		r.conn = c
		alive = alive && c.flush(r)
		if rest := c.input; alive && r.servable(c, rest) {
			rest, alive = r.turn(c, rest)
			alive = alive && r.keep(c, rest, true)
		}
		if l.conclude(r, c, alive); r.loop != l {
			return
		}
	}
}

// isShort tells whether what the connection has to send may be sent together with others': it is short, and published nowhere.
func (c *Conn) isShort() bool {
	unsent := c.unsentBytes()
	return unsent > 0 && unsent <= maxDeferredBytes && c.outputBytes.Load() == 0
}

// finishHeld waits for all commits and sends the replies: the server closes.
func (l *loop) finishHeld(r *runner) {
	for l.held.count > 0 {
		l.askCommit()
		l.held.commits.Wait()
		l.collect(r)
		l.letGo(r)
	}
	l.held.commits.Wait() // it may still be about to rouse the loop
}
