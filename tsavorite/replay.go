package tsavorite

import (
	"fmt"
	"math"
)

// NewReplaySession returns a session whose writes do not go to the journal: for Apply. Until it is closed no deadline
// passes in the store, since an entry may follow that takes it away.
func (s *Store) NewReplaySession() (*Session, error) {
	session, err := s.NewSession()
	if err != nil {
		return nil, err
	}
	s.replaying.Add(1)
	session.journal, session.replays = nil, true
	return session, nil
}

// now is the time that deadlines are compared with.
func (s *Store) now() int64 {
	if s.replaying.Load() > 0 {
		return math.MinInt64
	}
	return s.options.Clock()
}

// Apply does once more what an entry says: a set, a patch or a delete. Entries are applied in their order, those of
// versions up to the recovered checkpoint's left out, and those of units that have no end. The status is that of the verb.
func (s *Session) Apply(e *Entry) (Status, error) {
	var status Status
	switch e.Effect {
	case EffectSet:
		status = s.Upsert(e.Key, e.Value, e.Metadata)
	case EffectDelete:
		status = s.Delete(e.Key)
	case EffectPatch:
		if e.Offset < 0 || e.Length < 0 || e.Offset > e.Length-len(e.Value) {
			return StatusError, fmt.Errorf("%w: an entry patches bytes %d to %d of a value of %d", ErrDamaged, e.Offset, e.Offset+len(e.Value), e.Length)
		}
		patch := &s.patch
		*patch = patcher{entry: e, drops: s.store.dropsRecords()}
		status = s.RMW(e.Key, patch)
		if patch.err != nil {
			return StatusError, patch.err
		}
	default:
		return StatusError, fmt.Errorf("%w: no record has the effect %d", ErrDamaged, e.Effect)
	}
	switch status {
	case StatusError:
		return status, s.err
	case OutOfMemory, TooLarge:
		return status, fmt.Errorf("tsavorite: cannot apply an entry of %d bytes to the store: %v", len(e.Value), status)
	}
	return status, nil
}

// patcher is the Updater of a patch entry.
type patcher struct {
	entry *Entry
	drops bool // the store drops records to make room, so that the key may be missing
	err   error
}

// Plan refuses what does not fit the value that is there.
func (p *patcher) Plan(current Record, found bool) Plan {
	e := p.entry
	p.err = nil
	if !found && p.drops {
		return Plan{Action: Keep}
	}
	end := e.Offset + len(e.Value)
	if !found || e.Offset > len(current.Value) || e.Length > max(end, len(current.Value)) {
		p.err = fmt.Errorf("%w: an entry patches bytes %d to %d of %d, but the key (found: %t) has %d", ErrDamaged, e.Offset, end, e.Length, found, len(current.Value))
		return Plan{Action: Keep}
	}
	return Plan{Action: Write, Preserve: true, Length: e.Length, Metadata: e.Metadata}
}

// Write puts the bytes in their place.
func (p *patcher) Write(value []byte, _ Record) { copy(value[p.entry.Offset:], p.entry.Value) }
