package main

import (
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	eventsAtOnce   = 256
	pollMillis     = 100 // between looks at the stop flag
	reading        = unix.EPOLLIN
	readingWriting = unix.EPOLLIN | unix.EPOLLOUT
)

// socket is a non-blocking descriptor that the runtime's poller does not know of.
type socket struct {
	descriptor int
	waiting    bool // for room to write
}

// adopt takes over the socket of a connection.
func (c *connection) adopt(conn net.Conn) error {
	defer conn.Close()
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return fmt.Errorf("cannot get the socket of a connection: %w", err)
	}
	var failure error
	err = raw.Control(func(descriptor uintptr) {
		c.descriptor, failure = unix.FcntlInt(descriptor, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err == nil {
		err = failure
	}
	if err != nil {
		return fmt.Errorf("cannot get the socket of a connection: %w", err)
	}
	c.waiting = false
	return nil
}

// disconnect closes the connection.
func (c *connection) disconnect() {
	if c.stream != nil {
		_ = c.stream.Close()
		return
	}
	_ = unix.Close(c.descriptor)
}

// poller is the event loop of a lane.
type poller struct {
	lane   *lane
	epoll  int
	active int // connections with a batch in flight
}

// drive sends and receives until no connection has anything left to do.
func (l *lane) drive() error {
	if l.run.options.secure.config != nil {
		return l.driveStreams()
	}
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("cannot wait for sockets: %w", err)
	}
	defer unix.Close(epoll)
	p := &poller{lane: l, epoll: epoll}
	for i := range l.connections {
		if err := p.start(i); err != nil {
			return err
		}
	}
	var events [eventsAtOnce]unix.EpollEvent
	for p.active > 0 {
		n, err := unix.EpollWait(epoll, events[:], pollMillis)
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("cannot wait for sockets: %w", err)
		}
		if l.run.stop.Load() {
			return nil
		}
		for i := range max(n, 0) {
			if err := p.serve(int(events[i].Fd), events[i].Events); err != nil {
				return err
			}
		}
	}
	return nil
}

// start registers a connection and sends its first batch.
func (p *poller) start(index int) error {
	c := p.lane.connections[index]
	if !c.next() {
		return nil
	}
	p.active++
	event := unix.EpollEvent{Events: reading, Fd: int32(index)}
	if err := unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, c.descriptor, &event); err != nil {
		return fmt.Errorf("cannot wait for a socket: %w", err)
	}
	return p.write(c, index)
}

// serve reads what a connection has, writes what it can take, and starts the next batch.
func (p *poller) serve(index int, events uint32) error {
	c := p.lane.connections[index]
	if events&unix.EPOLLOUT != 0 {
		if err := p.write(c, index); err != nil {
			return err
		}
	}
	if events&^unix.EPOLLOUT == 0 {
		return nil
	}
	n, err := unix.Read(c.descriptor, p.lane.received)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return nil
	case err != nil:
		return fmt.Errorf("cannot read replies: %w", err)
	case n == 0:
		return errClosed
	}
	complete, err := c.received(p.lane.received[:n])
	if err != nil || !complete {
		return err
	}
	return p.again(c, index)
}

// again sends the next batch, on a new connection with -k 0.
func (p *poller) again(c *connection, index int) error {
	if p.lane.run.options.Keep == 0 {
		c.disconnect()
		c.descriptor = -1
		if p.lane.run.issued.Load() >= p.lane.run.options.Requests {
			p.active--
			return nil
		}
		if err := c.connect(p.lane.run.options); err != nil {
			return err
		}
		c.fresh = true
		p.active--
		return p.start(index)
	}
	if !c.next() {
		p.active--
		return nil
	}
	return p.write(c, index)
}

// write hands the kernel as much as it takes, and waits for room if that is not all.
func (p *poller) write(c *connection, index int) error {
	for len(c.unsent) > 0 {
		n, err := unix.Write(c.descriptor, c.unsent)
		if err == unix.EAGAIN {
			return p.wait(c, index, true)
		}
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("cannot send requests: %w", err)
		}
		c.unsent = c.unsent[max(n, 0):]
	}
	return p.wait(c, index, false)
}

// wait asks to be told of room to write, or not any more.
func (p *poller) wait(c *connection, index int, waiting bool) error {
	if c.waiting == waiting {
		return nil
	}
	c.waiting = waiting
	event := unix.EpollEvent{Events: reading, Fd: int32(index)}
	if waiting {
		event.Events = readingWriting
	}
	if err := unix.EpollCtl(p.epoll, unix.EPOLL_CTL_MOD, c.descriptor, &event); err != nil {
		return fmt.Errorf("cannot wait for a socket: %w", err)
	}
	return nil
}
