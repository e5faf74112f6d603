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

// bitop is BITOP operation destination key [key ...]. The keys are latched: nobody sees, and no
// other command changes, what is between the reads and the write.
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
	c.latchFrom(2)
	length, ok := c.combineBits(operator)
	c.Session.Unlatch()
	if c.bitops.large {
		length, ok = c.combineLarge(operator)
	}
	if ok {
		c.integer(int64(length))
	}
}

// latchFrom latches the keys that are the arguments from first on; they are in c.keys then.
func (c *Context) latchFrom(first int) {
	c.keys = c.keys[:0]
	for _, argument := range c.Args[first:] {
		c.keys = append(c.keys, c.key(argument))
	}
	c.Session.Prefetch(c.keys)
	c.Session.Latch(c.keys)
}

// combineBits combines the latched keys behind the first into the first, and returns the length
// of the result. An empty one deletes the key. When ok is false it replied why not, or a string is large:
// nothing was written then, and bitops.large tells.
func (c *Context) combineBits(operator bitOperator) (length int, ok bool) {
	b := &c.bitops
	b.begin(operator)
	c.looked = c.looked[:0]
	for _, source := range c.keys[1:] {
		status := c.Session.Read(source, 0, b)
		if c.failed(status) {
			return 0, false
		}
		if b.large {
			return 0, false
		}
		c.looked = append(c.looked, status == tsavorite.Found)
		if b.wrongType {
			c.error(errWrongType)
			return 0, false
		}
	}
	c.allLookedUp(c.keys[1:])
	result := b.finish()
	var status tsavorite.Status
	if len(result) > 0 {
		status = c.upsertLatched(c.keys[0], result, tsavorite.Metadata{})
	} else {
		c.remove = removeUpdater{}
		status = c.tryUpdate(c.keys[0].Bytes, &c.remove)
	}
	c.wrote(status, c.keys[0].Bytes)
	b.release()
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

// bitCombiner folds one source after the other into a result; as a Reader it takes each where it
// lies in the log.
type bitCombiner struct {
	operator bitOperator
	sources  int // folded in so far

	window []byte // of a large source
	result []byte // as long as the longest source so far
	others []byte // DIFF1, ANDOR: set in any Y; ONE: set in two sources or more; as long as result

	wrongType bool // a source was no string
	large     bool // a source was a large one
}

func (b *bitCombiner) begin(operator bitOperator) {
	*b = bitCombiner{operator: operator, window: b.window, result: b.result[:0], others: b.others[:0]}
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

// Read folds a source in; a missing key is an empty one.
func (b *bitCombiner) Read(_ uint64, status tsavorite.Status, record tsavorite.Record) {
	switch {
	case status == tsavorite.StatusError:
	case status == tsavorite.Found && record.Kind == kindLarge:
		b.large = true
	case status == tsavorite.Found && record.Kind != kindString:
		b.wrongType = true
	default:
		b.fold(record.Value)
	}
}

// fold takes the next source.
func (b *bitCombiner) fold(source []byte) {
	b.setLength(len(source))
	result := b.result[:len(source)]
	b.sources++
	if b.sources == 1 {
		copy(result, source)
		return
	}
	switch b.operator {
	case bitAnd:
		combineWords(result, source, bitAnd)
		clear(b.result[len(source):])
	case bitOr, bitXor, bitDiff:
		combineWords(result, source, b.operator)
	case bitDiffOne, bitAndOr:
		combineWords(b.others[:len(source)], source, bitOr)
	case bitOne:
		foldOnce(result, b.others[:len(source)], source)
	}
}

func (b *bitCombiner) usesOthers() bool {
	return b.operator == bitDiffOne || b.operator == bitAndOr || b.operator == bitOne
}

// finish does what is left to do when all sources are folded in, and returns the result, which is
// valid until the next begin or release.
func (b *bitCombiner) finish() []byte {
	switch b.operator {
	case bitNot:
		combineWords(b.result, b.result, bitNot)
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
