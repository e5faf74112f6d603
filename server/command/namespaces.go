package command

import (
	"encoding/binary"
	"errors"

	"github.com/pyropedb/pyrope/tsavorite"
)

// Which namespace each database has is an opaque entry of the journal, made whenever it changes: the number of databases and the
// namespace of each one's keys, as varints; that of its chunks is the next. It goes in before the change is visible, so that no
// write to a namespace comes before the entry that names it; and a namespace that an entry no longer names is dead for good.

// appendNamespaces appends the entry for these namespaces.
func appendNamespaces(dst []byte, namespaces []uint32) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(namespaces)))
	for _, namespace := range namespaces {
		dst = binary.AppendUvarint(dst, uint64(namespace))
	}
	return dst
}

var errNamespaces = errors.New("an entry about namespaces makes no sense")

// readNamespaces reads what appendNamespaces wrote.
func readNamespaces(entry []byte) ([]uint32, error) {
	count, used := binary.Uvarint(entry)
	if used <= 0 || count > uint64(len(entry)) {
		return nil, errNamespaces
	}
	namespaces := make([]uint32, count)
	for i := range namespaces {
		entry = entry[used:]
		var n uint64
		if n, used = binary.Uvarint(entry); used <= 0 || n > 1<<32-1 {
			return nil, errNamespaces
		}
		namespaces[i] = uint32(n)
	}
	return namespaces, nil
}

// namespacesLocked returns the namespace of each database; mapping is held.
func (s *State) namespacesLocked() []uint32 {
	namespaces := make([]uint32, len(s.databases), len(s.databases)+len(s.beyond))
	for i := range s.databases {
		namespaces[i] = s.databases[i].Keyspace().Namespace
	}
	for _, keyspace := range s.beyond {
		namespaces = append(namespaces, keyspace.Namespace)
	}
	return namespaces
}

// remapLocked gives databases other keyspaces, in one step for checkpoints, and enters it in the journal. mapping is held,
// and the session entered.
func (s *State) remapLocked(session *tsavorite.Session, changed map[int]*Keyspace) tsavorite.Status {
	session.BeginUnit()
	defer session.EndUnit()
	if s.AppendOnly != nil {
		namespaces := s.namespacesLocked()
		for database, keyspace := range changed {
			namespaces[database] = keyspace.Namespace
		}
		if status := session.AppendOpaque(appendNamespaces(nil, namespaces)); status != tsavorite.Found {
			return status
		}
	}
	for database, keyspace := range changed {
		s.databases[database].keyspace.Store(keyspace)
	}
	return tsavorite.Found
}

// drop says that a keyspace's records are dead.
func (s *State) drop(keyspace *Keyspace) {
	s.Store.DropNamespace(keyspace.Namespace)
	s.Store.DropNamespace(keyspace.chunks())
}

// lockMapping takes mapping without blocking within an epoch.
func (c *Context) lockMapping() {
	if !c.State.mapping.TryLock() {
		c.Wait(c.State.mapping.Lock)
	}
}

// flush empties some databases in one step, and reports whether it did; else it replied. Their records are dead
// from then on; the engine takes their room when it needs it.
func (c *Context) flush(databases ...int) bool {
	s := c.State
	c.lockMapping()
	defer s.mapping.Unlock()
	// Everything below the tail of this moment belongs to namespaces that were there before.
	tail := s.Store.Tail()
	fresh := make(map[int]*Keyspace, len(databases))
	old := make([]*Keyspace, 0, len(databases))
	for _, database := range databases {
		fresh[database] = newKeyspace(s.newNamespace())
		old = append(old, s.databases[database].Keyspace())
	}
	c.Session.BeginUnit() // a checkpoint that knows the new ones knows that the old ones are dead
	defer c.Session.EndUnit()
	if c.failed(s.remapLocked(c.Session, fresh)) {
		return false
	}
	for _, keyspace := range old {
		s.drop(keyspace)
	}
	c.changes.all = s.attention.has(watchTracking)
	if len(databases) == len(s.databases) && len(s.beyond) == 0 {
		s.Store.DropBelow(tail)
	}
	return true
}
