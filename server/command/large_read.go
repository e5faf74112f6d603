package command

import (
	"slices"

	"github.com/pyropedb/pyrope/server/resp"
	"github.com/pyropedb/pyrope/tsavorite"
)

const (
	// chunkBatch is how many chunks are read in one submission to the device.
	chunkBatch = 64
	// restBytes is how much work on a large string is done between two moments at which the engine's
	// pages can turn.
	restBytes = 1 << 20
	// longWorkBytes is from how many bytes on a command lets the other connections of its loop go first.
	longWorkBytes = 1 << 20
)

// piece is a part of a value in a row: bytes that are there, then zeros that are not.
type piece struct {
	at    int64 // in the value
	bytes []byte
	zeros int64
}

// chunkReader reads a range of a value, and hands on its pieces in order.
type chunkReader struct {
	keys  []tsavorite.Key
	bytes [chunkBatch * chunkKeyBytes]byte // of the keys

	value      *large
	first      int64 // index of the batch's first chunk
	start, end int64 // of the range
	take       func(piece)
	status     tsavorite.Status
}

// Read hands on what one chunk has of the range.
func (r *chunkReader) Read(token uint64, status tsavorite.Status, record tsavorite.Record) {
	v := r.value
	switch {
	case status == tsavorite.StatusError:
		r.status = status
	case status == tsavorite.NotFound && v.context.State.large.loses():
		v.lost = true
	}
	if r.status == tsavorite.StatusError || v.lost {
		return
	}
	base := (r.first + int64(token)) * v.chunkBytes
	from, to := max(r.start-base, 0), min(r.end-base, v.chunkBytes)
	p := piece{at: base + from, zeros: to - from}
	if there := min(to, int64(len(record.Value))); there > from {
		p.bytes = record.Value[from:there]
		p.zeros = to - there
	}
	r.take(p)
}

// read passes the half-open range of bytes, which lies within the value, to take piece by piece. The
// bytes of a piece lie in the log, under a latch: take copies or counts, and calls no verb. Found is
// that all came.
func (v *large) read(start, end int64, take func(piece)) tsavorite.Status {
	c := v.context
	r := &c.chunks
	r.value, r.start, r.end, r.take, r.status = v, start, end, take, tsavorite.Found
	defer func() { r.value, r.take = nil, nil }()
	rest := int64(restBytes)
	for at := start; at < end && r.status == tsavorite.Found && !v.lost; {
		r.first = at / v.chunkBytes
		count := min(v.chunks(end)-r.first, chunkBatch)
		r.keys = r.keys[:0]
		for i := range count {
			bytes := appendChunkKey(r.bytes[:i*chunkKeyBytes], v.id, r.first+i)
			r.keys = append(r.keys, tsavorite.Key{Namespace: v.keyspace.chunks(), Bytes: bytes[i*chunkKeyBytes:]})
		}
		c.Session.ReadBatch(r.keys, r)
		at = (r.first + count) * v.chunkBytes
		if rest -= count * v.chunkBytes; rest <= 0 {
			c.breathe()
			rest = restBytes
		}
	}
	return r.status
}

// breathe lets the engine's pages turn in the midst of long work.
func (c *Context) breathe() {
	c.Session.Leave()
	c.Session.Enter()
}

// appendRange appends a range of the value to dst, which grows once at most.
func (v *large) appendRange(dst []byte, start, end int64) ([]byte, tsavorite.Status) {
	dst = slices.Grow(dst, int(end-start))
	status := v.read(start, end, func(p piece) {
		dst = append(dst, p.bytes...)
		length := len(dst)
		dst = dst[:length+int(p.zeros)]
		clear(dst[length:])
	})
	return dst, status
}

// copyTo fills dst with the value's bytes from at on, all of which lie within it.
func (v *large) copyTo(dst []byte, at int64) tsavorite.Status {
	return v.read(at, at+int64(len(dst)), func(p piece) {
		part := dst[p.at-at:]
		clear(part[copy(part, p.bytes):][:p.zeros])
	})
}

