package server

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/pyropedb/pyrope/server/network"
	"github.com/pyropedb/pyrope/server/resp"
)

// ErrClientClosed says that a Client, or the server behind it, is closed; tested with errors.Is.
var ErrClientClosed = errors.New("server: client is closed")

// inProcess is the address of connections without a socket.
const inProcess = "in-process:0"

// ErrNotDurable says that writes were carried out but could not be made durable, as the append-only file's settings
// promise; the client is closed. Tested with errors.Is.
var ErrNotDurable = errors.New("server: writes could not be made durable")

// Client is a connection without a socket: for tests, benchmarks and programs that embed a server.
// Its commands run on the caller's goroutine, through the code that serves sockets. It belongs to
// one goroutine at a time; make one for each.
type Client struct {
	server  *Server
	worker  *worker
	conn    *network.Conn
	pending []byte // the beginning of a request whose end has not come
	request []byte // of Do; reused
	closed  bool
}

// Client returns a new client. The caller closes it; Server.Close does it otherwise.
func (s *Server) Client() (*Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return nil, ErrClientClosed
	}
	w := s.handler.newWorker(nil)
	if w.err != nil {
		w.Close()
		return nil, w.err
	}
	conn := network.NewInMemory(0, inProcess)
	s.handler.introduce(conn)
	c := &Client{server: s, worker: w, conn: conn}
	s.mu.clients[c] = struct{}{}
	return c, nil
}

// Send executes the requests in bytes and returns the bytes of their replies, which are valid
// until the next call. What was pushed to the client since comes first: messages of its
// subscriptions. The beginning of a request is kept until its end comes with a later call.
// After QUIT, or a request that is malformed, the client is closed once the replies are returned.
func (c *Client) Send(requests []byte) (replies []byte, err error) {
	if c.conn.Killed() {
		c.Close()
	}
	if c.closed {
		return nil, ErrClientClosed
	}
	if len(c.pending) > 0 {
		c.pending = append(c.pending, requests...)
		requests = c.pending
	}
	c.conn.Out = c.conn.AppendPushes(c.conn.Out[:0])
	for len(requests) > 0 && !c.conn.Closing() {
		c.conn.NeedBytes = 0
		consumed := c.worker.Serve(c.conn, requests)
		requests = requests[consumed:]
		if c.conn.NeedBytes > 0 || consumed == 0 {
			break
		}
	}
	c.pending = append(c.pending[:0], requests...)
	if hold := c.conn.Hold; hold != 0 {
		c.conn.Hold = 0
		if !c.server.handler.Release(hold) {
			c.Close()
			return nil, ErrNotDurable
		}
	}
	if c.conn.Closing() {
		c.Close()
	}
	return c.conn.Out, nil
}

// Do executes one command and returns its reply, whose texts are valid until the next call. An
// error reply is a value; the error is for a client that is closed.
func (c *Client) Do(arguments ...string) (resp.Value, error) {
	c.request = append(c.request[:0], '*')
	c.request = strconv.AppendInt(c.request, int64(len(arguments)), 10)
	c.request = resp.AppendLineEnd(c.request)
	for _, argument := range arguments {
		c.request = resp.AppendBulkString(c.request, argument)
	}
	replies, err := c.Send(c.request)
	if err != nil {
		return resp.Value{}, err
	}
	value, _, result := resp.ReadReply(replies)
	if result != resp.Complete {
		return resp.Value{}, fmt.Errorf("cannot read the reply %q: it is no whole reply", replies)
	}
	return value, nil
}

// Close frees the client. Later calls do nothing.
func (c *Client) Close() {
	c.server.mu.Lock()
	_, open := c.server.mu.clients[c]
	delete(c.server.mu.clients, c)
	c.server.mu.Unlock()
	if open {
		c.free()
	}
}

// free gives back what the client holds. It runs once: for the one who took c off the server's list.
func (c *Client) free() {
	c.closed = true
	c.server.handler.Closed(c.conn)
	c.worker.Close()
}
