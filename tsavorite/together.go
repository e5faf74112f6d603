package tsavorite

import "github.com/pyropedb/pyrope/tsavorite/internal/record"

// What a command on several keys needs to be one step: all of its records as they are at one moment, without keeping others from
// them while the device is asked, and room for all that it writes before any of it is seen.

const (
	// togetherRounds is how often LatchRead asks the device before it keeps the latches while it asks.
	togetherRounds = 8
	// roomAttempts is how often ReserveRoom makes room that others take.
	roomAttempts = 8
)

// LatchRead is Latch, and reads the keys: r is called once a key, in order, with the key's index as token, and all calls show what
// was there at one moment. Unlatch must follow. The device is asked before the keys are latched: only if they change on it again and again,
// or are more than a thousand, are latches kept while the session waits.
func (s *Session) LatchRead(keys []Key, r Reader) {
	s.counters.reads += uint64(len(keys))
	operations := s.together[:0]
	if len(keys) <= batchKeys {
		for range keys {
			operations = append(operations, nil)
		}
	}
	for round := 0; len(operations) > 0; round++ {
		s.askTogether(keys, operations)
		s.Latch(keys)
		if s.knowAll(keys, operations) {
			break
		}
		if round == togetherRounds {
			s.forget(operations)
			operations = operations[:0]
			break
		}
		s.Unlatch()
	}
	if len(operations) == 0 {
		if len(s.held) == 0 {
			s.Latch(keys)
		}
		s.counters.reads -= uint64(len(keys))
		s.ReadBatch(keys, r)
	}
	for i, op := range operations {
		if op != nil {
			s.showHeld(op, uint64(i), r)
		} else {
			s.answer(&s.togetherFound[i], uint64(i), r)
		}
	}
	s.forget(operations)
	s.together = operations[:0]
}

// askTogether asks the device for the keys that are not in memory, as far as operations do not have the answer, and waits for it.
func (s *Session) askTogether(keys []Key, operations []*operation) {
	for i, key := range keys {
		hash := hashOf(key)
		t, b := s.latchShared(hash)
		f := s.lookup(t, b, hash, key)
		s.unlatchShared(t, b, hash)
		if operations[i] != nil && !operations[i].answers(&f) {
			s.recycle(operations[i])
			operations[i] = nil
		}
		if f.disk != 0 && operations[i] == nil {
			operations[i] = s.startHeld(hash, key, f.disk)
		}
	}
	for _, op := range operations {
		if op != nil {
			s.await(op)
		}
	}
}

// answers reports whether an operation that has ended says what the key has, whose chain was found just now.
func (op *operation) answers(f *found) bool {
	return op.done && (op.err != nil || !op.memory && f.disk != 0 && op.chain == f.disk)
}

// knowAll reports whether each of the latched keys is in memory, which togetherFound then has, or answered by its operation. It forgets the
// operations that are not needed any more.
func (s *Session) knowAll(keys []Key, operations []*operation) bool {
	s.togetherFound = s.togetherFound[:0]
	for i, key := range keys {
		hash := hashOf(key)
		t, b := s.latchShared(hash)
		f := s.lookup(t, b, hash, key)
		s.unlatchShared(t, b, hash)
		s.togetherFound = append(s.togetherFound, f) // good until the session leaves its epoch, which it does not
		switch {
		case operations[i] != nil && operations[i].answers(&f):
		case f.disk != 0:
			return false
		case operations[i] != nil:
			s.recycle(operations[i])
			operations[i] = nil
		}
	}
	return true
}

// showHeld calls the reader with what an operation has found, under latches: nothing is copied to the tail.
func (s *Session) showHeld(op *operation, token uint64, r Reader) {
	switch {
	case op.err != nil:
		s.err = op.err
		r.Read(token, StatusError, Record{})
	case op.record.IsNone() || op.record.IsDead(s.now):
		r.Read(token, NotFound, Record{})
	default:
		r.Read(token, Found, live(op.record))
	}
}

// forget frees operations that have ended.
func (s *Session) forget(operations []*operation) {
	for i, op := range operations {
		if op != nil {
			s.recycle(op)
			operations[i] = nil
		}
	}
}

// Intent is a write that ReserveRoom prepares.
type Intent struct {
	Key      Key
	Length   int // of the value
	Metadata Metadata
	Removal  bool // the key goes
}

// ReserveRoom sets room aside for Upserts and Deletes of latched keys, so that either all of them find it or none is made: Found, or
// OutOfMemory, TooLarge or StatusError. It belongs to the present latches; what was not needed is given back by Unlatch. In a store with a
// device, or that drops its oldest records, room comes by waiting: there it only makes sure that the journal and the device's bound refuse nothing now.
func (s *Session) ReserveRoom(intents []Intent) Status {
	if status := s.checkJournal(intents); status != Found {
		return status
	}
	if !s.store.compactsMemory() {
		return s.checkBound(intents)
	}
	for attempt := 0; ; attempt++ {
		lacks, status := s.reserveAll(intents)
		if lacks == 0 || status != Found {
			return status
		}
		s.voidReserved()
		if attempt == roomAttempts || !s.compactLatched(lacks) {
			return OutOfMemory
		}
	}
}

