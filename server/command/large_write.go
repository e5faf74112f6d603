package command

import (
	"encoding/binary"

	"github.com/pyropedb/pyrope/tsavorite"
)

// write puts data into the value, which grows if they reach beyond its end; zeros come between the
// old end and them. The lock is held exclusively unless the value is new. The key's record learns of a new
// length by setLength. Found is that all was written; what a failure has written in front of the old
// end stays.
func (v *large) write(at int64, data []byte) tsavorite.Status {
	end := at + int64(len(data))
	if end > v.length {
		if status := v.extend(at, end); status != tsavorite.Found {
			return status
		}
	}
	rest := int64(restBytes)
	for from := at; from < end; {
		base := from - from%v.chunkBytes
		to := min(base+v.chunkBytes, end)
		if status := v.writeChunk(base, int(from-base), data[from-at:to-at]); status != tsavorite.Found {
			return status
		}
		if rest -= to - from; rest <= 0 {
			v.context.breathe()
			rest = restBytes
		}
		from = to
	}
	v.length = max(v.length, end)
	return tsavorite.Found
}

// extend makes ready for data in the half-open range of bytes, which ends behind the value: the owner
// record counts their chunks (L5), and what lies between the old end and them is zeros (L2).
func (v *large) extend(at, end int64) tsavorite.Status {
	before, after := v.chunks(v.length), v.chunks(end)
	if v.isNew && v.length == 0 {
		before = -1 // the owner record is not there yet
	}
	known := int64(0)
	if after > before {
		var status tsavorite.Status
		if known, status = v.count(after); status != tsavorite.Found {
			return status
		}
	}
	if at <= v.length {
		return tsavorite.Found
	}
	first := v.length - v.length%v.chunkBytes
	if first != v.length && first+v.chunkBytes <= at { // the last chunk gets no data
		if status := v.writeChunk(first, int(v.length-first), nil); status != tsavorite.Found {
			return status
		}
		first += v.chunkBytes
	}
	for base := first; base+v.chunkBytes <= at; base += v.chunkBytes {
		if status := v.makeHole(base, known); status != tsavorite.Found {
			return status
		}
	}
	return tsavorite.Found
}

// trim removes the chunks that a write has left behind the end when it failed. One that stays does no harm (L2).
func (v *large) trim(length int64) {
	known, status := v.count(0)
	for index := v.chunks(length); status == tsavorite.Found && index < known; index++ {
		status = settled(v.context.Session.Delete(v.chunkKey(index)))
	}
}

// makeHole makes a chunk behind the end of the value one of zeros: known is how many chunks there may be.
func (v *large) makeHole(base, known int64) tsavorite.Status {
	c := v.context
	index := base / v.chunkBytes
	switch {
	case c.State.large.loses():
		return settled(c.Session.Upsert(v.chunkKey(index), nil, tsavorite.Metadata{}))
	case index < known: // left behind by a write that failed
		return settled(c.Session.Delete(v.chunkKey(index)))
	}
	return tsavorite.Found
}

// chunkKey is the key of a chunk, valid until the next one.
func (v *large) chunkKey(index int64) tsavorite.Key {
	c := v.context
	c.chunkKey = appendChunkKey(c.chunkKey[:0], v.id, index)
	return tsavorite.Key{Namespace: v.keyspace.chunks(), Bytes: c.chunkKey}
}

// writeChunk puts data into the chunk that begins at base; without data it makes what lies behind the
// value's end zeros.
func (v *large) writeChunk(base int64, from int, data []byte) tsavorite.Status {
	c := v.context
	key := v.chunkKey(base / v.chunkBytes)
	valid := int(min(max(v.length-base, 0), v.chunkBytes)) // bytes of it that are the value's
	if from == 0 && len(data) >= valid && (v.isNew || len(data) == int(v.chunkBytes)) {
		return settled(c.Session.Upsert(key, data, tsavorite.Metadata{}))
	}
	u := &c.chunkPatch
	*u = chunkPatch{from: from, data: data, valid: valid, size: int(v.chunkBytes), mustExist: valid > 0 && c.State.large.loses()}
	status := c.Session.RMW(key, u)
	u.data = nil
	if u.lost {
		v.lost = true
		return tsavorite.NotFound
	}
	return settled(status)
}

