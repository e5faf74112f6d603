package command

import "math"

// bitType is the type of an integer within a bitmap: i1 to i64, u1 to u63.
type bitType struct {
	signed bool
	width  uint // bits
}

// bitOverflow says what happens to a number that does not fit its type.
type bitOverflow uint8

const (
	overflowWrap     bitOverflow = iota // the bits that fit are kept
	overflowSaturate                    // the nearest number that fits is taken
	overflowFail                        // nothing is written
	overflowUnknown
)

// bitOverflowNamed returns the behaviour with this name in any letter case, or overflowUnknown.
func bitOverflowNamed(name []byte) bitOverflow {
	switch {
	case equalFold(name, "wrap"):
		return overflowWrap
	case equalFold(name, "sat"):
		return overflowSaturate
	case equalFold(name, "fail"):
		return overflowFail
	}
	return overflowUnknown
}

// parseBitType reads a type as in i16 or u8. What follows a zero byte does not count.
func parseBitType(name []byte) (t bitType, ok bool) {
	name = echo(name, len(name))
	if len(name) == 0 || name[0] != 'i' && name[0] != 'u' {
		return t, false
	}
	t.signed = name[0] == 'i'
	width, ok := parseInteger(name[1:])
	if !ok || width < 1 || width > 64 || width == 64 && !t.signed {
		return t, false
	}
	t.width = uint(width)
	return t, true
}

// bounds returns the least and the greatest number of the type.
func (t bitType) bounds() (least, greatest int64) {
	if !t.signed {
		return 0, math.MaxInt64 >> (63 - t.width)
	}
	greatest = math.MaxInt64 >> (64 - t.width)
	return -greatest - 1, greatest
}

// load reads the integer at a bit of a value, which may lie beyond its end.
func (t bitType) load(value []byte, offset int64) int64 {
	var raw uint64
	first, last := offset>>3, (offset+int64(t.width)-1)>>3
	for at := first; at <= last; at++ { // up to nine bytes: what is shifted out lies in front of the field
		raw <<= 8
		if at < int64(len(value)) {
			raw |= uint64(value[at])
		}
	}
	behind := uint((last+1)*8 - offset - int64(t.width)) // bits of the last byte that are not the field's
	if last-first == 8 {
		raw >>= behind
		raw |= uint64(t.firstByte(value, first)) << (64 - behind)
	} else {
		raw >>= behind
	}
	unused := 64 - t.width
	if t.signed {
		return int64(raw<<unused) >> unused
	}
	return int64(raw << unused >> unused)
}

func (t bitType) firstByte(value []byte, at int64) byte {
	if at < int64(len(value)) {
		return value[at]
	}
	return 0
}

// store writes the integer at a bit of a value, which has room for it.
func (t bitType) store(value []byte, offset int64, number int64) {
	raw := uint64(number)
	end := offset + int64(t.width) // the bit behind those left to write
	for left := t.width; left > 0; {
		at, behind := (end-1)>>3, uint(-end&7)
		count := min(8-behind, left)
		mask := byte(0xff>>(8-count)) << behind
		value[at] = value[at]&^mask | byte(raw)<<behind&mask
		raw >>= count
		left -= count
		end -= int64(count)
	}
}

// fit adds an increment to a number and makes the sum fit the type, in the way asked for; with
// overflowFail the result does not count when it overflows. The number itself may lie outside the
// type, when the increment is 0.
func (t bitType) fit(number, increment int64, overflow bitOverflow) (result int64, overflows bool) {
	least, greatest := t.bounds()
	sum := number + increment
	var tooLarge, tooSmall bool
	switch {
	case !t.signed && number < 0: // taken for an unsigned number of 64 bits
		tooLarge = true
	case t.width == 64:
		tooLarge = increment > 0 && sum < number
		tooSmall = increment < 0 && sum > number
	default:
		// The subtraction wraps around for a number at the very end of 64 bits, which then counts
		// as too large although it is too small: Redis saturates so.
		tooLarge = number > greatest || increment > greatest-number
		tooSmall = !tooLarge && (number < least || increment < 0 && (sum > number || sum < least))
	}
	switch {
	case !tooLarge && !tooSmall:
		return sum, false
	case overflow == overflowSaturate && tooLarge:
		return greatest, true
	case overflow == overflowSaturate:
		return least, true
	}
	unused := 64 - t.width
	if t.signed {
		return sum << unused >> unused, true
	}
	return int64(uint64(sum) << unused >> unused), true
}
