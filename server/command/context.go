package command

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/tsavorite"
)

// Context is what one executing goroutine needs to carry out commands: its engine session, its
// reply buffer, and the updaters and readers it hands to the engine. It serves one connection at
// a time, and any connection. Nothing in it is shared, except Stats for reading.
type Context struct {
	Session *tsavorite.Session
	State   *State
	Client  *Client  // the connection being served; set by Serve
	Args    [][]byte // the present command's arguments, name included; they point into Serve's input
	Out     []byte   // replies so far; whoever calls Serve writes it out and empties it
	Stats   *Stats

	// ReplyLimit is the length of Out in bytes at which Serve stops between two commands so that it
	// can be flushed. 0 is no limit.
	ReplyLimit int

	keyspace *Keyspace // of the client's database; loaded anew for every command
	command  *Command  // the present one
	meter    meter

	ownPushes []byte   // what the present command pushed to its own client
	changes   changes  // of keys, by the present command
	given     struct { // the deadline the present command gives a key; see giveDeadline
		keyspace *Keyspace // nil for none
		deadline int64
	}

	handOff func()      // see Wait
	parker  *Parker     // takes cold reads over; nil when the session is to wait for them
	parked  bool        // it has done so in the present Serve
	entered bool        // between Session.Enter and Leave
	inside  atomic.Bool // the same for others to see, see gate

	scratch []byte          // for texts and numbers while a reply is put together
	keys    []tsavorite.Key // of a command with several
	handlerScratch
}

// NewContext returns a context with a session of its own. handOff, which may be nil, is called
// before the first wait of a batch, be it the engine's or a command's: an event loop hands its
// other connections over in it.
func (s *State) NewContext(handOff func()) (*Context, error) {
	session, err := s.Store.NewSession()
	if err != nil {
		return nil, fmt.Errorf("cannot open an engine session: %w", err)
	}
	c := &Context{Session: session, State: s, Stats: newStats()}
	if handOff != nil {
		c.handOff = func() {
			c.parker = nil // it stays with the loop
			handOff()
		}
		session.OnBlock(c.handOff)
	}
	s.mu.Lock()
	s.mu.contexts[c] = struct{}{}
	s.mu.Unlock()
	return c, nil
}

// Close frees the session. The context's counters stay in State.Totals.
func (c *Context) Close() {
	s := c.State
	s.mu.Lock()
	delete(s.mu.contexts, c)
	c.Stats.addTo(s.mu.retired, 1)
	s.mu.Unlock()
	c.Session.Close()
}

// Now is the Unix time in milliseconds of the present batch.
func (c *Context) Now() int64 { return c.Session.Now() }

// Wait runs wait, which may block for any time, outside the engine's protection and after the
// hand-over: for commands that sleep, flush or shut down. A handler that used it must fetch
// anew whatever it knew of the engine.
func (c *Context) Wait(wait func()) {
	c.leave()
	if c.handOff != nil {
		c.handOff()
	}
	wait()
	c.enter()
}

// waitWithin is Wait for a command that has begun and goes on: it stays inside the gate, so that the
// databases are the same afterwards (see swapDatabases). What is waited for must not depend on the gate.
func (c *Context) waitWithin(wait func()) {
	c.Session.Leave()
	if c.handOff != nil {
		c.handOff()
	}
	wait()
	c.Session.Enter()
}

func (c *Context) enter() {
	c.passGate()
	c.Session.Enter()
	c.entered = true
}

func (c *Context) leave() {
	if c.entered {
		c.Session.Leave()
		c.entered = false
		c.inside.Store(false)
	}
}

// key names a record of the client's database.
func (c *Context) key(bytes []byte) tsavorite.Key {
	return tsavorite.Key{Namespace: c.keyspace.Namespace, Bytes: bytes}
}

// started is the origin of monotonic: time.Since of it reads one clock instead of two.
var started = time.Now()

// monotonic is the time in nanoseconds since the program started.
func monotonic() int64 { return int64(time.Since(started)) }
