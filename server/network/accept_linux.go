package network

// Accepting: the first loop takes new connections and spreads them over all.

import (
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// loopListener is a listening socket watched by the first loop.
type loopListener struct {
	descriptor int
	path       string // of a unix socket
	mark       int32
	armed      bool        // of a loop with a ring: a poll is in it
	paused     atomic.Bool // of a loop with a ring: it is not to be armed
}

// listen watches a duplicate of the listener's descriptor: closing the listener, which removes a
// unix socket's file, then takes nothing from under the loop.
func (l *loop) listen(listener net.Listener, mark int) error {
	raw, err := listener.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	var duplicate uintptr
	var errno syscall.Errno
	if err := raw.Control(func(descriptor uintptr) {
		duplicate, _, errno = syscall.Syscall(syscall.SYS_FCNTL, descriptor, syscall.F_DUPFD_CLOEXEC, 0)
	}); err != nil {
		return err
	}
	if errno != 0 {
		return errno
	}
	accepting := &loopListener{descriptor: int(duplicate), mark: int32(mark)}
	if address, ok := listener.Addr().(*net.UnixAddr); ok {
		accepting.path = address.Name
	}
	l.listeners = append(l.listeners, accepting)
	if l.ring != nil {
		return nil
	}
	return l.watch(syscall.EPOLL_CTL_ADD, accepting.descriptor, syscall.EPOLLIN, accepting.mark)
}

// acceptBatch is how many connections are accepted before others are served again.
const acceptBatch = 64

// accept takes the connections that wait at a listener and spreads them over the loops.
func (l *loop) accept(r *runner, listener *loopListener) {
	for range acceptBatch {
		descriptor, peer, err := syscall.Accept4(listener.descriptor, syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
		switch err {
		case nil:
			l.server.openSocket(r, descriptor, peer, listener.path)
		case syscall.ECONNABORTED, syscall.EINTR:
		case syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM:
			l.pause(listener) // some connection will end
			return
		default:
			return // none is left
		}
	}
}

// pause stops watching a listener for a while: what waits there would wake the loop at once.
func (l *loop) pause(listener *loopListener) {
	if l.ring != nil {
		listener.paused.Store(true)
		time.AfterFunc(acceptPause, func() {
			listener.paused.Store(false)
			l.server.mu.Lock()
			defer l.server.mu.Unlock()
			if !l.server.closing.Load() {
				l.rouse()
			}
		})
		return
	}
	if err := l.watch(syscall.EPOLL_CTL_MOD, listener.descriptor, 0, listener.mark); err != nil {
		return // it is tried again at once, which is worse but right
	}
	time.AfterFunc(acceptPause, func() {
		l.server.mu.Lock()
		defer l.server.mu.Unlock()
		if !l.server.closing.Load() {
			_ = l.watch(syscall.EPOLL_CTL_MOD, listener.descriptor, syscall.EPOLLIN, listener.mark)
		}
	})
}

// openSocket makes a connection of an accepted socket and attaches it to the loop with the fewest.
func (s *Server) openSocket(r *runner, descriptor int, peer syscall.Sockaddr, unixPath string) {
	own, err := syscall.Getsockname(descriptor)
	if err != nil || descriptor/tableColumns >= tableRows {
		_ = syscall.Close(descriptor) // gone already, or more than the table can hold
		return
	}
	c := s.newConn(socketAddress(peer, unixPath), socketAddress(own, unixPath))
	target := s.loops[0]
	for _, l := range s.loops[1:s.active.Load()] {
		if l.connections.Load() < target.connections.Load() {
			target = l
		}
	}
	c.socket.descriptor = descriptor
	c.socket.loop.Store(target)
	target.connections.Add(1)
	c.detached.Store(true)
	s.handler.Open(c)
	s.table.store(descriptor, c)
	if !c.flush(r) || c.over() && c.unsentBytes() == 0 {
		target.drop(c)
		return
	}
	target.attach(r, c)
}
