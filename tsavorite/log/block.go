package log

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

const (
	headerBytes = 48
	lengthBytes = 4          // of an entry's length
	magic       = 0x314C7950 // "PyL1"
	alignment   = 8          // of blocks
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is what stands before a block's payload; the package comment has the layout.
type header struct {
	length, first           uint32
	address, durable, begin Address
	generation              uint32
}

// put writes the header of a whole block, payload included, with the checksum of both.
func (h *header) put(block []byte) {
	binary.LittleEndian.PutUint32(block[4:], magic)
	binary.LittleEndian.PutUint32(block[8:], h.length)
	binary.LittleEndian.PutUint32(block[12:], h.first)
	binary.LittleEndian.PutUint64(block[16:], uint64(h.address))
	binary.LittleEndian.PutUint64(block[24:], uint64(h.durable))
	binary.LittleEndian.PutUint64(block[32:], uint64(h.begin))
	binary.LittleEndian.PutUint32(block[40:], h.generation)
	binary.LittleEndian.PutUint32(block[44:], 0)
	binary.LittleEndian.PutUint32(block, crc32.Checksum(block[4:headerBytes+int(h.length)], castagnoli))
}

// parse reads a header that should stand at an address with room bytes left in its segment, and says what is wrong
// with it. It does not look at the checksum.
func parse(bytes []byte, at Address, room uint64) (h header, problem string) {
	if len(bytes) < headerBytes {
		return h, "the header is not all there"
	}
	if found := binary.LittleEndian.Uint32(bytes[4:]); found != magic {
		return h, fmt.Sprintf("the magic number is %08x", found)
	}
	h = header{
		length: binary.LittleEndian.Uint32(bytes[8:]), first: binary.LittleEndian.Uint32(bytes[12:]),
		address: Address(binary.LittleEndian.Uint64(bytes[16:])), durable: Address(binary.LittleEndian.Uint64(bytes[24:])),
		begin: Address(binary.LittleEndian.Uint64(bytes[32:])), generation: binary.LittleEndian.Uint32(bytes[40:]),
	}
	switch {
	case h.address != at:
		problem = fmt.Sprintf("the block is for address %d", h.address)
	case h.length > MaxPageBytes || uint64(h.length)+headerBytes > room:
		problem = fmt.Sprintf("the length is %d with %d bytes left", h.length, room-headerBytes)
	case h.first > h.length || h.durable > at || h.begin > at:
		problem = "the header contradicts itself"
	}
	return h, problem
}

// verify checks a whole block of h.length against its checksum.
func (h *header) verify(block []byte) (problem string) {
	if len(block) < headerBytes+int(h.length) {
		return "the block is not all there"
	}
	if crc32.Checksum(block[4:headerBytes+int(h.length)], castagnoli) != binary.LittleEndian.Uint32(block) {
		return "the checksum is wrong"
	}
	return ""
}

// size is the block's length with padding.
func (h *header) size() uint64 { return pad(headerBytes + uint64(h.length)) }

func pad(n uint64) uint64 { return (n + alignment - 1) &^ (alignment - 1) }

// geometry is how the device is cut into segments.
type geometry struct{ segmentBytes uint64 }

// room is what is left of the segment at an address.
func (g geometry) room(at Address) uint64 { return g.segmentBytes - uint64(at)&(g.segmentBytes-1) }

// place is where the block goes that follows one which ends at an address: there, or in the next segment.
func (g geometry) place(at Address) Address {
	if room := g.room(at); room < headerBytes+alignment {
		return at + Address(room)
	}
	return at
}

// segment is the first address of the segment of an address.
func (g geometry) segment(at Address) Address { return at &^ Address(g.segmentBytes-1) }

// damage is the error for an address.
func (g geometry) damage(at Address, problem string) error {
	return fmt.Errorf("%w at address %d (segment %d, offset %d): %s", ErrDamaged, at,
		uint64(at)/g.segmentBytes, uint64(at)&(g.segmentBytes-1), problem)
}
