package tsavorite

import (
	"fmt"

	"github.com/pyropedb/pyrope/device/aligned"
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

const (
	scanCandidates     = 256     // records checked together
	scanCandidateBytes = 1 << 20 // and how many bytes of them at most, but for one record
	scanWindowBytes    = 1 << 20 // read at once from the device by a scan without a limit
	scanSmallWindow    = 32 << 10
)

// candidate is a record that may be its key's newest.
type candidate struct {
	start, size int            // of its copy in scan.copies
	address     record.Address // where it lies
	chain       record.Address // without a check: where its key's chain on the device begins, as far as that counts
	next        record.Address // where to go on after it
	check       *operation     // finds the newest record of its key on the device; nil when it is known to be live
	beyond      bool           // the newest record of its key, which lies beyond the bound, stands for it
}

// scan is the scratch of Scan and of compaction.
type scan struct {
	namespace uint32
	dead      map[uint32]bool // for compaction: all namespaces but these; nil for a scan of one
	walking   bool            // only the borders of records are wanted
	asking    bool            // for compaction: records are not gathered, the sweep is asked about them
	sweeps    bool            // compaction is of kind scan
	until     record.Address  // records that start there or above are not looked at
	bound     record.Address  // see Scan
	sampling  bool            // records of other namespaces count as looked at
	overtaken bool            // compaction has passed the scan, and the bound was raised
	beyond    bool            // of the candidate that is being visited

	window     []byte // mapped; what was read from the device
	windowFrom uint64 // the address of its first byte
	windowHas  int    // how many bytes were read to it
	candidates []candidate
	copies     []byte
	latest     []byte // the copy of one record, see newestBeyond
	looked     int
	moved      record.Address // where the last record ends that compaction moved
	sweep      sweep          // what is known of candidates ahead
}

func (c *scan) close() { _ = aligned.Unmap(c.window) }

// Scan calls v for the live records of a namespace, in log order from cursor on (0: from the
// beginning), and looks at no more than limit of the namespace's records (0: no limit). It returns
// the cursor to go on from, 0 at the end. Any cursor is safe to pass.
//
// A record that is live during a whole series of calls is visited at least once, and perhaps more often.
// The series ends at a bound near the tail of its beginning, so that it cannot chase writers. A key whose record has moved
// beyond the bound meanwhile is visited where the scan meets its old record.
func (s *Session) Scan(namespace uint32, cursor uint64, limit int, v Visitor) (uint64, error) {
	c := &s.scan
	c.namespace, c.dead, c.looked = namespace, nil, 0
	at, err := s.openCursor(cursor)
	if err != nil {
		return 0, err
	}
	for settled := record.Address(0); ; {
		if at >= settled {
			if at, settled = s.settle(at); at >= settled {
				return 0, nil
			}
		}
		c.until = settled
		if at, err = s.gather(at, limit); err != nil {
			return 0, err
		}
		stopped, more, err := s.visit(v)
		if err != nil {
			return 0, err
		}
		if !more {
			return s.closeCursor(stopped)
		}
		if limit > 0 && c.looked >= limit {
			return s.closeCursor(at)
		}
	}
}

// Sample calls v for live records of a namespace among those that lie longest in memory, and looks at no more than limit of all
// namespaces. whole tells that it has seen everything.
func (s *Session) Sample(namespace uint32, limit int, v Visitor) (whole bool, err error) {
	c := &s.scan
	c.namespace, c.dead, c.looked, c.bound = namespace, nil, 0, s.log.Tail()
	c.sampling = true
	defer func() { c.sampling = false }()
	begin := s.log.Begin()
	at := max(begin, s.log.Head())
	whole = at == begin
	at, settled := s.settle(at)
	c.until = settled
	for at < settled && c.looked < limit {
		if at, err = s.gather(at, limit); err != nil {
			return false, err
		}
		if _, more, err := s.visit(v); err != nil || !more {
			return false, err
		}
	}
	return whole && at >= settled, nil
}

// skipDropped returns at, or begin if that has passed it. What was skipped is dead, except where live records
// are moved: they have gone to the tail, so the bound follows.
func (s *Session) skipDropped(at record.Address) record.Address {
	begin := s.log.Begin()
	if at < begin && (s.store.options.Device == nil || s.store.compactsDevice()) {
		s.scan.bound = max(s.scan.bound, s.log.Tail())
		s.scan.overtaken = true
	}
	return max(at, begin)
}

// settle returns where to look next from at on, and up to where every record is written by now.
func (s *Session) settle(at record.Address) (from, settled record.Address) {
	for {
		tail := s.settledTail()
		if from = s.skipDropped(at); from == at {
			return from, min(tail, s.scan.bound)
		}
		at = from // what was skipped may lie beyond this tail
	}
}

// settledTail is the tail below which every record is written. The session leaves its epoch for that.
func (s *Session) settledTail() record.Address {
	s.suspend()
	defer s.resume()
	return s.log.SettledTail()
}

// gather copies candidates from at on, until there are enough of them, the limit is reached or
// c.until is. It returns where it stopped.
func (s *Session) gather(at record.Address, limit int) (record.Address, error) {
	c := &s.scan
	c.candidates, c.copies = c.candidates[:0], c.copies[:0]
	for at < c.until && !c.isFull(limit) {
		if at = s.skipDropped(at); at >= c.until {
			break
		}
		var err error
		if at >= s.log.Head() {
			at, err = s.gatherFromMemory(at, limit)
		} else {
			at, err = s.gatherFromDevice(at, limit)
		}
		if err != nil {
			s.dropCandidates()
			return 0, err
		}
		s.epoch.Leave() // a long scan holds up nobody: the log may turn its pages
		s.epoch.Enter()
	}
	return at, nil
}

// scanStride is how many records are looked at before the epoch is refreshed.
const scanStride = 512

// gatherFromMemory looks at records in memory; at is at or above head.
func (s *Session) gatherFromMemory(at record.Address, limit int) (record.Address, error) {
	c := &s.scan
	for n := 0; n < scanStride && at < c.until && !c.isFull(limit); n++ {
		rest := s.log.PageRest(at)
		if rest < record.HeaderBytes {
			return at + record.Address(rest), nil
		}
		r := s.log.Record(at)
		if !r.IsValid() {
			return at + record.Address(rest), nil
		}
		next := at + record.Address(r.Size())
		if c.wants(r) {
			departs := s.departs
			if !r.IsTombstone() && !s.consider(r, at, next, true) {
				if s.hasty {
					return at, errBusy
				}
				return at, nil
			}
			c.looked++
			if s.departs != departs {
				return next, nil // the page may have left memory
			}
		} else if c.sampling {
			c.looked++
		}
		at = next
	}
	return at, nil
}

func (c *scan) wants(r record.Record) bool {
	if c.walking {
		return false
	}
	if c.dead != nil {
		return !c.dead[r.Namespace()]
	}
	return r.Namespace() == c.namespace
}

func (c *scan) isFull(limit int) bool {
	return len(c.candidates) >= scanCandidates || len(c.copies) >= scanCandidateBytes || limit > 0 && c.looked >= limit || c.asking && c.sweep.isFull()
}

// consider copies a record if it may be its key's newest, or the newest itself if that lies beyond the
// bound. It returns false when it had to wait for the latch, so that a record in memory may be gone: look again.
func (s *Session) consider(r record.Record, at, next record.Address, inMemory bool) bool {
	key := Key{r.Namespace(), r.Key()}
	hash := hashOf(key)
	departs := s.departs
	t, b := s.latchShared(hash)
	if b == nil {
		return false
	}
	if inMemory && s.departs != departs {
		s.unlatchShared(t, b, hash)
		return false
	}
	f := s.lookup(t, b, hash, key)
	if s.scan.asking {
		s.ask(r, at, key, &f)
		s.unlatchShared(t, b, hash)
		return true
	}
	isCandidate, isChecked := f.address == at || f.address >= s.scan.bound || f.address == 0 && f.disk >= at, false
	if isCandidate {
		if f.address > at {
			r = f.record
		}
		isCandidate = f.disk > at && s.scan.dead == nil || !r.IsDead(s.now)
	}
	if isCandidate && f.address == 0 && f.disk > at {
		known := s.scan.sweep.answerTo(at, f.disk, key)
		isCandidate, isChecked = known != isOutdated, known == unanswered
	}
	if isCandidate {
		s.copyCandidate(r, at, next)
		c := &s.scan.candidates[len(s.scan.candidates)-1]
		c.beyond, c.chain = f.address >= s.scan.bound, max(f.disk, at)
	} else if s.scan.dead != nil && r.Kind() >= uint8(OwnerKind) {
		s.store.noteReleased(r)
	}
	s.unlatchShared(t, b, hash)
	if isChecked {
		c := &s.scan.candidates[len(s.scan.candidates)-1]
		c.check = s.startHeld(hash, Key{key.Namespace, s.scan.copyOf(c).Key()}, f.disk)
	}
	return true
}

// copyCandidate keeps a copy of a record that is latched or immutable.
func (s *Session) copyCandidate(r record.Record, at, next record.Address) {
	c := &s.scan
	start := len(c.copies)
	c.copies = append(c.copies, r.Bytes()...)
	c.candidates = append(c.candidates, candidate{start: start, size: len(c.copies) - start, address: at, next: next})
}

// gatherFromDevice looks at the records of one window on the device.
func (s *Session) gatherFromDevice(at record.Address, limit int) (record.Address, error) {
	size := scanWindowBytes
	if limit > 0 {
		size = scanSmallWindow
	}
	for b := s.restOfWindow(at); ; b = nil {
		rest := s.log.PageRest(at)
		if rest < record.HeaderBytes {
			return at + record.Address(rest), nil
		}
		var err error
		if len(b) == 0 {
			b, err = s.readWindow(at, min(size, rest))
		} else {
			err = s.store.damageAt(at)
		}
		if at < s.log.Begin() {
			return at, nil // dropped meanwhile: what was read does not count
		}
		if err != nil {
			return 0, err
		}
		end, needed, err := s.considerWindow(b, at, limit)
		if err != nil {
			s.scan.windowHas = 0 // another attempt reads again
			return 0, err
		}
		if end > at || needed == 0 {
			return end, nil
		}
		size = max(size, needed)
	}
}

// restOfWindow returns what the window holds from an address on: what is on the device does not change.
func (s *Session) restOfWindow(at record.Address) []byte {
	c := &s.scan
	if uint64(at) < c.windowFrom || uint64(at) >= c.windowFrom+uint64(c.windowHas) {
		return nil
	}
	return c.window[uint64(at)-c.windowFrom : c.windowHas]
}

// considerWindow looks at the records in b, which starts at the record at address at. It returns
// where it stopped, and how long the record there is when b holds only a part of it.
func (s *Session) considerWindow(b []byte, at record.Address, limit int) (end record.Address, needed int, err error) {
	c := &s.scan
	for at < c.until && !c.isFull(limit) {
		if len(b) < record.HeaderBytes {
			return at, record.HeaderBytes, nil
		}
		rest := s.log.PageRest(at)
		if !record.InBuffer(b).IsValid() {
			return at + record.Address(rest), 0, nil
		}
		size, ok := record.CheckBuffer(b, rest)
		if !ok {
			return at, 0, fmt.Errorf("%w at address %d", ErrDamaged, at)
		}
		if size > len(b) {
			return at, size, nil
		}
		next := at + record.Address(size)
		if r := record.InBuffer(b); c.wants(r) {
			c.looked++
			if !r.IsTombstone() && !s.consider(r, at, next, false) {
				return at, 0, errBusy // a latch stays busy, and compaction must not take the record for dead
			}
		} else if c.sampling {
			c.looked++
		}
		at, b = next, b[size:]
		if rest == size {
			return at, 0, nil
		}
	}
	return at, 0, nil
}

// readWindow returns size bytes of the device from an address on, in the scan's window.
func (s *Session) readWindow(at record.Address, size int) ([]byte, error) {
	sector := s.pending.sectorBytes
	from := uint64(at) &^ (sector - 1)
	length := int((uint64(at)+uint64(size)+sector-1)&^(sector-1) - from)
	if length > len(s.scan.window) {
		s.scan.close()
		var err error
		if s.scan.window, err = aligned.Map(max(length, scanWindowBytes+int(sector))); err != nil {
			s.scan.window = nil
			return nil, fmt.Errorf("tsavorite: no memory for a scan: %w", err)
		}
	}
	s.scan.windowFrom, s.scan.windowHas = from, 0
	op := s.newOperation(rawOperation)
	defer s.recycle(op)
	if op.err == nil {
		op.request.Registered = 0 // the window is not the slab's
		s.readInto(op, from, s.scan.window[:length])
		s.await(op)
	}
	if op.err != nil {
		return nil, op.err
	}
	if err := s.store.damageAt(at); err != nil {
		return nil, err
	}
	offset := int(uint64(at) - from)
	if op.request.Transferred < offset+size {
		return nil, fmt.Errorf("%w at address %d: the device returned %d of %d bytes", ErrDamaged, at, op.request.Transferred, length)
	}
	s.scan.windowHas = op.request.Transferred
	return s.scan.window[offset:op.request.Transferred], nil
}

// visit calls v for the candidates that are live, in order. more is false when v has had enough:
// stopped is then where to go on.
func (s *Session) visit(v Visitor) (stopped record.Address, more bool, err error) {
	c := &s.scan
	defer s.dropCandidates()
	for i := range c.candidates {
		candidate := &c.candidates[i]
		r, err := s.confirm(candidate)
		if err != nil {
			return 0, false, err
		}
		c.beyond = candidate.beyond
		if !r.IsNone() && !r.IsDead(s.now) && !v.Visit(r.Key(), live(r)) {
			return candidate.next, false, nil
		}
	}
	return 0, true, nil
}

// confirm waits until it is known whether a candidate was its key's newest record, and returns it; or
// the newest, if that lies beyond the bound; or none.
func (s *Session) confirm(c *candidate) (record.Record, error) {
	for {
		check := c.check
		if check == nil {
			return s.scan.copyOf(c), nil
		}
		s.await(check)
		switch {
		case check.err != nil:
			return record.Record{}, check.err
		case check.memory:
			if newest, known := s.newestBeyond(c); known {
				c.beyond = true
				return newest, nil
			}
		case check.record.IsNone():
			return record.Record{}, nil
		case check.address == c.address || check.address >= s.scan.bound:
			c.beyond = check.address != c.address
			return check.record, nil
		default:
			return record.Record{}, nil
		}
	}
}

// newestBeyond returns a copy of the newest record of a candidate's key if it has come to lie in memory beyond the
// bound, where the scan will not meet it. known is false if it has left memory again: another check is under way.
func (s *Session) newestBeyond(c *candidate) (newest record.Record, known bool) {
	gathered := s.scan.copyOf(c)
	key := Key{gathered.Namespace(), gathered.Key()}
	hash := hashOf(key)
	t, b := s.latchShared(hash)
	f := s.lookup(t, b, hash, key)
	if f.address >= s.scan.bound {
		s.scan.latest = append(s.scan.latest[:0], f.record.Bytes()...)
		newest = record.InBuffer(s.scan.latest)
	}
	s.unlatchShared(t, b, hash)
	if f.disk != 0 {
		s.checkAgain(c, hash, key, f.disk)
	}
	return newest, f.disk == 0
}

// copyOf returns the copy of a candidate, valid until the next gather.
func (c *scan) copyOf(of *candidate) record.Record {
	return record.InBuffer(c.copies[of.start : of.start+of.size])
}

// dropCandidates frees the operations of the candidates.
func (s *Session) dropCandidates() {
	c := &s.scan
	for i := range c.candidates {
		if check := c.candidates[i].check; check != nil {
			s.await(check)
			s.recycle(check)
			c.candidates[i].check = nil
		}
	}
	c.candidates = c.candidates[:0]
}
