package tsavorite

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pyropedb/pyrope/device/aligned"
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// CompactionKind is how compaction finds out of the records on the device which are their keys' newest.
type CompactionKind uint8

// The kinds of compaction. Both move and drop the same records.
const (
	// LookUpCompaction follows the chain of each record by reads of its own, many at once.
	LookUpCompaction CompactionKind = iota
	// ScanCompaction reads the rest of the log on the device in large pieces, and follows the chains of many records together.
	ScanCompaction
)

// String is what options and reports call the kind.
func (k CompactionKind) String() string {
	if k == ScanCompaction {
		return "scan"
	}
	return "lookup"
}

const (
	sweepChunkBytes = 1 << 20   // read at once, or a page if that is smaller
	sweepReads      = 4         // chunks being read
	sweepChainBytes = 128 << 10 // reading so much in a row costs about what a read of its own does; see isThin
	sweepPages      = 32        // pages whose records are asked about together, at most
	questionBytes   = 40        // size of a question, without its key
)

// sweep finds out of many records of the oldest pages on the device whether each is its key's newest there: it follows the chains of all
// their keys together, from the newest page on the device down, so that each chunk of the log is read once.
//
//	begin              until                                             head
//	  |---q--q-q-----q---|---------o------o---------------o---------o------|  in memory
//	      ^    ^                   |      |               |         |
//	      |    '-------------------'      '---------------'         |     <-- chunk by chunk
//	      '---------------------------------------------------------'
//	  q: a record that was asked about, as it is not the first of its chain    o: others of their chains
//
// Invariants:
//
//	S1  A question is of a record at an address and a chain that begins at another. Neither changes, and no address is used twice:
//	    an answer never gets old, whatever is written meanwhile.
//	S2  isOutdated is final: who is not its key's newest never is again. That is noted of those too that are known to be at once, as there is
//	    a newer record in memory: it may have left for the device when their turn comes.
//	S3  isNewest counts as long as the key has no record in memory and its chain on the device begins at the same address. Who uses it
//	    makes sure of that under the key's exclusive latch (moveToTail).
//	S4  A question without an answer is no problem: the key is looked up.
type sweep struct {
	from      record.Address // the start of the first page whose records were asked about
	until     record.Address // the end of the last one
	outdated  []uint64       // a bit for each 8 bytes from there on
	questions []question     // by address, ascending
	keys      []byte         // of the questions
	maxBytes  int            // of questions and keys; the last may exceed it
	readBytes uint64         // of the device, for the answers

	chunkBytes uint64
	firstChunk uint64      // the chunk of waiting[0]
	waiting    []uint32    // by chunk: the first question whose chain goes on there, counted from 1; 0 is none
	next       int         // no chunk above it is to be read, but for those being read
	reads      []chunkRead // under way, in the order of their beginning
	buffers    [][]byte    // free ones
}

// question is whether a record is its key's newest on the device.
type question struct {
	address    record.Address // where the record lies
	chain      record.Address // where its key's chain on the device began when it was asked, above address
	at         record.Address // where the chain goes on, above address; or address itself: it is the newest; or 0: it is not
	namespace  uint32
	key        uint32 // where the key starts in sweep.keys
	keyLength  uint32
	nextInList uint32 // of those whose chain goes on in the same chunk, counted from 1
}

// answer is what is known about a question.
type answer uint8

const (
	unanswered answer = iota
	isNewest
	isOutdated
)

// chunkRead is a read of a chunk that is under way.
type chunkRead struct {
	op     *operation
	chunk  int // as in sweep.waiting
	buffer []byte
}

// ask asks about the record of a key at an address, of which lookup found f. Addresses come in ascending order.
func (s *Session) ask(r record.Record, address record.Address, key Key, f *found) {
	w := &s.scan.sweep
	switch {
	case f.address != 0 || f.disk < address:
		w.outdated[(address-w.from)/512] |= 1 << ((address - w.from) / 8 % 64)
	case f.disk > address && !r.IsDead(s.now):
		w.questions = append(w.questions, question{
			address: address, chain: f.disk, at: f.disk,
			namespace: key.Namespace, key: uint32(len(w.keys)), keyLength: uint32(len(key.Bytes)),
		})
		w.keys = append(w.keys, key.Bytes...)
	}
}

// isFull says that no more questions are to be asked.
func (w *sweep) isFull() bool { return len(w.questions)*questionBytes+len(w.keys) >= w.maxBytes }

func (w *sweep) keyOf(q *question) Key {
	return Key{q.namespace, w.keys[q.key : q.key+q.keyLength]}
}

