package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/pyropedb/pyrope/benchmark/reply"
)

// link carries batches to a server and replies back. It belongs to one goroutine.
type link interface {
	// exchange sends request and feeds r until all the replies that r expects are complete.
	exchange(request []byte, r *reply.Scanner) error
	// interruptBy makes an exchange fail that is not over by the deadline. Any goroutine may call it.
	interruptBy(deadline time.Time)
	Close() error
}

const (
	dialTimeout      = 5 * time.Second
	receiveBytes     = 64 << 10
	inlineWriteBytes = 64 << 10 // a request of up to this fits the kernel's buffers on both sides
)

// lightClient is a link over one TCP connection: no client library, no allocation.
//
// A small request is written by the caller. A larger one is written by a second goroutine while
// the caller drains replies: a server that stops reading while its replies are not read would
// otherwise wait for the client, and the client for it.
type lightClient struct {
	conn     net.Conn
	received []byte
	large    chan []byte // requests for the writer
	written  chan error  // its answer, one a request
}

// dialLight connects, with TLS if there is a configuration of it, and authenticates if there is a password.
func dialLight(address, password string, security *tls.Config) (*lightClient, error) {
	dialer := &net.Dialer{Timeout: dialTimeout}
	dial := dialer.Dial
	if security != nil {
		dial = func(network, address string) (net.Conn, error) {
			conn, err := tls.DialWithDialer(dialer, network, address, security)
			if err != nil {
				return nil, err
			}
			return conn, nil
		}
	}
	conn, err := dial("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot connect: %w", err)
	}
	c := &lightClient{conn: conn, received: make([]byte, receiveBytes), large: make(chan []byte), written: make(chan error, 1)}
	go c.writeLarge()
	if password != "" {
		if _, err := command(c, "AUTH", password); err != nil {
			c.Close()
			return nil, fmt.Errorf("cannot authenticate: %w", err)
		}
	}
	return c, nil
}

// writeLarge is the writer goroutine; it ends when the link is closed.
func (c *lightClient) writeLarge() {
	for request := range c.large {
		_, err := c.conn.Write(request)
		c.written <- err
	}
}

// exchange implements link.
func (c *lightClient) exchange(request []byte, r *reply.Scanner) error {
	if len(request) > inlineWriteBytes {
		c.large <- request
		drained := c.drain(r)
		if drained != nil {
			c.conn.Close() // or the writer might wait for ever
		}
		return errors.Join(drained, wrapWrite(<-c.written))
	}
	if _, err := c.conn.Write(request); err != nil {
		return wrapWrite(err)
	}
	return c.drain(r)
}

// drain reads until r is complete.
func (c *lightClient) drain(r *reply.Scanner) error {
	for !r.Complete() {
		n, err := c.conn.Read(c.received)
		if feedErr := r.Feed(c.received[:n]); feedErr != nil {
			return feedErr
		}
		if err != nil && !r.Complete() {
			return fmt.Errorf("cannot read replies: %w", err)
		}
	}
	return nil
}

// interruptBy implements link.
func (c *lightClient) interruptBy(deadline time.Time) { _ = c.conn.SetDeadline(deadline) }

// Close implements link.
func (c *lightClient) Close() error {
	close(c.large)
	return c.conn.Close()
}

// wrapWrite says that a write failed, if it did.
func wrapWrite(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot send requests: %w", err)
}

// command sends one command and returns its reply if that is an integer. An error reply is an error.
func command(l link, arguments ...string) (int64, error) {
	request := appendHeader(nil, '*', len(arguments))
	for _, argument := range arguments {
		request = appendHeader(request, '$', len(argument))
		request = append(request, argument...)
		request = append(request, '\r', '\n')
	}
	var r reply.Scanner
	r.Expect(1)
	if err := l.exchange(request, &r); err != nil {
		return 0, err
	}
	if r.Errors > 0 {
		return 0, fmt.Errorf("the server answers %s with %q", arguments[0], r.FirstError)
	}
	return r.Number, nil
}

// joinHostPort writes an address to dial.
func joinHostPort(host string, port int) string {
	return net.JoinHostPort(host, strconv.Itoa(port))
}