// settled is Found for every status of a write that was carried out.
func settled(status tsavorite.Status) tsavorite.Status {
	switch status {
	case tsavorite.OutOfMemory, tsavorite.StatusError, tsavorite.TooLarge:
		return status
	}
	return tsavorite.Found
}

// chunkPatch is an Updater that writes a part of a chunk. One that grows takes its full size at once,
// so that what follows is done in place.
type chunkPatch struct {
	from      int
	data      []byte
	valid     int // bytes of the chunk that are the value's
	size      int
	mustExist bool // see L6

	have int
	lost bool // outcome
}

// Plan asks for room for the data.
func (u *chunkPatch) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	u.lost = u.mustExist && !found
	u.have = min(u.valid, len(current.Value))
	if u.lost || len(u.data) == 0 && len(current.Value) == u.have {
		return tsavorite.Plan{Action: tsavorite.Keep}
	}
	plan := tsavorite.Plan{Action: tsavorite.Write, Preserve: true, Length: len(current.Value)}
	switch end := u.from + len(u.data); {
	case len(u.data) == 0:
		plan.Length = u.have
	case end > len(current.Value):
		plan.Length = u.size
	}
	return plan
}

// Write fills in the data, and zeros where the record had nothing and the value has zeros.
func (u *chunkPatch) Write(value []byte, _ tsavorite.Record) {
	if len(u.data) == 0 {
		return
	}
	end := u.from + len(u.data)
	if u.from > u.have {
		clear(value[u.have:u.from])
	}
	if behind := max(u.have, end); behind < u.valid {
		clear(value[behind:min(u.valid, len(value))])
	}
	copy(value[u.from:], u.data)
}

// count makes the owner record say that there may be this many chunks, and returns what it said before.
func (v *large) count(chunks int64) (before int64, status tsavorite.Status) {
	u := ownerUpdater{chunks: uint32(chunks), key: v.key}
	var bytes [ownerKeyBytes]byte
	status = settled(v.context.Session.RMW(v.ownerKey(bytes[:0]), &u))
	return int64(u.before), status
}

// owner is what an owner record says.
type owner struct {
	chunks uint32
	key    []byte
}

func parseOwner(value []byte) owner {
	if len(value) < ownerBytes {
		panic("BUG: the owner record of a large string is too short")
	}
	return owner{binary.BigEndian.Uint32(value), value[ownerBytes:]}
}

// ownerUpdater writes an owner record.
type ownerUpdater struct {
	chunks uint32
	key    []byte
	rename bool // the key is new

	before uint32 // outcome
}

// Plan keeps a record that says enough.
func (u *ownerUpdater) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	u.before = 0
	if found {
		u.before = parseOwner(current.Value).chunks
	}
	if found && !u.rename && u.chunks <= u.before {
		return tsavorite.Plan{Action: tsavorite.Keep}
	}
	return tsavorite.Plan{Action: tsavorite.Write, Length: ownerBytes + len(u.key)}
}

// Write fills in number and key.
func (u *ownerUpdater) Write(value []byte, _ tsavorite.Record) {
	binary.BigEndian.PutUint32(value, max(u.chunks, u.before))
	copy(value[ownerBytes:], u.key)
}

// setLength tells the key's record the length. If the key has another value meanwhile, that one came
// after what was written.
func (v *large) setLength() tsavorite.Status {
	u := lengthUpdater{v.descriptor}
	return settled(v.context.Session.RMW(tsavorite.Key{Namespace: v.keyspace.Namespace, Bytes: v.key}, &u))
}

// lengthUpdater writes a descriptor over one of the same id.
type lengthUpdater struct{ descriptor }

// Plan keeps what is not the value that was written to.
func (u *lengthUpdater) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	if !found || current.Kind != kindLarge || parseDescriptor(current.Value).id != u.id {
		return tsavorite.Plan{Action: tsavorite.Keep}
	}
	return tsavorite.Plan{Action: tsavorite.Write, Length: descriptorBytes, Metadata: current.Metadata}
}

// Write fills in the descriptor.
func (u *lengthUpdater) Write(value []byte, _ tsavorite.Record) {
	u.append(value[:0])
}
