// Package tracking remembers which clients may hold which keys in a cache of their own. It is the registry behind
// CLIENT TRACKING, and knows nothing of connections or messages.
//
//	Remember("k", 7)    ---> Table     "k"     -> {7, ...}   a client has read the key: tell it once when it changes
//	Take("k")           ---> {7, ...}  and the key is forgotten
//	Add("user:", c)     ---> Prefixes  "user:" -> {c, ...}   a client wants to hear of every such key
package tracking

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// shardCount is the number of parts of a table with locks of their own; a power of two.
const shardCount = 64

// Table maps keys to the ids of the clients that have read them. The database of a key does not count, as in Redis. Its
// methods may be called from any goroutine. The zero value is empty and ready.
type Table struct {
	shards      [shardCount]shard
	keys, items atomic.Int64
}

// seed is that of the hash which chooses a key's shard.
var seed = maphash.MakeSeed()

type shard struct {
	mu   sync.Mutex
	keys map[string]*trackedKey // guarded by mu
	due  int64                  // not later than the earliest deadline among the keys, 0 for none; guarded by mu
}

// trackedKey is what is known of one key.
type trackedKey struct {
	first    uint64              // a client
	more     map[uint64]struct{} // the others
	deadline int64               // the earliest that a client has seen, in Unix milliseconds; 0 for none
}

// Forgotten is a key that is not tracked any more, and the clients that have to be told so.
type Forgotten struct {
	Key     string
	Clients []uint64
}

func (t *Table) shardOf(key []byte) *shard {
	return &t.shards[maphash.Bytes(seed, key)%shardCount]
}

// Remember notes that a client is about to read a key.
func (t *Table) Remember(key []byte, client uint64) {
	s := t.shardOf(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.keys[string(key)]
	if known != nil {
		if known.add(client) {
			t.items.Add(1)
		}
		return
	}
	if s.keys == nil {
		s.keys = make(map[string]*trackedKey)
	}
	s.keys[string(key)] = &trackedKey{first: client}
	t.items.Add(1)
	t.keys.Add(1)
}

// add notes a client, and tells whether it is new.
func (k *trackedKey) add(client uint64) bool {
	if k.first == client {
		return false
	}
	if _, known := k.more[client]; known {
		return false
	}
	if k.more == nil {
		k.more = make(map[uint64]struct{})
	}
	k.more[client] = struct{}{}
	return true
}

// ForgetOther forgets some key but the one given; ok is false if there is no other.
func (t *Table) ForgetOther(spared []byte) (forgotten Forgotten, ok bool) {
	start := maphash.Bytes(seed, spared) % shardCount
	for i := range uint64(shardCount) {
		s := &t.shards[(start+i)%shardCount]
		s.mu.Lock()
		for key := range s.keys {
			if key != string(spared) {
				clients := t.takeLocked(s, key)
				s.mu.Unlock()
				return Forgotten{key, clients}, true
			}
		}
		s.mu.Unlock()
	}
	return Forgotten{}, false
}

// Take forgets a key, and returns the clients that have read it.
func (t *Table) Take(key []byte) (clients []uint64) {
	s := t.shardOf(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.keys[string(key)]; !known {
		return nil
	}
	return t.takeLocked(s, string(key))
}

// takeLocked is Take for a key that is there.
func (t *Table) takeLocked(s *shard, key string) (clients []uint64) {
	known := s.keys[key]
	clients = append(make([]uint64, 0, 1+len(known.more)), known.first)
	for client := range known.more {
		clients = append(clients, client)
	}
	delete(s.keys, key)
	t.keys.Add(-1)
	t.items.Add(-int64(len(clients)))
	return clients
}

// Clear forgets all keys.
func (t *Table) Clear() {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		for key := range s.keys {
			t.keys.Add(-1)
			t.items.Add(-int64(1 + len(s.keys[key].more)))
		}
		s.keys, s.due = nil, 0
		s.mu.Unlock()
	}
}

// Keys is the number of keys, Items that of their clients.
func (t *Table) Keys() int64  { return t.keys.Load() }
func (t *Table) Items() int64 { return t.items.Load() }

// NoteDeadline notes when a key that was read will be gone. A key that is not tracked any more has changed since.
func (t *Table) NoteDeadline(key []byte, deadline int64) {
	s := t.shardOf(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.keys[string(key)]
	if known == nil || known.deadline != 0 && known.deadline <= deadline {
		return
	}
	known.deadline = deadline
	if s.due == 0 || deadline < s.due {
		s.due = deadline
	}
}

// TakeExpired forgets the keys of a part of the table, by a number of any size, whose deadline is before now.
func (t *Table) TakeExpired(part int, now int64) (expired []Forgotten) {
	s := &t.shards[part%shardCount]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.due == 0 || s.due >= now {
		return nil
	}
	s.due = 0
	for key, known := range s.keys {
		switch {
		case known.deadline == 0:
		case known.deadline < now:
			expired = append(expired, Forgotten{key, t.takeLocked(s, key)})
		case s.due == 0 || known.deadline < s.due:
			s.due = known.deadline
		}
	}
	return expired
}

// Parts is the number of parts that TakeExpired tells apart.
const Parts = shardCount