// largeReader is a Reader that does not want a large string as a whole. Found is that it was read.
type largeReader interface {
	readLarge(v *large, metadata tsavorite.Metadata) tsavorite.Status
}

// readGuard stands in front of a Reader and keeps large strings from it.
type readGuard struct {
	inner tsavorite.Reader
	large bool // outcome
	descriptor
}

// Read hands on anything but a large string.
func (g *readGuard) Read(token uint64, status tsavorite.Status, record tsavorite.Record) {
	if status == tsavorite.Found && record.Kind == kindLarge {
		g.large, g.descriptor = true, parseDescriptor(record.Value)
		return
	}
	g.inner.Read(token, status, record)
}

// read reads a key of the client's database. A large string is given to r piece by piece if it is a
// largeReader, and as a whole otherwise.
func (c *Context) read(key []byte, r tsavorite.Reader) tsavorite.Status {
	g := &c.readGuard
	g.inner, g.large = r, false
	status := c.Session.Read(c.key(key), 0, g)
	if g.large {
		status = c.readLarge(key, r, g.descriptor)
	}
	g.inner = nil
	return status
}

// readLarge reads a key that had a large string when it was looked at.
func (c *Context) readLarge(key []byte, r tsavorite.Reader, d descriptor) tsavorite.Status {
	if d.length >= longWorkBytes {
		c.waitWithin(func() {})
	}
	for {
		c.lock(false, d.id)
		entry := cutEntry{keyspace: c.keyspace, key: key}
		status := entry.read(c)
		if status != tsavorite.Found || entry.metadata.Kind != kindLarge || entry.large.id != d.id {
			c.unlock()
			if status == tsavorite.Found && entry.metadata.Kind == kindLarge {
				d = entry.large
				continue
			}
			g := &c.readGuard // small by now, or gone
			g.inner, g.large = r, false
			if status = c.Session.Read(c.key(key), 0, g); !g.large {
				return status
			}
			d = g.descriptor
			continue
		}
		v := c.opened(c.keyspace, key, entry.large)
		status = v.deliver(r, entry.metadata)
		c.unlock()
		if !v.lost {
			return status
		}
		if c.dropLost(v) != tsavorite.Found {
			r.Read(0, tsavorite.StatusError, tsavorite.Record{})
			return tsavorite.StatusError
		}
	}
}

// deliver gives the value to a reader. It calls nothing when the value turns out to be lost.
func (v *large) deliver(r tsavorite.Reader, metadata tsavorite.Metadata) (status tsavorite.Status) {
	metadata.Kind = kindString
	if partial, ok := r.(largeReader); ok {
		if status = partial.readLarge(v, metadata); v.lost || status == tsavorite.Found {
			return status
		}
		r.Read(0, status, tsavorite.Record{})
		return status
	}
	whole, status := v.appendRange(nil, 0, v.length)
	switch {
	case v.lost:
	case status != tsavorite.Found:
		r.Read(0, status, tsavorite.Record{})
	default:
		r.Read(0, tsavorite.Found, tsavorite.Record{Value: whole, Metadata: metadata})
	}
	return status
}

// appendBulk appends the reply with a range of the value to Out; what it appended before a failure
// is gone again.
func (v *large) appendBulk(start, end int64) tsavorite.Status {
	c := v.context
	mark := len(c.Out)
	c.Out = slices.Grow(c.Out, int(end-start)+bulkFrameBytes)
	c.Out = resp.AppendBulkHeader(c.Out, int(end-start))
	var status tsavorite.Status
	c.Out, status = v.appendRange(c.Out, start, end)
	c.Out = resp.AppendLineEnd(c.Out)
	if status != tsavorite.Found || v.lost {
		c.Out = c.Out[:mark]
	}
	return status
}

// bulkFrameBytes is what a bulk string has around its bytes, at most.
const bulkFrameBytes = 32
