package faultdev

import (
	"sync"
	"time"
	"unsafe"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/internal/eventfd"
)

// queue passes requests through to a queue of the wrapped device and holds completions back.
type queue struct {
	device   *Device
	inner    device.Queue
	flights  map[*device.Request]flight
	held     []heldRequest // completed, oldest first
	inFlight int
	closed   bool
	eventFD  int            // -1 before it is asked for
	timers   sync.WaitGroup // those that will signal it
	scratch  [64]*device.Request
}

// flight is what the queue must remember of a request that the wrapped device has.
type flight struct {
	whole   []byte   // the buffer of a write that is being torn
	err     error    // the error it gets afterwards
	pending []extent // what a read must lay over its bytes
}

type heldRequest struct {
	request *device.Request
	ready   time.Time
}

// Submit injects faults and passes on the rest.
func (q *queue) Submit(batch []*device.Request) {
	q.inFlight += len(batch)
	var pass []*device.Request
	for _, r := range batch {
		r.Transferred, r.Err = 0, nil
		if q.accept(r) {
			pass = append(pass, r)
		} else {
			q.hold(r)
		}
	}
	q.inner.Submit(pass)
	for q.eventFD >= 0 && len(q.flights) > 0 {
		q.collect(true) // so that it is known when they are to be announced
	}
}

// accept says whether r goes to the wrapped device; otherwise it is complete.
func (q *queue) accept(r *device.Request) bool {
	d := q.device
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if r.Op == device.OpWrite {
		d.writes++
	} else {
		d.reads++
	}
	err := d.usableLocked()
	if q.closed && err == nil {
		err = device.ErrClosed
	}
	struck := d.strikeLocked(operationOf(r.Op))
	if err == nil && struck != nil && struck.keepBytes <= 0 {
		err = struck.err
	}
	if err != nil {
		r.Err = device.Errorf("fault", r, err)
		return false
	}
	if r.Op == device.OpRead {
		q.flights[r] = flight{pending: d.pending}
		return true
	}
	if d.options.Volatile {
		d.keepLocked(r, struck)
		return false
	}
	f := flight{}
	if struck != nil {
		f = flight{whole: r.Buffer, err: struck.err}
		r.Buffer = r.Buffer[:min(struck.keepBytes, len(r.Buffer))]
	}
	q.flights[r] = f
	return true
}

// keepLocked takes a volatile write into the pending list.
func (d *Device) keepLocked(r *device.Request, struck *fault) {
	err := device.CheckAlignment(r, d.inner.Info().SectorSizeBytes)
	if err == nil && r.Address < d.begin {
		err = device.ErrTruncated
	}
	if err != nil {
		r.Err = device.Errorf("fault", r, err)
		return
	}
	r.Transferred = len(r.Buffer)
	if struck != nil {
		r.Transferred = min(struck.keepBytes, len(r.Buffer))
		r.Err = device.Errorf("fault", r, struck.err)
	}
	d.pending = append(d.pending, extent{r.Address, copyAligned(r.Buffer[:r.Transferred])})
}

// copyAligned returns a copy that any device takes as memory of a write.
func copyAligned(p []byte) []byte {
	memory := make([]byte, len(p)+device.MaxSectorBytes)
	first := int(-uintptr(unsafe.Pointer(unsafe.SliceData(memory))) & (device.MaxSectorBytes - 1))
	memory = memory[first : first+len(p)]
	copy(memory, p)
	return memory
}

// hold keeps a completed request back for the delay.
func (q *queue) hold(r *device.Request) {
	held := heldRequest{request: r}
	delay := time.Duration(q.device.delay.Load())
	if delay > 0 {
		held.ready = time.Now().Add(delay)
	}
	q.held = append(q.held, held)
	if q.eventFD >= 0 {
		q.timers.Add(1)
		time.AfterFunc(delay, func() {
			eventfd.Signal(q.eventFD)
			q.timers.Done()
		})
	}
}

// collect takes completions from the wrapped device.
func (q *queue) collect(wait bool) {
	for {
		n := q.inner.Poll(q.scratch[:], wait)
		for _, r := range q.scratch[:n] {
			q.settle(r)
			q.hold(r)
		}
		if n < len(q.scratch) {
			return
		}
		wait = false
	}
}

// settle gives a request back what the queue changed or remembered of it.
func (q *queue) settle(r *device.Request) {
	f := q.flights[r]
	delete(q.flights, r)
	if f.whole != nil {
		r.Buffer = f.whole
		if r.Err == nil {
			r.Err = device.Errorf("fault", r, f.err)
		}
	}
	if r.Op == device.OpRead && r.Err == nil {
		overlay(r, f.pending)
	}
}

// overlay lays pending writes over what a read found. The read then comes as far as its bytes go
// without a gap.
func overlay(r *device.Request, pending []extent) {
	for _, e := range pending {
		start, end := max(r.Address, e.address), min(r.Address+uint64(len(r.Buffer)), e.address+uint64(len(e.bytes)))
		if start < end {
			copy(r.Buffer[start-r.Address:end-r.Address], e.bytes[start-e.address:])
		}
	}
	for grown := true; grown; {
		grown = false
		position := r.Address + uint64(r.Transferred)
		for _, e := range pending {
			end := min(r.Address+uint64(len(r.Buffer)), e.address+uint64(len(e.bytes)))
			if e.address <= position && end > position {
				position, grown = end, true
			}
		}
		r.Transferred = int(position - r.Address)
	}
}

// Poll hands back what has been held long enough.
func (q *queue) Poll(done []*device.Request, wait bool) int {
	for {
		q.collect(false)
		n := 0
		for n < len(done) && n < len(q.held) && !time.Now().Before(q.held[n].ready) {
			done[n] = q.held[n].request
			n++
		}
		q.held = q.held[n:]
		q.inFlight -= n
		if n > 0 || !wait || q.inFlight == 0 {
			return n
		}
		if len(q.held) > 0 {
			time.Sleep(time.Until(q.held[0].ready))
		} else {
			q.collect(true)
		}
	}
}

// SubmitAndPoll does one after the other.
func (q *queue) SubmitAndPoll(batch, done []*device.Request, wait bool) int {
	q.Submit(batch)
	return q.Poll(done, wait)
}

// InFlight counts what Poll has not handed back.
func (q *queue) InFlight() int { return q.inFlight }

// EventFD returns a descriptor that tells when a completion has been held back for long enough. From then on
// Submit waits for the wrapped device.
func (q *queue) EventFD() int {
	if q.eventFD < 0 {
		q.eventFD = eventfd.New()
	}
	return q.eventFD
}

// Close waits for what is in flight.
func (q *queue) Close() error {
	for len(q.flights) > 0 {
		q.collect(true)
	}
	q.closed = true
	if q.eventFD >= 0 {
		q.timers.Wait()
		eventfd.Close(q.eventFD)
	}
	return q.inner.Close()
}
