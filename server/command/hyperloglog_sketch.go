package command

import "encoding/binary"

// A HyperLogLog is a string in Redis's format, so that its bytes may go from one server to the other:
//
//	offset  0       4          5        8                      16
//	        | HYLL | encoding | 3 zero | estimate, 64 bits LE | registers ...
//
// The top bit of the estimate says that it is out of date. There are 16384 registers of 6 bits.
// A dense one (encoding 0) has them packed from the least significant bit of the first byte on:
//
//	byte 0      byte 1      byte 2
//	11000000    22221111    33333322         the digit is the number of the register
//
// A sparse one (encoding 1) is a list of runs, which together have all registers:
//
//	00llllll           zero      l+1 registers are 0
//	01llllll llllllll  far zero  l+1 registers are 0
//	1vvvvvll           value     l+1 registers, 4 at most, are v+1
//
// It becomes dense when a register exceeds 32 or the string 3000 bytes, and never sparse again.

const (
	sketchHeaderBytes = 16
	registerCount     = 1 << 14
	registerBits      = 6
	registerMax       = 1<<registerBits - 1
	denseSketchBytes  = sketchHeaderBytes + registerCount*registerBits/8

	sketchEncodingAt = 4
	sketchEstimateAt = 8
	sketchStaleAt    = 15 // the byte with the top bit of the estimate
	sketchStale      = 0x80

	denseEncoding  = 0
	sparseEncoding = 1
)

const sketchMagic = "HYLL"

// sketch is the bytes of a HyperLogLog. But for valid, its methods want a valid one.
type sketch []byte

// sketchRegisters are the registers of a HyperLogLog, one a byte.
type sketchRegisters [registerCount]byte

// valid reports whether this can be a HyperLogLog, judged by header and length. The runs of a
// sparse one may still be wrong.
func (s sketch) valid() bool {
	if len(s) < sketchHeaderBytes || string(s[:len(sketchMagic)]) != sketchMagic {
		return false
	}
	return s[sketchEncodingAt] == sparseEncoding || s[sketchEncodingAt] == denseEncoding && len(s) == denseSketchBytes
}

func (s sketch) isDense() bool { return s[sketchEncodingAt] == denseEncoding }

// cached returns the estimate that the header holds, and whether it is up to date.
func (s sketch) cached() (estimate int64, fresh bool) {
	return int64(binary.LittleEndian.Uint64(s[sketchEstimateAt:])), s[sketchStaleAt]&sketchStale == 0
}

func (s sketch) setCached(estimate int64) {
	binary.LittleEndian.PutUint64(s[sketchEstimateAt:], uint64(estimate))
}

// invalidate marks the estimate as out of date.
func (s sketch) invalidate() { s[sketchStaleAt] |= sketchStale }

// register returns a register of a dense one.
func (s sketch) register(index int) byte {
	bit := index * registerBits
	at, shift := sketchHeaderBytes+bit/8, bit%8
	value := s[at] >> shift
	if shift > 8-registerBits {
		value |= s[at+1] << (8 - shift)
	}
	return value & registerMax
}

// raise gives a register of a dense one a value unless it has a greater one, and reports whether
// it did.
func (s sketch) raise(index int, value byte) bool {
	if s.register(index) >= value {
		return false
	}
	bit := index * registerBits
	at, shift := sketchHeaderBytes+bit/8, bit%8
	s[at] = s[at]&^(registerMax<<shift) | value<<shift
	if shift > 8-registerBits {
		s[at+1] = s[at+1]&^(registerMax>>(8-shift)) | value>>(8-shift)
	}
	return true
}

// run is a run of registers of a sparse one.
type run struct {
	value  byte // 0 for both kinds of zeros
	length int  // registers
	size   int  // bytes that encode it
}

// The greatest values and lengths of runs.
const (
	zeroRunMax     = 64
	farZeroRunMax  = 1 << 14
	valueRunMax    = 4
	sparseValueMax = 32

	farZeroRunMark = 0x40
	valueRunMark   = 0x80
)

// runAt decodes the run at a place within the sparse one. A far zero whose second byte is missing
// has a zero there.
func (s sketch) runAt(at int) run {
	b := s[at]
	switch {
	case b&valueRunMark != 0:
		return run{value: b>>2&0x1f + 1, length: int(b&3) + 1, size: 1}
	case b&farZeroRunMark == 0:
		return run{length: int(b) + 1, size: 1}
	}
	length := int(b&0x3f) << 8
	if at+1 < len(s) {
		length |= int(s[at+1])
	}
	return run{length: length + 1, size: 2}
}

// mergeInto raises registers to those of the sketch. It reports whether its runs are right, and
// stops where they are not.
func (s sketch) mergeInto(registers *sketchRegisters) bool {
	if s.isDense() {
		registers.raiseTo(s[sketchHeaderBytes:])
		return true
	}
	index := 0
	for at := sketchHeaderBytes; at < len(s); {
		r := s.runAt(at)
		at += r.size
		if r.value != 0 {
			if index+r.length > registerCount {
				return false
			}
			for i := index; i < index+r.length; i++ {
				registers[i] = max(registers[i], r.value)
			}
		}
		index += r.length
	}
	return index == registerCount
}

// raiseTo raises the registers to packed ones: four in three bytes.
func (r *sketchRegisters) raiseTo(packed []byte) {
	for index := 0; index < registerCount; index += 4 {
		four := uint32(packed[0]) | uint32(packed[1])<<8 | uint32(packed[2])<<16
		packed = packed[3:]
		to := r[index : index+4 : index+4]
		to[0] = max(to[0], byte(four&registerMax))
		to[1] = max(to[1], byte(four>>6&registerMax))
		to[2] = max(to[2], byte(four>>12&registerMax))
		to[3] = max(to[3], byte(four>>18&registerMax))
	}
}

// pack writes the registers as a dense sketch has them.
func (r *sketchRegisters) pack(dst []byte) {
	for index := 0; index < registerCount; index += 4 {
		from := r[index : index+4 : index+4]
		four := uint32(from[0]) | uint32(from[1])<<6 | uint32(from[2])<<12 | uint32(from[3])<<18
		dst[0], dst[1], dst[2] = byte(four), byte(four>>8), byte(four>>16)
		dst = dst[3:]
	}
}
