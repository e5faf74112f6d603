package tsavorite

import (
	"errors"
	"fmt"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// operationKind says what happens when an operation's search on the device has ended.
type operationKind uint8

const (
	holdOperation   operationKind = iota // a verb waits for it and takes the record out of its buffer
	readOperation                        // its reader is called
	updateOperation                      // its updater gets another attempt
	rawOperation                         // it read bytes, no record
	batchOperation                       // its batch counts it
)

// operation is one search of a key along its chain on the device. Sessions keep theirs and use them
// again, so that a pending read allocates nothing.
type operation struct {
	request device.Request
	kind    operationKind
	key     Key // its bytes are the operation's own copy
	hash    uint64
	token   uint64
	reader  Reader
	updater AsyncUpdater
	batch   *BatchRead

	chain   record.Address // where the search began
	begin   record.Address // where the log began when its key was looked up, or earlier
	address record.Address // the record being read; with a match, the matching one
	record  record.Record  // the match, in buffer; none before the end and without a match
	memory  bool           // the answer is in memory by now
	done    bool
	err     error

	buffer []byte // where the request reads to: slab or large
	slab   []byte // the operation's share of its slab
	pinned uint32 // the slab's number with the queue, 0 for none
	large  []byte // a buffer of its own, for a record that does not fit
}

const (
	slabOperations   = 64       // operations that share one mapping
	submitOperations = 128      // requests gathered before they are submitted
	maxOutstanding   = 4096     // operations in flight a session
	firstReadBytes   = 192      // record size expected at first
	maxExpectedBytes = 32 << 10 // most that is read on the chance that a record is so long
	keptLargeBytes   = 64 << 10 // an operation keeps a buffer of its own up to this size
)

// pendingReads are a session's operations on the device.
type pendingReads struct {
	queue       device.Queue // opened with the first operation
	sectorBytes uint64
	expected    int // size of records lately read, for the length of the first read
	operations  []*operation
	free        []*operation
	slabs       [][]byte
	gathered    []*device.Request // not yet submitted
	done        [submitOperations]*device.Request
	outstanding int // read, update and batch operations that have not ended
	ready       []*BatchRead
}

func (p *pendingReads) init(sectorBytes uint64) {
	p.sectorBytes, p.expected = sectorBytes, firstReadBytes
}

func (p *pendingReads) close() {
	if p.queue != nil {
		_ = p.queue.Close()
	}
	for _, op := range p.operations {
		_ = aligned.Unmap(op.large)
	}
	for _, slab := range p.slabs {
		_ = aligned.Unmap(slab)
	}
}

// take returns a free operation.
func (p *pendingReads) take() (*operation, error) {
	if len(p.free) == 0 {
		if err := p.addSlab(); err != nil {
			return nil, err
		}
	}
	op := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return op, nil
}

func (p *pendingReads) addSlab() error {
	size := int(max(1024, 2*p.sectorBytes))
	buffers, area, err := aligned.Buffers(slabOperations, size, int(max(512, p.sectorBytes)))
	if err != nil {
		return fmt.Errorf("tsavorite: no memory for read buffers: %w", err)
	}
	p.slabs = append(p.slabs, area)
	pinned := uint32(0)
	if registrar, can := p.queue.(device.Registrar); can {
		pinned = registrar.Register(area)
	}
	for _, buffer := range buffers {
		op := &operation{slab: buffer, pinned: pinned}
		op.request.Token = uint64(len(p.operations))
		p.operations = append(p.operations, op)
		p.free = append(p.free, op)
	}
	return nil
}

// recycle makes an operation free for the next one.
func (s *Session) recycle(op *operation) {
	if len(op.large) > keptLargeBytes {
		_ = aligned.Unmap(op.large)
		op.large = nil
	}
	op.reader, op.updater, op.batch, op.err, op.record = nil, nil, nil, nil, record.Record{}
	if len(op.slab) > 0 { // it came from a slab, not from the lack of one
		s.pending.free = append(s.pending.free, op)
	}
}

// startHeld begins to look for a key on the device for a verb that will await the operation.
func (s *Session) startHeld(hash uint64, key Key, chain record.Address) *operation {
	op := s.newFind(holdOperation, hash, key)
	s.find(op, chain)
	return op
}

// newFind returns an operation that is ready to look for a key, which was looked up in the same epoch.
func (s *Session) newFind(kind operationKind, hash uint64, key Key) *operation {
	begin := s.log.Begin() // compaction raises it only when those have left their epoch who looked keys up before
	if len(s.pending.operations)-len(s.pending.free) >= maxOutstanding {
		s.waitForDevice()
	}
	op := s.newOperation(kind)
	op.begin = begin
	op.hash = hash
	op.key.Namespace = key.Namespace
	op.key.Bytes = append(op.key.Bytes[:0], key.Bytes...)
	s.counters.pendingReads++
	if kind != holdOperation {
		s.pending.outstanding++
	}
	return op
}

// find begins the search at the first address of the key's chain on the device. The operation may
// have ended when it returns, with an error.
func (s *Session) find(op *operation, chain record.Address) {
	op.chain, op.done, op.record = chain, false, record.Record{}
	if op.err != nil {
		s.end(op)
		return
	}
	s.readRecord(op, chain, s.pending.expected)
}

// newOperation returns an operation, with err set when there are no buffers or no queue for it.
func (s *Session) newOperation(kind operationKind) *operation {
	p := &s.pending
	var op *operation
	var err error
	if p.queue == nil {
		p.queue, err = s.store.newQueue()
	}
	if err == nil {
		op, err = p.take()
	}
	if err != nil {
		op = &operation{}
	}
	op.kind, op.done, op.memory, op.record, op.err = kind, false, false, record.Record{}, err
	return op
}

// readRecord asks the device for size bytes from a record's address on, in whole sectors and
// within its page.
func (s *Session) readRecord(op *operation, at record.Address, size int) {
	op.address = at
	size = min(size, s.log.PageRest(at))
	sector := s.pending.sectorBytes
	from := uint64(at) &^ (sector - 1)
	until := (uint64(at) + uint64(size) + sector - 1) &^ (sector - 1)
	s.readBytes(op, from, int(until-from))
}

// readBytes asks the device for bytes; address and size are multiples of the sector.
func (s *Session) readBytes(op *operation, from uint64, size int) {
	op.buffer, op.request.Registered = op.slab, op.pinned
	if size > len(op.slab) {
		if size > len(op.large) {
			_ = aligned.Unmap(op.large)
			if op.large, op.err = aligned.Map(size); op.err != nil {
				s.end(op)
				return
			}
		}
		op.buffer, op.request.Registered = op.large, 0
	}
	s.readInto(op, from, op.buffer[:size])
}

// readInto asks the device for len(buffer) bytes.
func (s *Session) readInto(op *operation, from uint64, buffer []byte) {
	op.buffer = buffer
	op.request.Op, op.request.Address, op.request.Buffer = device.OpRead, from, op.buffer
	s.counters.deviceReads++
	s.pending.gathered = append(s.pending.gathered, &op.request)
	if len(s.pending.gathered) == submitOperations {
		s.submitReads()
	}
}

// submitReads gives the gathered requests to the device, in one call.
func (s *Session) submitReads() {
	if len(s.pending.gathered) > 0 {
		s.pending.queue.Submit(s.pending.gathered)
		s.pending.gathered = s.pending.gathered[:0]
	}
}

// await blocks until an operation that a verb holds has ended.
func (s *Session) await(op *operation) {
	for !op.done {
		s.waitForDevice()
	}
}

// waitForDevice blocks outside the epoch until the device has completed something.
func (s *Session) waitForDevice() {
	s.submitReads()
	if n := s.pending.queue.Poll(s.pending.done[:], false); n > 0 {
		s.collect(n)
		return
	}
	s.suspend()
	n := s.pending.queue.Poll(s.pending.done[:], true)
	s.resume()
	s.collect(n)
}

// collect goes on with the operations of n completed requests.
func (s *Session) collect(n int) {
	for _, request := range s.pending.done[:n] {
		s.arrived(s.pending.operations[request.Token])
	}
}

// CompletePending collects completions of async operations, and with wait blocks until none is
// left. It returns how many are still pending.
func (s *Session) CompletePending(wait bool) int {
	p := &s.pending
	for p.outstanding > 0 {
		s.submitReads()
		n := p.queue.Poll(p.done[:], false)
		s.collect(n)
		if n > 0 {
			continue
		}
		if !wait {
			break
		}
		if p.outstanding > 0 && len(p.gathered) == 0 {
			s.waitForDevice()
		}
	}
	return p.outstanding
}

// arrived looks at what the device returned for an operation.
func (s *Session) arrived(op *operation) {
	if op.request.Err != nil || op.kind == rawOperation {
		s.arrivedOtherwise(op)
		return
	}
	if op.address < s.log.Begin() {
		s.lookUpAgain(op) // dropped while it was read: the bytes count for nothing (D6)
		return
	}
	if op.err = s.store.damageAt(op.address); op.err != nil {
		s.end(op)
		return
	}
	offset := int(uint64(op.address) - op.request.Address)
	b := op.buffer[min(offset, op.request.Transferred):op.request.Transferred]
	size, ok := record.CheckBuffer(b, s.log.PageRest(op.address))
	if !ok || (size == 0 || size > len(b)) && op.request.Transferred < len(op.buffer) {
		op.err = fmt.Errorf("%w at address %d: the device returned %d bytes that hold none", ErrDamaged, op.address, len(b))
		s.end(op)
		return
	}
	if size == 0 {
		s.readRecord(op, op.address, record.HeaderBytes+len(op.key.Bytes)+s.pending.expected)
		return
	}
	holds, known := record.HoldsInBuffer(b, op.key.Namespace, op.key.Bytes)
	switch {
	case known && !holds:
		s.follow(op, record.InBuffer(b).Previous())
	case size > len(b):
		s.expect(size)
		s.readRecord(op, op.address, size)
	default:
		s.expect(size)
		op.record = record.InBuffer(b)
		s.end(op)
	}
}

// follow goes on with the next older record of the chain.
func (s *Session) follow(op *operation, previous record.Address) {
	if previous < s.log.Begin() || previous >= op.address {
		if previous >= op.begin && previous < op.address {
			s.lookUpAgain(op) // dropped since the search began: what was live there lies at the tail now
			return
		}
		s.end(op)
		return
	}
	s.readRecord(op, previous, s.pending.expected)
}

// expect fits the length of first reads to the records that come: up at once, down slowly.
func (s *Session) expect(size int) {
	p := &s.pending
	if size > p.expected {
		p.expected = min(size, maxExpectedBytes)
		return
	}
	p.expected -= (p.expected - size) / 64
}

// arrivedOtherwise ends raw reads and reads that failed. What was truncated meanwhile is looked up anew.
func (s *Session) arrivedOtherwise(op *operation) {
	err := op.request.Err
	if err != nil && op.kind != rawOperation && (errors.Is(err, device.ErrTruncated) || op.address < s.log.Begin()) {
		s.lookUpAgain(op)
		return
	}
	if err != nil {
		op.err = fmt.Errorf("tsavorite: cannot read the record at address %d: %w", op.address, err)
	}
	s.end(op)
}

// lookUpAgain starts the search over after the log was truncated under it.
func (s *Session) lookUpAgain(op *operation) {
	switch op.kind {
	case updateOperation:
		op.chain = 0 // whatever the next attempt finds, this answer does not count
		s.end(op)
		return
	case batchOperation:
		op.memory = true // DeliverBatch looks
		s.end(op)
		return
	}
	t, b := s.latchShared(op.hash)
	if b == nil {
		op.err = errBusy
		s.end(op)
		return
	}
	f := s.lookup(t, b, op.hash, op.key)
	s.unlatchShared(t, b, op.hash)
	if f.disk != 0 {
		op.begin = f.begin
		s.find(op, f.disk)
		return
	}
	op.memory = true
	s.end(op)
}

// end finishes the search of an operation: it holds a match, none, or an error.
func (s *Session) end(op *operation) {
	op.done = true
	switch op.kind {
	case readOperation:
		if op.memory {
			op.memory = false
			if status, disk := s.readMemory(op.hash, op.key, op.token, op.reader); status == Pending {
				op.begin = s.log.Begin()
				s.find(op, disk)
				return
			}
		} else {
			s.deliver(op, op.token, op.reader)
		}
		s.pending.outstanding--
		s.recycle(op)
	case updateOperation:
		s.endUpdate(op)
	case batchOperation:
		s.pending.outstanding--
		s.arrivedFor(op.batch)
	}
}

// endUpdate gives an update another attempt with what was found.
func (s *Session) endUpdate(op *operation) {
	status, disk := StatusError, record.Address(0)
	if op.err != nil {
		s.err = op.err
	} else {
		status, disk = s.update(op.hash, op.key, op.updater, op)
	}
	if status == Pending {
		op.begin = s.log.Begin()
		s.find(op, disk)
		return
	}
	s.pending.outstanding--
	op.updater.Finish(op.token, status)
	s.recycle(op)
}

// deliver calls the reader with the match, or says that there is none.
func (s *Session) deliver(op *operation, token uint64, r Reader) Status {
	switch {
	case op.err != nil:
		s.err = op.err
		r.Read(token, StatusError, Record{})
		return StatusError
	case op.record.IsNone() || op.record.IsDead(s.now):
		r.Read(token, NotFound, Record{})
		return NotFound
	}
	r.Read(token, Found, live(op.record))
	if s.store.options.CopyReadsToTail {
		s.promote(op)
	}
	return Found
}

// deliverHeld answers a read with a held operation and frees it.
func (s *Session) deliverHeld(op *operation, token uint64, r Reader) Status {
	if op.memory {
		key := op.key
		status := s.Read(key, token, r)
		s.recycle(op)
		return status
	}
	status := s.deliver(op, token, r)
	s.recycle(op)
	return status
}
