package command

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/tsavorite"
)

// Active expiry. A key past its deadline is gone for every command; somebody still has to tell who
// listens, count it, and let its room be used. That is the expirer: ten times a second it looks at a
// part of the records in memory. A round is one way through all of them; it sleeps between rounds until the
// earliest deadline it saw, or that was given since. Records on the device are left to compaction.
const (
	expirePeriod = 100 * time.Millisecond
	// expireLooks is how many records one step looks at with an effort of 1, and expireTime how long it
	// may take: 5% of one processor. A higher effort multiplies both.
	expireLooks = 20_000
	expireTime  = 5 * time.Millisecond
	// expireSlice is how many records are looked at between two looks at the clock.
	expireSlice = 1000

	defaultExpireEffort = 1
	maxExpireEffort     = 10
)

// expiry is what the commands and the expirer share.
type expiry struct {
	disabled atomic.Bool   // DEBUG SET-ACTIVE-EXPIRE 0
	effort   atomic.Int32  // active-expire-effort; 0 for the default
	removed  atomic.Uint64 // keys the expirer removed, and keys that writes found past their deadline
	baseline atomic.Uint64 // of removed, at the last CONFIG RESETSTAT

	evicted         atomic.Uint64 // keys that were dropped to make room
	evictedBaseline atomic.Uint64
}

// Expirer removes keys past their deadline. One goroutine calls its Run.
type Expirer struct {
	state   *State
	context *Context
	cursor  uint64
	next    int64 // the earliest deadline seen in the present round

	tracked trackedSweep
}

// NewExpirer returns the state's expirer, with an engine session of its own.
func (s *State) NewExpirer() (*Expirer, error) {
	context, err := s.NewContext(nil)
	if err != nil {
		return nil, err
	}
	return &Expirer{state: s, context: context}, nil
}

// Close frees the session of an expirer that does not run.
func (e *Expirer) Close() { e.context.Close() }

// Run works until stop is closed, and frees the session. The data is loaded by then.
func (e *Expirer) Run(stop <-chan struct{}) {
	defer e.Close()
	ticker := time.NewTicker(expirePeriod)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case now := <-ticker.C:
			if e.state.attention.has(watchPause) {
				continue
			}
			if !e.state.expiry.disabled.Load() {
				e.Step(now)
			}
			e.sweepTracked(now)
		}
	}
}

// Step does a step of the present round, or begins one if a deadline has passed.
func (e *Expirer) Step(now time.Time) {
	if e.cursor == 0 && !e.due(now.UnixMilli()) {
		return
	}
	effort := int(max(e.state.expiry.effort.Load(), defaultExpireEffort))
	begin := time.Now()
	end := begin.Add(time.Duration(effort) * expireTime)
	defer func() { e.state.NoteLatency(CauseExpiry, time.Since(begin)) }()
	c := e.context
	c.enter()
	defer c.leave()
	for looks := expireLooks * effort; looks > 0; looks -= expireSlice {
		var seen tsavorite.Expiry
		e.cursor, seen = c.Session.Expire(e.cursor, expireSlice, e.removed)
		if seen.NextDeadline != 0 && (e.next == 0 || seen.NextDeadline < e.next) {
			e.next = seen.NextDeadline
		}
		if e.cursor == 0 {
			e.state.noteRound(e.next)
			e.next = 0
			return
		}
		if time.Now().After(end) {
			return
		}
	}
}

// due tells whether a key in memory may be past its deadline. It then begins to note the deadlines that are given
// from now on, which the round may not see.
func (e *Expirer) due(now int64) (due bool) {
	for i := range e.state.databases {
		next := &e.state.databases[i].Keyspace().nextDeadline
		if next.Load() < now {
			next.Store(math.MaxInt64)
			due = true
		}
	}
	return due
}

// removed counts and tells of a key that is gone.
func (e *Expirer) removed(key tsavorite.Key) {
	database, keyspace, ok := e.state.databaseOf(key.Namespace)
	if !ok {
		return // of a database that was flushed
	}
	keyspace.note(tsavorite.Deleted, e.context.Session)
	e.state.expiry.removed.Add(1)
	if e.state.attention.has(watchEvents) {
		e.state.tell(nil, expiredEvent, "expired", key.Bytes, database)
	}
	if e.state.attention.has(watchTracking) {
		e.state.gone(key.Bytes)
	}
}

// noteRound notes the earliest deadline that a round saw, 0 for none.
func (s *State) noteRound(next int64) {
	if next == 0 {
		return
	}
	for i := range s.databases {
		lowerTo(&s.databases[i].Keyspace().nextDeadline, next)
	}
}

// revived counts and tells of a key that a write found past its deadline, before anything else of the write is told.
func (c *Context) revived(keyspace *Keyspace, database int, key []byte) {
	keyspace.note(tsavorite.Deleted, c.Session)
	c.State.expiry.removed.Add(1)
	c.notifyIn(database, expiredEvent, "expired", key)
}

// dropped counts and tells of a key that the store drops to make room.
func (s *State) dropped(key tsavorite.Key, version uint64) {
	database, keyspace, ok := s.databaseOf(key.Namespace)
	if !ok {
		return // a chunk, or of a database that was flushed
	}
	keyspace.live[version&1].Add(-1)
	s.expiry.evicted.Add(1)
	if s.attention.has(watchEvents) {
		s.tell(nil, evictedEvent, "evicted", key.Bytes, database)
	}
	if s.attention.has(watchTracking) {
		s.tracking.evicted.add(key.Bytes)
	}
}

// evictedKeys is INFO's evicted_keys.
func (s *State) evictedKeys() uint64 {
	return s.expiry.evicted.Load() - s.expiry.evictedBaseline.Load()
}

// expiredKeys is INFO's expired_keys.
func (s *State) expiredKeys() uint64 { return s.expiry.removed.Load() - s.expiry.baseline.Load() }
