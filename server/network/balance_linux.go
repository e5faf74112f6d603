package network

// Balancing: how many of the loops take part, and which connections are whose. A second loop on a core
// that its clients need makes everything dearer: batches get smaller, and every wake-up waits for a
// processor. So one loop serves until it is busy all the time and processors are idle beside it.

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

const (
	// balanceInterval is the time over which load is measured.
	balanceInterval = 250 * time.Millisecond
	// busyLoad is the processor time of the process, in processors a loop, from which on loops are short.
	busyLoad = 0.85
	// idleLoad is the load, in processors a remaining loop, down to which one loop is too many.
	idleLoad = 0.6
	// spareProcessors must be idle for another loop to be of use; below scarceProcessors, loops that do not
	// use their processors are in the way of those who would.
	spareProcessors, scarceProcessors = 0.5, 0.1
	// growAfter and shrinkAfter are how many intervals in a row must say so.
	growAfter, shrinkAfter = 2, 8
)

// crew decides how many loops take part. Its fields count the intervals in a row that asked for more, or fewer.
type crew struct{ more, fewer int }

// next returns how many of limit loops should take part, if active do. load is what the process uses, in
// processors, idle what nobody uses.
func (w *crew) next(active, limit int, load, idle float64) int {
	short := active < limit && load >= busyLoad*float64(active) && idle >= spareProcessors
	ample := active > 1 && (load <= idleLoad*float64(active-1) ||
		idle < scarceProcessors && load < busyLoad*float64(active))
	w.more, w.fewer = countOrClear(w.more, short), countOrClear(w.fewer, ample)
	switch {
	case w.more == growAfter:
		w.more = 0
		return min(limit, active+max(1, min(active, int(idle))))
	case w.fewer == shrinkAfter:
		w.fewer = 0
		return active - 1
	}
	return active
}

func countOrClear(count int, is bool) int {
	if is {
		return count + 1
	}
	return 0
}

// meter measures processor time, by the process and left over by all.
type meter struct {
	at         time.Time
	used, idle time.Duration // at that time
}

// read returns the load of the process and the idle processors since the last call, both in processors.
func (m *meter) read() (load, idle float64) {
	now, used, unused := time.Now(), processTime(), idleTime()
	interval := max(now.Sub(m.at), time.Millisecond).Seconds()
	load, idle = (used-m.used).Seconds()/interval, (unused-m.idle).Seconds()/interval
	if unused == 0 { // the system does not tell
		idle = max(0, float64(runtime.GOMAXPROCS(0))-load)
	}
	*m = meter{at: now, used: used, idle: unused}
	return load, idle
}

func processTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // fails for no valid arguments
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// idleTime is the idle time of all processors since the system's start; 0 when it is not to be had.
func idleTime() time.Duration {
	text, err := os.ReadFile("/proc/stat") // cpu user nice system idle …, in hundredths of a second
	if err != nil {
		return 0
	}
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	fields := bytes.Fields(line)
	if len(fields) < 5 {
		return 0
	}
	ticks, err := strconv.ParseInt(string(fields[4]), 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// balance adjusts the number of loops that take part until stop is closed.
func (s *Server) balance(stop <-chan struct{}) {
	defer s.goroutines.Done()
	ticker := time.NewTicker(balanceInterval)
	defer ticker.Stop()
	var crew crew
	var meter meter
	meter.read()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		active := int(s.active.Load())
		load, idle := meter.read()
		// A loop without a connection is of no use.
		if next := crew.next(active, min(len(s.loops), s.Connections()), load, idle); next != active {
			s.setActive(next)
		}
		s.empty()
	}
}

// setActive has the first count loops take part. New ones get their share of the connections that are there.
func (s *Server) setActive(count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := int(s.active.Load())
	if s.closing.Load() {
		return
	}
	for _, l := range s.loops[:count] {
		s.startLoopLocked(l)
	}
	s.active.Store(int32(count))
	for i := before; before > 0 && i < count; i++ {
		s.loops[i-before].give(&gift{to: s.loops[i], half: true}) // at most twice as many take part
	}
}

// empty has the loops that no longer take part give their connections away.
func (s *Server) empty() {
	active := int(s.active.Load())
	for i, l := range s.loops[active:] {
		if l.connections.Load() > 0 {
			l.give(&gift{to: s.loops[i%active]})
		}
	}
}

// gift is an order to a loop to give connections to another one: all that it watches, or every other one.
type gift struct {
	to   *loop
	half bool
}

// give passes an order to a loop; a later one replaces it until the loop has seen it. Any goroutine.
func (l *loop) give(g *gift) {
	l.gift.Store(g)
	l.rouse()
}

// carryOut gives away what the last order says. One that is detached or parked stays; one that is held goes once its replies have.
// It happens between two waits: an event that came before must not meet a connection that has gone and is on its way back.
func (l *loop) carryOut(r *runner, g *gift) {
	for i, c := range l.owned() {
		if c.awaits&awaitsParker != 0 || g.half && i%2 == 0 {
			continue
		}
		c.socket.heir = g.to
		switch {
		case c.socket.armed:
			l.recall(c)
		case l.ring != nil: // arm finds that it has an heir
		case c.awaits != 0:
			l.ignore(c) // so that settle finds something to change, and that it has an heir
		default:
			l.bequeath(r, c)
		}
	}
}

// bequeath gives a connection that is not armed to the loop it is meant for.
func (l *loop) bequeath(r *runner, c *Conn) {
	to := c.socket.heir
	c.socket.heir = nil
	l.detach(c)
	c.socket.loop.Store(to)
	l.connections.Add(-1)
	to.connections.Add(1)
	to.attach(r, c)
}
