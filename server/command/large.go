package command

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/pyropedb/pyrope/tsavorite"
)

// A string that is longer than largeStrings.limit is kept in chunks of one size, ordinary records of
// the log in a namespace beside the database's own, so that all of it tiers to the device a chunk at a
// time. The key's record has a kind of its own and says where they are:
//
//	namespace      key                            value
//	database       key                            id, length, bytes of a chunk        kindLarge
//	database + 1   id, chunk index                the chunk's bytes
//	database + 1   id                             chunks there may be, the key        the owner record
//
// Numbers are big endian. FLUSHDB drops both namespaces, SWAPDB swaps both, and no scan of the
// database's own meets a chunk. Deadline and etag lie in the key's record.
//
//	L1  An id belongs to one key at most and is never used again. A value that is replaced as a whole
//	    gets a new one: chunks first, then the key's record, by one verb. Who reads sees either whole.
//	L2  Bytes of a chunk behind the value's end mean nothing: who makes the value longer writes all
//	    that comes to lie in it. Within the value a chunk that is missing, or the part of it behind
//	    the end of its record, reads as zeros.
//	L3  Chunks are changed in place by who holds the id's lock exclusively, read by who holds it shared
//	    and has found the id in the key's record since, and removed by the reaper, under the lock, once
//	    the key's record names another id or is gone. RENAME holds it exclusively.
//	L4  A lock is waited for outside the engine's protection and with no latch held; several are taken in
//	    the order of their places. Who holds one may use the engine's verbs and latches, but not Context.Wait.
//	L5  The owner record is there before the first chunk, counts no less than there are, and goes last.
//	L6  In a store that drops old records to make room no chunk within a value is missing on purpose: a
//	    hole is an empty one. One that is missing was dropped, and the value is gone.
const kindLarge = tsavorite.OwnerKind

const (
	descriptorBytes = 20
	ownerKeyBytes   = 8
	chunkKeyBytes   = 12
	ownerBytes      = 4 // of the owner record's value, in front of the key

	largestChunkBytes = 32 << 10 // what one read from the device brings at most when it does not know better
	largestSmallBytes = 256 << 10
	// chunkSlackBytes is what a chunk is shorter than a power of two, so that header and key fit too.
	chunkSlackBytes = 64
)

// descriptor is the value of a large string's key.
type descriptor struct {
	id         uint64
	length     int64
	chunkBytes int64
}

func (d descriptor) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, d.id)
	dst = binary.BigEndian.AppendUint64(dst, uint64(d.length))
	return binary.BigEndian.AppendUint32(dst, uint32(d.chunkBytes))
}

// parseDescriptor reads the value of a record of kindLarge.
func parseDescriptor(value []byte) descriptor {
	if len(value) != descriptorBytes {
		panic("BUG: a large string's record is not as long as it must be")
	}
	return descriptor{
		id:         binary.BigEndian.Uint64(value),
		length:     int64(binary.BigEndian.Uint64(value[8:])),
		chunkBytes: int64(binary.BigEndian.Uint32(value[16:])),
	}
}

// chunks is how many chunks a value of this length spans.
func (d descriptor) chunks(length int64) int64 { return (length + d.chunkBytes - 1) / d.chunkBytes }

// appendOwnerKey appends the key of the owner record.
func appendOwnerKey(dst []byte, id uint64) []byte { return binary.BigEndian.AppendUint64(dst, id) }

// appendChunkKey appends the key of a chunk.
func appendChunkKey(dst []byte, id uint64, index int64) []byte {
	return binary.BigEndian.AppendUint32(appendOwnerKey(dst, id), uint32(index))
}

// largeStrings is what the large strings of all databases share.
type largeStrings struct {
	limit      int   // the longest value that is one record, in bytes
	chunkBytes int64 // of values that are new
	store      *tsavorite.Store
	nextID     atomic.Uint64
	locks      [largeLocks]largeLock

	reaper reaper

	mu       sync.Mutex
	unowned  map[uint64]orphan // by ids whose key's record is yet to come, or on its way to another key: what the reaper is to look at then; guarded by mu
	transits uint64            // how often a value has got another key; guarded by mu
}

// init fits the sizes to the store's pages.
func (l *largeStrings) init(s *State) {
	page := s.Store.PageBytes()
	l.chunkBytes = int64(min(largestChunkBytes, page/4)) - chunkSlackBytes
	l.limit = int(min(largestSmallBytes, page/4)) - chunkSlackBytes
	l.store = s.Store
	s.Store.OnRelease(l.released)
	l.unowned = map[uint64]orphan{}
	l.reaper.state = s
	// Ids that a log was recovered with are not to come again.
	l.nextID.Store(rand.Uint64())
}

// loses says whether chunks may be dropped to make room, or have been (L6).
func (l *largeStrings) loses() bool { return l.store.Evicts() || l.store.HasEvicted() }

// released hears of records that were replaced, removed or dropped without a look at them.
func (l *largeStrings) released(key tsavorite.Key, old tsavorite.Record) {
	if old.Kind == kindLarge {
		l.reaper.add(orphan{key.Namespace + 1, parseDescriptor(old.Value).id})
	}
}

// newID returns an id of a value that no key has yet: no reaper takes it for abandoned before settle.
func (l *largeStrings) newID() uint64 {
	id := l.nextID.Add(1)
	l.mu.Lock()
	l.unowned[id] = orphan{}
	l.mu.Unlock()
	return id
}

