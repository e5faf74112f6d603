package command

import (
	"github.com/pyropedb/pyrope/server/resp"
	"github.com/pyropedb/pyrope/tsavorite"
)

// A run of pipelined GETs is scattered and gathered: the keys are cut straight out of the input,
// read in one Session.ReadBatch (cache misses overlap, cold keys are fetched in one submission),
// and each reply is appended by the reader as the engine delivers it, in request order.

const (
	gatherMaxKeys    = 1024    // keys of one batch
	gatherMinKeys    = 16      // and never less, however large the values
	gatherReplyBytes = 4 << 20 // what the replies of a batch should not exceed, judged by the batch before
)

// gatherer is the Context's part of a batch of reads.
type gatherer struct {
	keys  []tsavorite.Key
	limit int  // keys a batch may have at present; 0 before the first
	parks bool // nothing of the client follows before Serve returns, so the reads may be parked
	valueReader
}

// valueReader is a Reader that appends each value to the reply buffer.
type valueReader struct {
	context      *Context
	hits, misses uint64
	errors       uint64
	nullForType  bool // a key of another kind reads as null, as MGET wants it, rather than as an error

	large    int // index of a key with a large string, which awaits its reply, as do those behind it; -1 is none
	whole    descriptor
	deferred bool // a large string met latched keys: the reply does not count
}

// Read appends one reply. The record's bytes are copied once, from the log page to the buffer.
func (r *valueReader) Read(token uint64, status tsavorite.Status, record tsavorite.Record) {
	c := r.context
	if r.large >= 0 {
		return
	}
	switch {
	case status == tsavorite.Found && record.Kind == kindString:
		r.hits++
		c.Out = resp.AppendBulk(c.Out, record.Value)
	case status == tsavorite.Found && record.Kind == kindLarge:
		r.large, r.whole = int(token), parseDescriptor(record.Value)
	case status == tsavorite.Found && !r.nullForType:
		r.errors++
		c.error(errWrongType)
	case status == tsavorite.StatusError:
		r.errors++
		c.failedBy(c.Session.Err())
	default:
		r.misses++
		c.null()
	}
}

// begin makes the reader ready for a new run of reads.
func (g *gatherer) begin(c *Context, nullForType bool) {
	g.valueReader = valueReader{context: c, nullForType: nullForType, large: -1}
	g.keys = g.keys[:0]
	g.parks = false
	if g.limit == 0 {
		g.limit = gatherMaxKeys
	}
}

// batchLimit is how many keys to collect before reading them.
func (g *gatherer) batchLimit() int {
	if !g.context.State.ScatterGather.Load() {
		return 1
	}
	return g.limit
}

// read reads the keys collected so far and empties the list. It returns how many keys it replied to:
// behind a large string it stops at stopAt bytes of replies, 0 for never.
func (g *gatherer) read(stopAt int) (done int) {
	c := g.context
	mark := len(c.Out)
	for done = g.readOrPark(); g.large >= 0; {
		key := g.keys[g.large].Bytes
		g.large = -1
		c.readLarge(key, &g.valueReader, g.whole)
		if done++; done == len(g.keys) || stopAt > 0 && len(c.Out) >= stopAt {
			break
		}
		done = g.readFrom(done)
	}
	average := (len(c.Out)-mark)/max(done, 1) + 1
	g.limit = min(max(gatherReplyBytes/average, gatherMinKeys), gatherMaxKeys)
	g.keys = g.keys[:0]
	return done
}

// readOrPark is readFrom the first key on, but has keys parked instead of waiting for them, if it may. To those
// the parker replies.
func (g *gatherer) readOrPark() int {
	c := g.context
	if !g.parks || c.parker == nil || len(g.keys) > parkMaxKeys {
		return g.readFrom(0)
	}
	answered := c.Session.ReadHot(g.keys, &g.valueReader)
	if len(g.keys) > 1 {
		c.Stats.GatheredReads.add(uint64(answered))
	}
	switch {
	case g.large >= 0:
		return g.large
	case answered == len(g.keys):
		return answered
	case c.parker != nil && c.parker.park(c.Client, g.keys[answered:]):
		c.parked = true
		return len(g.keys)
	}
	return g.readFrom(answered)
}

// readFrom reads the keys from the first-th on, and returns the index of one with a large string, which
// is as far as it replied, or how many keys there are.
func (g *gatherer) readFrom(first int) int {
	c := g.context
	keys := g.keys[first:]
	if len(keys) == 1 {
		c.Session.Read(keys[0], 0, &g.valueReader)
	} else {
		c.Session.ReadBatch(keys, &g.valueReader)
		c.Stats.GatheredReads.add(uint64(len(keys)))
	}
	if g.large < 0 {
		return len(g.keys)
	}
	g.large += first
	return g.large
}

// readLarge appends a large string's reply.
func (r *valueReader) readLarge(v *large, _ tsavorite.Metadata) tsavorite.Status {
	status := v.appendBulk(0, v.length)
	if status == tsavorite.Found && !v.lost {
		r.hits++
	}
	return status
}

// end counts what the run found.
func (g *gatherer) end() {
	g.context.Stats.Hits.add(g.hits)
	g.context.Stats.Misses.add(g.misses)
}

// gatherGets executes the plain GETs that input begins with, and returns the length of their
// requests: 0 when there is none in the usual form, which leaves it to the parser.
func (c *Context) gatherGets(input []byte) (consumed int) {
	key, used := scanGet(input)
	if used == 0 || c.Client.restricted || c.State.attention.any() {
		return 0
	}
	g := &c.gets
	g.begin(c, false)
	g.parks = true
	c.keyspace = c.State.databases[c.Client.Database()].Keyspace()
	limit := g.batchLimit()
	for {
		g.keys = append(g.keys, c.key(key))
		consumed += used
		if len(g.keys) == limit {
			break
		}
		if key, used = scanGet(input[consumed:]); used == 0 {
			break
		}
	}
	asked := len(g.keys)
	c.Client.noteCommand(getCommand)
	first := g.keys[0].Bytes
	done := g.read(c.ReplyLimit)
	calls := done
	if c.parked {
		calls -= len(c.Client.reads.keys) // which Deliver charges
	}
	if took, slow := c.charge(getCommand, uint64(calls)); slow && calls > 0 {
		c.noteSlow(getCommand, took, runArguments(calls, []byte("GET"), first))
	}
	if done < asked { // what follows is served when the replies so far are sent
		consumed = 0
		for range done {
			_, used = scanGet(input[consumed:])
			consumed += used
		}
	}
	c.countReads(&g.valueReader)
	return consumed
}
