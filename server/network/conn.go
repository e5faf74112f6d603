package network

import (
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
	// Out is where replies are appended. The server sends and empties it after Serve; while a
	// connection is at rest it is nil. An in-memory connection's caller takes it itself.
	Out []byte
	// NeedBytes tells how long the input must be before Serve can make progress; 0 means any
	// longer. The server clears it before each Serve and does not call again with less.
	NeedBytes int
	// OutputHardBytes is the unsent output above which the connection is dropped, 0 for no
	// bound. It starts as Options.OutputHardBytes.
	OutputHardBytes int

	outputSoftBytes int
	remote, local   string
	created         time.Time
	closeAfterReply bool
	killed          atomic.Bool

	lastInteraction atomic.Int64 // nanoseconds since created
	bytesIn         atomic.Uint64
	bytesOut        atomic.Uint64
	inputBytes      atomic.Int64
	inputCapacity   atomic.Int64
	outputBytes     atomic.Int64
}

// NewInMemory returns a connection without a socket, for a client in the same process: the caller
// calls Worker.Serve itself and takes Out. id comes from Server.NextID; name stands for both addresses.
func NewInMemory(id uint64, name string) *Conn {
	return &Conn{ID: id, remote: name, local: name, created: time.Now(), outputSoftBytes: maxInt}
}

const maxInt = int(^uint(0) >> 1)

// RemoteAddress is the peer's address as host:port, or path:0 for a unix socket. Any goroutine.
func (c *Conn) RemoteAddress() string { return c.remote }

// LocalAddress is the server's end as host:port, or path:0 for a unix socket. Any goroutine.
func (c *Conn) LocalAddress() string { return c.local }

// Created is when the connection was accepted. Any goroutine.
func (c *Conn) Created() time.Time { return c.created }

// LastInteraction is when bytes last came in, to the precision of one turn of the loop. Any goroutine.
func (c *Conn) LastInteraction() time.Time {
	return c.created.Add(time.Duration(c.lastInteraction.Load()))
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
func (c *Conn) OutputBytes() int { return int(c.outputBytes.Load()) }

// OutputFull tells Serve to stop between two requests and let the output drain (N7).
func (c *Conn) OutputFull() bool { return len(c.Out) >= c.outputSoftBytes }

// CloseAfterReply closes the connection once Out is sent. Input behind it is not served.
func (c *Conn) CloseAfterReply() { c.closeAfterReply = true }

// Closing tells whether CloseAfterReply was called.
func (c *Conn) Closing() bool { return c.closeAfterReply }

// Killed tells whether Kill was called; a handler that waits for long looks from time to time. Any goroutine.
func (c *Conn) Killed() bool { return c.killed.Load() }

// Kill closes the connection without regard to what it still has to say. Any goroutine.
func (c *Conn) Kill() { c.killed.Store(true) }
