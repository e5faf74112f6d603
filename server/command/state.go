package command

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pyropedb/pyrope/server/aof"
	"github.com/pyropedb/pyrope/server/pubsub"
	"github.com/pyropedb/pyrope/tsavorite"
)

// DefaultDatabases is the number of databases unless State is told otherwise.
const DefaultDatabases = 16

// State is what all connections and workers of a server share.
type State struct {
	Store  *tsavorite.Store
	Server ServerState // what the connection and server commands share; see there

	// AppendOnly is the append-only file, the store's journal; nil without one. Set before the first command.
	AppendOnly *aof.File
	// LogID is the name of the log on the device, for checkpoints; empty without a device that keeps it. Set before the first command.
	LogID string
	// Loading is the time since which the data set is being loaded, in Unix seconds; 0 is not. Meanwhile most commands are refused.
	Loading atomic.Int64
	// LoadProgress is how many bytes have been read meanwhile, and of how many. Set before Loading.
	LoadProgress func() (read, total uint64)

	// ScatterGather lets runs of GET, and MGET, read all their keys in one batch.
	ScatterGather atomic.Bool

	// Broker knows who wants which published messages.
	Broker pubsub.Broker[*Client]

	attention     attention
	eventClasses  atomic.Uint32 // eventClass: notify-keyspace-events
	expiry        expiry
	latency       latencyMonitor
	pause         pause
	monitors      monitors
	tracking      clientTracking
	groups        groupWrites
	databases     []Database
	nextNamespace atomic.Uint32
	large         largeStrings
	mapping       sync.Mutex  // held while databases get other keyspaces, and that is entered in the journal
	beyond        []*Keyspace // of databases that an earlier start had more of; immutable once the data is loaded
	restored      int         // how many databases the checkpoint knew that the state is from; 0 for none
	gate          gate

	mu struct {
		sync.Mutex
		contexts map[*Context]struct{} // live ones: their counters are summed by Totals
		retired  *Stats                // the sum of the counters of closed ones
		changed  map[string]struct{}   // the parameters that CONFIG SET has changed
		baseline *Stats                // what the sum was at the last ResetTotals
	}
}

// NewState returns the shared state of a server over store with this many databases; 0 is DefaultDatabases.
func NewState(store *tsavorite.Store, databases int) (*State, error) {
	if databases == 0 {
		databases = DefaultDatabases
	}
	if databases < 1 || databases > 1<<16 {
		return nil, fmt.Errorf("cannot make %d databases: the number must be from 1 to %d", databases, 1<<16)
	}
	s := &State{Store: store, databases: make([]Database, databases)}
	s.ScatterGather.Store(true)
	s.Broker.Match = globMatch
	s.tracking.limit.Store(defaultTrackedKeys)
	s.large.init(s)
	store.OnEvict(s.dropped)
	s.latency.init()
	for i := range s.databases {
		s.databases[i].keyspace.Store(newKeyspace(s.newNamespace()))
	}
	s.mu.contexts = make(map[*Context]struct{})
	s.mu.retired = newStats()
	s.mu.baseline = newStats()
	return s, nil
}

// Databases returns the databases by number. The slice must not be changed.
func (s *State) Databases() []Database { return s.databases }

// Close ends what the state does behind the scenes. The contexts are closed before, the store after it.
func (s *State) Close() { s.large.reaper.close() }

// newNamespace returns the first of two namespace ids that no database had before. Ids are never reused: the
// records of a flushed keyspace stay in the log until they are reclaimed.
func (s *State) newNamespace() uint32 { return s.nextNamespace.Add(2) - 2 }
