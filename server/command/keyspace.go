package command

import (
	"math"
	"sync/atomic"

	"github.com/pyropedb/pyrope/tsavorite"
)

// Keyspace is the content of a logical database between two flushes: the engine namespace its
// records live in, and what is known about their number. A flush puts a new one in its place, so
// a writer that is still busy with the old one counts where it writes.
type Keyspace struct {
	Namespace uint32 // of the keys; the next one is that of the chunks

	_                [60]byte        // the counters change often; the namespace is read by every command
	live             [2]atomic.Int64 // of the writes of even and of odd versions of the store; the sum counts
	blind            atomic.Bool     // a write did not learn whether its key existed
	earliestDeadline atomic.Int64    // of all deadlines ever given to a key, in Unix milliseconds
	nextDeadline     atomic.Int64    // the earliest that the expirer has not dealt with yet, as far as is known

	hasLarge    atomic.Bool  // a key was given a large string
	suspectFrom atomic.Int64 // see suspect
}

// chunks is the namespace of the large strings' chunks.
func (k *Keyspace) chunks() uint32 { return k.Namespace + 1 }

func newKeyspace(namespace uint32) *Keyspace {
	k := &Keyspace{Namespace: namespace}
	k.earliestDeadline.Store(math.MaxInt64)
	k.nextDeadline.Store(math.MaxInt64)
	k.suspectFrom.Store(nothingSuspect)
	return k
}

// Count returns the number of live keys as far as the statuses of the verbs told. It is exact
// until a blind write, or until the first deadline passes: an expired key leaves in silence.
func (k *Keyspace) Count(nowMilliseconds int64) (count int64, exact bool) {
	exact = !k.blind.Load() && nowMilliseconds < k.earliestDeadline.Load()
	return max(k.live[0].Load()+k.live[1].Load(), 0), exact
}

// HasDeadlines reports whether any key was ever given a deadline here.
func (k *Keyspace) HasDeadlines() bool { return k.earliestDeadline.Load() != math.MaxInt64 }

// note counts what the status of a session's last write says about the number of keys. The session is still inside the epoch
// in which it wrote, so that a checkpoint can tell what is in it (see save.go).
func (k *Keyspace) note(status tsavorite.Status, session *tsavorite.Session) {
	switch status {
	case tsavorite.Created:
		k.live[session.Version()&1].Add(1)
	case tsavorite.Deleted:
		k.live[session.Version()&1].Add(-1)
	case tsavorite.Blind:
		if !k.blind.Load() {
			k.blind.Store(true)
		}
		if k.hasLarge.Load() { // it may have been the key of one
			k.suspect(0)
		}
	}
}

// noteDeadline records that a key is about to get a deadline. It comes before the write: a reader
// of Count that sees the key sees the deadline too.
func (k *Keyspace) noteDeadline(deadline int64) {
	if deadline != 0 {
		lowerTo(&k.earliestDeadline, deadline)
	}
}

// giveDeadline records that the present command is about to give a key a deadline, 0 for none. The
// expirer learns of it once the command is done: a round of its that begins later sees the key, and one that
// began before is followed by another.
func (c *Context) giveDeadline(keyspace *Keyspace, deadline int64) {
	keyspace.noteDeadline(deadline)
	if deadline != 0 {
		c.given.keyspace, c.given.deadline = keyspace, deadline
	}
}

// passDeadline tells the expirer of the deadline that the command gave.
func (c *Context) passDeadline() {
	lowerTo(&c.given.keyspace.nextDeadline, c.given.deadline)
	c.given.keyspace = nil
}

// lowerTo makes a number not greater than n.
func lowerTo(number *atomic.Int64, n int64) {
	for {
		present := number.Load()
		if n >= present || number.CompareAndSwap(present, n) {
			return
		}
	}
}

// Database is one of the numbered databases. Its keyspace is read by every command and replaced
// by FLUSHDB and FLUSHALL.
type Database struct {
	keyspace atomic.Pointer[Keyspace]
}

// Keyspace returns the present content of the database.
func (d *Database) Keyspace() *Keyspace { return d.keyspace.Load() }
