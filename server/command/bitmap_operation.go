package command

import (
	"encoding/binary"

	"github.com/pyropedb/pyrope/tsavorite"
)

// bitOperator is an operator of BITOP. The last four are of Redis 8.2. X is the first source, Y
// any of the others; a source that is shorter than the longest has zeros behind its end.
type bitOperator uint8

const (
	bitAnd       bitOperator = iota // set in all sources
	bitOr                           // set in any
	bitXor                          // set in an odd number of them
	bitNot                          // clear in the one source
	bitDiff                         // set in X and in no Y
	bitDiffOne                      // set in a Y and not in X
	bitAndOr                        // set in X and in a Y
	bitOne                          // set in exactly one source
	bitOperators                    // how many there are
)

var bitOperatorNames = [bitOperators]string{"and", "or", "xor", "not", "diff", "diff1", "andor", "one"}

// bitop is BITOP operation destination key [key ...]. It is one step: the sources are what they were when the result is written.
func bitop(c *Context) {
	operator := bitOperatorNamed(c.Args[1])
	switch {
	case operator == bitOperators:
		c.error(errSyntax)
		return
	case operator == bitNot && len(c.Args) != 4:
		c.error(errBitopNot)
		return
	case bitDiff <= operator && operator <= bitAndOr && len(c.Args) < 5:
		name := []byte(bitOperatorNames[operator])
		upper(name)
		c.errorf(errBitopSources, name)
		return
	}
	c.keysFrom(2)
	length, ok := c.combineBits(operator)
	c.Session.Unlatch()
	if c.bitops.keys.large {
		length, ok = c.combineLarge(operator)
	}
	if ok {
		c.integer(int64(length))
	}
}

// combineBits combines the keys behind the first into the first, and returns the length of the result. An empty one
// deletes the key. When ok is false it replied why not, or a string is large: nothing was written then, and
// bitops.keys.large tells. The keys are latched afterwards.
func (c *Context) combineBits(operator bitOperator) (length int, ok bool) {
	b := &c.bitops
	defer b.release()
	b.operator, b.count = operator, len(c.keys)
	c.Session.LatchFold(c.keys, b)
	if !b.keys.ready(c, 1) {
		return 0, false
	}
	result := b.finish()
	status := b.destination.replace(c, c.keys[0], result, tsavorite.Metadata{})
	c.wrote(status, c.keys[0].Bytes)
	if c.failed(status) {
		return 0, false
	}
	c.notifyResult(status, len(result) > 0)
	return len(result), true
}

// notifyResult tells what became of the destination of a BITOP.
func (c *Context) notifyResult(status tsavorite.Status, stored bool) {
	switch {
	case stored:
		c.notify(stringEvent, "set", c.keys[0].Bytes)
	case status == tsavorite.Deleted:
		c.notify(genericEvent, "del", c.keys[0].Bytes)
	}
}

// bitOperatorNamed returns the operator with this name in any letter case, or bitOperators.
func bitOperatorNamed(name []byte) bitOperator {
	for operator, known := range bitOperatorNames {
		if equalFold(name, known) {
			return bitOperator(operator)
		}
	}
	return bitOperators
}

// bitCombiner folds one source after the other into a result, in any order; as a Folder it takes each where it
// lies, and the destination in front of them.
type bitCombiner struct {
	operator bitOperator
	begun    bool // a source is folded in

	window []byte // of a large source
	result []byte // as long as the longest source so far
	others []byte // DIFF, DIFF1, ANDOR: set in any Y; ONE: set in two sources or more; as long as result

	count       int // keys, as a Folder
	keys        foldedKeys
	destination destination
}

// Begin forgets the sources.
func (b *bitCombiner) Begin() {
	b.begun, b.result, b.others = false, b.result[:0], b.others[:0]
	b.keys.begin(b.count)
}

