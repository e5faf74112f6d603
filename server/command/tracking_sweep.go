package command

import (
	"bytes"
	"sync"
	"time"

	"github.com/pyropedb/pyrope/server/tracking"
)

// What becomes of tracked keys without any command: they expire on the device, where active expiry does not look, or they are
// dropped to make room.

// sweepTurns is how many steps of the expirer look at the deadlines of all tracked keys.
const sweepTurns = 10

// evictedKeys are keys that are about to be dropped. A client may read one once more until it is gone, which is when the log's
// begin has passed it: so they are told twice, soon and after that.
type evictedKeys struct {
	mu    sync.Mutex
	fresh [][]byte // not told yet; guarded by mu
}

// add notes a key.
func (e *evictedKeys) add(key []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fresh = append(e.fresh, bytes.Clone(key))
}

// take returns the keys that were noted since the last call.
func (e *evictedKeys) take() [][]byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	keys := e.fresh
	e.fresh = nil
	return keys
}

// trackedSweep is what the expirer remembers between two calls of sweepTracked.
type trackedSweep struct {
	turn          int
	begin         uint64   // the log's
	deviceEvicted uint64   // bytes
	told          [][]byte // evicted keys that were told once
}

// sweepTracked tells of tracked keys that are gone. It is called ten times a second.
func (e *Expirer) sweepTracked(now time.Time) {
	s, last := e.state, &e.tracked
	store := s.Store.Info()
	deviceEvicted := store.EvictedBytes != last.deviceEvicted
	last.deviceEvicted = store.EvictedBytes
	evicted := s.tracking.evicted.take()
	if !s.attention.has(watchTracking) {
		last.told = nil
		return
	}
	last.turn = (last.turn + 1) % sweepTurns
	for part := last.turn; part < tracking.Parts; part += sweepTurns {
		for _, expired := range s.tracking.table.TakeExpired(part, now.UnixMilli()) {
			s.invalidate(nil, expired)
			s.broadcast(nil, [][]byte{[]byte(expired.Key)})
		}
	}
	if deviceEvicted { // which keys those were, only the device could tell
		s.invalidateAll(nil)
	}
	if store.BeginAddress != last.begin {
		s.gone(last.told...)
		last.begin, last.told = store.BeginAddress, nil
	}
	s.gone(evicted...)
	last.told = append(last.told, evicted...)
}
