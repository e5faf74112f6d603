//go:build !linux

package network

import (
	"syscall"
	"time"
)

// Elsewhere than on Linux there are no event loops: every connection has a goroutine.

const loopsSupported = false

type (
	loop   struct{}
	socket struct{}
	table  struct{}
)

func (s *Server) startLoops() error { return nil }

// stopLoops waits for all goroutines of the server.
func (s *Server) stopLoops() error {
	s.goroutines.Wait()
	return nil
}

// handOff does nothing: the connection's goroutine may wait.
func (r *runner) handOff() {}

func (c *Conn) send(data []byte) (int, error) { return c.sendStream(data) }

func (c *Conn) interrupt() { _ = c.stream.Close() }

// wakeOwner makes the owner look into the mailbox. Any goroutine.
func (c *Conn) wakeOwner() { _ = c.stream.SetReadDeadline(time.Now()) }

func (c *Conn) closeSocket() { _ = c.stream.Close() }

// prepareListener leaves socket options to package net.
func prepareListener(time.Duration) func(network, address string, raw syscall.RawConn) error {
	return nil
}
