package command

import (
	"encoding/binary"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/tsavorite"
)

// orphan is a large string that no key has any more, or so it seems.
type orphan struct {
	namespace uint32 // of its chunks
	id        uint64
}

// reaper removes the chunks of abandoned values behind the scenes. It runs while there are any.
type reaper struct {
	state   *State
	reaped  atomic.Uint64 // values
	deleted atomic.Uint64 // chunks

	mu         sync.Mutex
	orphans    []orphan       // guarded by mu
	running    bool           // guarded by mu
	sweeping   bool           // guarded by mu
	nextSweep  time.Time      // guarded by mu
	closed     bool           // guarded by mu
	background sync.WaitGroup // its Add is guarded by mu
}

// add gives an abandoned value to the reaper.
func (r *reaper) add(o orphan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.state.Loading.Load() != 0 { // a sweep follows the loading
		return
	}
	r.orphans = append(r.orphans, o)
	if !r.running {
		r.running = true
		r.background.Go(r.run)
	}
}

// close ends the reaper. What is left is found again by a sweep, if the log is.
func (r *reaper) close() {
	r.mu.Lock()
	r.closed, r.orphans = true, nil
	r.mu.Unlock()
	r.background.Wait()
}

// next takes an orphan from the list; ok is false when there is none, and the reaper stops.
func (r *reaper) next() (o orphan, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.orphans) == 0 {
		r.running, r.orphans = false, nil
		return o, false
	}
	o = r.orphans[len(r.orphans)-1]
	r.orphans = r.orphans[:len(r.orphans)-1]
	return o, true
}

func (r *reaper) run() {
	session, err := r.state.Store.NewSession()
	if err != nil {
		r.mu.Lock()
		r.running = false // the next one to come tries again
		r.mu.Unlock()
		return
	}
	defer session.Close()
	for {
		o, ok := r.next()
		if !ok {
			return
		}
		r.reap(session, o)
	}
}

// reapStride is how many chunks are removed between two moments at which others get their turn.
const reapStride = 64

// reap removes a value's chunks and its owner record, unless a key has the value. A failure leaves the owner
// record, so that a sweep finds the rest.
func (r *reaper) reap(session *tsavorite.Session, o orphan) {
	l := &r.state.large
	lock := &l.locks[l.place(o.id)]
	lock.Lock() // readers who have begun end first
	defer lock.Unlock()
	session.Enter()
	defer session.Leave()
	w, status := r.state.whose(session, o)
	if status == tsavorite.Pending {
		r.add(o)
	}
	if status != tsavorite.NotFound || !w.hasKey {
		return
	}
	var bytes [chunkKeyBytes]byte
	for i := range int64(w.chunks) {
		key := tsavorite.Key{Namespace: o.namespace, Bytes: appendChunkKey(bytes[:0], o.id, i)}
		switch session.Delete(key) {
		case tsavorite.OutOfMemory, tsavorite.StatusError:
			return
		case tsavorite.NotFound:
		default:
			r.deleted.Add(1)
		}
		if i%reapStride == reapStride-1 {
			session.Leave()
			runtime.Gosched()
			session.Enter()
		}
	}
	if settled(session.Delete(tsavorite.Key{Namespace: o.namespace, Bytes: appendOwnerKey(bytes[:0], o.id)})) == tsavorite.Found {
		r.reaped.Add(1)
	}
}

// ownership is what is known of a value: its owner record, and what the key in it has.
type ownership struct {
	chunks  uint32
	key     []byte
	hasKey  bool // there is an owner record
	matches bool // the key has the value
	id      uint64

	deadline int64 // of the key
}

// Read takes the owner record, and then the key's.
func (w *ownership) Read(_ uint64, status tsavorite.Status, record tsavorite.Record) {
	switch {
	case status != tsavorite.Found:
	case w.hasKey:
		w.matches = record.Kind == kindLarge && parseDescriptor(record.Value).id == w.id
		w.deadline = record.Deadline
	default:
		owner := parseOwner(record.Value)
		w.hasKey, w.chunks, w.key = true, owner.chunks, append(w.key, owner.key...)
	}
}

