package command

import (
	"bytes"

	"github.com/pyropedb/pyrope/tsavorite"
)

// bitfield is BITFIELD key [GET type offset | [OVERFLOW WRAP|SAT|FAIL] SET type offset value |
// INCRBY type offset increment ...].
func bitfield(c *Context) {
	u := &c.field
	if !c.parseBitOperations() {
		return
	}
	if u.lastWritten < 0 {
		c.readBitOperations()
		return
	}
	if _, ok := c.update(c.Args[1], u); !ok {
		return
	}
	if u.wrongType {
		c.error(errWrongType)
		return
	}
	if u.changes() {
		c.notify(stringEvent, "setbit", c.Args[1])
	}
	c.array(len(u.operations))
	for i := range u.operations {
		u.operations[i].reply(c)
	}
	u.release()
}

// changes tells whether any of the operations changed the value, or all made it longer.
func (u *fieldUpdater) changes() bool {
	for i := range u.operations {
		o := &u.operations[i]
		if o.action != bitGet && !o.refused && (o.changed || u.lastWritten>>3 >= int64(u.oldLength)) {
			return true
		}
	}
	return false
}

// bitfieldReadOnly is BITFIELD_RO key [GET type offset ...].
func bitfieldReadOnly(c *Context) {
	switch {
	case !c.parseBitOperations():
	case c.field.lastWritten >= 0:
		c.error(errBitReadOnly)
	default:
		c.readBitOperations()
	}
}

// readBitOperations carries out operations that are all GETs.
func (c *Context) readBitOperations() {
	r := &c.bits
	*r = bitReader{context: c, answer: answerBitfield, large: largeBitfield, operations: c.field.operations}
	r.read()
	c.field.release()
}

// answerBitfield replies with the integers at the places of the operations.
func answerBitfield(r *bitReader, value []byte, _ bool) {
	r.context.array(len(r.operations))
	for i := range r.operations {
		r.operations[i].carryOut(value)
		r.operations[i].reply(r.context)
	}
}

// largeBitfield replies with integers out of a large string.
func largeBitfield(r *bitReader, v *large) tsavorite.Status {
	for i := range r.operations {
		if status := r.operations[i].carryOutIn(v); status != tsavorite.Found || v.lost {
			return status
		}
	}
	r.context.array(len(r.operations))
	for i := range r.operations {
		r.operations[i].reply(r.context)
	}
	return tsavorite.Found
}

// bitAction is what a bitOperation does.
type bitAction uint8

const (
	bitGet bitAction = iota
	bitSet
	bitIncrease
)

// bitOperation is one operation of a BITFIELD.
type bitOperation struct {
	action   bitAction
	field    bitType
	overflow bitOverflow
	offset   int64
	operand  int64

	result  int64 // outcome
	refused bool  // outcome: it would overflow, and shall fail then
	changed bool  // outcome: the field has another value
}

// reply appends the outcome.
func (o *bitOperation) reply(c *Context) {
	if o.refused {
		c.null()
	} else {
		c.integer(o.result)
	}
}

// carryOut does the operation on a value, which has all bits that are written.
func (o *bitOperation) carryOut(value []byte) {
	old := o.field.load(value, o.offset)
	o.result, o.refused, o.changed = old, false, false
	var next int64
	var overflows bool
	switch o.action {
	case bitGet:
		return
	case bitSet:
		next, overflows = o.field.fit(o.operand, 0, o.overflow)
	case bitIncrease:
		next, overflows = o.field.fit(old, o.operand, o.overflow)
		o.result = next
	}
	if overflows && o.overflow == overflowFail {
		o.refused = true
		return
	}
	o.changed = next != old
	o.field.store(value, o.offset, next)
}

// carryOutIn does the operation on the bytes of a large string that it touches.
func (o *bitOperation) carryOutIn(v *large) tsavorite.Status {
	var field [9]byte // 64 bits may lie in nine bytes
	first := o.offset >> 3
	bytes := field[:(o.offset+int64(o.field.width)-1)>>3-first+1]
	if there := min(int64(len(bytes)), v.length-first); there > 0 {
		if status := v.copyTo(bytes[:there], first); status != tsavorite.Found || v.lost {
			return status
		}
	}
	before := field
	local := *o
	local.offset = o.offset & 7
	local.carryOut(bytes)
	o.result, o.refused, o.changed = local.result, local.refused, local.changed
	if field == before {
		return tsavorite.Found
	}
	return v.write(first, bytes)
}

