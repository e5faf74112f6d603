package network

// A Server opens and closes everything; the work is done in loops and streams.

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Server listens, accepts and serves until Close.
type Server struct {
	handler   Handler
	committer Committer // the handler, if it is one
	options   Options
	started   time.Time
	addresses []net.Addr

	loops        []*loop
	active       atomic.Int32 // how many of the loops, from the first on, take new connections; stored under mu
	stopBalance  chan struct{}
	table        table // connections of the loops by descriptor
	listeners    []net.Listener
	tlsListeners []net.Listener
	refusing     atomic.Int32 // connections in a handshake that will only be told why they are refused

	modest, large  intake
	inputWaiting   atomic.Int32 // see InputWaiting
	inputHardBytes atomic.Int64
	keepAlive      atomic.Int64 // nanoseconds
	held           atomic.Int64 // see HeldBytes

	lastID      atomic.Uint64
	connections atomic.Int64
	goroutines  sync.WaitGroup

	mu      sync.Mutex
	closing atomic.Bool        // stored under mu, so that who attaches a connection under mu sees it
	closeBy time.Time          // when Close stops waiting for peers; immutable once closing is set
	idle    []*runner          // guarded by mu; runners without a loop or connection
	streams map[*Conn]struct{} // guarded by mu; connections with a goroutine of their own
}

// maxIdleRunners bounds the pool; a runner holds a worker and, if it has driven a loop, a read buffer.
const maxIdleRunners = 64

// Listen opens all the sockets the options name and starts to serve them. It returns once
// connections are accepted, and an error if any address cannot be had.
func Listen(handler Handler, options Options) (*Server, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	s := &Server{handler: handler, options: options.withDefaults(), started: time.Now(), streams: map[*Conn]struct{}{}}
	s.committer, _ = handler.(Committer)
	s.modest.server, s.large.server = s, s
	s.SetIntakeBytes(s.options.IntakeBytes)
	s.inputHardBytes.Store(int64(s.options.InputHardBytes))
	s.keepAlive.Store(int64(s.options.KeepAlive))
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.closeListeners())
	}
	s.acceptStreams(s.tlsListeners, true)
	if options.Goroutines || !loopsSupported {
		s.acceptStreams(s.listeners, false)
		return s, nil
	}
	if err := s.startLoops(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// acceptStreams starts to accept connections that have a goroutine each.
func (s *Server) acceptStreams(listeners []net.Listener, secure bool) {
	for _, listener := range listeners {
		s.goroutines.Add(1)
		go s.accept(listener, secure)
	}
}

// Addresses are the addresses listened on without TLS, in the order of the options, the unix socket last.
func (s *Server) Addresses() []net.Addr { return s.addresses }

// TLSAddresses are the addresses on which TLS is spoken, in the order of the options.
func (s *Server) TLSAddresses() []net.Addr {
	addresses := make([]net.Addr, len(s.tlsListeners))
	for i, listener := range s.tlsListeners {
		addresses[i] = listener.Addr()
	}
	return addresses
}

// SetInputHardBytes changes Options.InputHardBytes, which must be above 0, for all connections. Any goroutine.
func (s *Server) SetInputHardBytes(limit int) { s.inputHardBytes.Store(int64(limit)) }

// SetKeepAlive changes Options.KeepAlive, 0 or less for no probes, for the connections that are yet to come. Any goroutine.
func (s *Server) SetKeepAlive(idle time.Duration) error {
	s.keepAlive.Store(int64(idle))
	var problems []error
	for _, listener := range append(s.listeners[:len(s.listeners):len(s.listeners)], s.tlsListeners...) {
		if tcp, ok := listener.(*net.TCPListener); ok {
			problems = append(problems, setListenerKeepAlive(tcp, idle))
		}
	}
	return errors.Join(problems...)
}

// HeldBytes is the size of the buffers that all connections hold: for input that waits for its rest and output that waits for its
// peer. Any goroutine.
func (s *Server) HeldBytes() int64 { return s.held.Load() }

// NextID returns the number of a new connection; for NewInMemory.
func (s *Server) NextID() uint64 { return s.lastID.Add(1) }

// Connections is the number of open connections with a socket.
func (s *Server) Connections() int { return int(s.connections.Load()) }

// Close stops accepting, finishes the requests that were read, sends their replies until a peer
// takes none for a fifth of Options.CloseTimeout, or a second if that is longer, or that timeout is over, and closes everything. It waits for every Serve in progress:
// the handler must see to it that none waits forever. Later calls do nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closing.Load() {
		s.mu.Unlock()
		return nil
	}
	s.closeBy = time.Now().Add(s.options.CloseTimeout)
	s.closing.Store(true)
	s.mu.Unlock()

	problems := []error{s.closeListeners()}
	s.interruptStreams()
	problems = append(problems, s.stopLoops())
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.idle {
		r.worker.Close()
	}
	s.idle = nil
	return errors.Join(problems...)
}

const (
	// closeShare is the part of Options.CloseTimeout, one in closeShare, that Close waits for a peer to take more of its replies.
	closeShare = 5
	// leastCloseGrace is how long it does at least, within that timeout.
	leastCloseGrace = time.Second
)

// grace is until when a closing server waits for a peer that has just taken something. A peer that
// reads a little at a time would otherwise keep the process alive for as long as it likes.
func (s *Server) grace() time.Time {
	if end := time.Now().Add(max(s.options.CloseTimeout/closeShare, leastCloseGrace)); end.Before(s.closeBy) {
		return end
	}
	return s.closeBy
}

