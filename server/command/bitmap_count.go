package command

import (
	"encoding/binary"
	"math/bits"

	"github.com/pyropedb/pyrope/tsavorite"
)

// bitcount is BITCOUNT key [start end [BYTE|BIT]].
func bitcount(c *Context) {
	r := &c.bits
	*r = bitReader{context: c, answer: answerBitcount, large: largeBitcount}
	switch len(c.Args) {
	case 2:
		r.span.whole()
	case 4, 5:
		r.span.parse(c.Args[2:], true)
	default:
		r.span.problem = errSyntax
	}
	r.read()
}

// answerBitcount replies with the number of bits that are set within the span. What is wrong with
// the arguments matters only if there is a key.
func answerBitcount(r *bitReader, value []byte, found bool) {
	switch {
	case !found:
		r.context.integer(0)
	case r.span.problem != "":
		r.context.error(r.span.problem)
	default:
		start, end := r.span.within(len(value))
		r.context.integer(int64(countBits(value, start, end)))
	}
}

// largeBitcount counts piece by piece.
func largeBitcount(r *bitReader, v *large) tsavorite.Status {
	if r.span.problem != "" {
		r.context.error(r.span.problem)
		return tsavorite.Found
	}
	start, end := r.span.within(int(v.length))
	count := 0
	status := tsavorite.Found
	if start < end {
		status = v.read(int64(start>>3), int64((end-1)>>3)+1, func(p piece) {
			base := int(p.at) * 8
			count += countBits(p.bytes, max(start-base, 0), min(end-base, len(p.bytes)*8))
		})
	}
	if status == tsavorite.Found && !v.lost {
		r.context.integer(int64(count))
	}
	return status
}

// bitpos is BITPOS key bit [start [end [BYTE|BIT]]].
func bitpos(c *Context) {
	bit, ok := c.integerArgument(c.Args[2])
	if !ok {
		return
	}
	if bit != 0 && bit != 1 {
		c.error(errBitpos)
		return
	}
	r := &c.bits
	*r = bitReader{context: c, answer: answerBitpos, large: largeBitpos, bit: byte(bit)}
	switch len(c.Args) {
	case 3:
		r.span.whole()
	case 4, 5, 6:
		r.span.parse(c.Args[3:], false)
	default:
		r.span.problem = errSyntax
	}
	r.read()
}

// answerBitpos replies with the first bit within the span that is as wanted, or -1. A span without
// an end has zeros behind the value, as a missing key has from the beginning.
func answerBitpos(r *bitReader, value []byte, found bool) {
	c := r.context
	switch {
	case !found:
		c.integer(-int64(r.bit))
		return
	case r.span.problem != "":
		c.error(r.span.problem)
		return
	}
	start, end := r.span.within(len(value))
	if start >= end {
		c.integer(-1)
		return
	}
	at := findBit(value, start, end, r.bit)
	if at == end && (r.bit == 1 || r.span.endGiven) {
		at = -1
	}
	c.integer(int64(at))
}

// largeBitpos searches batch by batch, and ends with the one that has the bit.
func largeBitpos(r *bitReader, v *large) tsavorite.Status {
	c := r.context
	if r.span.problem != "" {
		c.error(r.span.problem)
		return tsavorite.Found
	}
	start, end := r.span.within(int(v.length))
	at := end
	look := func(p piece) {
		if at != end {
			return
		}
		base, bits := int(p.at)*8, len(p.bytes)*8
		if first, last := max(start-base, 0), min(end-base, bits); first < last {
			if found := findBit(p.bytes, first, last, r.bit); found < last {
				at = base + found
				return
			}
		}
		if first := max(base+bits, start); p.zeros > 0 && r.bit == 0 && first < end {
			at = first
		}
	}
	batch := chunkBatch * v.chunkBytes
	for from := int64(start >> 3); from < int64(end+7)>>3 && at == end; from += batch - from%batch {
		to := min(from+batch-from%batch, int64(end+7)>>3)
		if status := v.read(from, to, look); status != tsavorite.Found || v.lost {
			return status
		}
	}
	if start >= end || at == end && (r.bit == 1 || r.span.endGiven) {
		at = -1
	}
	c.integer(int64(at))
	return tsavorite.Found
}

// bitSpan is the part of a bitmap that BITCOUNT and BITPOS look at.
type bitSpan struct {
	first, last int64 // the last one included; negative ones count from the end
	inBits      bool  // they number bits rather than bytes
	endGiven    bool
	empty       bool // whatever the value
	problem     string
}

