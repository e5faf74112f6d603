package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/server/aof"
	"github.com/pyropedb/pyrope/server/certificate"
	"github.com/pyropedb/pyrope/server/command"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/monitor"
	"github.com/pyropedb/pyrope/server/network"
	"github.com/pyropedb/pyrope/tsavorite"
)

// EmbeddedMemory is the memory of a server whose options give none. The program takes more by default: it has
// the machine to itself.
const EmbeddedMemory = 64 << 20

// Options says what a Server is. The zero value is a server in memory on a free loopback port.
type Options struct {
	// Options are those a command line has, with the same defaults but for Memory: 0 is EmbeddedMemory.
	config.Options
	// Log takes the server's log lines. nil discards them.
	Log *slog.Logger
	// LogLevel is what CONFIG SET loglevel changes, if Log looks at it. nil for a fixed level.
	LogLevel *slog.LevelVar
	// OwnsProcess says that the process is the server's own: Memory then bounds all of it, and the Go heap is limited accordingly. Otherwise Memory
	// bounds what the server itself has: log, index and the buffers of connections.
	OwnsProcess bool
	// ConfigFile is the path of the redis.conf that the options come from, for CONFIG REWRITE. Empty is none.
	ConfigFile string

	hooks hooks
}

// hooks are for tests.
type hooks struct {
	wrapDevice func(device.Device) device.Device // what the store gets for the device; nil is the device itself
	beforeLoad func()                            // runs before the data is loaded; nil is nothing
}

// Server is one server: a store, what stores beneath it, and the connections above it.
type Server struct {
	options config.Options // resolved; immutable

	ownsProcess bool // immutable

	log      *slog.Logger
	device   device.Device // nil without a storage tier
	end      atomic.Int32  // a command.End: what SHUTDOWN asked for
	patience time.Duration // see ShutdownTimeout of the options; immutable once started
	store    *tsavorite.Store
	found    tsavorite.CheckpointInfo // that the store comes from; Number 0 is none
	logID    string                   // of the log on a device that keeps it, see owner; immutable once open
	claimed  bool                     // claimSegments has succeeded; its callers take turns
	aof      *aof.File                // nil without an append-only file
	loaded   chan struct{}            // closed when the data is loaded, or cannot be
	loadErr  error                    // why it cannot; immutable once loaded is closed
	loading  loading
	state    *command.State
	handler  *handler
	saver    saver

	certificates     *certificate.Keeper // nil without TLS
	certificatesSeen time.Time           // when sample looked last whether they have changed; its goroutine's alone
	limiter          limiter             // sample's alone
	monitor          *monitor.Server     // nil without HTTP
	watched          watched
	changing         sync.Mutex // held by change

	shutdown     chan struct{} // closed when a client asks for the end
	shutdownOnce sync.Once
	sampler      sync.WaitGroup

	mu struct {
		sync.Mutex
		network *network.Server // nil before Start
		clients map[*Client]struct{}
		closed  bool
	}
}

// New checks the options, opens device and store, and returns a server that is ready for Client
// and Start. It begins to load the newest checkpoint and the append-only file, if there are any: until Loaded, most commands are
// refused. The caller closes it.
func New(options Options) (*Server, error) {
	log := options.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if options.Memory == 0 {
		options.Memory = EmbeddedMemory
	}
	resolved, notes, err := config.Resolve(options.Options, config.MachineMemory())
	if err != nil {
		return nil, err
	}
	found, err := findCheckpoint(resolved.CheckpointDir)
	if err != nil {
		return nil, err
	}
	if found.Number != 0 && options.Page == 0 && uint64(resolved.Page) != found.PageBytes {
		options.Page = config.Size(found.PageBytes)
		if resolved, notes, err = config.Resolve(options.Options, config.MachineMemory()); err != nil {
			return nil, fmt.Errorf("cannot load checkpoint %d, whose pages have %s: %w", found.Number, options.Page, err)
		}
	}
	for _, note := range notes {
		log.Info(note)
	}
	if found.Number == 0 {
		warnOfUnfinished(resolved.CheckpointDir, log)
	}
	s := &Server{found: found, options: resolved, ownsProcess: options.OwnsProcess, log: log, patience: time.Duration(resolved.ShutdownTimeout) * time.Second, shutdown: make(chan struct{}), loaded: make(chan struct{})}
	s.mu.clients = make(map[*Client]struct{})
	if err := s.openMonitor(); err != nil {
		return nil, err
	}
	if err := s.openCertificates(); err != nil {
		return nil, errors.Join(err, s.closeMonitor())
	}
	if err := s.open(options.hooks); err != nil {
		return nil, errors.Join(err, s.closeMonitor())
	}
	s.handler = &handler{state: s.state, log: log}
	s.describe(options.LogLevel)
	s.state.Server.ConfigFile = options.ConfigFile
	s.handler.use(&s.options)
	s.saver.server = s
	s.saver.start(s.found)
	s.state.Server.Saver = &s.saver
	s.boundHeap(s.options.Memory)
	s.govern(true)
	s.sampler.Add(1)
	go s.runGovernor()
	s.beginLoad(options.hooks.beforeLoad)
	s.watched.state.Store(s.state)
	return s, nil
}

