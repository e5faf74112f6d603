package tsavorite

import "github.com/pyropedb/pyrope/tsavorite/internal/record"

// Expiry is what a round of Expire came upon.
type Expiry struct {
	Looked        int   // records
	WithDeadline  int   // of them, those whose key has a deadline, passed or not
	Removed       int   // keys
	NextDeadline  int64 // the earliest deadline that has not passed; 0 for none
	ReachedDevice bool  // there are records on the device, which were not looked at
}

// Expire removes keys whose deadline has passed: it looks at the records in memory, in log order from
// cursor on (0: from the oldest), at no more than limit of them, and calls removed for each key that it removed. It
// returns the cursor to go on from, 0 at the end. Nothing depends on it, since a record past its deadline is
// dead for every verb: it is for those who want to know, and for the room.
//
// removed runs without a latch, inside the epoch, and must not call the session.
func (s *Session) Expire(cursor uint64, limit int, removed func(key Key)) (next uint64, e Expiry) {
	at, until := record.Address(cursor), s.settledTail()
	var key []byte
	for e.Looked < limit {
		first := max(s.log.Begin(), s.log.Head())
		e.ReachedDevice = e.ReachedDevice || s.log.Head() > s.log.Begin()
		if at = max(at, first); at >= until {
			return 0, e
		}
		rest := s.log.PageRest(at)
		r := s.log.Record(at)
		if rest < record.HeaderBytes || !r.IsValid() {
			at += record.Address(rest)
			continue
		}
		e.Looked++
		here := at
		at += record.Address(r.Size())
		if e.Looked%scanStride == 0 {
			s.epoch.Leave() // the log may turn its pages
			s.epoch.Enter()
			at, e.Looked = here, e.Looked+1
			continue
		}
		if r.IsTombstone() || !r.HasDeadlineField() {
			continue
		}
		key = append(key[:0], r.Key()...)
		deadline, ok := s.deadlineOf(r, Key{r.Namespace(), key})
		switch {
		case !ok:
			at = here
			continue
		case deadline == 0:
			continue
		}
		e.WithDeadline++
		if s.now <= deadline {
			if e.NextDeadline == 0 || deadline < e.NextDeadline {
				e.NextDeadline = deadline
			}
			continue
		}
		if s.expireAt(here, Key{r.Namespace(), key}) {
			e.Removed++
			removed(Key{r.Namespace(), key})
		}
	}
	return uint64(at), e
}

// deadlineOf returns the deadline of a record in memory, which may change without the latch. ok is false when the session
// had to wait for that, so that the record may be gone.
func (s *Session) deadlineOf(r record.Record, key Key) (deadline int64, ok bool) {
	hash, departs := hashOf(key), s.departs
	t, b := s.latchShared(hash)
	defer s.unlatchShared(t, b, hash)
	if s.departs != departs {
		return 0, false
	}
	return r.Deadline(), true
}

// expireAt removes a key if its newest record lies at that address and is past its deadline. It does
// not insist: without room for a tombstone the record stays as dead as it is.
func (s *Session) expireAt(at record.Address, key Key) bool {
	hash := hashOf(key)
	for {
		var w writer
		w.start(s, hash, key)
		if w.record.IsNone() || w.address != at || w.record.IsTombstone() || !w.record.IsDead(s.now) {
			w.end()
			return false
		}
		status, retry := w.remove()
		if !retry {
			return status == Found
		}
	}
}

// MetExpired tells whether the last verb that returned Created put its record in the place of one that was past
// its deadline and that Expire had not removed yet.
func (s *Session) MetExpired() bool { return s.metExpired }

// meet notes whether a record that is about to be replaced is past its deadline.
func (s *Session) meet(current record.Record) {
	s.metExpired = !current.IsNone() && !current.IsTombstone() && current.IsDead(s.now)
}
