package devicetest

import (
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
)

// testRegisteredMemory moves bytes through registered memory, of more queues than a ring has places for,
// one after another and several at once.
func testRegisteredMemory(t *testing.T, c Config) {
	f := open(t, c, func(o *device.Options) {
		if o.IOContexts == 0 {
			o.IOContexts = 1
		}
	})
	f.fill(4 * segmentBytes)
	const queues, pieces = 30, 50
	for round := range 3 {
		for range queues {
			f.useRegistered(pieces, uint64(round))
		}
	}
}

// useRegistered has a queue with so many pieces of registered memory, reads and writes through some of
// them across a segment border, and gives them back with the queue.
func (f *fixture) useRegistered(pieces int, seed uint64) {
	q := f.queue()
	registrar, can := q.(device.Registrar)
	if !can {
		f.closeQueue(q)
		return
	}
	buffers, area, err := aligned.Buffers(pieces, 2*Block, Block)
	if err != nil {
		f.Fatal(err)
	}
	numbers := make([]uint32, pieces)
	for i, buffer := range buffers {
		numbers[i] = registrar.Register(buffer)
	}
	requests := make([]*device.Request, pieces)
	for i := range requests {
		address := uint64(1+i%3)*segmentBytes - Block
		requests[i] = &device.Request{Address: address, Buffer: buffers[i], Registered: numbers[i], Token: seed}
		if i%4 == 0 {
			requests[i].Op = device.OpWrite
			pattern(buffers[i], address)
		}
	}
	q.Submit(requests)
	f.collect(q, pieces, func(r *device.Request) {
		f.checkWhole(r)
		f.checkPattern(r.Buffer[:r.Transferred], r.Address)
	})
	f.closeQueue(q)
	if err := aligned.Unmap(area); err != nil {
		f.Fatal(err)
	}
}