// open opens device, store and command state, or nothing.
func (s *Server) open(hooks hooks) (err error) {
	if s.found.Number != 0 && !s.options.Recover.IsOn() {
		return fmt.Errorf("there is checkpoint %d in %s: --recover loads it, another --checkpointdir starts without", s.found.Number, s.options.CheckpointDir)
	}
	if s.options.StorageTier.IsOn() {
		if err := s.identify(); err != nil {
			return err
		}
		if s.device, err = openDevice(s.options, s.found.Number == 0); err != nil {
			return err
		}
		if hooks.wrapDevice != nil {
			s.device = hooks.wrapDevice(s.device)
		}
		info := s.device.Info()
		s.log.Info("device is open", "kind", info.Kind, "reason", info.Reason, "directory", s.options.LogDir)
	}
	var journal tsavorite.Journal // nil, not a nil pointer
	if s.options.AppendOnly.IsOn() {
		s.aof = s.newAppendOnly()
		journal = s.aof
	}
	if err := s.openStore(journal); err != nil {
		return errors.Join(err, s.closeDevice())
	}
	s.state, err = command.NewState(s.store, s.options.MaxDatabases)
	if err == nil && s.found.Number != 0 {
		err = s.state.Restore(s.found.Metadata)
	}
	if err != nil {
		return errors.Join(err, s.store.Close(), s.closeDevice())
	}
	s.state.AppendOnly, s.state.LogID = s.aof, s.logID
	return nil
}

// describe tells the commands about the server around them.
func (s *Server) describe(level *slog.LevelVar) {
	about := &s.state.Server
	about.Options = s.options
	about.Started = time.Now()
	about.RunID = command.NewRunID()
	about.Log = s.log
	about.LogLevel = level
	about.Traffic, about.Buffers = s.handler.traffic, s.buffers
	about.Closing = make(chan struct{})
	about.Shutdown = s.requestShutdown
	about.Change = s.change
	if s.device != nil {
		about.Device = s.device.Info()
	}
	about.SetPassword(s.options.Password)
	s.state.UseOptions()
}

// Start listens on every address of the options and serves what connects. It returns once
// connections are accepted. It is called once.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.mu.closed:
		return errors.New("cannot start the server: it is closed")
	case s.mu.network != nil:
		return errors.New("cannot start the server: it is running")
	}
	options := s.state.Server.Current()
	listening, err := network.Listen(s.handler, network.Options{
		Addresses:       options.Addresses(),
		TLSAddresses:    options.TLSAddresses(),
		TLS:             func() *tls.Config { return s.certificates.Config() },
		HandshakeFailed: s.handshakeFailed,
		Backlog:         options.TCPBacklog,
		UnixSocket:      options.UnixSocket,
		UnixSocketMode:  options.UnixSocketPerm.FileMode(),
		Loops:           options.NetworkThreads,
		Goroutines:      options.NetworkBackend == config.BackendNet,
		Rings:           options.NetworkBackend == config.BackendUring,
		InputHardBytes:  int(options.QueryBufferLimit),
		IntakeBytes:     intakeBytes(options.Memory),
		KeepAlive:       keepAliveOf(options),
		CloseTimeout:    s.patience,
	})
	if err != nil {
		return err
	}
	s.mu.network = listening
	for _, address := range listening.Addresses() {
		s.log.Info("listening", "address", address.String())
	}
	for _, address := range listening.TLSAddresses() {
		s.log.Info("listening with TLS", "address", address.String())
	}
	if tcp, ok := s.addrLocked().(*net.TCPAddr); ok {
		s.state.Server.Port.Store(int32(tcp.Port))
	}
	expirer, err := s.state.NewExpirer()
	if err != nil {
		return errors.Join(err, listening.Close())
	}
	s.sampler.Go(func() {
		if <-s.loaded; s.loadErr != nil { // it gives up when Closing is closed
			expirer.Close()
			return
		}
		expirer.Run(s.state.Server.Closing)
	})
	s.sampler.Add(1)
	go s.sample()
	s.watched.serving.Store(true)
	return nil
}

