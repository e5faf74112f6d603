package network

// Handler is what a Server serves: it says what a connection's bytes mean.
type Handler interface {
	// NewWorker returns the state of one executing goroutine, such as an engine session. The
	// server asks for one a loop and one more whenever a loop is handed over and its pool of idle
	// workers is empty. The worker keeps handOff and calls it before it waits (N5).
	NewWorker(handOff func()) Worker
	// NewParker returns what one event loop parks connections with, or nil: then workers always wait.
	NewParker() Parker
	// Open announces a connection before its first byte is read. It may set State, append a
	// greeting or a refusal to Out, and call CloseAfterReply. It must not block.
	Open(c *Conn)
	// Closed announces that a connection is gone. No Serve of it runs or will run. It must not block.
	Closed(c *Conn)
}

// Committer is a Handler whose replies may have to wait until what they promise is durable: Serve then sets Conn.Hold.
type Committer interface {
	// Release waits until what lies below a position is durable, and reports whether it is. If not, the connection
	// ends without the replies. Any goroutine.
	Release(position uint64) bool
}

// Worker executes requests for one connection after another (N2).
type Worker interface {
	// Serve executes the complete requests in input, appends their replies to c.Out and returns
	// how many bytes it used up. It stops early after CloseAfterReply and when c.OutputFull says
	// so, between two requests. Bytes not used come again, with more behind them, in the next
	// call; when the rest is an incomplete request whose least size is known, Serve says so in
	// c.NeedBytes, counted from the first unused byte. input is valid until Serve returns (N3), and belongs to the caller: Serve must
	// not write to it.
	Serve(c *Conn, input []byte) (consumed int)
	// Close releases the worker; Serve is not called again.
	Close()
}

// Parker has the requests of one loop's parked connections under way: those that wait for a device, many at a
// time. Only the loop's goroutine calls it.
//
// A worker parks a connection in Serve: it leaves the work to Conn.Parker, calls Conn.Park and returns, with
// replies only to what came before. The connection is served again when Deliver has appended the others (N11).
type Parker interface {
	// EventFD is a descriptor that becomes readable when Poll may find something. It is watched edge triggered.
	EventFD() int
	// Submit begins the work that was left to the parker since the last call.
	Submit()
	// Poll appends to ready the connections whose work is done. With wait it blocks until all is.
	Poll(ready []*Conn, wait bool) []*Conn
	// Deliver appends the replies of a connection that Poll returned to c.Out, without waiting. When it returns
	// false some are still missing: the loop submits and polls again soon, and Poll returns the connection again.
	Deliver(c *Conn) (done bool)
	// Close frees the parker. Nothing is under way.
	Close()
}
