package command

import (
	"fmt"

	"github.com/pyropedb/pyrope/tsavorite"
)

// Replayer does once more what the entries of a journal say, before the first command. It belongs to one goroutine.
type Replayer struct {
	state     *State
	session   *tsavorite.Session
	keyspaces map[uint32]*Keyspace // by both namespaces: those of the databases now
	named     int                  // how many databases the last entry about namespaces named; 0 for no such entry
	applied   int
}

// NewReplayer returns a replayer. The caller ends it with Finish, or with Close when it failed.
func (s *State) NewReplayer() (*Replayer, error) {
	session, err := s.Store.NewReplaySession()
	if err != nil {
		return nil, fmt.Errorf("cannot replay: %w", err)
	}
	r := &Replayer{state: s, session: session, keyspaces: map[uint32]*Keyspace{}}
	r.named = s.restored
	for i := range s.databases {
		if r.named == 0 || i < r.named { // what comes behind them was not there when entries were made
			r.know(r.keyspaces, s.databases[i].Keyspace())
		}
	}
	for _, keyspace := range s.beyond {
		r.know(r.keyspaces, keyspace)
	}
	session.Enter()
	return r, nil
}

// know adds a keyspace to those that entries are about.
func (r *Replayer) know(keyspaces map[uint32]*Keyspace, keyspace *Keyspace) {
	keyspaces[keyspace.Namespace], keyspaces[keyspace.chunks()] = keyspace, keyspace
}

// replayBatch is how many entries are applied between two moments outside the epoch.
const replayBatch = 256

// Apply does what one entry says.
func (r *Replayer) Apply(e *tsavorite.Entry) error {
	if r.applied++; r.applied%replayBatch == 0 {
		r.session.Leave()
		r.session.Enter()
	}
	if e.Effect == tsavorite.EffectOpaque {
		namespaces, err := readNamespaces(e.Value)
		if err == nil {
			r.remap(namespaces)
		}
		return err
	}
	keyspace := r.keyspaces[e.Key.Namespace]
	if keyspace == nil {
		return nil // flushed: nobody will name it again
	}
	status, err := r.session.Apply(e)
	if err == nil && e.Key.Namespace == keyspace.Namespace {
		keyspace.noteDeadline(e.Metadata.Deadline)
		keyspace.note(status, r.session)
	} else if !keyspace.hasLarge.Load() {
		// Values that were replaced since, or never got their key, are found by a sweep: the reaper does not run yet.
		keyspace.noteLarge(0)
		keyspace.suspect(0)
	}
	return err
}

// remap gives the databases the keyspaces that an entry names.
func (r *Replayer) remap(namespaces []uint32) {
	s := r.state
	present := make(map[uint32]*Keyspace, 2*len(namespaces))
	s.beyond = nil
	for i, namespace := range namespaces {
		keyspace := r.keyspaces[namespace]
		if keyspace == nil {
			keyspace = newKeyspace(namespace)
		}
		r.know(present, keyspace)
		if i < len(s.databases) {
			s.databases[i].keyspace.Store(keyspace)
		} else {
			s.beyond = append(s.beyond, keyspace)
		}
		s.nextNamespace.Store(max(s.nextNamespace.Load(), keyspace.chunks()+1))
	}
	for namespace := range r.keyspaces {
		// What the databases have before the first such entry is no namespace of the journal: it may turn up later.
		if r.named > 0 && present[namespace] == nil {
			s.Store.DropNamespace(namespace)
		}
	}
	r.keyspaces, r.named = present, len(namespaces)
}

// Close ends the replay.
func (r *Replayer) Close() {
	r.session.Leave()
	r.session.Close()
}

// Finish ends the replay, gives databases that the journal does not know a namespace that was never used, and enters which
// database has which.
func (r *Replayer) Finish() error {
	r.Close()
	s := r.state
	session, err := s.Store.NewSession()
	if err != nil {
		return fmt.Errorf("cannot end the replay: %w", err)
	}
	defer session.Close()
	changed := map[int]*Keyspace{}
	for i := r.named; r.named > 0 && i < len(s.databases); i++ {
		changed[i] = newKeyspace(s.newNamespace())
	}
	session.Enter()
	defer session.Leave()
	s.mapping.Lock()
	defer s.mapping.Unlock()
	if s.remapLocked(session, changed) != tsavorite.Found {
		return fmt.Errorf("cannot end the replay: %w", session.Err())
	}
	return nil
}