// sampleInterval is the time over which INFO's instantaneous figures are taken.
const sampleInterval = time.Second

// sample feeds INFO's instantaneous figures, and logs when the device stops or begins again to take
// pages, until the server closes.
func (s *Server) sample() {
	defer s.sampler.Done()
	ticker := time.NewTicker(sampleInterval)
	defer ticker.Stop()
	refused := ""
	for {
		select {
		case now := <-ticker.C:
			s.state.Sample(now)
			s.enforce(now)
			s.saver.consider(now)
			if s.monitor != nil {
				metrics := s.state.Metrics()
				s.watched.look(&metrics)
			}
			s.refreshCertificates(now)
			switch cause := s.store.Info().FlushError; {
			case cause != "" && refused == "":
				s.log.Error("the device takes no pages; what is in memory stays there, and writes are refused when it is full", "cause", cause)
				refused = cause
			case cause == "" && refused != "":
				s.log.Warn("the device takes pages again")
				refused = ""
			}
		case <-s.state.Server.Closing:
			return
		}
	}
}

// Addr is the first address the server listens on, one without TLS if there is any; nil before Start and
// without sockets.
func (s *Server) Addr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addrLocked()
}

// addrLocked is Addr.
func (s *Server) addrLocked() net.Addr {
	if s.mu.network == nil {
		return nil
	}
	for _, address := range append(s.mu.network.Addresses(), s.mu.network.TLSAddresses()...) {
		return address
	}
	return nil
}

// TLSAddr is the first address on which the server speaks TLS, nil before Start and without TLS.
func (s *Server) TLSAddr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.network == nil {
		return nil
	}
	for _, address := range s.mu.network.TLSAddresses() {
		return address
	}
	return nil
}

// ShutdownRequested is closed when a client has sent SHUTDOWN; the server's owner then calls Close.
func (s *Server) ShutdownRequested() <-chan struct{} { return s.shutdown }

// requestShutdown closes what ShutdownRequested returns.
func (s *Server) requestShutdown(end command.End) {
	s.shutdownOnce.Do(func() {
		s.end.Store(int32(end))
		close(s.shutdown)
	})
}

// Info is a snapshot of the store's addresses, sizes and counters.
func (s *Server) Info() tsavorite.Info { return s.store.Info() }

// Close stops accepting, finishes what was read from the connections, as far as ShutdownTimeout allows: a deep pipeline of cold
// keys, or a peer that trickles, could take minutes, and whoever sent the signal kills the process before. It saves the last of the
// append-only file, and gives back every goroutine, file and mapping. Clients that are still open are closed too; none may be in
// use. Later calls do nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.mu.closed {
		s.mu.Unlock()
		return nil
	}
	s.mu.closed = true
	listening, clients := s.mu.network, s.mu.clients
	s.mu.clients = nil
	s.mu.Unlock()

	s.watched.serving.Store(false)
	close(s.state.Server.Closing)
	defer time.AfterFunc(s.patience, s.state.Server.EndNow).Stop()
	var errs []error
	if listening != nil {
		errs = append(errs, listening.Close())
	}
	s.sampler.Wait()
	<-s.loaded // it gives up when Closing is closed
	errs = append(errs, s.saver.close())
	errs = append(errs, s.closeMonitor()) // before the store: it reads figures
	for client := range clients {
		client.free()
	}
	s.state.Close()
	errs = append(errs, s.store.Close())
	if s.aof != nil {
		errs = append(errs, s.aof.Close())
	}
	errs = append(errs, s.closeDevice())
	return errors.Join(errs...)
}

// closeDevice closes the device, if there is one.
func (s *Server) closeDevice() error {
	if s.device == nil {
		return nil
	}
	return s.device.Close()
}

// Options returns the options as they are in force: complete, rounded, and as CONFIG SET changed them.
func (s *Server) Options() config.Options { return *s.state.Server.Current() }
