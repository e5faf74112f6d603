package command

import "github.com/pyropedb/pyrope/tsavorite"

// transferLarge is transfer for a large string. RENAME hands the chunks over to the other key; COPY, and
// MOVE, since each database has a namespace of its own for them, copies them.
func (c *Context) transferLarge(t transfer) (o outcome) {
	handOver := t.removeAfter && t.from == t.to
	c.severalVerbs(func() (again bool) {
		o = transferFailed
		c.cut.begin()
		c.cut.add(t.from, t.fromBytes)
		c.cut.add(t.to, t.toBytes)
		if c.failed(c.cut.take(c, handOver)) {
			return false
		}
		source, target := &c.cut.entries[0], &c.cut.entries[1]
		switch {
		case !source.isLarge():
			o = c.transferRecord(t)
			return o == sourceIsLarge
		case target.found && !t.replace:
			o = targetExists
			return false
		}
		var status tsavorite.Status
		if handOver {
			status = c.handOver(t, source)
		} else {
			status = c.copyChunks(t, source)
		}
		switch {
		case status == tsavorite.NotFound:
			return true
		case !c.failed(status):
			o = transferred
			target.release(c)
		}
		return false
	})
	return o
}

// handOver makes the target the owner of the source's chunks; it happens under the exclusive lock. NotFound
// is that a record has changed meanwhile.
func (c *Context) handOver(t transfer, source *cutEntry) tsavorite.Status {
	l := &c.State.large
	l.transit(source.large.id)
	defer l.settle(source.large.id)
	v := c.opened(t.from, t.fromBytes, source.large)
	var bytes [ownerKeyBytes]byte
	if status := c.cut.latchUnchanged(c, v.ownerKey(bytes[:0])); status != tsavorite.Found {
		return status
	}
	defer c.Session.Unlatch()
	if status := v.rename(t.toBytes); status != tsavorite.Found {
		return status
	}
	s := stored{value: source.large.append(nil), kind: kindLarge}
	status := c.placeLatched(t, source, s)
	if status != tsavorite.Found {
		_ = v.rename(t.fromBytes) // it fails as the other did; a value without an owner record is never reaped
	}
	return status
}

// ownerKey is the key of the value's owner record, appended to dst.
func (v *large) ownerKey(dst []byte) tsavorite.Key {
	return tsavorite.Key{Namespace: v.keyspace.chunks(), Bytes: appendOwnerKey(dst, v.id)}
}

// rename puts another key into the owner record.
func (v *large) rename(key []byte) tsavorite.Status {
	u := ownerUpdater{key: key, rename: true}
	var bytes [ownerKeyBytes]byte
	return settled(v.context.Session.RMW(v.ownerKey(bytes[:0]), &u))
}

// copyChunks gives the target a copy of the source's value. NotFound is that a record has changed meanwhile, or
// the value was lost.
func (c *Context) copyChunks(t transfer, source *cutEntry) tsavorite.Status {
	c.waitWithin(func() {})
	from := c.opened(t.from, t.fromBytes, source.large)
	to := c.newLarge(t.to, t.toBytes)
	status := to.copyOf(from)
	if from.lost {
		status = c.lostStatus(from)
	}
	if status != tsavorite.Found {
		to.abandon()
		return status
	}
	s := to.stored()
	if status = c.placeTransfer(t, source, s); status != tsavorite.Found {
		s.abandon()
		return status
	}
	s.commit(source.metadata.Deadline)
	if t.removeAfter {
		source.release(c)
	}
	return status
}

// copyOf copies a value into a new one. Chunks that are not there are not made.
func (v *large) copyOf(from *large) tsavorite.Status {
	size := chunkBatch * from.chunkBytes
	window := make([]byte, min(size, from.length))
	for at := int64(0); at < from.length && !from.lost; at += size {
		var there [chunkBatch]bool
		part := window[:min(size, from.length-at)]
		status := from.read(at, at+int64(len(part)), func(p piece) {
			there[(p.at-at)/from.chunkBytes] = len(p.bytes) > 0
			clear(part[p.at-at:][copy(part[p.at-at:], p.bytes):][:p.zeros])
		})
		for i := int64(0); status == tsavorite.Found && i*from.chunkBytes < int64(len(part)); i++ {
			if there[i] {
				status = v.write(at+i*from.chunkBytes, part[i*from.chunkBytes:min((i+1)*from.chunkBytes, int64(len(part)))])
			}
		}
		if status != tsavorite.Found {
			return status
		}
	}
	if v.length < from.length {
		return v.write(from.length-1, []byte{0})
	}
	return tsavorite.Found
}

// placeTransfer is placeLatched unless a record of the cut has changed meanwhile: NotFound.
func (c *Context) placeTransfer(t transfer, source *cutEntry, s stored) tsavorite.Status {
	if status := c.cut.latchUnchanged(c); status != tsavorite.Found {
		return status
	}
	defer c.Session.Unlatch()
	return c.placeLatched(t, source, s)
}

// placeLatched writes the target's record and removes the source's, if it is to go.
func (c *Context) placeLatched(t transfer, source *cutEntry, s stored) tsavorite.Status {
	target := &c.cut.entries[1]
	c.State.groups.begun.Add(1) // for who reads several keys without latches, see readTogether
	defer c.State.groups.ended.Add(1)
	c.giveDeadline(t.to, source.metadata.Deadline)
	status := settled(c.Session.Upsert(target.name(), s.value, source.metadata))
	if status != tsavorite.Found {
		return status
	}
	if !target.found {
		t.to.note(tsavorite.Created, c.Session)
	}
	c.notifyIn(t.database, newEvent, "new", t.toBytes)
	if t.removeAfter {
		if status = settled(c.Session.Delete(source.name())); status != tsavorite.Found {
			return status
		}
		t.from.note(tsavorite.Deleted, c.Session)
	}
	c.notifyTransfer(t)
	return tsavorite.Found
}