// whole makes the span the whole bitmap.
func (s *bitSpan) whole() { s.first, s.last = 0, -1 }

// parse reads start [end [BYTE|BIT]]. BITCOUNT looks at the end before the unit, and knows a span
// for empty whose end comes before its start when both count from the end of the value; BITPOS
// looks at the unit first, and takes both for the first byte when they lie in front of the value.
func (s *bitSpan) parse(arguments [][]byte, toCount bool) {
	s.whole()
	var ok bool
	if s.first, ok = parseInteger(arguments[0]); !ok {
		s.problem = errNotInteger
		return
	}
	if len(arguments) == 1 {
		return
	}
	s.endGiven = true
	endIsWrong, unitIsWrong := false, false
	if s.last, ok = parseInteger(arguments[1]); !ok {
		endIsWrong = true
	}
	if len(arguments) == 3 {
		s.inBits = equalFold(arguments[2], "bit")
		unitIsWrong = !s.inBits && !equalFold(arguments[2], "byte")
	}
	switch {
	case endIsWrong && (toCount || !unitIsWrong):
		s.problem = errNotInteger
	case toCount && s.first < 0 && s.last < 0 && s.first > s.last:
		s.empty = true
	case unitIsWrong:
		s.problem = errSyntax
	}
}

// within is the half-open range of bits of the span in a value of this many bytes. It is empty
// when start >= end.
func (s *bitSpan) within(length int) (start, end int) {
	total := int64(length)
	if s.inBits {
		total *= 8
	}
	first, last := s.first, s.last
	if first < 0 {
		first = max(first+total, 0)
	}
	if last < 0 {
		last = max(last+total, 0)
	}
	last = min(last, total-1)
	if s.empty || first > last {
		return 0, 0
	}
	if s.inBits {
		return int(first), int(last) + 1
	}
	return int(first) * 8, (int(last) + 1) * 8
}

// countBits counts the bits that are set in the half-open range of bits.
func countBits(value []byte, start, end int) (count int) {
	if start >= end {
		return 0
	}
	first, last := start>>3, (end-1)>>3
	before := value[first] &^ (0xff >> (start & 7))            // of the first byte, in front of the range
	behind := value[last] & (0xff >> ((end-1)&7 + 1))          // of the last byte, behind it
	count = -bits.OnesCount8(before) - bits.OnesCount8(behind) // counted below with their bytes
	part := value[first : last+1]
	for len(part) >= 32 {
		count += bits.OnesCount64(binary.LittleEndian.Uint64(part)) +
			bits.OnesCount64(binary.LittleEndian.Uint64(part[8:])) +
			bits.OnesCount64(binary.LittleEndian.Uint64(part[16:])) +
			bits.OnesCount64(binary.LittleEndian.Uint64(part[24:]))
		part = part[32:]
	}
	for len(part) >= 8 {
		count += bits.OnesCount64(binary.LittleEndian.Uint64(part))
		part = part[8:]
	}
	for _, b := range part {
		count += bits.OnesCount8(b)
	}
	return count
}

// findBit returns the first bit equal to bit in the half-open, non-empty range of bits, or end.
func findBit(value []byte, start, end int, bit byte) int {
	var invert uint64 // makes the wanted bit a one
	if bit == 0 {
		invert = ^uint64(0)
	}
	at, last := start>>3, (end-1)>>3
	if start&7 != 0 { // the bits in front of the range are not looked at
		if b := (value[at] ^ byte(invert)) & (0xff >> (start & 7)); b != 0 {
			return min(at*8+bits.LeadingZeros8(b), end)
		}
		at++
	}
	for ; at+32 <= last+1; at += 32 { // 32 bytes at a time, as long as none is wanted
		part := value[at : at+32 : at+32]
		if (binary.LittleEndian.Uint64(part)^invert)|(binary.LittleEndian.Uint64(part[8:])^invert)|
			(binary.LittleEndian.Uint64(part[16:])^invert)|(binary.LittleEndian.Uint64(part[24:])^invert) != 0 {
			break
		}
	}
	for ; at+8 <= last+1; at += 8 {
		if word := binary.BigEndian.Uint64(value[at:]) ^ invert; word != 0 {
			return min(at*8+bits.LeadingZeros64(word), end)
		}
	}
	for ; at <= last; at++ {
		if b := value[at] ^ byte(invert); b != 0 {
			return min(at*8+bits.LeadingZeros8(b), end)
		}
	}
	return end
}
