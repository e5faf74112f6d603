package command

import (
	"encoding/binary"
	"hash/crc64"
	"math"
	"strconv"
)

// What DUMP returns for a string, in the format of Redis's RDB version 10:
//
//	| type: 0 | encoded string | version: 2 bytes, little endian | CRC-64 of all before: 8 bytes, little endian |
//
// The encoded string begins with a length or, where the two high bits are set, with a form:
//
//	00LLLLLL                     a length below 64
//	01LLLLLL LLLLLLLL            below 16,384, big endian
//	10000000, 4 or 10000001, 8   longer ones, big endian
//	11000000, 1                  an integer of 8 bits that stands for its decimal digits
//	11000001, 2 and 11000010, 4  of 16 and 32 bits, little endian
//	11000011                     compressed: its length, the length it stands for, and an LZF stream
const (
	rdbVersion     = 10
	rdbFooterBytes = 2 + 8
	rdbTypeString  = 0

	rdbLength14 = 1 << 6
	rdbLength32 = 2 << 6
	rdbLength64 = rdbLength32 + 1
	rdbForm     = 3 << 6
	rdbInt8     = rdbForm
	rdbInt16    = rdbForm + 1
	rdbInt32    = rdbForm + 2
	rdbLZF      = rdbForm + 3

	rdbIntegerDigits   = 11 // a longer text is no integer of 32 bits
	rdbCompressedAbove = 20 // bytes
	rdbLeastGain       = 4  // bytes that compression must save
)

// jones is the CRC-64 of Redis: the polynomial ad93d23594c935a9 by David Jones, bits reflected,
// starting from zero and with no final inversion.
var jones = crc64.MakeTable(0x95ac9329ac4bc9b5)

// jonesChecksum undoes the inversions before and after that the package computes with.
func jonesChecksum(b []byte) uint64 { return ^crc64.Update(math.MaxUint64, jones, b) }

// appendDump appends the dump of a string.
func appendDump(dst, value []byte, table *lzfTable) []byte {
	start := len(dst)
	dst = append(dst, rdbTypeString)
	dst = appendRDBString(dst, value, table)
	dst = binary.LittleEndian.AppendUint16(dst, rdbVersion)
	return binary.LittleEndian.AppendUint64(dst, jonesChecksum(dst[start:]))
}

func appendRDBString(dst, value []byte, table *lzfTable) []byte {
	if len(value) <= rdbIntegerDigits {
		if n, ok := parseInteger(value); ok && n == int64(int32(n)) {
			return appendRDBInteger(dst, int32(n))
		}
	}
	if len(value) > rdbCompressedAbove {
		// The stream's length comes before it, so it is made behind the room for the header.
		var header [1 + 5 + 5]byte
		start := len(dst)
		stream, ok := table.compress(append(dst, header[:]...), value, len(value)-rdbLeastGain)
		if ok {
			size := len(stream) - start - len(header)
			dst = append(dst, rdbLZF)
			dst = appendRDBLength(dst, size)
			dst = appendRDBLength(dst, len(value))
			return append(dst, stream[start+len(header):]...)
		}
	}
	return append(appendRDBLength(dst, len(value)), value...)
}

func appendRDBInteger(dst []byte, n int32) []byte {
	switch {
	case n == int32(int8(n)):
		return append(dst, rdbInt8, byte(n))
	case n == int32(int16(n)):
		return binary.LittleEndian.AppendUint16(append(dst, rdbInt16), uint16(n))
	}
	return binary.LittleEndian.AppendUint32(append(dst, rdbInt32), uint32(n))
}

func appendRDBLength(dst []byte, n int) []byte {
	switch {
	case n < rdbLength14:
		return append(dst, byte(n))
	case n < 1<<14:
		return append(dst, byte(rdbLength14|n>>8), byte(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, rdbLength32), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, rdbLength64), uint64(n))
}

// parseDump reads the string out of a dump. The value may point into the dump. problem is the
// error to reply with.
func parseDump(dump []byte) (value []byte, problem string) {
	if len(dump) < rdbFooterBytes {
		return nil, errDumpVersion
	}
	footer := dump[len(dump)-rdbFooterBytes:]
	if binary.LittleEndian.Uint16(footer) > rdbVersion ||
		binary.LittleEndian.Uint64(footer[2:]) != jonesChecksum(dump[:len(dump)-8]) {
		return nil, errDumpVersion
	}
	// As in Redis, a value that is too long reaches into the footer, and one that ends early is fine.
	r := rdbReader{rest: dump}
	if kind := r.take(1); kind == nil || kind[0] != rdbTypeString {
		return nil, errDumpFormat
	}
	if value = r.text(); r.damaged {
		return nil, errDumpFormat
	}
	return value, ""
}

// rdbReader takes the parts of a dump from its start. Once something is wrong it is damaged, and
// what it returns means nothing.
type rdbReader struct {
	rest    []byte
	damaged bool
}

// take returns the next n bytes; nil if there are fewer.
func (r *rdbReader) take(n uint64) []byte {
	if r.damaged || n > uint64(len(r.rest)) {
		r.damaged = true
		return nil
	}
	taken := r.rest[:n:n]
	r.rest = r.rest[n:]
	return taken
}

// text returns the encoded string that follows.
func (r *rdbReader) text() []byte {
	n, isForm := r.length()
	if !isForm {
		return r.take(n)
	}
	switch rdbForm | n {
	case rdbInt8, rdbInt16, rdbInt32:
		return r.integer(uint64(1) << n)
	case rdbLZF:
		return r.compressed()
	}
	r.damaged = true
	return nil
}

// length returns the length that follows, or the low bits of a form.
func (r *rdbReader) length() (n uint64, isForm bool) {
	first := r.take(1)
	if first == nil {
		return 0, false
	}
	low := uint64(first[0] & (rdbLength14 - 1))
	switch first[0] & rdbForm {
	case 0:
		return low, false
	case rdbLength14:
		if second := r.take(1); second != nil {
			return low<<8 | uint64(second[0]), false
		}
		return 0, false
	case rdbForm:
		return low, true
	}
	switch first[0] {
	case rdbLength32:
		if word := r.take(4); word != nil {
			return uint64(binary.BigEndian.Uint32(word)), false
		}
	case rdbLength64:
		if word := r.take(8); word != nil {
			return binary.BigEndian.Uint64(word), false
		}
	}
	r.damaged = true
	return 0, false
}

// integer returns the digits of the integer of this many bytes that follows.
func (r *rdbReader) integer(size uint64) []byte {
	word := r.take(size)
	if word == nil {
		return nil
	}
	var n int64
	switch size {
	case 1:
		n = int64(int8(word[0]))
	case 2:
		n = int64(int16(binary.LittleEndian.Uint16(word)))
	default:
		n = int64(int32(binary.LittleEndian.Uint32(word)))
	}
	return strconv.AppendInt(nil, n, 10)
}

// compressed returns what the LZF stream that follows stands for. A length that no stream of this
// size stands for is not given memory first.
func (r *rdbReader) compressed() []byte {
	size, _ := r.length()
	length, _ := r.length()
	stream := r.take(size)
	switch {
	case r.damaged, length == 0: // Redis takes any stream for nothing
		return nil
	case length > lzfMostExpansion*size:
		r.damaged = true
		return nil
	}
	value, ok := lzfDecompress(make([]byte, 0, length), stream, int(length))
	if !ok {
		r.damaged = true
	}
	return value
}
