package command

import (
	"sync"
	"time"
)

// pause holds commands back for a time: CLIENT PAUSE. While there is one, attention has watchPause, so that no run is
// gathered and every command looks here before it begins.
type pause struct {
	mu      sync.Mutex
	until   time.Time     // zero for no pause
	all     bool          // every command waits, not only those that write
	changed chan struct{} // closed when a pause ends before its time, or becomes another
}

// begin holds commands back from now on. As in Redis a pause that is under way is prolonged or widened, never cut.
func (p *pause) begin(s *State, until time.Time, all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until.After(until) {
		until = p.until
	}
	p.until, p.all = until, all || p.all
	p.changedLocked()
	s.attention.set(watchPause, true)
}

// end lets all go on.
func (p *pause) end(s *State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLocked(s)
}

func (p *pause) endLocked(s *State) {
	p.until, p.all = time.Time{}, false
	p.changedLocked()
	s.attention.set(watchPause, false)
}

func (p *pause) changedLocked() {
	if p.changed != nil {
		close(p.changed)
	}
	p.changed = make(chan struct{})
}

// holds tells whether a command has to wait, for how long, and what tells that this has changed.
func (p *pause) holds(s *State, d *Command) (left time.Duration, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until.IsZero() {
		return 0, nil
	}
	if left = time.Until(p.until); left <= 0 {
		p.endLocked(s)
		return 0, nil
	}
	if !p.all && !replicated(d) {
		return 0, nil
	}
	return left, p.changed
}

// replicated tells whether CLIENT PAUSE WRITE holds a command back: it writes, or would be told to replicas.
func replicated(d *Command) bool {
	switch d.Name {
	case "publish", "spublish", "pfcount":
		return true
	}
	return d.Flags&Write != 0
}

// awaitPause waits until d may begin. It returns false when the connection or the server ends before.
func (c *Context) awaitPause(d *Command) (goOn bool) {
	s := c.State
	left, changed := s.pause.holds(s, d)
	if changed == nil {
		return true
	}
	goOn = true
	transport := c.Client.Transport
	c.Wait(func() {
		for changed != nil && goOn {
			select {
			case <-changed:
			case <-s.Server.Closing:
				goOn = false
			case <-time.After(min(left, killedInterval)):
				goOn = transport == nil || !transport.Killed()
			}
			left, changed = s.pause.holds(s, d)
		}
	})
	c.meter.start() // the wait is no time of the command's
	return goOn
}

// clientPause is CLIENT PAUSE milliseconds [WRITE|ALL]. Writes that have begun are done when it replies.
func clientPause(c *Context) {
	all := true
	switch {
	case len(c.Args) > 4:
		c.errorf(errSubcommandArguments, echo(c.Args[1], echoLimit), "CLIENT")
		return
	case len(c.Args) == 4 && equalFold(c.Args[3], "write"):
		all = false
	case len(c.Args) == 4 && !equalFold(c.Args[3], "all"):
		c.error(errPauseMode)
		return
	}
	milliseconds, ok := parseInteger(c.Args[2])
	switch {
	case !ok:
		c.error(errTimeout)
		return
	case milliseconds < 0:
		c.error(errTimeoutNegative)
		return
	}
	until := time.Now().Add(time.Duration(min(milliseconds, maxPauseMilliseconds)) * time.Millisecond)
	c.Wait(func() { c.State.alone(func() { c.State.pause.begin(c.State, until, all) }) })
	c.ok()
}

// maxPauseMilliseconds is where a time.Duration ends: 292 years.
const maxPauseMilliseconds = int64((1<<63 - 1) / time.Millisecond)

// clientUnpause is CLIENT UNPAUSE.
func clientUnpause(c *Context) {
	c.State.pause.end(c.State)
	c.ok()
}

// clientUnblock is CLIENT UNBLOCK id [TIMEOUT|ERROR]. No command waits for what another client does, so none is unblocked.
func clientUnblock(c *Context) {
	switch {
	case len(c.Args) > 4:
		c.errorf(errSubcommandArguments, echo(c.Args[1], echoLimit), "CLIENT")
		return
	case len(c.Args) == 4 && !equalFold(c.Args[3], "timeout") && !equalFold(c.Args[3], "error"):
		c.error(errUnblockReason)
		return
	}
	if _, ok := c.integerArgument(c.Args[2]); ok {
		c.integer(0)
	}
}
