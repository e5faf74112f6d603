package command

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pyropedb/pyrope/tsavorite"
)

// DefaultDatabases is the number of databases unless State is told otherwise.
const DefaultDatabases = 16

// State is what all connections and workers of a server share.
type State struct {
	Store  *tsavorite.Store
	Server ServerState // what the connection and server commands share; see there

	// ScatterGather lets runs of GET, and MGET, read all their keys in one batch.
	ScatterGather atomic.Bool

	databases     []Database
	nextNamespace atomic.Uint32

	mu struct {
		sync.Mutex
		contexts map[*Context]struct{} // live ones: their counters are summed by Totals
		retired  *Stats                // the sum of the counters of closed ones
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

// newNamespace returns a namespace id that no database had before. Ids are never reused: the
// records of a flushed keyspace stay in the log until they are reclaimed.
func (s *State) newNamespace() uint32 { return s.nextNamespace.Add(1) - 1 }

// FlushDatabase empties one database.
func (s *State) FlushDatabase(index int) {
	s.databases[index].keyspace.Store(newKeyspace(s.newNamespace()))
}

// FlushAll empties all databases and gives the log's space back. It waits for other sessions to
// leave what they see of the log, so it must not be called between Enter and Leave.
func (s *State) FlushAll() error {
	// The log first: a record that is written in between belongs to an old namespace, so the new
	// keyspaces start with no records and a count of none.
	if err := s.Store.Truncate(); err != nil {
		return fmt.Errorf("cannot truncate the log: %w", err)
	}
	for i := range s.databases {
		s.FlushDatabase(i)
	}
	return nil
}
