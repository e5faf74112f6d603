package network

// A Conn is what the handler, the loops and the goroutines know of one client.

import (
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Conn is one client connection, over a socket or in memory. Its owner (N1) uses the fields and
// methods freely; others may use only the methods marked "any goroutine".
type Conn struct {
	// ID is unique within a server and grows with each connection. Immutable.
	ID uint64
	// State belongs to the Handler.
	State any
	// Out is where replies are appended; what is there already, output the peer has not taken yet
	// included, stays. The server sends and empties it after Serve, and nothing is kept at rest.
	// An in-memory connection's caller takes it itself.
	Out []byte
	// NeedBytes tells how long the input must be before Serve can make progress; 0 means any
	// longer. The server clears it before each Serve and does not call again with less.
	NeedBytes int
	// Hold is a position that Committer.Release must be told before any of Out may be sent; 0 is none. Serve sets it.
	Hold uint64
	// OutputHardBytes is the unsent output above which the connection is dropped, 0 for no
	// bound. It starts as Options.OutputHardBytes.
	OutputHardBytes int

	server        *Server // nil in memory
	remote, local string
	created       time.Time

	parker          Parker // of the loop that serves it; nil when the present Serve may not park it
	awaits          awaited
	again           bool // see ServeAgain
	closeAfterReply bool
	endOfInput      bool          // nothing more is read: the peer has sent its last byte, or the server closes
	sent            int           // how much of Out the kernel has taken
	held            int           // what noteHeld has published
	fullAt          int           // the length of Out at which OutputFull says stop
	input           []byte        // an incomplete request, or what was left unserved because of N7
	admission       *admission    // of an incomplete request that takes part in an intake
	roused          chan struct{} // ends the wait for it, on the goroutine path

	socket   socket   // descriptor and loop, on the event loop path
	stream   net.Conn // the connection, on the goroutine path
	killed   atomic.Bool
	detached atomic.Bool // N4, and on the goroutine path while it is served; the store that ends it publishes all fields to the loop, which loads it

	// mu guards the descriptor against being closed, and its number reused, under a Kill.
	mu     sync.Mutex
	closed bool   // guarded by mu
	pushes []byte // guarded by mu; see Push

	lastInteraction atomic.Int64 // nanoseconds since the server's start
	bytesIn         atomic.Uint64
	bytesOut        atomic.Uint64
	inputBytes      atomic.Int64
	inputCapacity   atomic.Int64
	outputBytes     atomic.Int64
	pushedBytes     atomic.Int64 // the length of pushes
	inputWaits      atomic.Bool  // the request waits for room in its intake, N12; stored under the intake's mu
	commitWaits     atomic.Bool  // its replies wait for a commit, N13
}

// awaited is what a connection waits for while its loop leaves it alone.
type awaited uint8

const (
	awaitsParker awaited = 1 << iota // N11
	awaitsCommit                     // N13
)

// NewInMemory returns a connection without a socket, for a client in the same process: the caller
// calls Worker.Serve itself and takes Out. id comes from Server.NextID; name stands for both addresses.
func NewInMemory(id uint64, name string) *Conn {
	return &Conn{ID: id, remote: name, local: name, created: time.Now(), fullAt: math.MaxInt}
}

// RemoteAddress is the peer's address as host:port, or path:0 for a unix socket. Any goroutine.
func (c *Conn) RemoteAddress() string { return c.remote }

// LocalAddress is the server's end as host:port, or path:0 for a unix socket. Any goroutine.
func (c *Conn) LocalAddress() string { return c.local }

// Created is when the connection was accepted. Any goroutine.
func (c *Conn) Created() time.Time { return c.created }

// LastInteraction is when bytes last came in, to the precision of one turn of the loop. Any goroutine.
func (c *Conn) LastInteraction() time.Time {
	if c.server == nil {
		return c.created
	}
	return c.server.started.Add(time.Duration(c.lastInteraction.Load()))
}

// BytesIn is the number of bytes read from the peer. Any goroutine.
func (c *Conn) BytesIn() uint64 { return c.bytesIn.Load() }

// BytesOut is the number of bytes the kernel has taken for the peer. Any goroutine.
func (c *Conn) BytesOut() uint64 { return c.bytesOut.Load() }

// InputBytes is the length of the input that waits for the rest of its request. Any goroutine.
func (c *Conn) InputBytes() int { return int(c.inputBytes.Load()) }

// InputCapacity is the size of the buffer held for InputBytes. Any goroutine.
func (c *Conn) InputCapacity() int { return int(c.inputCapacity.Load()) }

// OutputBytes is the length of the output the peer has not taken yet. Any goroutine.
func (c *Conn) OutputBytes() int { return int(c.outputBytes.Load() + c.pushedBytes.Load()) }

// WaitsForPeer tells whether what comes next is up to the peer, as far as can be seen: it is to take replies, or to send a request or the rest
// of one. It is not while its replies wait for a commit, its request is served away from a loop or not read because there is no
// room for it, or bytes of it wait in the kernel. Any goroutine.
func (c *Conn) WaitsForPeer() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed || c.server == nil:
		return true
	case c.commitWaits.Load():
		return false
	case c.OutputBytes() > 0:
		return true
	}
	return !c.detached.Load() && !c.inputWaits.Load() && !c.hasUnread()
}

