package network

// System calls on sockets, for loops and, behind a net.Conn, for streams.

import (
	"crypto/tls"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// socket is a connection's descriptor in its loop's epoll set.
type socket struct {
	descriptor int
	loop       atomic.Pointer[loop] // stored by the owner, while detached
	interest   uint32               // the events the epoll set watches for, or the ring

	heir *loop // the connection goes there once it is neither armed nor served nor held; the owner's

	// Of a loop with a ring; the owner's.
	armed    bool // an operation for interest is in the ring
	recalled bool // and is being cancelled
	sending  bool // a send is staged
}

// read fills buffer from a non-blocking socket, without telling Go's scheduler: the call returns at
// once, and announcing it costs a third of it.
func (k *socket) read(buffer []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, uintptr(k.descriptor),
		uintptr(unsafe.Pointer(unsafe.SliceData(buffer))), uintptr(len(buffer)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// send passes data to the kernel without waiting and returns how much it took.
func (c *Conn) send(data []byte) (int, error) {
	if c.stream != nil {
		return c.sendStream(data)
	}
	n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, uintptr(c.socket.descriptor),
		uintptr(unsafe.Pointer(unsafe.SliceData(data))), uintptr(len(data)), syscall.MSG_NOSIGNAL, 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case syscall.EAGAIN, syscall.EINTR:
		return 0, nil
	}
	return 0, errno
}

// interrupt makes the owner see the end of the stream; called with mu held.
func (c *Conn) interrupt() {
	if c.stream != nil {
		c.cutStream() // the owner's read reports what this one would
		return
	}
	_ = syscall.Shutdown(c.socket.descriptor, syscall.SHUT_RDWR) // fails only when the peer was faster
}

// hasUnread tells whether bytes of the peer wait in the kernel; called with mu held.
func (c *Conn) hasUnread() (has bool) {
	look := func(descriptor uintptr) {
		n, err := unix.IoctlGetInt(int(descriptor), unix.TIOCINQ)
		has = err == nil && n > 0
	}
	stream := c.stream
	if stream == nil {
		look(uintptr(c.socket.descriptor))
		return has
	}
	if secure, ok := stream.(*tls.Conn); ok {
		stream = secure.NetConn()
	}
	if system, ok := stream.(syscall.Conn); ok {
		if raw, err := system.SyscallConn(); err == nil {
			_ = raw.Control(look) // fails on a closed connection, which has none
		}
	}
	return has
}

// closeSocket closes the descriptor; called with mu held.
func (c *Conn) closeSocket() {
	if c.stream != nil {
		c.cutStream()
		return
	}
	_ = syscall.Close(c.socket.descriptor)
}

// setListenerKeepAlive changes what connections inherit that are yet to be accepted.
func setListenerKeepAlive(listener *net.TCPListener, idle time.Duration) error {
	raw, err := listener.SyscallConn()
	if err != nil {
		return err
	}
	return prepareListener(idle)("", "", raw)
}

// setBacklog changes how many connections may wait at a socket that listens already; 0 changes nothing.
func setBacklog(listener net.Listener, backlog int) error {
	if backlog == 0 {
		return nil
	}
	raw, err := listener.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	if controlErr := raw.Control(func(descriptor uintptr) {
		err = syscall.Listen(int(descriptor), backlog)
	}); controlErr != nil {
		return controlErr
	}
	return err
}

// prepareListener sets what accepted sockets inherit, so that accepting costs one call.
func prepareListener(keepAlive time.Duration) func(network, address string, raw syscall.RawConn) error {
	return func(_, _ string, raw syscall.RawConn) error {
		var err error
		if controlErr := raw.Control(func(descriptor uintptr) {
			err = setTCPOptions(int(descriptor), keepAlive)
		}); controlErr != nil {
			return controlErr
		}
		return err
	}
}

func setTCPOptions(descriptor int, keepAlive time.Duration) error {
	type option struct{ level, name, value int }
	options := []option{{syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1}, {syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 0}}
	if keepAlive > 0 {
		options[1].value = 1
		options = append(options,
			option{syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, int(max(keepAlive, time.Second) / time.Second)},
			option{syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, int(keepAliveInterval(keepAlive) / time.Second)},
			option{syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, keepAliveCount})
	}
	for _, o := range options {
		if err := syscall.SetsockoptInt(descriptor, o.level, o.name, o.value); err != nil {
			return err
		}
	}
	return nil
}

// socketAddress writes a kernel address as Redis does; unixPath stands for every end of a unix socket.
func socketAddress(address syscall.Sockaddr, unixPath string) string {
	switch a := address.(type) {
	case *syscall.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)).String()
	case *syscall.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr).Unmap(), uint16(a.Port)).String()
	}
	return unixPath + ":0"
}