// transit holds the reaper back from a value that is about to get another key; settle follows.
func (l *largeStrings) transit(id uint64) {
	l.mu.Lock()
	l.unowned[id] = orphan{}
	l.transits++
	l.mu.Unlock()
}

// settle says that from now on a key's record names the id, or none ever will.
func (l *largeStrings) settle(id uint64) {
	l.mu.Lock()
	asked := l.unowned[id]
	delete(l.unowned, id)
	l.mu.Unlock()
	if asked.id == id {
		l.reaper.add(asked)
	}
}

// large is a large string that a command works on: one that is not yet a key's value, or one whose
// lock the command holds.
type large struct {
	descriptor
	context  *Context
	keyspace *Keyspace
	key      []byte
	isNew    bool // nobody else sees it
	lost     bool // outcome: a chunk was dropped (L6)
}

// newLarge begins a value of length zero for a key. commit or abandon must follow.
func (c *Context) newLarge(keyspace *Keyspace, key []byte) *large {
	l := &c.State.large
	return &large{
		descriptor: descriptor{id: l.newID(), chunkBytes: l.chunkBytes},
		context:    c, keyspace: keyspace, key: key, isNew: true,
	}
}

// opened returns the value that a key's record names; its lock is held.
func (c *Context) opened(keyspace *Keyspace, key []byte, d descriptor) *large {
	return &large{descriptor: d, context: c, keyspace: keyspace, key: key}
}

// abandon gives up a value that no key got.
func (v *large) abandon() {
	l := &v.context.State.large
	l.settle(v.id)
	l.reaper.add(orphan{v.keyspace.chunks(), v.id})
}

// stored is a value as it goes into a key's record.
type stored struct {
	value []byte
	kind  tsavorite.Kind
	large *large // nil for a small one
}

// store makes a value ready to be given to a key: a large one's chunks are written. commit or abandon must
// follow if the status is Found.
func (c *Context) store(keyspace *Keyspace, key, value []byte) (stored, tsavorite.Status) {
	if len(value) <= c.State.large.limit {
		return stored{value: value, kind: kindString}, tsavorite.Found
	}
	v := c.newLarge(keyspace, key)
	if int64(len(value)) >= longWorkBytes {
		c.waitWithin(func() {})
	}
	if status := v.write(0, value); status != tsavorite.Found {
		v.abandon()
		return stored{}, status
	}
	return v.stored(), tsavorite.Found
}

// stored is what the key's record of v holds.
func (v *large) stored() stored {
	return stored{value: v.descriptor.append(nil), kind: kindLarge, large: v}
}

// commit says that the key has its new value.
func (s stored) commit(deadline int64) {
	if s.large != nil {
		s.large.keyspace.noteLarge(deadline)
		s.large.context.State.large.settle(s.large.id)
	}
}

// abandon says that it has not.
func (s stored) abandon() {
	if s.large != nil {
		s.large.abandon()
	}
}

// noteLarge records that the keyspace has a large string, and when it may be abandoned without
// anybody noticing: see suspect.
func (k *Keyspace) noteLarge(deadline int64) {
	k.hasLarge.Store(true)
	if deadline != 0 {
		k.suspect(deadline)
	}
}

// suspect says that from a time on, in Unix milliseconds, chunks may be there that belong to no key.
func (k *Keyspace) suspect(from int64) {
	for {
		earliest := k.suspectFrom.Load()
		if from >= earliest || k.suspectFrom.CompareAndSwap(earliest, from) {
			return
		}
	}
}

// nothingSuspect is suspectFrom when there is no reason to look for abandoned chunks.
const nothingSuspect = math.MaxInt64

// largeLocks is the number of locks that the ids share.
const largeLocks = 512

// largeLock is one of them, alone on its cache line.
type largeLock struct {
	sync.RWMutex
	_ [40]byte
}

// place is the number of the id's lock.
func (l *largeStrings) place(id uint64) int { return int(id % largeLocks) }

// lockSet is the locks of large strings that a context holds.
type lockSet struct {
	places    []int // ascending
	exclusive bool
}

func (s *lockSet) has(place int) bool {
	for _, held := range s.places {
		if held == place {
			return true
		}
	}
	return false
}

// lock takes the locks of the ids (L4); unlock must follow. What the command knew of the keys' records
// before may have changed meanwhile.
func (c *Context) lock(exclusive bool, ids ...uint64) {
	held, l := &c.locked, &c.State.large
	held.exclusive = exclusive
	for _, id := range ids {
		held.add(l.place(id))
	}
	for _, place := range held.places {
		mutex := &l.locks[place].RWMutex
		switch {
		case exclusive && !mutex.TryLock():
			c.waitWithin(mutex.Lock)
		case !exclusive && !mutex.TryRLock():
			c.waitWithin(mutex.RLock)
		}
	}
}

// add puts a place where it belongs.
func (s *lockSet) add(place int) {
	if s.has(place) {
		return
	}
	s.places = append(s.places, place)
	for i := len(s.places) - 1; i > 0 && s.places[i] < s.places[i-1]; i-- {
		s.places[i], s.places[i-1] = s.places[i-1], s.places[i]
	}
}

// unlock gives back what lock took, if anything.
func (c *Context) unlock() {
	held := &c.locked
	for _, place := range held.places {
		mutex := &c.State.large.locks[place].RWMutex
		if held.exclusive {
			mutex.Unlock()
		} else {
			mutex.RUnlock()
		}
	}
	held.places = held.places[:0]
}
