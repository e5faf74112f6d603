package command

import "github.com/pyropedb/pyrope/tsavorite"

// A bitmap is a string whose bits are numbered from the most significant bit of its first byte:
//
//	bit      0 1 2 3 4 5 6 7   8 9 ...
//	byte     -------0-------   -------1-------
//	weight   128 ........ 1    128 ........ 1
//
// Bits beyond the end of the string are zero.

func init() { register(bitmapCommands) }

const (
	bitmapRead      = InRead | InBitmap | InFast
	bitmapReadSlow  = InRead | InBitmap | InSlow
	bitmapWriteSlow = InWrite | InBitmap | InSlow
)

var bitmapCommands = []Command{
	{Name: "setbit", Arity: 4, Flags: Write | DenyOOM, Categories: bitmapWriteSlow, Keys: oneKeyReplaced, Handler: setbit,
		Group: "bitmap", Since: "2.2.0", Complexity: "O(1)", Summary: "Sets or clears a bit of a value."},
	{Name: "getbit", Arity: 3, Flags: ReadOnly | Fast, Categories: bitmapRead, Keys: oneKeyRead, Handler: getbit,
		Group: "bitmap", Since: "2.2.0", Complexity: "O(1)", Summary: "Returns a bit of a value."},
	{Name: "bitcount", Arity: -2, Flags: ReadOnly, Categories: bitmapReadSlow, Keys: oneKeyRead, Handler: bitcount,
		Group: "bitmap", Since: "2.6.0", Complexity: "O(N) in the length counted", Summary: "Counts the bits that are set in a value."},
	{Name: "bitpos", Arity: -3, Flags: ReadOnly, Categories: bitmapReadSlow, Keys: oneKeyRead, Handler: bitpos,
		Group: "bitmap", Since: "2.8.7", Complexity: "O(N) in the length searched", Summary: "Finds the first bit of a value that is set, or clear."},
	{Name: "bitop", Arity: -4, Flags: Write | DenyOOM, Categories: bitmapWriteSlow, Handler: bitop,
		Keys:  []KeySpec{{First: 2, Last: 2, Step: 1, Flags: "OW update"}, {First: 3, Last: -1, Step: 1, Flags: "RO access"}},
		Group: "bitmap", Since: "2.6.0", Complexity: "O(N) in the length of all values", Summary: "Combines values bit by bit and stores the result."},
	{Name: "bitfield", Arity: -2, Flags: Write | DenyOOM, Categories: bitmapWriteSlow, Handler: bitfield,
		Keys:  []KeySpec{{First: 1, Last: 1, Step: 1, Flags: "RW access update variable_flags"}},
		Group: "bitmap", Since: "3.2.0", Complexity: "O(1) for each operation", Summary: "Reads and writes integers of any width within a value."},
	{Name: "bitfield_ro", Arity: -2, Flags: ReadOnly | Fast, Categories: bitmapRead, Keys: oneKeyRead, Handler: bitfieldReadOnly,
		Group: "bitmap", Since: "6.0.0", Complexity: "O(1) for each operation", Summary: "Reads integers of any width within a value."},
}

// bitOffsetArgument reads an argument as the number of a bit, or replies with the error. A bit lies within the longest string
// there may be.
func (c *Context) bitOffsetArgument(argument []byte) (offset int64, ok bool) {
	offset, ok = parseInteger(argument)
	if ok = ok && offset >= 0 && offset>>3 < c.stringLimit(); !ok {
		c.error(errBitOffset)
	}
	return offset, ok
}

// setbit is SETBIT key offset value.
func setbit(c *Context) {
	offset, ok := c.bitOffsetArgument(c.Args[2])
	if !ok {
		return
	}
	bit, ok := parseInteger(c.Args[3])
	if !ok || bit&^1 != 0 {
		c.error(errBit)
		return
	}
	u := &c.setbit
	*u = setbitUpdater{offset: int(offset), bit: byte(bit)}
	if _, ok := c.update(c.Args[1], u); !ok {
		return
	}
	if u.problem != "" {
		c.error(u.problem)
		return
	}
	if u.changed {
		c.notify(stringEvent, "setbit", c.Args[1])
	}
	c.integer(int64(u.old))
}

// setbitUpdater writes one bit, and makes the value long enough to have it.
type setbitUpdater struct {
	offset int
	bit    byte

	oldLength int
	old       byte // outcome: what the bit was
	changed   bool // outcome: the value is another one
	problem   string
}

