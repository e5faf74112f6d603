// Package pass moves a device's bytes once, from one address to another in order: to fill it, or to
// read it so that caches beneath it are in the same state whatever ran before.
//
//	begin                                      end
//	| block | block | block | block | ... | part |
//	          \_____ in flight _____/
package pass

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/benchmark/program"
	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
)

// depth is how many blocks are in flight.
const depth = 8

// Pass is one pass over a device.
type Pass struct {
	Device     device.Device
	Op         device.Op
	Begin, End uint64 // addresses, multiples of the device's sectors
	BlockBytes int    // of a request; the last one may be shorter

	Fill  func(block []byte, address uint64) // makes what is written; needed for writes only
	Check func(r *device.Request) error      // looks at what has come back; nil looks at its error only

	Interrupted *atomic.Bool       // ends the pass with program.ErrInterrupted
	Progress    func(moved uint64) // is told how many bytes have been moved so far; nil for no one
	Interval    time.Duration      // between two calls of Progress
}

// Run moves the bytes and returns how many, also when it fails half-way.
func (p Pass) Run() (moved uint64, err error) {
	q, err := p.Device.NewQueue()
	if err != nil {
		return 0, err
	}
	buffers, area, err := aligned.Buffers(depth, p.BlockBytes, aligned.PageBytes())
	if err != nil {
		return 0, errors.Join(err, q.Close())
	}
	m := mover{pass: p, queue: q, next: p.Begin, told: time.Now()}
	err = m.move(buffers)
	return m.moved, errors.Join(err, q.Close(), aligned.Unmap(area)) // the queue's Close waits for what is in flight
}

// mover is a pass under way.
type mover struct {
	pass  Pass
	queue device.Queue
	next  uint64 // address of the next block
	moved uint64
	batch []*device.Request // to be submitted
	told  time.Time         // when progress was last told
}

// move keeps every buffer in flight until the end is reached.
func (m *mover) move(buffers [][]byte) error {
	for _, buffer := range buffers {
		m.take(&device.Request{Op: m.pass.Op}, buffer)
	}
	var done [depth]*device.Request
	for len(m.batch) > 0 || m.queue.InFlight() > 0 {
		if m.pass.Interrupted.Load() {
			return program.ErrInterrupted
		}
		n := m.queue.SubmitAndPoll(m.batch, done[:], true)
		m.batch = m.batch[:0]
		for _, r := range done[:n] {
			if err := m.look(r); err != nil {
				return err
			}
			m.take(r, r.Buffer[:cap(r.Buffer)])
		}
		m.tell()
	}
	return nil
}

// take gives a free request the next block, if there is one left.
func (m *mover) take(r *device.Request, buffer []byte) {
	if m.next >= m.pass.End {
		return
	}
	r.Address, r.Buffer = m.next, buffer[:min(uint64(len(buffer)), m.pass.End-m.next)]
	if m.pass.Op == device.OpWrite {
		m.pass.Fill(r.Buffer, r.Address)
	}
	m.next += uint64(len(r.Buffer))
	m.batch = append(m.batch, r)
}

// look judges a request that has come back.
func (m *mover) look(r *device.Request) error {
	m.moved += uint64(r.Transferred)
	switch {
	case m.pass.Check != nil:
		return m.pass.Check(r)
	case r.Err != nil:
		return fmt.Errorf("cannot %s the block at %d: %w", r.Op, r.Address, r.Err)
	}
	return nil
}

// tell reports progress, if it is time to.
func (m *mover) tell() {
	if m.pass.Progress != nil && time.Since(m.told) >= m.pass.Interval {
		m.told = time.Now()
		m.pass.Progress(m.moved)
	}
}
