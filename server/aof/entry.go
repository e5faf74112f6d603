package aof

import (
	"encoding/binary"
	"fmt"

	"github.com/pyropedb/pyrope/tsavorite"
)

// Bits of an entry's first byte; the package comment has the layout.
const (
	effectMask  = 0x07
	unitBit     = 0x08
	kindBit     = 0x10
	deadlineBit = 0x20
	etagBit     = 0x40

	// startByte is the whole of an entry that says that the server was started.
	startByte = 0x80

	// maxHeaderBytes is the longest an entry's header can be.
	maxHeaderBytes = 1 + 8*binary.MaxVarintLen64 + 1
)

// appendHeader appends everything of an entry but its key and its value.
func appendHeader(dst []byte, e *tsavorite.Entry) []byte {
	first := len(dst)
	dst = append(dst, byte(e.Effect))
	dst = binary.AppendUvarint(dst, e.Version)
	if e.Unit != 0 {
		dst[first] |= unitBit
		dst = binary.AppendUvarint(dst, e.Unit)
	}
	switch e.Effect {
	case tsavorite.EffectOpaque, tsavorite.EffectUnitEnd:
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(e.Key.Namespace))
	dst = binary.AppendUvarint(dst, uint64(len(e.Key.Bytes)))
	if e.Effect == tsavorite.EffectDelete {
		return dst
	}
	if e.Metadata.Kind != 0 {
		dst[first] |= kindBit
		dst = append(dst, byte(e.Metadata.Kind))
	}
	if e.Metadata.Deadline != 0 {
		dst[first] |= deadlineBit
		dst = binary.AppendUvarint(dst, uint64(e.Metadata.Deadline))
	}
	if e.Metadata.Etag != 0 {
		dst[first] |= etagBit
		dst = binary.AppendUvarint(dst, e.Metadata.Etag)
	}
	if e.Effect == tsavorite.EffectPatch {
		dst = binary.AppendUvarint(dst, uint64(e.Length))
		dst = binary.AppendUvarint(dst, uint64(e.Offset))
	}
	return dst
}

// decoder takes numbers off the front of an entry.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) number(most uint64) uint64 {
	n, used := binary.Uvarint(d.rest)
	if used <= 0 || n > most {
		d.bad = true
		return 0
	}
	d.rest = d.rest[used:]
	return n
}

func (d *decoder) bytes(length uint64) []byte {
	if length > uint64(len(d.rest)) {
		d.bad = true
		return nil
	}
	b := d.rest[:length]
	d.rest = d.rest[length:]
	return b
}

// Decode reads an entry of the log into e, whose key and value point into it. isStart says that it is no effect, but
// marks a start of the server.
func Decode(entry []byte, e *tsavorite.Entry) (isStart bool, err error) {
	*e = tsavorite.Entry{}
	if len(entry) == 1 && entry[0] == startByte {
		return true, nil
	}
	const anyNumber, anyInt32 = ^uint64(0), 1<<32 - 1
	d := decoder{rest: entry}
	first := byte(0)
	if b := d.bytes(1); !d.bad {
		first = b[0]
	}
	e.Effect = tsavorite.Effect(first & effectMask)
	e.Version = d.number(anyNumber)
	if first&unitBit != 0 {
		e.Unit = d.number(anyNumber)
	}
	switch e.Effect {
	case tsavorite.EffectOpaque, tsavorite.EffectUnitEnd:
	case tsavorite.EffectSet, tsavorite.EffectPatch, tsavorite.EffectDelete:
		e.Key.Namespace = uint32(d.number(anyInt32))
		keyLength := d.number(anyInt32)
		if first&kindBit != 0 {
			if kind := d.bytes(1); !d.bad {
				e.Metadata.Kind = tsavorite.Kind(kind[0])
			}
		}
		if first&deadlineBit != 0 {
			e.Metadata.Deadline = int64(d.number(anyNumber))
		}
		if first&etagBit != 0 {
			e.Metadata.Etag = d.number(anyNumber)
		}
		if e.Effect == tsavorite.EffectPatch {
			e.Length, e.Offset = int(d.number(anyInt32)), int(d.number(anyInt32))
		}
		e.Key.Bytes = d.bytes(keyLength)
	default:
		d.bad = true
	}
	if e.Value = d.rest; e.Effect == tsavorite.EffectSet {
		e.Length = len(e.Value)
	}
	if d.bad || first&startByte != 0 {
		return false, fmt.Errorf("aof: an entry of %d bytes that begins with %.16x is none of this version", len(entry), entry)
	}
	return false, nil
}
