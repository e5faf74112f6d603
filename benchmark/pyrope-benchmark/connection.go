package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/pyropedb/pyrope/benchmark/reply"
	"github.com/pyropedb/pyrope/benchmark/workload"
)

const (
	dialTimeout  = 5 * time.Second
	receiveBytes = 64 << 10
)

// connection is one simulated client: it has a batch in flight, or none any more. It belongs to its
// lane's goroutine, or to one of its own where there is no epoll.
type connection struct {
	lane    *lane
	batch   template // -P times the test's commands
	unsent  []byte   // what of the setup and the batch the kernel has not taken yet
	scanner reply.Scanner
	random  workload.Random
	started time.Time
	fresh   bool     // the setup has not been sent
	busy    bool     // a batch is in flight; else what arrives is pushed, and no reply
	stream  net.Conn // with TLS, and where there is no epoll; else nil
	socket
}

// connect opens a connection to the server.
func (c *connection) connect(o *options) error {
	conn, err := o.dial()
	if err != nil {
		return err
	}
	if o.secure.config != nil {
		c.stream = conn
		return nil
	}
	return c.adopt(conn)
}

// next makes the next batch ready to be sent; false says that all requests have been issued.
func (c *connection) next() bool {
	r := c.lane.run
	count := int64(c.batch.commands)
	if r.stop.Load() || r.issued.Add(count)-count >= r.options.Requests {
		return false
	}
	c.batch.fill(&c.random, r.sequence, r.options.Keyspace)
	c.scanner.Expect(c.batch.commands)
	c.unsent = c.batch.bytes
	if c.fresh && r.setup.commands > 0 {
		c.unsent = append(append([]byte(nil), r.setup.bytes...), c.batch.bytes...)
		c.scanner.Expect(r.setup.commands)
	}
	c.fresh, c.busy = false, true
	c.started = time.Now()
	return true
}

// received takes what has arrived, and reports whether the batch is complete.
func (c *connection) received(piece []byte) (complete bool, err error) {
	if err := c.scanner.Feed(piece); err != nil {
		return false, err
	}
	if c.scanner.Errors > 0 {
		return false, fmt.Errorf("Error from server: %s", c.scanner.FirstError)
	}
	if !c.busy || !c.scanner.Complete() {
		return false, nil
	}
	c.busy = false
	c.lane.record(time.Since(c.started), c.batch.commands)
	return true, nil
}

// errClosed is what a connection that the server ends leads to.
var errClosed = errors.New("Error: Server closed the connection")

// dial connects to the server.
func (o *options) dial() (net.Conn, error) {
	network, address := "tcp", net.JoinHostPort(o.Host, strconv.Itoa(o.Port))
	if o.Socket != "" {
		network, address = "unix", o.Socket
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	dialer.SetMultipathTCP(o.MPTCP)
	conn, err := dialer.DialContext(context.Background(), network, address)
	if err == nil && o.secure.config != nil {
		secured := tls.Client(conn, o.secure.config)
		handshake, cancel := context.WithTimeout(context.Background(), dialTimeout)
		defer cancel()
		if err = secured.HandshakeContext(handshake); err != nil {
			err = errors.Join(err, conn.Close())
		}
		conn = secured
	}
	if err != nil {
		return nil, fmt.Errorf("cannot connect to the server at %s: %w", o.address(), err)
	}
	return conn, nil
}

// address names the server in messages.
func (o *options) address() string {
	if o.Socket != "" {
		return o.Socket
	}
	return net.JoinHostPort(o.Host, strconv.Itoa(o.Port))
}

// setup is what every connection begins with.
func (o *options) setup() template {
	var t template
	add := func(arguments ...string) { t.append(arguments, "", false) }
	if o.Password != "" {
		add(o.authenticate()...)
	}
	if o.Tracking {
		add("CLIENT", "TRACKING", "on")
	}
	if o.Database != 0 {
		add("SELECT", strconv.Itoa(o.Database))
	}
	if o.RESP3 {
		add("HELLO", "3")
	}
	return t
}

// authenticate is the AUTH command.
func (o *options) authenticate() []string {
	if o.User != "" {
		return []string{"AUTH", o.User, o.Password}
	}
	return []string{"AUTH", o.Password}
}