// answerTo returns what is known about the record of a key at an address, whose chain on the device begins at chain now.
func (w *sweep) answerTo(address, chain record.Address, key Key) answer {
	if address < w.from || address >= w.until {
		return unanswered
	}
	if w.outdated[(address-w.from)/512]>>((address-w.from)/8%64)&1 != 0 {
		return isOutdated
	}
	i, found := slices.BinarySearchFunc(w.questions, address, func(q question, address record.Address) int {
		return cmp.Compare(q.address, address)
	})
	if !found {
		return unanswered
	}
	q := &w.questions[i]
	asked := w.keyOf(q)
	switch {
	case asked.Namespace != key.Namespace || string(asked.Bytes) != string(key.Bytes): // other bytes were read there
		return unanswered
	case q.at == 0:
		return isOutdated
	case q.at == address && q.chain == chain:
		return isNewest
	}
	return unanswered
}

// sweepBeforeMove lets a session that compacts by scan know of the records of the page that ends at until, and of as many after it as there is
// room for, which of them are live. It takes as long as reading the log: nothing is locked meanwhile.
func (s *Store) sweepBeforeMove(session *Session, until record.Address, run *CompactionRun) error {
	w := &session.scan.sweep
	if !session.scan.sweeps || until <= w.until || s.lifetimes.isOver(until, s.options.PageBytes, s.now()) {
		return nil
	}
	session.Enter()
	defer session.Leave()
	err := session.sweepFrom(s.log.Begin(), run.end)
	run.SweptBytes += w.readBytes
	return err
}

// sweepFrom asks about the records of a run of compaction from an address on and finds the answers. It leaves the epoch again and again.
func (s *Session) sweepFrom(at, end record.Address) error {
	w := &s.scan.sweep
	w.from, w.until, w.maxBytes, w.readBytes = s.log.PageStart(at), at, int(s.store.options.PageBytes), 0
	w.questions, w.keys = w.questions[:0], w.keys[:0]
	w.outdated = make([]uint64, sweepPages*s.store.options.PageBytes/512)
	if err := s.askFrom(at, end); err != nil {
		return err
	}
	w.readBytes = uint64(w.until - at)
	if len(w.questions) == 0 {
		return nil
	}
	return s.sweepDevice()
}

// askFrom asks about the records from an address on, whole pages of them that end at end or before, as long as there is room. If there is
// not enough for the first one, the rest of its keys will be looked up. Problems with a later page are left to its own turn.
func (s *Session) askFrom(at, end record.Address) error {
	c, w := &s.scan, &s.scan.sweep
	c.dead, c.looked, c.bound, c.asking = s.store.droppedNamespaces(), 0, record.AddressMask, true
	defer func() { c.asking = false }()
	pageBytes := s.store.options.PageBytes
	first := s.log.PageEnd(at)
	end = min(end, w.from+record.Address(sweepPages*pageBytes))
	for page := first; page <= end; page += record.Address(pageBytes) {
		if s.store.isStopping() {
			return errStopped
		}
		if page > first && s.store.lifetimes.isOver(page, pageBytes, s.now) {
			w.until = page // it will be dropped unread
			continue
		}
		questions, keys := len(w.questions), len(w.keys)
		reached, err := record.Address(0), s.verifyOutside(page)
		if c.until = page; err == nil {
			reached, err = s.gather(max(at, w.until), 0)
		}
		if page == first && err != nil {
			return err
		}
		if page > first && (err != nil || reached < page) {
			w.questions, w.keys = w.questions[:questions], w.keys[:keys]
			return nil
		}
		w.until = page
	}
	return nil
}

// verifyOutside is verifyBeforeMove for a session that is inside its epoch.
func (s *Session) verifyOutside(page record.Address) error {
	s.suspend()
	defer s.resume()
	return s.store.verifyBeforeMove(page)
}

// sweepDevice looks for the answers.
func (s *Session) sweepDevice() error {
	w := &s.scan.sweep
	w.spread(min(sweepChunkBytes, s.store.options.PageBytes))
	area, err := aligned.Map(sweepReads * int(w.chunkBytes))
	if err != nil {
		return fmt.Errorf("tsavorite: no memory for a scan: %w", err)
	}
	for at := 0; at < len(area); at += int(w.chunkBytes) {
		w.buffers = append(w.buffers, area[at:at+int(w.chunkBytes)])
	}
	defer func() {
		for len(w.reads) > 0 {
			s.endChunk()
		}
		w.buffers, w.waiting = nil, nil
		_ = aligned.Unmap(area)
	}()
	for {
		if err := s.readAhead(); err != nil || len(w.reads) == 0 {
			return err
		}
		s.followThrough(s.awaitChunk())
		s.endChunk()
		s.epoch.Leave() // a long scan holds up nobody: the log may turn its pages
		s.epoch.Enter()
		if s.store.isStopping() {
			return errStopped
		}
		if s.log.Begin() >= w.until {
			return nil // dropped meanwhile: nobody needs the answers
		}
	}
}

