package network

// Parked connections: those whose requests a loop's parker has under way.

import "syscall"

// parking is a loop's part of it.
type parking struct {
	parker Parker  // nil when the handler has none
	count  int     // connections that are parked
	fresh  bool    // the parker has work to submit
	due    bool    // the parker has said that there may be something to poll
	ready  []*Conn // connections that Poll returned and that are not yet served
}

// openParker asks the handler for a parker and watches it.
func (l *loop) openParker() {
	p := l.server.handler.NewParker()
	if p == nil {
		return
	}
	if l.ring != nil {
		l.parking.parker = p
		l.pollFor(p.EventFD(), ringMark(markedParker, 0))
		return
	}
	if err := l.watch(syscall.EPOLL_CTL_ADD, p.EventFD(), syscall.EPOLLIN|edgeTriggered, markParker); err != nil {
		p.Close()
		return
	}
	l.parking.parker = p
}

// edgeTriggered is EPOLLET, which package syscall has as a negative number.
const edgeTriggered = 1 << 31

// parker is what connections may be parked with, as long as the runner drives a loop.
func (r *runner) parker() Parker {
	if r.loop == nil {
		return nil
	}
	return r.loop.parking.parker
}

// notePark counts a connection that the last Serve has parked.
func (r *runner) notePark(c *Conn) {
	if c.awaits&awaitsParker != 0 {
		r.loop.parking.count++
		r.loop.parking.fresh = true
	}
}

// submitParked begins the work of the connections that were parked in this turn, together.
func (l *loop) submitParked() {
	if l.parking.fresh {
		l.parking.fresh = false
		l.parking.parker.Submit()
	}
}

// endTurn sends what the turn leaves to be sent, and answers connections that were parked or held. Those come last: what one of
// them has to send is sent by then, or staged, and no event of this turn meets it again.
func (l *loop) endTurn(r *runner) {
	if l.ring != nil {
		l.armArrivals(r)
	}
	l.submitParked()
	l.sendDeferred(r)
	l.sendPushed(r)
	if l.parking.due {
		l.parking.due = false
		if l.pollParked(r, false); r.loop == l {
			l.submitParked()
			l.sendDeferred(r)
		}
	}
	if r.loop == l && l.held.count > 0 {
		l.tendHeld(r)
	}
}

// waitLimit is how long the loop may wait for events, in milliseconds: as long as it takes, unless the parker
// is to be polled without being announced.
func (l *loop) waitLimit() int {
	if l.parking.due {
		return 1
	}
	return -1
}

// ignore stops watching a connection that is parked or held and whose socket has something to say, so that it does not wake
// the loop again and again. settle watches it again.
func (l *loop) ignore(c *Conn) {
	c.socket.interest = watchNothing
	// It fails for no connection that is watched; if it did, the loop would only be woken too often.
	_ = l.watch(syscall.EPOLL_CTL_MOD, c.socket.descriptor, watchNothing, connMark(c))
}

// pollParked serves the connections whose work is done.
func (l *loop) pollParked(r *runner, wait bool) {
	l.parking.ready = l.parking.parker.Poll(l.parking.ready, wait)
	l.unpark(r)
}

// unpark delivers replies, and serves what came in behind their requests. The runner may hand the loop
// off in that; the next one goes on.
func (l *loop) unpark(r *runner) {
	p := &l.parking
	for len(p.ready) > 0 {
		last := len(p.ready) - 1
		c := p.ready[last]
		p.ready[last] = nil
		p.ready = p.ready[:last]
		c.settleSends() // with a ring, what this turn has staged of it
		r.lendOutput(c)
		c.Out = c.AppendPushes(c.Out)
		if !p.parker.Deliver(c) {
			p.fresh, p.due = true, true
			l.settle(r, c, r.sendOrDefer(c))
			continue
		}
		p.count--
		c.awaits &^= awaitsParker
		r.conn = c
		alive := !c.killed.Load()
		if alive && c.unsentBytes() >= l.server.options.OutputSoftBytes {
			alive = c.flush(r) // what is not served now must have output to wait for, whose end is an event
		}
		if rest := c.input; alive && r.servable(c, rest) {
			rest, alive = r.turn(c, rest)
			alive = alive && r.keep(c, rest, true)
		} else if alive {
			alive = r.sendOrDefer(c)
		}
		if l.conclude(r, c, alive); r.loop != l {
			return
		}
	}
}

// finishParked waits for all parked connections and answers them: the server closes.
func (l *loop) finishParked(r *runner) {
	l.submitParked()
	for l.parking.count > 0 {
		l.pollParked(r, true)
		l.submitParked()
	}
}
