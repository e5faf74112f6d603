package network

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"time"
)

// The goroutine path: a connection is a net.Conn with a goroutine of its own, which waits in Read
// with the connection's buffer and borrows a runner for each batch. Writes wait for the peer, so
// nothing is ever left unsent, and a peer that does not read is not read from.

// noDeadline is the context of calls that end by themselves.
var noDeadline = context.Background()

// streamInputBytes is the read buffer a connection holds while it waits.
const streamInputBytes = 16 << 10

// accept takes connections from one listener until it is closed.
func (s *Server) accept(listener net.Listener, secure bool) {
	defer s.goroutines.Done()
	for !s.closing.Load() {
		stream, err := listener.Accept()
		switch {
		case err == nil:
			if tcp, ok := stream.(*net.TCPConn); ok {
				_ = tcp.SetKeepAliveConfig(keepAlive(time.Duration(s.keepAlive.Load()))) // fails only if it is gone
			}
			s.openStream(stream, secure)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			// Out of descriptors, most likely; some connection will end.
			time.Sleep(acceptPause)
		}
	}
}

// acceptPause is the wait after a failed accept.
const acceptPause = 10 * time.Millisecond

func (s *Server) openStream(stream net.Conn, secure bool) {
	c := s.newConn(addressText(stream.RemoteAddr(), stream.LocalAddr()), addressText(stream.LocalAddr(), stream.LocalAddr()))
	c.stream, c.roused = stream, make(chan struct{}, 1)
	if secure {
		c.stream = tls.Server(stream, s.options.TLS())
	}
	s.handler.Open(c)
	s.mu.Lock()
	refused := s.closing.Load()
	if !refused {
		s.streams[c] = struct{}{}
		s.goroutines.Add(1)
	}
	s.mu.Unlock()
	if refused {
		s.closeConn(c)
		return
	}
	go s.serveStream(c)
}

// addressText writes an address as Redis does: a unix socket's as path:0, for both ends.
func addressText(address, local net.Addr) string {
	if address.Network() == "unix" {
		return local.String() + ":0"
	}
	return address.String()
}

// serveStream is the goroutine of one connection.
func (s *Server) serveStream(c *Conn) {
	defer s.goroutines.Done()
	defer s.closeStream(c)
	if !s.shakeHands(c) {
		return
	}
	r := s.takeRunner()
	alive := c.flush(r)
	s.putRunner(r)
	for alive && !c.over() && !c.killed.Load() && !s.closing.Load() {
		if c.pushedBytes.Load() > 0 {
			r = s.takeRunner()
			alive = r.sendPushes(c)
			s.putRunner(r)
			continue
		}
		if !c.mayRead() {
			if !c.killed.Load() { // looked at after inputWaits was stored: else Kill rouses it
				<-c.roused
			}
			continue
		}
		c.growStreamInput(s.options.ReadBufferBytes)
		n, err := c.stream.Read(c.streamWindow())
		if errors.Is(err, os.ErrDeadlineExceeded) && !s.closing.Load() {
			// A push woke it. If the server closes now, the loop's condition sees it.
			err = c.stream.SetReadDeadline(time.Time{})
		}
		c.endOfInput = err != nil
		if n == 0 {
			continue
		}
		c.bytesIn.Store(c.bytesIn.Load() + uint64(n))
		c.touch(time.Now())
		c.input = c.input[:len(c.input)+n]
		r = s.takeRunner()
		var rest []byte
		c.detached.Store(true) // served: WaitsForPeer looks
		rest, alive = r.turn(c, c.input)
		c.detached.Store(false)
		if alive {
			c.keepOwn(rest, s.options.ReadBufferBytes)
			c.noteInput()
			alive = int64(len(c.input)) <= s.inputHardBytes.Load()
		}
		s.putRunner(r)
	}
	s.sayGoodbye(c)
}

// closeStream ends a connection that has a goroutine.
func (s *Server) closeStream(c *Conn) {
	s.mu.Lock()
	delete(s.streams, c)
	s.mu.Unlock()
	s.closeConn(c)
}

// sendChunkBytes is how much one write to a stream passes on.
const sendChunkBytes = 256 << 10

// hardBoundGrace is how long a peer may take for a chunk while more than OutputHardBytes wait behind it.
const hardBoundGrace = time.Second

// sendStream writes data and waits for the peer to take it. While the server closes, the peer must
// take each chunk within grace; interruptStreams bounds the write in progress. While the hard bound is
// passed it must take each within hardBoundGrace.
func (c *Conn) sendStream(data []byte) (sent int, err error) {
	bounded := false
	for sent < len(data) && err == nil {
		rest := len(data) - sent
		c.outputBytes.Store(int64(rest)) // Write may wait long; who looks on meanwhile sees for what
		// A deadline that cannot be set is one of a connection whose write fails too.
		if over := c.OutputHardBytes > 0 && rest > c.OutputHardBytes; over {
			_ = c.stream.SetWriteDeadline(time.Now().Add(hardBoundGrace))
			bounded = true
		} else if bounded {
			_ = c.stream.SetWriteDeadline(time.Time{})
			bounded = false
		}
		if c.server.closing.Load() { // looked at last: interruptStreams may have set its deadline before ours
			_ = c.stream.SetWriteDeadline(c.server.grace())
		}
		var n int
		n, err = c.stream.Write(data[sent:min(len(data), sent+sendChunkBytes)])
		sent += n
	}
	return sent, err
}

// rouseStream ends the wait of the connection's goroutine. Any goroutine.
func (c *Conn) rouseStream() {
	_ = c.stream.SetReadDeadline(time.Now()) // fails only if the connection is gone
	select {
	case c.roused <- struct{}{}:
	default: // it is roused already
	}
}

// growStreamInput makes room for the next read. A buffer grows up to batch bytes when a read
// filled it, further only for a request that is larger, and shrinks when nothing is in it.
func (c *Conn) growStreamInput(batch int) {
	length, room := len(c.input), cap(c.input)
	switch {
	case length == 0 && (room == 0 || room > batch):
		c.input = make([]byte, 0, min(streamInputBytes, batch))
	case c.inputShort():
		want := max(nextRoom(length, room, c.NeedBytes), min(max(2*room, streamInputBytes), batch))
		c.input = append(make([]byte, 0, want), c.input...)
	}
}

// streamWindow is where the next read goes; it is short while there is no room for what may turn out to be a part of a long request.
func (c *Conn) streamWindow() []byte {
	length, most := len(c.input), cap(c.input)
	if c.admission == nil && c.server.inputWaiting.Load() > 0 {
		most = min(most, length+ordinaryInputBytes)
	}
	return c.input[length:most]
}

// interruptStreams wakes the goroutines that wait in Read, and bounds the writes in progress.
func (s *Server) interruptStreams() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.streams {
		// A failure means that the connection is gone, which is what is wanted.
		c.rouseStream()
		_ = c.stream.SetWriteDeadline(s.grace())
	}
}