// spread puts the questions in the lists of their chunks.
func (w *sweep) spread(chunkBytes uint64) {
	last := uint64(0)
	for i := range w.questions {
		last = max(last, uint64(w.questions[i].chain)/chunkBytes)
	}
	w.chunkBytes, w.firstChunk = chunkBytes, uint64(w.questions[0].address)/chunkBytes
	w.waiting = make([]uint32, last-w.firstChunk+1)
	w.next = len(w.waiting) - 1
	for i := range w.questions {
		w.enlist(i)
	}
}

// enlist puts a question in the list of the chunk where its chain goes on.
func (w *sweep) enlist(i int) {
	q := &w.questions[i]
	chunk := int(uint64(q.at)/w.chunkBytes - w.firstChunk)
	q.nextInList, w.waiting[chunk] = w.waiting[chunk], uint32(i+1)
	w.next = max(w.next, chunk)
}

// nextChunk returns the highest chunk where chains go on and that is not being read, or -1.
func (w *sweep) nextChunk() int {
	for ; w.next >= 0; w.next-- {
		isRead := slices.ContainsFunc(w.reads, func(r chunkRead) bool { return r.chunk == w.next })
		if w.waiting[w.next] != 0 && !isRead {
			return w.next
		}
	}
	return -1
}

// isThin says that so few chains go on in a chunk that it is cheaper to look their keys up.
func (w *sweep) isThin(chunk int) bool {
	count := uint64(0)
	for i := w.waiting[chunk]; i != 0 && count*sweepChainBytes < w.chunkBytes; i = w.questions[i-1].nextInList {
		count++
	}
	return count*sweepChainBytes < w.chunkBytes
}

// readAhead keeps reads under way as long as there are chunks to be read.
func (s *Session) readAhead() error {
	w := &s.scan.sweep
	for len(w.reads) < sweepReads {
		chunk := w.nextChunk()
		if chunk < 0 {
			return nil
		}
		if w.isThin(chunk) {
			if len(w.reads) > 0 {
				return nil // more chains may lead there from those above
			}
			w.waiting[chunk] = 0
			continue
		}
		op := s.newOperation(rawOperation)
		if op.err != nil {
			return op.err
		}
		last := len(w.buffers) - 1
		buffer := w.buffers[last]
		w.buffers = w.buffers[:last]
		op.request.Registered = 0 // the buffer is not the slab's
		s.readInto(op, (w.firstChunk+uint64(chunk))*w.chunkBytes, buffer)
		w.reads = append(w.reads, chunkRead{op, chunk, buffer})
		w.readBytes += w.chunkBytes
	}
	return nil
}

// awaitChunk waits for the oldest read and returns it.
func (s *Session) awaitChunk() chunkRead {
	r := s.scan.sweep.reads[0]
	s.await(r.op)
	return r
}

// endChunk frees what the oldest read holds.
func (s *Session) endChunk() {
	w := &s.scan.sweep
	r := s.awaitChunk()
	w.reads = append(w.reads[:0], w.reads[1:]...)
	w.buffers = append(w.buffers, r.buffer)
	s.recycle(r.op)
}

// followThrough follows the chains that go on in a chunk. What cannot be read there stays unanswered: the look-up will tell why.
func (s *Session) followThrough(r chunkRead) {
	w := &s.scan.sweep
	list := w.waiting[r.chunk]
	w.waiting[r.chunk] = 0
	start := record.Address((w.firstChunk + uint64(r.chunk)) * w.chunkBytes)
	if r.op.err != nil || s.store.damageAt(start) != nil {
		return
	}
	b := r.buffer[:r.op.request.Transferred]
	for list != 0 {
		i := int(list - 1)
		q := &w.questions[i]
		list = q.nextInList
		if s.follows(q, start, b) {
			w.enlist(i)
		}
	}
}

// follows follows the chain of a question through b, which holds the log from start on, and reports whether it goes on below.
func (s *Session) follows(q *question, start record.Address, b []byte) bool {
	key := s.scan.sweep.keyOf(q)
	for q.at >= start {
		offset := int(q.at - start)
		if offset+record.HeaderBytes > len(b) {
			return false
		}
		rest := b[offset:]
		if _, ok := record.CheckBuffer(rest, s.log.PageRest(q.at)); !ok {
			return false
		}
		holds, known := record.HoldsInBuffer(rest, key.Namespace, key.Bytes)
		previous := record.InBuffer(rest).Previous()
		switch {
		case !known: // the key goes on in the next chunk
			return false
		case holds || previous < q.address: // the chain has left it out
			q.at = 0
			return false
		case previous == q.address:
			q.at = previous
			return false
		case previous >= q.at || previous%8 != 0: // no chain looks so
			return false
		}
		q.at = previous
	}
	return true
}

// dropSweep gives the memory for questions back if no answer will be of use.
func (s *Session) dropSweep() {
	if s.scan.sweep.until <= s.log.Begin() {
		s.scan.sweep = sweep{}
	}
}
