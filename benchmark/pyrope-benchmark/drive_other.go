//go:build !linux

package main

import "net"

// socket is nothing here: every connection is a stream.
type socket struct{}

// adopt takes a connection over.
func (c *connection) adopt(conn net.Conn) error {
	c.stream = conn
	return nil
}

// disconnect closes the connection.
func (c *connection) disconnect() {
	if c.stream != nil {
		_ = c.stream.Close()
	}
}

// drive gives every connection a goroutine until all requests are answered.
func (l *lane) drive() error { return l.driveStreams() }
