package command

import (
	"github.com/pyropedb/pyrope/server/resp"
	"github.com/pyropedb/pyrope/tsavorite"
)

// stringLimit is the longest value a command may build, proto-max-bulk-len.
func (c *Context) stringLimit() int64 {
	if limit := int64(c.State.Server.Current().MaxBulk); limit != 0 {
		return limit
	}
	return resp.DefaultMaxBulkBytes
}

// appendTo is APPEND key value.
func appendTo(c *Context) {
	u := &c.append
	*u = appendUpdater{tail: c.Args[2], limit: c.stringLimit()}
	if _, ok := c.update(c.Args[1], u); !ok {
		return
	}
	if u.problem != "" {
		c.error(u.problem)
		return
	}
	c.notify(stringEvent, "append", c.Args[1])
	c.integer(int64(u.oldLength + len(u.tail)))
}

// appendUpdater makes a value longer; a missing key has an empty one.
type appendUpdater struct {
	tail  []byte
	limit int64 // of the length

	oldLength int // outcome
	problem   string
}

// Plan asks for room behind the old value.
func (u *appendUpdater) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	u.oldLength, u.problem = len(current.Value), ""
	length := u.oldLength + len(u.tail)
	switch {
	case found && current.Kind != kindString:
		u.problem = errWrongType
	case found && int64(length) > u.limit:
		u.problem = errTooLong
	}
	if u.problem != "" {
		return tsavorite.Plan{Action: tsavorite.Keep}
	}
	return tsavorite.Plan{
		Action: tsavorite.Write, Preserve: true, Length: length, Metadata: current.Metadata,
		Confined: true, From: uint32(u.oldLength), Until: uint32(length),
	}
}

// Write fills in the tail.
func (u *appendUpdater) Write(value []byte, _ tsavorite.Record) { copy(value[u.oldLength:], u.tail) }

// updateLarge appends to a large string.
func (u *appendUpdater) updateLarge(v *large) tsavorite.Status {
	u.oldLength, u.problem = int(v.length), ""
	if int64(u.oldLength+len(u.tail)) > u.limit {
		u.problem = errTooLong
		return tsavorite.Found
	}
	return v.write(v.length, u.tail)
}

// setrange is SETRANGE key offset value.
func setrange(c *Context) {
	offset, ok := c.integerArgument(c.Args[2])
	if !ok {
		return
	}
	if offset < 0 {
		c.error(errOffset)
		return
	}
	u := &c.splice
	*u = spliceUpdater{offset: offset, part: c.Args[3], limit: c.stringLimit()}
	if _, ok := c.update(c.Args[1], u); !ok {
		return
	}
	if u.problem != "" {
		c.error(u.problem)
		return
	}
	if len(u.part) > 0 {
		c.notify(stringEvent, "setrange", c.Args[1])
	}
	c.integer(int64(u.length))
}

// spliceUpdater overwrites a part of a value, which grows if the part reaches beyond its end.
type spliceUpdater struct {
	offset int64
	part   []byte
	limit  int64 // of the length

	oldLength int
	length    int // outcome
	problem   string
}

// Plan asks for room for the part. Nothing is written for an empty part: a missing key stays missing.
func (u *spliceUpdater) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	u.oldLength, u.problem = len(current.Value), ""
	u.length = u.oldLength
	switch {
	case found && current.Kind != kindString:
		u.problem = errWrongType
	case len(u.part) == 0:
	case u.offset > u.limit-int64(len(u.part)):
		u.problem = errTooLong
	}
	if u.problem != "" || len(u.part) == 0 {
		return tsavorite.Plan{Action: tsavorite.Keep}
	}
	u.length = max(u.length, int(u.offset)+len(u.part))
	return tsavorite.Plan{
		Action: tsavorite.Write, Preserve: true, Length: u.length, Metadata: current.Metadata,
		Confined: true, From: uint32(u.offset), Until: uint32(u.offset) + uint32(len(u.part)),
	}
}

// Write fills in the part, and zero bytes between the old end and it.
func (u *spliceUpdater) Write(value []byte, _ tsavorite.Record) {
	offset := int(u.offset)
	if offset > u.oldLength {
		clear(value[u.oldLength:offset])
	}
	copy(value[offset:], u.part)
}

// updateLarge writes the part into a large string.
func (u *spliceUpdater) updateLarge(v *large) tsavorite.Status {
	u.length, u.problem = int(v.length), ""
	switch {
	case len(u.part) == 0:
		return tsavorite.Found
	case u.offset > u.limit-int64(len(u.part)):
		u.problem = errTooLong
		return tsavorite.Found
	}
	status := v.write(u.offset, u.part)
	u.length = int(v.length)
	return status
}

// strlen is STRLEN key.
func strlen(c *Context) {
	r := &c.span
	*r = spanReader{context: c, lengthOnly: true}
	c.read(c.Args[1], r)
	r.count()
}

// getrange is GETRANGE key start end, and SUBSTR.
func getrange(c *Context) {
	first, ok := c.integerArgument(c.Args[2])
	if !ok {
		return
	}
	last, ok := c.integerArgument(c.Args[3])
	if !ok {
		return
	}
	r := &c.span
	*r = spanReader{context: c, first: first, last: last}
	c.read(c.Args[1], r)
	r.count()
}

// spanReader replies with a part of a value, or with its length.
type spanReader struct {
	context     *Context
	first, last int64 // positions, the last one included; negative ones count from the end
	lengthOnly  bool
	status      tsavorite.Status
}

// Read appends the reply.
func (r *spanReader) Read(_ uint64, status tsavorite.Status, record tsavorite.Record) {
	c := r.context
	r.status = status
	switch {
	case status == tsavorite.StatusError:
		c.failedBy(c.Session.Err())
	case status == tsavorite.Found && record.Kind != kindString:
		c.error(errWrongType)
	case r.lengthOnly:
		c.integer(int64(len(record.Value)))
	default:
		start, end := r.within(int64(len(record.Value)))
		c.bulk(record.Value[start:end])
	}
}

// readLarge replies with a part of a large string, or with its length.
func (r *spanReader) readLarge(v *large, _ tsavorite.Metadata) tsavorite.Status {
	r.status = tsavorite.Found
	if r.lengthOnly {
		r.context.integer(v.length)
		return tsavorite.Found
	}
	return v.appendBulk(r.within(v.length))
}

// within is the half-open range of first to last in a value of this length.
func (r *spanReader) within(length int64) (start, end int64) {
	first, last := r.first, r.last
	if first < 0 && last < 0 && first > last {
		return 0, 0
	}
	if first < 0 {
		first = max(first+length, 0)
	}
	if last < 0 {
		last = max(last+length, 0)
	}
	last = min(last, length-1)
	if first > last {
		return 0, 0
	}
	return first, last + 1
}

// count counts a hit or a miss.
func (r *spanReader) count() {
	r.context.lookedUp(r.context.Args[1], r.status == tsavorite.Found)
}
