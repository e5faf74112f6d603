package command

import "github.com/pyropedb/pyrope/tsavorite"

// windowBytes is how much of each source BITOP combines at a time.
const windowBytes = 1 << 20

// combineLarge is combineBits for keys some of which are large, and which are not latched: window by
// window, written as it goes.
func (c *Context) combineLarge(operator bitOperator) (length int, ok bool) {
	c.waitWithin(func() {})
	c.severalVerbs(func() (again bool) {
		c.cut.begin()
		for _, source := range c.keys[1:] {
			c.cut.add(c.keyspace, source.Bytes)
		}
		if ok = !c.failed(c.cut.take(c, false)); !ok {
			return false
		}
		length = 0
		for i := range c.cut.entries {
			e := &c.cut.entries[i]
			if e.found && typeKind(e.metadata.Kind) != kindString {
				c.error(errWrongType)
				ok = false
				return false
			}
			length = max(length, int(e.length()))
		}
		s, status := c.combineCut(operator, length)
		if status == tsavorite.Found {
			status = c.placeResult(s)
		}
		ok = status == tsavorite.Found || status != tsavorite.NotFound && !c.failed(status)
		return status == tsavorite.NotFound
	})
	return length, ok
}

// combineCut combines the keys of the cut. NotFound is that the cut is to be taken anew.
func (c *Context) combineCut(operator bitOperator, length int) (stored, tsavorite.Status) {
	b := &c.bitops
	defer b.release()
	b.operator, b.count = operator, 0
	v := c.newLarge(c.keyspace, c.keys[0].Bytes)
	for at := 0; at < length; at += windowBytes {
		b.Begin()
		b.setLength(min(windowBytes, length-at))
		for i := range c.cut.entries {
			part, status := c.cut.entries[i].window(c, at, &b.window)
			if status != tsavorite.Found {
				v.abandon()
				return stored{}, status
			}
			b.fold(part, i == 0)
		}
		result := b.finish()
		if length <= c.State.large.limit { // one window: the large source has become a small one
			v.abandon()
			return stored{value: append([]byte(nil), result...), kind: kindString}, tsavorite.Found
		}
		if status := v.write(int64(at), result); status != tsavorite.Found {
			v.abandon()
			return stored{}, status
		}
	}
	if length == 0 {
		v.abandon()
		return stored{}, tsavorite.Found
	}
	return v.stored(), tsavorite.Found
}

// window returns what the value has of a window; buffer takes it from a large one. NotFound is that the cut is
// to be taken anew.
func (e *cutEntry) window(c *Context, at int, buffer *[]byte) (part []byte, status tsavorite.Status) {
	start := min(int64(at), e.length())
	end := min(int64(at+windowBytes), e.length())
	if !e.isLarge() {
		return e.small[start:end], tsavorite.Found
	}
	v := c.opened(e.keyspace, e.key, e.large)
	if *buffer, status = v.appendRange((*buffer)[:0], start, end); v.lost {
		return nil, c.lostStatus(v)
	}
	return *buffer, status
}

// placeResult gives the destination in c.keys[0] the result, unless a source has changed; an empty one
// deletes it.
func (c *Context) placeResult(s stored) tsavorite.Status {
	status := c.cut.latchUnchanged(c, c.keys[0])
	if status != tsavorite.Found {
		s.abandon()
		return status
	}
	for i := range c.cut.entries {
		c.lookedUp(c.cut.entries[i].key, c.cut.entries[i].found)
	}
	status = c.cut.more.replace(c, c.keys[0], s.value, tsavorite.Metadata{Kind: s.kind})
	c.Session.Unlatch()
	c.wrote(status, c.keys[0].Bytes)
	if settled(status) != tsavorite.Found {
		s.abandon()
		return status
	}
	s.commit(0)
	c.notifyResult(status, len(s.value) > 0)
	return tsavorite.Found
}
