package tsavorite

// Journal takes the physical effect of every write, in the order in which the writes of each key happened. A store
// has at most one (Options.Journal). A write takes three steps:
//
//	latch the bucket    Reserve    change the record    Append    give the latch back
//	                       |
//	                       no room: give the latch back, leave the epoch, AwaitRoom, start over
//
// So what cannot be entered never becomes visible, and what is visible has been entered. Several sessions call at once.
type Journal interface {
	// Reserve sets room aside for one entry whose key and value together have this many bytes, and reports
	// whether there was any. Latches and an epoch are held: it must not block.
	Reserve(bytes int) bool
	// Cancel gives back what Reserve set aside.
	Cancel(bytes int)
	// Append makes the entry for which these bytes were reserved, and returns the position behind it. Positions
	// only grow. It neither blocks nor fails; the entry and what it points to are valid only during the call.
	Append(entry *Entry, reserved int) (position uint64)
	// AwaitRoom blocks until Reserve may succeed for this many bytes, or returns why it will not. It needs no
	// latch of the store to make progress.
	AwaitRoom(bytes int) error
}

// Effect is what an Entry did.
type Effect uint8

// The effects. Their numbers may be stored.
const (
	// EffectSet gave the key this value and metadata.
	EffectSet Effect = iota + 1
	// EffectPatch gave the key's value the length Length and the metadata, and the bytes from Offset on those of Value.
	EffectPatch
	// EffectDelete removed the key.
	EffectDelete
	// EffectOpaque carries Value through the journal for the layer above.
	EffectOpaque
	// EffectUnitEnd ends the unit: from here on all its entries count.
	EffectUnitEnd
)

// Entry is one effect of a write.
type Entry struct {
	Effect Effect
	// Version of the store that the write belongs to. A checkpoint holds all writes up to its own version and none after:
	// whoever replays entries on top of it skips those up to CheckpointInfo.Version.
	Version uint64
	// Unit is the number of the unit that the entry is part of; 0 is none. The entries of a unit count only when
	// its end is there. Its keys are latched until then, so it does not matter whether they are applied where they stand or
	// where the unit ends.
	Unit     uint64
	Key      Key
	Metadata Metadata
	Length   int // of the value afterwards; of a patch
	Offset   int // where Value goes; of a patch
	Value    []byte
}

// tryReserve sets room aside for an entry, and with the first one of a unit for the unit's end.
func (s *Session) tryReserve(bytes int) bool {
	if !s.journal.Reserve(bytes) {
		return false
	}
	if s.unit.depth == 0 || s.unit.number != 0 {
		return true
	}
	if !s.journal.Reserve(0) {
		s.journal.Cancel(bytes)
		return false
	}
	s.unit.number = s.store.units.Add(1)
	return true
}

// awaitJournal waits until the journal may have room: Found to try again, or StatusError.
func (s *Session) awaitJournal(bytes int) Status {
	s.suspend()
	err := s.journal.AwaitRoom(bytes)
	s.resume()
	if err != nil {
		return s.fail(err)
	}
	return Found
}

// append enters s.entry.
func (s *Session) append(reserved int) {
	s.entry.Unit = s.unit.number
	s.journaled = s.journal.Append(&s.entry, reserved)
	s.entry.Key.Bytes, s.entry.Value = nil, nil
}

// Journaled is the position behind the session's last entry in the journal; 0 is none so far.
func (s *Session) Journaled() uint64 { return s.journaled }

// AppendOpaque enters bytes of the layer above in the journal: Found, or StatusError. The session is inside a unit, so
// that what the bytes stand for can be done in the same version.
func (s *Session) AppendOpaque(value []byte) Status {
	if s.unit.depth == 0 {
		panic("BUG: AppendOpaque outside a unit")
	}
	if s.journal == nil {
		return Found
	}
	for !s.tryReserve(len(value)) {
		if status := s.awaitJournal(len(value)); status != Found {
			return status
		}
	}
	s.entry = Entry{Effect: EffectOpaque, Version: s.store.version(), Value: value}
	s.append(len(value))
	return Found
}

// reserveEntry sets room aside for the write's entry, before anything changes. Found means that it is there, or
// that there is no journal; any other status is the answer, but retry means that the attempt starts over. Then the
// latch was given back.
func (w *writer) reserveEntry(valueBytes int) (status Status, retry bool) {
	s := w.session
	bytes := len(w.key.Bytes) + valueBytes
	if s.tryReserve(bytes) {
		w.entry, s.entryBytes = true, bytes
		return Found, false
	}
	w.end()
	status = s.awaitJournal(bytes)
	return status, status == Found
}

// cancelEntry gives the room back that was set aside.
func (w *writer) cancelEntry() {
	w.session.journal.Cancel(w.session.entryBytes)
	w.entry = false
}

// journalSet enters that the key has this value now.
func (w *writer) journalSet(value []byte, m Metadata) {
	e := &w.session.entry
	e.Effect, e.Metadata, e.Length, e.Offset, e.Value = EffectSet, m, len(value), 0, value
	w.enterEntry()
}

// journalWrite enters that the key has this value now, of which with patch only these bytes are new.
func (w *writer) journalWrite(value []byte, m Metadata, from, until int, patch bool) {
	if !patch {
		w.journalSet(value, m)
		return
	}
	e := &w.session.entry
	e.Effect, e.Metadata, e.Length, e.Offset, e.Value = EffectPatch, m, len(value), from, value[from:until]
	w.enterEntry()
}

// journalDelete enters that the key is gone.
func (w *writer) journalDelete() {
	w.session.entry = Entry{Effect: EffectDelete}
	w.enterEntry()
}

// enterEntry uses the room that was set aside for the session's entry, which lacks only key and version.
func (w *writer) enterEntry() {
	s := w.session
	s.entry.Version, s.entry.Key = w.state.version(), w.key
	s.append(s.entryBytes)
	w.entry = false
}

// changed is the range that a journal must take of a plan's value: all of it, unless the plan is confined and
// the key has a value before.
func (p *Plan) changed(before int, alive bool) (from, until int, patch bool) {
	if !p.Confined || !p.Preserve || !alive {
		return 0, p.Length, false
	}
	from, until = int(p.From), int(p.Until)
	if p.Length > before {
		from, until = min(from, before), p.Length
	}
	until = min(until, p.Length)
	return min(from, until), until, true
}
