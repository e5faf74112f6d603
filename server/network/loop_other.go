//go:build !linux

package network

import (
	"net"
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

// parker is nil: there is no loop to serve others meanwhile.
func (r *runner) parker() Parker { return nil }

func (r *runner) notePark(*Conn) {}

// setAside sets nothing aside: the connection's goroutine waits.
func (r *runner) setAside(*Conn) bool { return false }

// handOff does nothing: the connection's goroutine may wait.
func (r *runner) handOff() {}

func (c *Conn) send(data []byte) (int, error) { return c.sendStream(data) }

func (c *Conn) settleSends() {}

func (c *Conn) interrupt() { c.cutStream() }

// hasUnread does not know.
func (c *Conn) hasUnread() bool { return false }

// wakeOwner makes the owner look into the mailbox, and whether the connection may be read from. Any goroutine.
func (c *Conn) wakeOwner() { c.rouseStream() }

func (c *Conn) closeSocket() { c.cutStream() }

// prepareListener leaves socket options to package net.
func prepareListener(time.Duration) func(network, address string, raw syscall.RawConn) error {
	return nil
}

// setListenerKeepAlive does nothing: each connection is told when it is accepted.
func setListenerKeepAlive(*net.TCPListener, time.Duration) error { return nil }

// setBacklog leaves the system's choice.
func setBacklog(net.Listener, int) error { return nil }
