package tsavorite

import (
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// Folder takes the records of several keys one after the other, in any order, and makes something of all of them.
type Folder interface {
	Reader
	// Begin forgets what was taken so far: all keys come again.
	Begin()
}

// foldKeys is how many records LatchFold asks the device for, and holds, at once.
const foldKeys = 16

// folded is what LatchFold knows of a key that was on the device and is taken.
type folded struct {
	chain    record.Address // where the search began; 0 is a key that is still to be taken
	deadline int64          // of the record; 0 is none, or a dead one
}

// LatchFold is LatchRead for who takes records one by one: f takes each key once, with its index as token, and what it was given since the
// last Begin was there at one moment. So few records are held at once, however many keys there are. Unlatch must follow. Records on the device are
// taken before the keys are latched, those in memory afterwards; if one taken has changed by then, f begins anew. Only if that happens again and
// again are latches kept while the session waits.
func (s *Session) LatchFold(keys []Key, f Folder) {
	s.counters.reads += uint64(len(keys))
	for range togetherRounds {
		f.Begin()
		s.foldFromDevice(keys, f)
		s.Latch(keys)
		if s.foldFromMemory(keys, f) {
			return
		}
		s.Unlatch()
	}
	s.Latch(keys)
	f.Begin()
	s.counters.reads -= uint64(len(keys))
	for i, key := range keys {
		s.Read(key, uint64(i), f)
	}
}

// foldFromDevice gives f the records of the keys that are not in memory, and notes in s.folded which.
func (s *Session) foldFromDevice(keys []Key, f Folder) {
	s.folded = s.folded[:0]
	var asked [foldKeys]*operation
	for first := 0; first < len(keys); first += foldKeys {
		few := keys[first:min(first+foldKeys, len(keys))]
		s.Prefetch(few)
		for i, key := range few {
			asked[i] = s.startIfCold(hashOf(key), key)
		}
		for i := range few {
			op := asked[i]
			if op == nil {
				s.folded = append(s.folded, folded{})
				continue
			}
			s.await(op)
			s.folded = append(s.folded, s.foldAnswer(op, uint64(first+i), f))
			s.recycle(op)
		}
	}
}

// foldAnswer gives f what an operation has found, unless that is in memory by now.
func (s *Session) foldAnswer(op *operation, token uint64, f Folder) folded {
	if op.memory && op.err == nil {
		return folded{}
	}
	taken := folded{chain: op.chain}
	if op.err == nil && !op.record.IsNone() && !op.record.IsDead(s.now) {
		taken.deadline = op.record.Deadline()
	}
	s.showHeld(op, token, f)
	return taken
}

// foldFromMemory gives f the other records. It returns false if a record that was taken has changed, or one that was in memory is not
// there any more. The keys are latched.
func (s *Session) foldFromMemory(keys []Key, f Folder) bool {
	for i, key := range keys {
		hash, taken := hashOf(key), s.folded[i]
		t, b := s.latchShared(hash)
		found := s.lookup(t, b, hash, key)
		s.unlatchShared(t, b, hash)
		if found.disk != taken.chain || taken.deadline != 0 && s.now > taken.deadline {
			return false
		}
		if found.disk == 0 {
			s.answer(&found, uint64(i), f)
		}
	}
	return true
}
