package network

// TLS: a handshake before the first batch. After it a connection is a stream like any other.

import (
	"context"
	"crypto/tls"
	"errors"
	"time"
)

// maxRefusedHandshakes bounds the handshakes that are made only to tell the peer why it is not served.
// Beyond it refused peers are just closed: a flood of them must not cost the processor time of a flood of handshakes.
const maxRefusedHandshakes = 16

var errHandshakeTimeout = errors.New("the peer did not finish its handshake in time")

// shakeHands makes the TLS handshake of a connection that needs one, and tells whether it may go on.
// A peer that stalls is dropped after HandshakeTimeout; one that speaks no TLS, or shows a certificate
// that is not trusted, at once.
func (s *Server) shakeHands(c *Conn) bool {
	secure, ok := c.stream.(*tls.Conn)
	if !ok {
		return true
	}
	if c.closeAfterReply {
		defer s.refusing.Add(-1)
		if s.refusing.Add(1) > maxRefusedHandshakes {
			return false
		}
	}
	limit, cancel := context.WithTimeout(noDeadline, s.options.HandshakeTimeout)
	defer cancel()
	err := secure.HandshakeContext(limit)
	if err == nil {
		return true
	}
	if limit.Err() != nil {
		err = errHandshakeTimeout
	}
	if s.options.HandshakeFailed != nil && !s.closing.Load() && !c.killed.Load() {
		s.options.HandshakeFailed(c.remote, err)
	}
	return false
}

// goodbyeTimeout is how long the alert that ends a TLS connection may take to leave.
const goodbyeTimeout = 100 * time.Millisecond

// sayGoodbye tells the peer of a TLS connection that nothing follows, so that it can tell the end from a cut.
func (s *Server) sayGoodbye(c *Conn) {
	if secure, ok := c.stream.(*tls.Conn); ok && !c.killed.Load() {
		_ = secure.NetConn().SetWriteDeadline(time.Now().Add(goodbyeTimeout))
		_ = secure.CloseWrite() // fails if the peer is gone, which is as well
	}
}

// cutStream closes a stream at once. A TLS connection's own Close would first write, and wait for that.
func (c *Conn) cutStream() {
	if secure, ok := c.stream.(*tls.Conn); ok {
		_ = secure.NetConn().Close() // nothing is left to lose
		return
	}
	_ = c.stream.Close()
}