// Plan asks for room for the bit, and keeps a value that has it as it shall be.
func (u *setbitUpdater) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	u.oldLength, u.old, u.problem = len(current.Value), bitAt(current.Value, u.offset), ""
	if found && current.Kind != kindString {
		u.problem = errWrongType
		return tsavorite.Plan{Action: tsavorite.Keep}
	}
	index := u.offset >> 3
	u.changed = index >= u.oldLength || u.old != u.bit
	if !u.changed {
		return tsavorite.Plan{Action: tsavorite.Keep}
	}
	return tsavorite.Plan{
		Action: tsavorite.Write, Preserve: true, Length: max(u.oldLength, index+1), Metadata: current.Metadata,
		Confined: true, From: uint32(index), Until: uint32(index + 1),
	}
}

// Write sets the bit, and clears those between the old end and it.
func (u *setbitUpdater) Write(value []byte, _ tsavorite.Record) {
	if u.oldLength < len(value) {
		clear(value[u.oldLength:])
	}
	mask := byte(0x80) >> (u.offset & 7)
	if u.bit == 1 {
		value[u.offset>>3] |= mask
	} else {
		value[u.offset>>3] &^= mask
	}
}

// updateLarge writes the bit in a large string.
func (u *setbitUpdater) updateLarge(v *large) tsavorite.Status {
	u.old, u.problem = 0, ""
	var b [1]byte
	index := int64(u.offset >> 3)
	if index < v.length {
		if status := v.copyTo(b[:], index); status != tsavorite.Found || v.lost {
			return status
		}
	}
	u.old = bitAt(b[:], u.offset&7)
	u.changed = index >= v.length || u.old != u.bit
	if !u.changed {
		return tsavorite.Found
	}
	b[0] = b[0]&^(0x80>>(u.offset&7)) | u.bit<<(7-u.offset&7)
	return v.write(index, b[:])
}

// bitAt is a bit of a value: 0 beyond its end.
func bitAt(value []byte, offset int) byte {
	if offset>>3 >= len(value) {
		return 0
	}
	return value[offset>>3] >> (7 - offset&7) & 1
}

// getbit is GETBIT key offset.
func getbit(c *Context) {
	offset, ok := c.bitOffsetArgument(c.Args[2])
	if !ok {
		return
	}
	r := &c.bits
	*r = bitReader{context: c, answer: answerGetbit, large: largeGetbit, offset: int(offset)}
	r.read()
}

// bitReader replies to a command that reads the bitmap in Args[1].
type bitReader struct {
	context *Context
	answer  func(r *bitReader, value []byte, found bool)
	large   func(r *bitReader, v *large) tsavorite.Status // the answer from a large string
	status  tsavorite.Status

	offset     int            // GETBIT
	bit        byte           // BITPOS
	span       bitSpan        // BITCOUNT and BITPOS
	operations []bitOperation // BITFIELD
}

// read reads the key and counts the hit or the miss.
func (r *bitReader) read() {
	c := r.context
	c.read(c.Args[1], r)
	c.lookedUp(c.Args[1], r.status == tsavorite.Found)
}

// Read appends the reply.
func (r *bitReader) Read(_ uint64, status tsavorite.Status, record tsavorite.Record) {
	r.status = status
	switch {
	case status == tsavorite.StatusError:
		r.context.failedBy(r.context.Session.Err())
	case status == tsavorite.Found && record.Kind != kindString:
		r.context.error(errWrongType)
	default:
		r.answer(r, record.Value, status == tsavorite.Found)
	}
}

// readLarge replies from a large string.
func (r *bitReader) readLarge(v *large, _ tsavorite.Metadata) tsavorite.Status {
	r.status = tsavorite.Found
	return r.large(r, v)
}

// answerGetbit replies with one bit.
func answerGetbit(r *bitReader, value []byte, _ bool) {
	r.context.integer(int64(bitAt(value, r.offset)))
}

func largeGetbit(r *bitReader, v *large) tsavorite.Status {
	var b [1]byte
	if index := int64(r.offset >> 3); index < v.length {
		if status := v.copyTo(b[:], index); status != tsavorite.Found || v.lost {
			return status
		}
	}
	r.context.integer(int64(bitAt(b[:], r.offset&7)))
	return tsavorite.Found
}