// parseBitOperations reads the arguments behind the key into c.field, or replies with the error.
func (c *Context) parseBitOperations() bool {
	u := &c.field
	u.begin()
	overflow := overflowWrap
	for rest := c.Args[2:]; len(rest) > 0; {
		if equalFold(rest[0], "overflow") && len(rest) >= 2 {
			if overflow = bitOverflowNamed(rest[1]); overflow == overflowUnknown {
				c.error(errBitOverflow)
				return false
			}
			rest = rest[2:]
			continue
		}
		operation := bitOperation{overflow: overflow}
		used := 4
		switch {
		case equalFold(rest[0], "get") && len(rest) >= 3:
			operation.action, used = bitGet, 3
		case equalFold(rest[0], "set") && len(rest) >= 4:
			operation.action = bitSet
		case equalFold(rest[0], "incrby") && len(rest) >= 4:
			operation.action = bitIncrease
		default:
			c.error(errSyntax)
			return false
		}
		if problem := operation.parse(rest[1:used], c.stringLimit()); problem != "" {
			c.error(problem)
			return false
		}
		u.add(operation)
		rest = rest[used:]
	}
	return true
}

// parse reads type, offset and, unless it is a GET, the operand. stringLimit is the longest string there may be.
func (o *bitOperation) parse(arguments [][]byte, stringLimit int64) (problem string) {
	var ok bool
	if o.field, ok = parseBitType(arguments[0]); !ok {
		return errBitfieldType
	}
	if o.offset, ok = parseFieldOffset(arguments[1], o.field.width, stringLimit); !ok {
		return errBitOffset
	}
	if o.action != bitGet {
		if o.operand, ok = parseInteger(arguments[2]); !ok {
			return errNotInteger
		}
	}
	return ""
}

// parseFieldOffset reads the number of a bit, or behind a # the number of a field of this width.
// The product of the two wraps around at 64 bits, as it does in Redis.
func parseFieldOffset(argument []byte, width uint, stringLimit int64) (offset int64, ok bool) {
	number, counted := bytes.CutPrefix(argument, []byte{'#'})
	if offset, ok = parseInteger(number); !ok {
		return 0, false
	}
	if counted {
		offset *= int64(width)
	}
	return offset, offset >= 0 && offset>>3 < stringLimit
}

// fieldUpdater carries out the operations of a BITFIELD, some of which write.
type fieldUpdater struct {
	operations  []bitOperation
	lastWritten int64 // the highest bit that is written; -1 if all are GETs

	oldLength int
	wrongType bool // outcome, beside those of the operations
}

func (u *fieldUpdater) begin() {
	u.operations, u.lastWritten = u.operations[:0], -1
}

func (u *fieldUpdater) add(operation bitOperation) {
	u.operations = append(u.operations, operation)
	if operation.action != bitGet {
		u.lastWritten = max(u.lastWritten, operation.offset+int64(operation.field.width)-1)
	}
}

// release gives the list back if it is too long to be kept.
func (u *fieldUpdater) release() {
	if cap(u.operations) > keepArguments {
		u.operations = nil
	}
}

// Plan asks for room for all that is written, also for what overflow may keep from being written.
func (u *fieldUpdater) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	u.oldLength = len(current.Value)
	if u.wrongType = found && current.Kind != kindString; u.wrongType {
		return tsavorite.Plan{Action: tsavorite.Keep}
	}
	length := max(u.oldLength, int(u.lastWritten>>3)+1)
	return tsavorite.Plan{Action: tsavorite.Write, Preserve: true, Length: length, Metadata: current.Metadata}
}

// Write carries the operations out, in their order.
func (u *fieldUpdater) Write(value []byte, _ tsavorite.Record) {
	if u.oldLength < len(value) {
		clear(value[u.oldLength:])
	}
	for i := range u.operations {
		u.operations[i].carryOut(value)
	}
}

// updateLarge carries the operations out on a large string, which first gets all the bits that are written.
func (u *fieldUpdater) updateLarge(v *large) tsavorite.Status {
	u.wrongType, u.oldLength = false, int(v.length)
	if last := u.lastWritten >> 3; last >= v.length {
		if status := v.write(last, []byte{0}); status != tsavorite.Found {
			return status
		}
	}
	for i := range u.operations {
		if status := u.operations[i].carryOutIn(v); status != tsavorite.Found || v.lost {
			return status
		}
	}
	return tsavorite.Found
}
