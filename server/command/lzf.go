package command

// LZF is the compression of Redis's dumps. A stream is a sequence of two kinds of items:
//
//	000LLLLL  L+1 bytes                 those bytes as they are
//	LLLooooo  [length]  offset          L+2 bytes again from where the output was offset+1 bytes ago;
//	                                    L 7 has one more byte of length behind it, to add to L
//
// The five o are the high bits of the offset. A repetition may overlap what it produces.
const (
	lzfMaxLiteral = 32
	lzfMinRepeat  = 3
	lzfMaxRepeat  = 2 + 7 + 255
	lzfMaxOffset  = 1 << 13
	lzfLongRepeat = 7
	// lzfMostExpansion is what a byte of a stream may become: 88 bytes, from three for 264.
	lzfMostExpansion = lzfMaxRepeat / 3
)

const lzfTableBits = 14

// lzfTable remembers where a combination of three bytes was last, plus one; 0 is nowhere.
type lzfTable [1 << lzfTableBits]int32

func lzfHash(b []byte) uint32 {
	word := uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
	return word * 2654435761 >> (32 - lzfTableBits)
}

// compress appends the stream for src to dst. It fails, with dst as it was, if that takes more
// than most bytes. src is shorter than 2 GB.
func (t *lzfTable) compress(dst, src []byte, most int) (compressed []byte, ok bool) {
	clear(t[:])
	out := dst
	literal := 0 // where the bytes begin that are not in out yet
	for i := 0; i+lzfMinRepeat <= len(src); {
		slot := &t[lzfHash(src[i:])]
		before := int(*slot) - 1
		*slot = int32(i + 1)
		length := 0
		if before >= 0 && i-before <= lzfMaxOffset {
			length = commonLength(src[before:], src[i:])
		}
		if length < lzfMinRepeat {
			i++
			continue
		}
		out = appendLiterals(out, src[literal:i])
		out = appendRepeat(out, i-before-1, length)
		if len(out)-len(dst) > most {
			return dst, false
		}
		for end := i + length; i < end; i++ {
			if i+lzfMinRepeat <= len(src) {
				t[lzfHash(src[i:])] = int32(i + 1)
			}
		}
		literal = i
	}
	if out = appendLiterals(out, src[literal:]); len(out)-len(dst) > most {
		return dst, false
	}
	return out, true
}

// commonLength is how many bytes a and b have in common at their start, as far as one repetition goes.
func commonLength(a, b []byte) int {
	most := min(len(b), lzfMaxRepeat)
	for i := range most {
		if a[i] != b[i] {
			return i
		}
	}
	return most
}

func appendLiterals(out, literals []byte) []byte {
	for len(literals) > 0 {
		n := min(len(literals), lzfMaxLiteral)
		out = append(out, byte(n-1))
		out = append(out, literals[:n]...)
		literals = literals[n:]
	}
	return out
}

func appendRepeat(out []byte, offset, length int) []byte {
	length -= 2
	if length < lzfLongRepeat {
		out = append(out, byte(length<<5|offset>>8))
	} else {
		out = append(out, byte(lzfLongRepeat<<5|offset>>8), byte(length-lzfLongRepeat))
	}
	return append(out, byte(offset))
}

// lzfDecompress appends to dst the length bytes that a stream stands for; ok is false if it stands
// for fewer or more, or is no stream.
func lzfDecompress(dst, stream []byte, length int) (value []byte, ok bool) {
	start, end := len(dst), len(dst)+length
	for len(stream) > 0 {
		control := int(stream[0])
		stream = stream[1:]
		if control < lzfMaxLiteral {
			n := control + 1
			if n > len(stream) || len(dst)+n > end {
				return nil, false
			}
			dst = append(dst, stream[:n]...)
			stream = stream[n:]
			continue
		}
		n := control >> 5
		if n == lzfLongRepeat && len(stream) > 0 {
			n += int(stream[0])
			stream = stream[1:]
		}
		if len(stream) == 0 {
			return nil, false
		}
		from := len(dst) - (control&0x1f)<<8 - int(stream[0]) - 1
		stream = stream[1:]
		n += 2
		if from < start || len(dst)+n > end {
			return nil, false
		}
		for range n { // byte by byte: the repetition may reach into itself
			dst = append(dst, dst[from])
			from++
		}
	}
	return dst, len(dst) == end
}