// closeListeners stops accepting.
func (s *Server) closeListeners() error {
	var problems []error
	for _, listener := range append(s.listeners[:len(s.listeners):len(s.listeners)], s.tlsListeners...) {
		if err := listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// open listens on every address.
func (s *Server) open() (err error) {
	if s.listeners, err = s.listenTCP(s.options.Addresses); err != nil {
		return err
	}
	if s.tlsListeners, err = s.listenTCP(s.options.TLSAddresses); err != nil {
		return err
	}
	for _, listener := range s.listeners {
		s.addresses = append(s.addresses, listener.Addr())
	}
	if path := s.options.UnixSocket; path != "" {
		listener, err := listenUnix(path, s.options.UnixSocketMode)
		if err != nil {
			return fmt.Errorf("cannot listen on unix socket %s: %w", path, err)
		}
		s.listeners = append(s.listeners, listener)
		s.addresses = append(s.addresses, listener.Addr())
	}
	return nil
}

// listenTCP listens on addresses and returns what it has opened, also when one fails.
func (s *Server) listenTCP(addresses []string) (listeners []net.Listener, err error) {
	// Probes are set on the listening socket, and where that does not pass them on, on each connection.
	config := net.ListenConfig{KeepAlive: -1, Control: prepareListener(s.options.KeepAlive)}
	for _, address := range addresses {
		address, optional := strings.CutPrefix(address, "-")
		listener, err := config.Listen(noDeadline, tcpNetwork(address), address)
		if optional && errors.Is(err, syscall.EADDRNOTAVAIL) || unsupportedFamily(err) && len(addresses) > 1 {
			continue
		}
		if err != nil {
			return listeners, fmt.Errorf("cannot listen on %s: %w", address, err)
		}
		listeners = append(listeners, listener)
		if err := setBacklog(listener, s.options.Backlog); err != nil {
			return listeners, fmt.Errorf("cannot let %d connections wait at %s: %w", s.options.Backlog, address, err)
		}
	}
	if len(listeners) == 0 && len(addresses) > 0 {
		return nil, fmt.Errorf("cannot listen on %s: the machine has none of these addresses", strings.Join(addresses, ", "))
	}
	return listeners, nil
}

// unsupportedFamily tells whether a machine has no addresses of this kind at all: with IPv6 switched off,
// an address of that kind is passed over as long as another can be had, as Redis does.
func unsupportedFamily(err error) bool {
	return errors.Is(err, syscall.EAFNOSUPPORT) || errors.Is(err, syscall.EPROTONOSUPPORT)
}

// tcpNetwork picks the family of an address, so that 0.0.0.0 and :: may both be listened on.
func tcpNetwork(address string) string {
	host, _, _ := net.SplitHostPort(address)
	switch ip := net.ParseIP(host); {
	case ip == nil:
		return "tcp"
	case ip.To4() != nil:
		return "tcp4"
	}
	return "tcp6"
}

// keepAlive probes after the idle time, three times a third of it apart.
func keepAlive(idle time.Duration) net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: idle > 0, Idle: idle, Interval: keepAliveInterval(idle), Count: keepAliveCount}
}

const keepAliveCount = 3

func keepAliveInterval(idle time.Duration) time.Duration {
	return max(idle/keepAliveCount, time.Second)
}

// listenUnix replaces a socket file nobody listens on; one that answers is an error.
func listenUnix(path string, mode fs.FileMode) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
		if probe, err := net.DialTimeout("unix", path, time.Second); err == nil {
			return nil, errors.Join(errors.New("another process listens on it"), probe.Close())
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if mode != 0 {
		if err := os.Chmod(path, mode); err != nil {
			return nil, errors.Join(err, listener.Close())
		}
	}
	return listener, nil
}

// takeRunner returns an idle runner or a new one.
func (s *Server) takeRunner() *runner {
	s.mu.Lock()
	if last := len(s.idle) - 1; last >= 0 {
		r := s.idle[last]
		s.idle = s.idle[:last]
		s.mu.Unlock()
		return r
	}
	s.mu.Unlock()
	return newRunner(s)
}

// putRunner takes a runner back.
func (s *Server) putRunner(r *runner) {
	r.loop, r.conn, r.used = nil, nil, 0
	if len(r.in) < s.options.ReadBufferBytes {
		r.in = nil // a part of what another one reads into
	}
	s.mu.Lock()
	if len(s.idle) < maxIdleRunners {
		s.idle = append(s.idle, r)
		r = nil
	}
	s.mu.Unlock()
	if r != nil {
		r.worker.Close()
	}
}

// newConn returns a connection that nobody but the caller knows yet.
func (s *Server) newConn(remote, local string) *Conn {
	c := &Conn{
		ID: s.NextID(), server: s, remote: remote, local: local, created: time.Now(),
		OutputHardBytes: s.options.OutputHardBytes,
	}
	c.touch(c.created)
	s.connections.Add(1)
	return c
}

// closeConn ends a connection: its owner's last act.
func (s *Server) closeConn(c *Conn) {
	c.leaveIntake()
	c.mu.Lock()
	c.closed = true
	c.forgetPushesLocked()
	c.closeSocket()
	c.mu.Unlock()
	c.input, c.Out = nil, nil
	c.noteHeld()
	s.connections.Add(-1)
	s.handler.Closed(c)
}

// touch notes that the peer was heard of.
func (c *Conn) touch(now time.Time) { c.lastInteraction.Store(int64(now.Sub(c.server.started))) }
