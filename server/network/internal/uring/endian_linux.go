package uring

import (
	"encoding/binary"
	"math/bits"
)

// bigEndian tells which half of a word comes first.
var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// pollEvents is how the kernel wants the events of a poll: on big-endian machines with the halves swapped.
func pollEvents(events uint32) uint32 {
	if bigEndian {
		return bits.RotateLeft32(events, 16)
	}
	return events
}
