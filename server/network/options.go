package network

// Options: where to listen, and the bounds on what connections may hold.

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"time"
)

// Options says where a Server listens and how much its connections may hold.
type Options struct {
	// Addresses are the TCP addresses to listen on, as host:port. An empty host stands for every
	// interface, port 0 for any free port. One with a "-" before it is left out where the machine has no
	// such address. None: no TCP.
	Addresses []string
	// TLSAddresses are further TCP addresses, on which TLS is spoken: each connection there has a
	// goroutine of its own. They need TLS.
	TLSAddresses []string
	// TLS returns the configuration for the next handshake; it is asked for each connection, so that new
	// certificates hold from then on. Any goroutine.
	TLS func() *tls.Config
	// HandshakeTimeout is how long a peer may take for its TLS handshake. 0: 10 s.
	HandshakeTimeout time.Duration
	// HandshakeFailed hears of each connection that ended in its handshake. nil: nobody does. Any goroutine.
	HandshakeFailed func(remote string, cause error)
	// Backlog is how many connections may wait to be accepted. 0: what the system allows.
	Backlog int
	// UnixSocket is the path of a unix socket to listen on. Empty: none. A socket file left over
	// from an earlier process is replaced.
	UnixSocket string
	// UnixSocketMode is the permission of the socket file. 0: what the umask leaves.
	UnixSocketMode fs.FileMode
	// Loops is the number of event loops. 0: as many as the load needs, from one up to one a
	// processor. Ignored where there are none.
	Loops int
	// Goroutines gives each connection a goroutine of its own even where there are event loops.
	Goroutines bool
	// Rings has the event loops use io_uring instead of epoll. Listen fails where that is not to be had.
	Rings bool
	// ReadBufferBytes is how much of what a socket has delivered is read and served as one batch.
	// 0: 128 KiB. At least 4 KiB.
	ReadBufferBytes int
	// OutputSoftBytes is the unsent output above which a connection is no longer served (N7).
	// 0: 48 MiB, so that a client may send a long pipeline before it reads the first reply; with the batch and the
	// growth of the buffer on top that stays below 64 MiB.
	OutputSoftBytes int
	// OutputHardBytes is the unsent output above which a connection is dropped. 0: no bound.
	OutputHardBytes int
	// InputHardBytes is the size an incomplete request may reach before its connection is
	// dropped. 0: 1 GiB.
	InputHardBytes int
	// IntakeBytes is how much room the incomplete requests of all connections together may take, beyond the first 16 KiB of each; connections
	// that need more wait, unread, in the order of their requests (N12). One request may take more by itself. 0: 256 MiB.
	IntakeBytes int
	// KeepAlive is the idle time before the kernel probes a TCP peer. 0: 300 s. Negative: no probes.
	KeepAlive time.Duration
	// CloseTimeout is how long Close waits in all for peers to take their replies; for one that takes nothing a fifth of it, or a second if that is longer. 0: 5 s.
	CloseTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.ReadBufferBytes == 0 {
		o.ReadBufferBytes = 128 << 10
	}
	if o.OutputSoftBytes == 0 {
		o.OutputSoftBytes = 48 << 20
	}
	if o.InputHardBytes == 0 {
		o.InputHardBytes = 1 << 30
	}
	if o.IntakeBytes == 0 {
		o.IntakeBytes = 256 << 20
	}
	if o.KeepAlive == 0 {
		o.KeepAlive = 300 * time.Second
	}
	if o.CloseTimeout == 0 {
		o.CloseTimeout = 5 * time.Second
	}
	if o.HandshakeTimeout == 0 {
		o.HandshakeTimeout = 10 * time.Second
	}
	return o
}

// Validate says what is wrong with the options, or returns nil.
func (o Options) Validate() error {
	var problems []error
	for _, addresses := range [][]string{o.Addresses, o.TLSAddresses} {
		for _, address := range addresses {
			if _, _, err := net.SplitHostPort(strings.TrimPrefix(address, "-")); err != nil {
				problems = append(problems, fmt.Errorf("cannot listen on %q, want host:port: %w", address, err))
			}
		}
	}
	if len(o.TLSAddresses) > 0 && o.TLS == nil {
		problems = append(problems, fmt.Errorf("cannot speak TLS on %s without a certificate", o.TLSAddresses[0]))
	}
	if o.Loops < 0 || o.Loops > 1024 {
		problems = append(problems, fmt.Errorf("cannot run %d event loops, want 0 to 1024", o.Loops))
	}
	if o.ReadBufferBytes != 0 && o.ReadBufferBytes < minReadBufferBytes {
		problems = append(problems, fmt.Errorf("cannot use a read buffer of %d bytes, want at least %d",
			o.ReadBufferBytes, minReadBufferBytes))
	}
	if o.OutputSoftBytes < 0 || o.OutputHardBytes < 0 || o.InputHardBytes < 0 || o.IntakeBytes < 0 {
		problems = append(problems, fmt.Errorf("cannot bound buffers by %d, %d, %d and %d bytes, want 0 or more",
			o.OutputSoftBytes, o.OutputHardBytes, o.InputHardBytes, o.IntakeBytes))
	}
	if o.CloseTimeout < 0 || o.HandshakeTimeout < 0 || o.Backlog < 0 {
		problems = append(problems, fmt.Errorf("cannot close within %v, shake hands within %v, or let %d connections wait, want 0 or more",
			o.CloseTimeout, o.HandshakeTimeout, o.Backlog))
	}
	return errors.Join(problems...)
}

const minReadBufferBytes = 4 << 10
