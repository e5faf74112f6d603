package workload

import "encoding/binary"

// FillValue writes the value of key number into dst: the letters a to p, a function of number and
// of each byte's place, so that a shifted or a foreign value never passes CheckValue.
func FillValue(dst []byte, number uint64) {
	var i uint64
	for len(dst) >= 8 {
		binary.LittleEndian.PutUint64(dst, Word(number, i))
		dst = dst[8:]
		i++
	}
	if len(dst) > 0 {
		var last [8]byte
		binary.LittleEndian.PutUint64(last[:], Word(number, i))
		copy(dst, last[:])
	}
}

// CheckValue reports whether src is, byte for byte, what FillValue writes for number.
func CheckValue(src []byte, number uint64) bool {
	return CheckValueFrom(src, number, 0)
}

// CheckValueFrom is CheckValue for a part of a value that starts at its word-th 8-byte word.
func CheckValueFrom(src []byte, number, word uint64) bool {
	for len(src) >= 8 {
		if binary.LittleEndian.Uint64(src) != Word(number, word) {
			return false
		}
		src = src[8:]
		word++
	}
	var last [8]byte
	binary.LittleEndian.PutUint64(last[:], Word(number, word))
	return string(src) == string(last[:len(src)])
}

// Word returns the index-th 8 bytes of the value of key number, little endian.
func Word(number, index uint64) uint64 {
	x := (number + 1) * 0x9E3779B97F4A7C15
	x ^= x >> 32
	x = (x + index) * 0xD6E8FEB86659FD93
	x ^= x >> 29
	return x&0x0F0F0F0F0F0F0F0F + 0x6161616161616161
}
