package command

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/server/config"
)

// Traffic is what has gone through a server's sockets since its start.
type Traffic struct {
	Accepted, Refused       uint64 // connections
	InputBytes, OutputBytes uint64
	// Connections that ended because of client-query-buffer-limit and client-output-buffer-limit.
	InputDisconnections, OutputDisconnections uint64
}

// Buffers is what connections hold.
type Buffers struct {
	Bytes   uint64 // for incomplete requests, and replies that were not taken
	Waiting int    // connections that are not read from until there is room for their requests
}

// ServerState is what the connection and server commands share beyond the databases. Its zero
// value is a server without sockets, options or password.
type ServerState struct {
	// Set before the first command, and not changed afterwards.
	Options  config.Options // resolved; as they were at the start, see Current
	Device   device.Info    // zero without a storage tier
	Started  time.Time
	RunID    string         // 40 hexadecimal digits, see NewRunID
	Log      *slog.Logger   // nil discards
	LogLevel *slog.LevelVar // what CONFIG SET loglevel changes; nil for a fixed level
	Traffic  func() Traffic // nil without sockets
	Buffers  func() Buffers // nil without sockets
	Closing  chan struct{}  // closed when the server ends, so that no command waits on; nil for never
	// ConfigFile is the redis.conf that the server was started with, which CONFIG REWRITE writes; empty is none.
	ConfigFile string
	Saver      Saver     // takes checkpoints; nil refuses them
	Shutdown   func(End) // begins the end of the server and returns at once; nil refuses SHUTDOWN
	// Change puts options to use that assign has changed, and then SetCurrent, or says why not; it may block. nil refuses
	// every change.
	Change func(assign func(*config.Options)) error

	Clients Clients
	Port    atomic.Int32 // the TCP port in use; 0 for none, or not listening yet

	current    atomic.Pointer[config.Options] // see Current
	errors     errorCounts
	overdue    atomic.Bool            // see EndNow
	unsaved    atomic.Bool            // see RefuseWrites
	password   atomic.Pointer[string] // nil or empty for none
	maxClients atomic.Int64           // 0 for what Options says

	mu struct {
		sync.Mutex
		rates    rates
		baseline Traffic // what Traffic said at the last CONFIG RESETSTAT
	}
}

// NewRunID returns the random name of one run of a server.
func NewRunID() string {
	var id [20]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

// Current returns the options as CONFIG SET has left them; nobody may change what it points to.
func (s *ServerState) Current() *config.Options {
	if current := s.current.Load(); current != nil {
		return current
	}
	return &s.Options
}

// SetCurrent replaces what Current returns.
func (s *ServerState) SetCurrent(o config.Options) { s.current.Store(&o) }

// SetPassword makes AUTH ask new connections for a password; empty asks for none.
func (s *ServerState) SetPassword(password string) { s.password.Store(&password) }

// Password is what AUTH asks for; empty for nothing.
func (s *ServerState) Password() string {
	if password := s.password.Load(); password != nil {
		return *password
	}
	return ""
}

// passwordIs compares in a time that depends on the length of given alone.
func (s *ServerState) passwordIs(given []byte) bool {
	return subtle.ConstantTimeCompare([]byte(s.Password()), given) == 1
}

// MaxClients is the number of connections to serve at a time.
func (s *ServerState) MaxClients() int {
	if limit := s.maxClients.Load(); limit != 0 {
		return int(limit)
	}
	return s.Options.MaxClients
}

// EndNow makes every Serve stop before its next command: the server ends, and has given its
// connections their time to finish what they sent.
func (s *ServerState) EndNow() { s.overdue.Store(true) }

// Overdue tells whether EndNow was called.
func (s *ServerState) Overdue() bool { return s.overdue.Load() }

// RefuseWrites makes writes be refused, since checkpoints fail and are relied on, or be accepted again.
func (s *ServerState) RefuseWrites(refuse bool) { s.unsaved.Store(refuse) }

// threads is the number of event loops there may be.
func (s *ServerState) threads() int {
	if threads := s.Options.NetworkThreads; threads != 0 {
		return threads
	}
	return runtime.GOMAXPROCS(0)
}

// traffic is the traffic since the last CONFIG RESETSTAT.
func (s *ServerState) traffic() Traffic {
	if s.Traffic == nil {
		return Traffic{}
	}
	s.mu.Lock()
	base := s.mu.baseline
	s.mu.Unlock()
	now := s.Traffic()
	now.Accepted -= base.Accepted
	now.Refused -= base.Refused
	now.InputBytes -= base.InputBytes
	now.OutputBytes -= base.OutputBytes
	now.InputDisconnections -= base.InputDisconnections
	now.OutputDisconnections -= base.OutputDisconnections
	return now
}

// buffers is what connections hold now.
func (s *ServerState) buffers() Buffers {
	if s.Buffers == nil {
		return Buffers{}
	}
	return s.Buffers()
}

// log returns the logger.
func (s *ServerState) log() *slog.Logger {
	if s.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.Log
}

// resetStatistics is CONFIG RESETSTAT.
func (s *State) resetStatistics() {
	s.ResetTotals()
	s.Server.errors.reset()
	s.expiry.baseline.Store(s.expiry.removed.Load())
	s.expiry.evictedBaseline.Store(s.expiry.evicted.Load())
	if s.Server.Traffic == nil {
		return
	}
	now := s.Server.Traffic()
	s.Server.mu.Lock()
	s.Server.mu.baseline = now
	s.Server.mu.Unlock()
}