// OutputFull tells Serve to stop between two requests, so that what it has appended can be sent.
func (c *Conn) OutputFull() bool { return len(c.Out) >= c.fullAt }

// Parker is what the present Serve may leave work to, or nil. It is nil after a hand-over, too.
func (c *Conn) Parker() Parker { return c.parker }

// Park has the connection wait for what Serve has left to Parker. Serve returns at once.
func (c *Conn) Park() { c.awaits |= awaitsParker }

// ServeAgain has Serve called after Deliver even if there is no input: part of the replies are up to the worker.
func (c *Conn) ServeAgain() { c.again = true }

// CloseAfterReply closes the connection once Out is sent. Input behind it is not served.
func (c *Conn) CloseAfterReply() { c.closeAfterReply = true }

// Closing tells whether CloseAfterReply was called.
func (c *Conn) Closing() bool { return c.closeAfterReply }

// Killed tells whether Kill was called; a handler that waits for long looks from time to time. Any goroutine.
func (c *Conn) Killed() bool { return c.killed.Load() }

// Kill closes the connection without regard to what it still has to say: at once, or, when a
// request is being served, after that. A worker ends the connection it is serving by
// CloseAfterReply instead. Any goroutine.
func (c *Conn) Kill() {
	c.killed.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed && c.server != nil {
		c.interrupt()
		if c.inputWaits.Load() {
			c.wakeOwner() // it may not be watched; see arm
		}
	}
}

// unsentBytes is the length of the output the kernel has not taken.
func (c *Conn) unsentBytes() int { return len(c.Out) - c.sent }

// flush sends what it can of Out without waiting, gives the emptied buffer back to r, and tells
// whether the connection may live on. Replies that are held may be set aside instead.
func (c *Conn) flush(r *runner) (alive bool) {
	if c.Hold != 0 {
		if released, alive := r.release(c); !released {
			return alive
		}
	}
	c.settleSends()
	if c.unsentBytes() > 0 {
		n, err := c.send(c.Out[c.sent:])
		c.sent += n
		c.bytesOut.Store(c.bytesOut.Load() + uint64(n))
		if err != nil {
			return false
		}
	}
	unsent := c.unsentBytes()
	if unsent == 0 {
		r.takeOutput(c)
	} else {
		r.giveOutput()
	}
	if int64(unsent) != c.outputBytes.Load() {
		c.outputBytes.Store(int64(unsent))
	}
	c.noteHeld()
	return c.OutputHardBytes == 0 || unsent <= c.OutputHardBytes
}

// noteHeld publishes the size of the buffers the connection holds.
func (c *Conn) noteHeld() {
	held := cap(c.input)
	if c.unsentBytes() > 0 {
		held += cap(c.Out)
	}
	if held != c.held {
		c.server.held.Add(int64(held - c.held))
		c.held = held
	}
}

// noteInput publishes the size of the kept input.
func (c *Conn) noteInput() {
	if int64(cap(c.input)) != c.inputCapacity.Load() || int64(len(c.input)) != c.inputBytes.Load() {
		c.inputBytes.Store(int64(len(c.input)))
		c.inputCapacity.Store(int64(cap(c.input)))
		c.noteHeld()
	}
}

// over tells whether nothing more will be read from the connection.
func (c *Conn) over() bool { return c.closeAfterReply || c.endOfInput }