// journalCheckBytes is for how much of a group of writes room in the journal is awaited beforehand.
const journalCheckBytes = 64 << 10

// checkJournal waits until the journal has room for the first of the writes: one that refuses them refuses them all.
func (s *Session) checkJournal(intents []Intent) Status {
	if s.journal == nil {
		return Found
	}
	bytes := 0
	for i := range intents {
		bytes += len(intents[i].Key.Bytes) + intents[i].Length
	}
	for bytes = min(bytes, journalCheckBytes); !s.journal.Reserve(bytes); {
		if status := s.awaitJournal(bytes); status != Found {
			return status
		}
	}
	s.journal.Cancel(bytes)
	return Found
}

// checkBound refuses writes that would go beyond the device's bound.
func (s *Session) checkBound(intents []Intent) Status {
	bytes := uint64(0)
	for i := range intents {
		bytes += uint64(intents[i].layout(0).Size())
	}
	if !s.log.LacksBound(bytes) {
		return Found
	}
	if s.compactLatched(bytes) {
		return Found
	}
	return OutOfMemory
}

func (i *Intent) layout(version uint64) record.Layout {
	l := record.Layout{
		Namespace: i.Key.Namespace, Key: i.Key.Bytes, Capacity: record.Pad8(i.Length),
		HasDeadline: i.Metadata.Deadline != 0, HasEtag: i.Metadata.Etag != 0, Odd: version&1 != 0,
	}
	if i.Removal {
		l.Capacity, l.HasDeadline, l.HasEtag = 0, false, false
	}
	return l
}

// reserved is room for a record that was taken from the log and is not a record yet.
type reserved struct {
	at   record.Address
	size int // 0 once a record has it
}

// roomNeed is the record that one of several writes needs.
type roomNeed struct {
	size    int
	removal bool
}

// reserveAll takes room for the records that the writes need. lacks is how much is missing if there is not enough: what was taken is
// to be given back then.
func (s *Session) reserveAll(intents []Intent) (lacks uint64, status Status) {
	var needs, end = s.roomNeeds[:0], uint64(s.log.Tail())
	page := uint64(s.log.PageBytes())
	for i := range intents {
		size, needed, status := s.roomFor(&intents[i])
		if status != Found {
			return 0, status
		}
		if !needed {
			continue
		}
		needs = append(needs, roomNeed{size, intents[i].Removal})
		if intents[i].Removal {
			continue // it may exceed the budget
		}
		if rest := page - end%page; rest < uint64(size) {
			end += rest
		}
		end += uint64(size)
	}
	s.roomNeeds = needs
	if tail := uint64(s.log.Tail()); end > tail && end > s.log.Limit() {
		return end - tail, Found
	}
	for _, need := range needs {
		at := s.log.Allocate(need.size)
		if at == 0 && need.removal {
			at = s.log.AllocateNeedful(need.size)
		}
		if at == 0 {
			return page, Found // others were quicker
		}
		s.reserved = append(s.reserved, reserved{at, need.size})
	}
	return 0, Found
}

// roomFor tells how long the record is that a write needs, if it needs one.
func (s *Session) roomFor(intent *Intent) (size int, needed bool, status Status) {
	var w writer
	w.start(s, hashOf(intent.Key), intent.Key)
	defer w.end()
	l := intent.layout(w.state.version())
	if intent.Removal {
		return l.Size(), !w.record.IsNone() && !w.record.IsTombstone() && !w.isMutable(), Found
	}
	if l.Size() > s.log.PageBytes() || len(intent.Key.Bytes) > record.MaxKeyBytes {
		return 0, false, TooLarge
	}
	return l.Size(), !w.fits(intent.Length, intent.Metadata), Found
}

// takeReserved returns the lowest address of room of a size that was set aside and lies above newest, the front of the chain that
// the record goes to (R3 of package record); 0 for none. What a truncation has dropped does not count.
func (s *Session) takeReserved(size int, newest record.Address) record.Address {
	for i := s.reservedTaken; i < len(s.reserved); i++ {
		r := &s.reserved[i]
		if r.size != size || r.at <= newest {
			continue
		}
		if i == s.reservedTaken {
			s.reservedTaken++
		}
		taken := *r
		r.size = 0
		if taken.at < s.log.Begin() {
			s.voidRoom(taken)
			return 0
		}
		return taken.at
	}
	return 0
}

// voidReserved makes void records of the room that was set aside: the session is about to leave its epoch, or has no need of it.
func (s *Session) voidReserved() {
	for _, r := range s.reserved[s.reservedTaken:] {
		if r.size > 0 {
			s.voidRoom(r)
		}
	}
	s.reserved, s.reservedTaken = s.reserved[:0], 0
}

func (s *Session) voidRoom(r reserved) {
	void := s.log.Record(r.at)
	void.Init(record.Layout{Capacity: r.size - record.HeaderBytes}, 0)
	void.PublishVoid()
	s.counters.deadBytes += uint64(r.size)
}