// whose looks whether a key has a value: NotFound is that none has, and none ever will, Pending that it must
// be looked at again.
func (s *State) whose(session *tsavorite.Session, o orphan) (w ownership, status tsavorite.Status) {
	l := &s.large
	l.mu.Lock()
	_, unowned := l.unowned[o.id]
	if unowned {
		l.unowned[o.id] = o
	}
	transits := l.transits
	l.mu.Unlock()
	if unowned {
		return w, tsavorite.Found
	}
	w.id = o.id
	var bytes [ownerKeyBytes]byte
	status = session.Read(tsavorite.Key{Namespace: o.namespace, Bytes: appendOwnerKey(bytes[:0], o.id)}, 0, &w)
	if status != tsavorite.Found {
		return w, status
	}
	status = session.Read(tsavorite.Key{Namespace: o.namespace - 1, Bytes: w.key}, 0, &w)
	if status == tsavorite.Found && !w.matches {
		status = tsavorite.NotFound
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.transits != transits { // it may have been on its way to another key
		return w, tsavorite.Pending
	}
	return w, status
}

// sweepPause is the least time between two sweeps, and sweepShare how many times longer than the sweep before it is.
const (
	sweepPause = time.Minute
	sweepShare = 20
)

// sweepRecords is how many records a sweep looks at between two moments at which it looks at the keys.
const sweepRecords = 1024

// sweep looks for values that were abandoned without a notice: whose key expired, or was overwritten while
// its record lay on the device. It reads all of the log.
func (s *State) sweep(keyspace *Keyspace) error {
	session, err := s.Store.NewSession()
	if err != nil {
		return err
	}
	defer session.Close()
	session.Enter()
	defer session.Leave()
	keyspace.suspectFrom.Store(nothingSuspect) // what is written from now on tells by itself
	for cursor := uint64(0); ; {
		var owners ownerCollector
		if cursor, err = session.Scan(keyspace.chunks(), cursor, sweepRecords, &owners); err != nil {
			return err
		}
		for _, id := range owners.ids {
			o := orphan{keyspace.chunks(), id}
			switch w, status := s.whose(session, o); status {
			case tsavorite.Found:
				keyspace.noteLarge(w.deadline)
			case tsavorite.NotFound, tsavorite.Pending:
				s.large.reaper.add(o)
			case tsavorite.StatusError:
				return session.Err()
			}
		}
		if cursor == 0 {
			return nil
		}
		session.Leave()
		runtime.Gosched()
		session.Enter()
	}
}

// considerSweep starts a sweep of a database in which there is reason for one. The server's clock calls it.
func (s *State) considerSweep(now time.Time) {
	r := &s.large.reaper
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.sweeping || now.Before(r.nextSweep) || s.Loading.Load() != 0 {
		return
	}
	for i := range s.databases {
		if keyspace := s.databases[i].Keyspace(); keyspace.suspectFrom.Load() <= now.UnixMilli() {
			r.sweeping = true
			r.background.Go(func() { r.runSweep(keyspace) })
			return
		}
	}
}

func (r *reaper) runSweep(keyspace *Keyspace) {
	began := time.Now()
	if r.state.sweep(keyspace) != nil {
		keyspace.suspect(0) // another time
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweeping = false
	r.nextSweep = time.Now().Add(max(sweepPause, sweepShare*time.Since(began)))
}

// ownerCollector is a Visitor that gathers the ids of the owner records.
type ownerCollector struct{ ids []uint64 }

// Visit takes one record.
func (v *ownerCollector) Visit(key []byte, _ tsavorite.Record) bool {
	if len(key) == ownerKeyBytes {
		v.ids = append(v.ids, binary.BigEndian.Uint64(key))
	}
	return true
}
