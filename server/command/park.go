package command

import (
	"fmt"
	"slices"

	"github.com/pyropedb/pyrope/tsavorite"
)

// Parking: when a short run of GETs meets a key that is not in memory, the rest of the run becomes a
// batch of its own in the session of the loop's Parker, and Serve returns. The loop serves other connections, whose
// cold keys go to the device in the same submission, and comes back to the client when its own have arrived.

// parkMaxKeys is the longest run that is parked. A longer one has the device to itself for a while: handing the
// loop over costs it little, and waiting for many completions at once is cheaper than being told of each.
const parkMaxKeys = 128

// Parker has the parked reads of one loop. It belongs to the loop's goroutine.
type Parker struct {
	context *Context
	reader  valueReader
	eventFD int
	fresh   []*parkedReads // not yet submitted
	keys    int            // of all that are parked
	ready   []*tsavorite.BatchRead
	free    []*parkedReads
}

// parkedReads are the reads that a parked client waits for.
type parkedReads struct {
	client *Client
	batch  tsavorite.BatchRead
	keys   []tsavorite.Key
	bytes  []byte // of the keys
	large  int    // index of a key with a large string, as in valueReader
	began  int64  // when they were parked, see monotonic
}

// NewParker returns a Parker with an engine session of its own. The store must have a device.
func (s *State) NewParker() (*Parker, error) {
	context, err := s.NewContext(nil)
	if err != nil {
		return nil, err
	}
	p := &Parker{context: context}
	if p.eventFD, err = context.Session.EventFD(); err != nil {
		context.Close()
		return nil, fmt.Errorf("cannot park connections: %w", err)
	}
	return p, nil
}

// Close waits for what is under way and frees the session.
func (p *Parker) Close() { p.context.Close() }

// EventFD becomes readable when Poll may find something; -1 if the device cannot tell.
func (p *Parker) EventFD() int { return p.eventFD }

// ParkWith has the next Serve park what waits for the device; nil has it wait.
func (c *Context) ParkWith(p *Parker) { c.parker = p }

// Parked tells whether the last Serve stopped because its client is parked now: replies follow by Deliver.
func (c *Context) Parked() bool { return c.parked }

// park takes over the reads of a client's keys, if there is room for them.
func (p *Parker) park(client *Client, keys []tsavorite.Key) bool {
	if p.keys+len(keys) > tsavorite.MaxBatched {
		return false
	}
	var reads *parkedReads
	if last := len(p.free) - 1; last >= 0 {
		reads, p.free = p.free[last], p.free[:last]
	} else {
		reads = &parkedReads{}
		reads.batch.Owner = reads
	}
	reads.client, client.reads, reads.large, reads.began = client, reads, -1, monotonic()
	size := 0
	for _, key := range keys {
		size += len(key.Bytes)
	}
	bytes := slices.Grow(reads.bytes[:0], size)
	reads.keys = reads.keys[:0]
	for _, key := range keys {
		from := len(bytes)
		bytes = append(bytes, key.Bytes...)
		reads.keys = append(reads.keys, tsavorite.Key{Namespace: key.Namespace, Bytes: bytes[from:]})
	}
	reads.bytes = bytes
	p.fresh = append(p.fresh, reads)
	p.keys += len(keys)
	client.BeginWait()
	return true
}

// Submit passes what was parked since the last call to the device, in one submission.
func (p *Parker) Submit() {
	c := p.context
	c.enter()
	for i, reads := range p.fresh {
		c.Session.StartBatch(&reads.batch, reads.keys)
		if len(reads.keys) > 1 {
			c.Stats.GatheredReads.add(uint64(len(reads.keys)))
		}
		p.fresh[i] = nil
	}
	p.fresh = p.fresh[:0]
	c.leave()
}

// Poll appends to ready the clients whose reads have arrived. With wait it blocks until all have.
func (p *Parker) Poll(ready []*Client, wait bool) []*Client {
	c := p.context
	c.enter()
	if wait {
		c.Session.CompletePending(true)
	}
	p.ready = c.Session.ReadyBatches(p.ready[:0])
	c.leave()
	for i, batch := range p.ready {
		ready = append(ready, batch.Owner.(*parkedReads).client)
		p.ready[i] = nil
	}
	return ready
}

// Delivery is what became of a client's parked reads.
type Delivery uint8

// The ends of Deliver.
const (
	Delivered  Delivery = iota // all are answered
	Missing                    // some are still under way: Poll will return the client again
	Unfinished                 // Serve answers the rest, with or without input
)

// Deliver appends the replies of a client that Poll returned to out.
func (p *Parker) Deliver(client *Client, out []byte) (replies []byte, how Delivery) {
	c, reads := p.context, client.reads
	c.Client, c.Out = client, out
	p.reader = valueReader{context: c, large: reads.large}
	c.enter()
	done := c.Session.DeliverBatch(&reads.batch, &p.reader)
	c.leave()
	if done {
		c.meter.began = reads.began
		if took, slow := c.charge(getCommand, uint64(len(reads.keys))); slow {
			c.noteSlow(getCommand, took, runArguments(len(reads.keys), []byte("GET"), reads.keys[0].Bytes))
		}
	}
	replies = c.Out
	c.Client, c.Out = nil, nil
	c.countReads(&p.reader)
	reads.large = p.reader.large
	if !done {
		return replies, Missing
	}
	p.keys -= len(reads.keys)
	client.EndWait()
	if reads.large >= 0 {
		return replies, Unfinished // its chunks may be cold, too
	}
	reads.client, client.reads = nil, nil
	if cap(reads.bytes) > keepBufferBytes {
		reads.bytes, reads.keys = nil, nil
	}
	p.free = append(p.free, reads)
	return replies, Delivered
}

// finishReads answers the parked reads from a large string on.
func (c *Context) finishReads() {
	g, reads := &c.gets, c.Client.reads
	c.Client.reads = nil
	g.begin(c, false)
	c.keyspace = c.State.databases[c.Client.Database()].Keyspace()
	for _, key := range reads.keys[reads.large:] {
		g.keys = append(g.keys, c.key(key.Bytes))
	}
	g.read(0)
	c.countReads(&g.valueReader)
}

// countReads counts what a run of GETs found.
func (c *Context) countReads(r *valueReader) {
	c.Stats.Hits.add(r.hits)
	c.Stats.Misses.add(r.misses)
	if r.errors > 0 {
		c.Stats.Commands[getCommand.index].Failed.add(r.errors)
		c.Stats.ErrorReplies.add(r.errors)
	}
}
