package servertest

import (
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server/resp"
)

// Target is something that answers commands.
type Target interface {
	// Do sends one command and returns its reply.
	Do(words ...string) (resp.Value, error)
	// Reconnect goes on as a new client.
	Reconnect() error
}

// replyTimeout is how long a reply may take before the test fails.
const replyTimeout = time.Minute

// Client is a raw client over TCP or a unix socket: it sends what it is told to and hands out the
// bytes that come back. It is not safe for concurrent use.
type Client struct {
	network, address string
	secure           *tls.Config // nil without TLS
	connection       net.Conn
	received         []byte // bytes behind the last reply
}

// Dial connects to a server. The connection is closed when the test ends.
func Dial(tb testing.TB, address string) *Client {
	tb.Helper()
	c := &Client{network: "tcp", address: address}
	if err := c.Reconnect(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.connection.Close() })
	return c
}

// DialTLS connects to a server that speaks TLS and has a certificate for localhost; the error is that of the handshake. The
// connection is closed when the test ends.
func DialTLS(tb testing.TB, address string, config *tls.Config) (*Client, error) {
	tb.Helper()
	c := &Client{network: "tcp", address: address, secure: config}
	if err := c.Reconnect(); err != nil {
		return nil, err
	}
	tb.Cleanup(func() { c.connection.Close() })
	return c, nil
}

// Reconnect closes the connection, if there is one, and opens a new one.
func (c *Client) Reconnect() error {
	if c.connection != nil {
		c.connection.Close()
	}
	connection, err := net.DialTimeout(c.network, c.address, replyTimeout)
	if err != nil {
		return fmt.Errorf("cannot connect to the server under test: %w", err)
	}
	if c.secure != nil {
		config := c.secure.Clone()
		config.ServerName = "localhost"
		secure := tls.Client(connection, config)
		if err := secure.Handshake(); err != nil {
			connection.Close()
			return fmt.Errorf("cannot shake hands with the server under test: %w", err)
		}
		connection = secure
	}
	c.connection, c.received = connection, nil
	return nil
}

// Do sends one command and returns its reply.
func (c *Client) Do(words ...string) (resp.Value, error) {
	if err := c.Send(AppendCommand(nil, words...)); err != nil {
		return resp.Value{}, err
	}
	reply, _, err := c.Receive()
	return reply, err
}

// Send writes bytes as they are.
func (c *Client) Send(bytes []byte) error {
	c.connection.SetDeadline(time.Now().Add(replyTimeout))
	if _, err := c.connection.Write(bytes); err != nil {
		return fmt.Errorf("cannot send a command: %w", err)
	}
	return nil
}

// Receive returns the next reply, and its bytes as they came.
func (c *Client) Receive() (reply resp.Value, raw []byte, err error) {
	buffer := make([]byte, 64<<10)
	for {
		reply, length, result := resp.ReadReply(c.received)
		switch result {
		case resp.Complete:
			raw = c.received[:length:length]
			c.received = c.received[length:]
			return reply, raw, nil
		case resp.Malformed:
			return resp.Value{}, nil, fmt.Errorf("cannot read %.100q as a reply", c.received)
		}
		n, err := c.connection.Read(buffer)
		c.received = append(c.received, buffer[:n]...)
		if err != nil && n == 0 {
			return resp.Value{}, nil, fmt.Errorf("cannot receive a reply, %d bytes of it are here: %w", len(c.received), err)
		}
	}
}

// AppendCommand appends a command in the form clients send it.
func AppendCommand(dst []byte, words ...string) []byte {
	dst = append(dst, '*')
	dst = strconv.AppendInt(dst, int64(len(words)), 10)
	dst = append(dst, "\r\n"...)
	for _, word := range words {
		dst = append(dst, '$')
		dst = strconv.AppendInt(dst, int64(len(word)), 10)
		dst = append(dst, "\r\n"...)
		dst = append(dst, word...)
		dst = append(dst, "\r\n"...)
	}
	return dst
}