// setLength makes the result as long as it will be, for sources that may all be shorter.
func (b *bitCombiner) setLength(length int) {
	b.result = lengthened(b.result, length)
	if b.usesOthers() {
		b.others = lengthened(b.others, length)
	}
}

// release gives buffers back that are too large to be kept.
func (b *bitCombiner) release() {
	if cap(b.result) > keepBufferBytes {
		b.result, b.others, b.window = nil, nil, nil
	}
}

// Read notes what the destination is, or folds a source in; a missing key is an empty one.
func (b *bitCombiner) Read(token uint64, status tsavorite.Status, record tsavorite.Record) {
	if token == 0 {
		b.destination.Read(token, status, record)
		b.keys.failed = b.keys.failed || status == tsavorite.StatusError
		return
	}
	if b.keys.take(token, status, record) && record.Kind != kindString {
		b.keys.note(token, errWrongType)
		return
	}
	if !b.keys.large && !b.keys.failed {
		b.fold(record.Value, token == 1)
	}
}

// fold takes another source; isX says that it is the first of the arguments.
func (b *bitCombiner) fold(source []byte, isX bool) {
	b.setLength(len(source))
	result := b.result[:len(source)]
	others := b.others[:min(len(source), len(b.others))]
	first, setsApart := !b.begun, bitDiff <= b.operator && b.operator <= bitAndOr
	b.begun = true
	switch {
	case setsApart && !isX:
		combineWords(others, source, bitOr)
	case setsApart || first:
		copy(result, source)
	case b.operator == bitAnd:
		combineWords(result, source, bitAnd)
		clear(b.result[len(source):])
	case b.operator == bitOne:
		foldOnce(result, others, source)
	default:
		combineWords(result, source, b.operator)
	}
}

func (b *bitCombiner) usesOthers() bool { return b.operator >= bitDiff }

// finish does what is left to do when all sources are folded in, and returns the result, which is
// valid until the next Begin or release.
func (b *bitCombiner) finish() []byte {
	switch b.operator {
	case bitNot:
		combineWords(b.result, b.result, bitNot)
	case bitDiff:
		combineWords(b.result, b.others, bitDiff)
	case bitDiffOne: // the others without X
		combineWords(b.others, b.result, bitDiff)
		b.result, b.others = b.others, b.result
	case bitAndOr:
		combineWords(b.result, b.others, bitAnd)
	case bitOne:
		combineWords(b.result, b.others, bitDiff)
	}
	return b.result
}

// lengthened returns bytes with zeros behind it up to a length, or as it is if it is longer.
func lengthened(bytes []byte, length int) []byte {
	if have := len(bytes); have < length {
		if cap(bytes) < length {
			bytes = append(make([]byte, 0, length), bytes...)
		}
		bytes = bytes[:length]
		clear(bytes[have:])
	}
	return bytes
}

// combineWords combines each byte of dst with that of src, which is as long: eight at a time.
func combineWords(dst, src []byte, operator bitOperator) {
	at := 0
	for ; at+8 <= len(dst); at += 8 {
		x, y := binary.LittleEndian.Uint64(dst[at:]), binary.LittleEndian.Uint64(src[at:])
		binary.LittleEndian.PutUint64(dst[at:], combineWord(x, y, operator))
	}
	for ; at < len(dst); at++ {
		dst[at] = byte(combineWord(uint64(dst[at]), uint64(src[at]), operator))
	}
}

func combineWord(x, y uint64, operator bitOperator) uint64 {
	switch operator {
	case bitAnd:
		return x & y
	case bitOr:
		return x | y
	case bitXor:
		return x ^ y
	case bitNot:
		return ^x
	}
	return x &^ y // bitDiff
}

// foldOnce adds a source to once and twice, which hold the bits that are set in an odd number of
// sources, and in two or more.
func foldOnce(once, twice, source []byte) {
	for i, b := range source {
		twice[i] |= once[i] & b
		once[i] ^= b
	}
}
