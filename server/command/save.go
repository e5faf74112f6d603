package command

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pyropedb/pyrope/tsavorite"
)

// What a checkpoint keeps of the state besides the records: which namespace each database has, what is known of the number of
// its keys, and where the append-only file goes on. Namespaces and the file's position are those of the cut: units are kept out
// then, and a keyspace changes in a unit only. The counters of that moment are told apart afterwards, by the version of the
// write that they count: a write of the old version may be counted after the cut, one of the new version before the end.

// savedState is the metadata of a checkpoint, as JSON.
type savedState struct {
	// NextNamespace is one that was never used, nor any above it.
	NextNamespace uint32
	// Databases are by number; those that only an earlier start had come last.
	Databases []savedKeyspace
	// Position is where the append-only file goes on; nil without one.
	Position *uint64 `json:",omitempty"`
	// Log is the name of the log on the device; empty if the records are in the checkpoint.
	Log string `json:",omitempty"`
}

// savedKeyspace is a keyspace in a checkpoint.
type savedKeyspace struct {
	Namespace        uint32
	Keys             int64
	Inexact          bool  // Keys is not what it seems: it is counted by a scan
	EarliestDeadline int64 // of all deadlines ever given to a key, in Unix milliseconds
	HasLarge         bool

	keyspace *Keyspace
}

// Save takes a checkpoint; o says where to. The append-only file is committed up to the checkpoint before that counts.
func (s *State) Save(o tsavorite.CheckpointOptions) (tsavorite.CheckpointInfo, error) {
	var saved savedState
	var version uint64
	o.Metadata = func() []byte {
		version = s.Store.Version()
		saved = s.savedAtCut(version)
		return nil
	}
	o.Complete = func([]byte) ([]byte, error) {
		if saved.Position != nil {
			if err := s.AppendOnly.WaitCommit(*saved.Position); err != nil {
				return nil, fmt.Errorf("cannot commit the append-only file: %w", err)
			}
		}
		s.completeSaved(&saved, version)
		return json.Marshal(saved)
	}
	return s.Store.Checkpoint(o)
}

// savedAtCut is what belongs to the moment of the cut. It counts the writes of the versions before this one with the other
// parity; none of those is under way any more.
func (s *State) savedAtCut(version uint64) savedState {
	saved := savedState{NextNamespace: s.nextNamespace.Load(), Log: s.LogID}
	keep := func(keyspace *Keyspace) {
		saved.Databases = append(saved.Databases, savedKeyspace{
			Namespace: keyspace.Namespace, Keys: keyspace.live[(version+1)&1].Load(), keyspace: keyspace,
		})
	}
	for i := range s.databases {
		keep(s.databases[i].Keyspace())
	}
	for _, keyspace := range s.beyond { // immutable since the loading
		keep(keyspace)
	}
	if s.AppendOnly != nil {
		position := s.AppendOnly.Tail()
		saved.Position = &position
	}
	return saved
}

// completeSaved adds what is known once all writes of the version are over.
func (s *State) completeSaved(saved *savedState, version uint64) {
	for i := range saved.Databases {
		d := &saved.Databases[i]
		d.Keys += d.keyspace.live[version&1].Load()
		d.Inexact = d.keyspace.blind.Load() || s.Store.HasEvicted()
		d.EarliestDeadline = d.keyspace.earliestDeadline.Load()
		d.HasLarge = d.keyspace.hasLarge.Load()
	}
}

// Restore makes the state that of a checkpoint, whose metadata is given, before the first command.
func (s *State) Restore(metadata []byte) error {
	var saved savedState
	if err := json.Unmarshal(metadata, &saved); err != nil {
		return fmt.Errorf("cannot read what the checkpoint says of the databases: %w", err)
	}
	if len(saved.Databases) == 0 {
		return errors.New("cannot read what the checkpoint says of the databases: there is none")
	}
	s.nextNamespace.Store(saved.NextNamespace)
	s.restored = len(saved.Databases)
	for i, d := range saved.Databases {
		keyspace := d.restore()
		if i < len(s.databases) {
			s.databases[i].keyspace.Store(keyspace)
		} else {
			s.beyond = append(s.beyond, keyspace)
		}
	}
	for i := len(saved.Databases); i < len(s.databases); i++ {
		s.databases[i].keyspace.Store(newKeyspace(s.newNamespace()))
	}
	return nil
}

// SavedPosition is where the append-only file goes on from a checkpoint with this metadata; ok is false if its server had none.
func SavedPosition(metadata []byte) (position uint64, ok bool, err error) {
	var saved savedState
	if err := json.Unmarshal(metadata, &saved); err != nil {
		return 0, false, fmt.Errorf("cannot read what the checkpoint says of the databases: %w", err)
	}
	if saved.Position == nil {
		return 0, false, nil
	}
	return *saved.Position, true, nil
}

// SavedLog is the name of the log on the device of a checkpoint with this metadata; empty for those that had none.
func SavedLog(metadata []byte) (string, error) {
	var saved savedState
	if err := json.Unmarshal(metadata, &saved); err != nil {
		return "", fmt.Errorf("cannot read what the checkpoint says of the log: %w", err)
	}
	return saved.Log, nil
}

// restore returns the keyspace that was saved.
func (d *savedKeyspace) restore() *Keyspace {
	keyspace := newKeyspace(d.Namespace)
	keyspace.live[0].Store(d.Keys)
	keyspace.blind.Store(d.Inexact)
	keyspace.earliestDeadline.Store(d.EarliestDeadline)
	keyspace.nextDeadline.Store(d.EarliestDeadline)
	if d.HasLarge {
		keyspace.noteLarge(0)
		keyspace.suspect(0) // the reaper's list is not in the checkpoint
	}
	return keyspace
}
