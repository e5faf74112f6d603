// Package record lays out one record of the log.
//
//	offset
//	0    info      63    62..53   52      51      50       49         48       47             0
//	               [valid| unused | void | odd | etag | deadline | tombstone | previous address ]
//	8    identity  63      56 55          32 31                         0
//	               [   kind  |  key length  |         namespace          ]
//	16   lengths   63               32 31                               0
//	               [  value capacity  |            value length          ]
//	24   deadline  8 bytes, only with the deadline bit: Unix milliseconds, 0 for none
//	     etag      8 bytes, only with the etag bit
//	     key       key length bytes, padded to 8
//	     value     value capacity bytes, a multiple of 8; what lies beyond value length is slack
//
// odd is the lowest bit of the store's version when the record was written: while a checkpoint is taken it tells the
// records of its version from those of the next. A void record is in no chain and stands for nothing.
//
// Invariants:
//
//	R1  A record starts at a multiple of 8 and lies within one page.
//	R2  An info word of 0 where a record would start means that the rest of the page holds none: pages
//	    start out zeroed, and the info word of a record is written last.
//	R3  Previous lies below the record's own address, or is 0.
//	R4  Namespace, key, capacity and the presence of deadline and etag never change after the record is
//	    published; value, its length, kind, deadline, etag and the tombstone bit change only while the
//	    key's bucket is latched exclusively and the record lies in the mutable region.
//
// A Record is a bare pointer into a page or a read buffer, so that looking at one costs a load; it
// is valid as long as the epoch, or the buffer, it was found under.
package record

import (
	"sync/atomic"
	"unsafe"

	"github.com/pyropedb/pyrope/tsavorite/internal/release"
)

// Address is a place in the log: 48 bits, 0 for none.
type Address uint64

const (
	// AddressMask covers the bits of an address in a packed word.
	AddressMask = 1<<48 - 1
	// HeaderBytes is the size of the three header words.
	HeaderBytes = 24
	// MaxKeyBytes is the longest key.
	MaxKeyBytes = 1<<24 - 1
	// MaxValueBytes is the longest value.
	MaxValueBytes = 1<<32 - 8

	tombstoneBit = 1 << 48
	deadlineBit  = 1 << 49
	etagBit      = 1 << 50
	oddBit       = 1 << 51
	voidBit      = 1 << 52
	validBit     = 1 << 63
)

// Record points at a record. The zero Record is none.
type Record struct{ base unsafe.Pointer }

// At returns the record at a place in mapped memory.
func At(base unsafe.Pointer) Record { return Record{base} }

// InBuffer returns the record that starts at b[0], which must be aligned to 8 bytes and at least
// HeaderBytes long. CheckBuffer says whether the rest of it is there.
func InBuffer(b []byte) Record { return Record{unsafe.Pointer(unsafe.SliceData(b))} }

// IsNone reports whether r points nowhere.
func (r Record) IsNone() bool { return r.base == nil }

func (r Record) word(offset uintptr) *uint64 { return (*uint64)(unsafe.Add(r.base, offset)) }

func (r Record) info() uint64 { return atomic.LoadUint64(r.word(0)) }

func (r Record) identity() uint64 { return atomic.LoadUint64(r.word(8)) }

func (r Record) lengths() uint64 { return atomic.LoadUint64(r.word(16)) }

// IsValid reports whether a record starts here (R2).
func (r Record) IsValid() bool { return r.info()&validBit != 0 }

// Previous is the next older record of the same index entry, or 0.
func (r Record) Previous() Address { return Address(r.info() & AddressMask) }

// IsTombstone reports whether the record says that its key is gone.
func (r Record) IsTombstone() bool { return r.info()&tombstoneBit != 0 }

// IsOdd reports whether the record was written in a version with an odd number.
func (r Record) IsOdd() bool { return r.info()&oddBit != 0 }

// IsVoid reports whether the record is in no chain.
func (r Record) IsVoid() bool { return r.info()&voidBit != 0 }

// SetTombstone marks the record dead or alive, in place.
func (r Record) SetTombstone(dead bool) {
	info := r.info() &^ tombstoneBit
	if dead {
		info |= tombstoneBit
	}
	release.Store(r.word(0), info)
}

// Namespace of the key.
func (r Record) Namespace() uint32 { return uint32(r.identity()) }

// KeyLength in bytes.
func (r Record) KeyLength() int { return int(r.identity() >> 32 & MaxKeyBytes) }

// Kind of the value.
func (r Record) Kind() uint8 { return uint8(r.identity() >> 56) }

// ValueLength in bytes.
func (r Record) ValueLength() int { return int(r.lengths() & (1<<32 - 1)) }

// ValueCapacity is how long the value may grow in place, in bytes.
func (r Record) ValueCapacity() int { return int(r.lengths() >> 32) }

func (r Record) keyOffset() uintptr { return keyOffset(r.info()) }

// keyOffset is where the key of a record with such an info word starts.
func keyOffset(info uint64) uintptr {
	return HeaderBytes + uintptr(info>>46&8) + uintptr(info>>47&8)
}

// Key returns the key's bytes, in place.
func (r Record) Key() []byte {
	if r.KeyLength() == 0 {
		return nil // no pointer past the end of a record that ends here
	}
	return unsafe.Slice((*byte)(unsafe.Add(r.base, r.keyOffset())), r.KeyLength())
}

func (r Record) valueOffset() uintptr { return r.keyOffset() + uintptr(pad8(r.KeyLength())) }

// Value returns the value's bytes, in place; its capacity is the record's.
func (r Record) Value() []byte {
	lengths := r.lengths()
	if lengths == 0 {
		return nil // no pointer past the end of the record
	}
	return unsafe.Slice((*byte)(unsafe.Add(r.base, r.valueOffset())), int(lengths>>32))[:int(lengths&(1<<32-1))]
}

// SetValueLength changes the length within the capacity and returns the value's bytes.
func (r Record) SetValueLength(n int) []byte {
	if lengths := r.lengths(); int(lengths&(1<<32-1)) != n {
		release.Store(r.word(16), lengths>>32<<32|uint64(n))
	}
	return r.Value()
}

// SetKind changes the kind.
func (r Record) SetKind(kind uint8) {
	if identity := r.identity(); uint8(identity>>56) != kind {
		release.Store(r.word(8), identity&(1<<56-1)|uint64(kind)<<56)
	}
}

// HasDeadlineField reports whether the record has a place for a deadline; it may be zero. It never changes.
func (r Record) HasDeadlineField() bool { return r.info()&deadlineBit != 0 }

// Deadline in Unix milliseconds; 0 is none.
func (r Record) Deadline() int64 { return r.View().Deadline() }

// Etag of the record; 0 is none.
func (r Record) Etag() uint64 { return r.View().Etag() }

// CanHold reports whether a deadline and an etag find their place without a new record.
func (r Record) CanHold(deadline int64, etag uint64) bool {
	info := r.info()
	return (deadline == 0 || info&deadlineBit != 0) && (etag == 0 || info&etagBit != 0)
}

// SetDeadlineAndEtag stores both; the record must be able to hold them.
func (r Record) SetDeadlineAndEtag(deadline int64, etag uint64) {
	info := r.info()
	if info&deadlineBit != 0 {
		*r.word(HeaderBytes) = uint64(deadline)
	}
	if info&etagBit != 0 {
		*r.word(HeaderBytes + uintptr(info>>46&8)) = etag
	}
}

// IsDead reports whether the record is a tombstone or past its deadline at now (Unix milliseconds).
func (r Record) IsDead(now int64) bool { return r.View().IsDead(now) }

// Holds reports whether the record's key is this one.
func (r Record) Holds(namespace uint32, key []byte) bool { return r.View().Holds(namespace, key) }

// View is a record whose header was read once, so that questions about it cost no further loads.
type View struct {
	base                    unsafe.Pointer
	info, identity, lengths uint64
}

// View reads the header.
func (r Record) View() View { return View{r.base, r.info(), r.identity(), r.lengths()} }

// IsDead reports whether the record is a tombstone or past its deadline at now (Unix milliseconds).
func (v View) IsDead(now int64) bool {
	if v.info&(tombstoneBit|deadlineBit) == 0 {
		return false
	}
	if v.info&tombstoneBit != 0 {
		return true
	}
	deadline := v.Deadline()
	return deadline != 0 && now > deadline
}

// Holds reports whether the record's key is this one.
func (v View) Holds(namespace uint32, key []byte) bool {
	if v.identity&(1<<56-1) != uint64(namespace)|uint64(len(key))<<32 {
		return false
	}
	if len(key) == 0 {
		return true
	}
	at := unsafe.Add(v.base, keyOffset(v.info))
	if len(key) == 8 {
		return *(*uint64)(at) == *(*uint64)(unsafe.Pointer(unsafe.SliceData(key)))
	}
	return string(unsafe.Slice((*byte)(at), len(key))) == string(key)
}

// IsPlain reports whether the record is no tombstone and has neither deadline nor etag.
func (v View) IsPlain() bool { return v.info&(tombstoneBit|deadlineBit|etagBit) == 0 }

// Deadline in Unix milliseconds; 0 is none.
func (v View) Deadline() int64 {
	if v.info&deadlineBit == 0 {
		return 0
	}
	return int64(*(*uint64)(unsafe.Add(v.base, HeaderBytes)))
}

// Etag of the record; 0 is none.
func (v View) Etag() uint64 {
	if v.info&etagBit == 0 {
		return 0
	}
	return *(*uint64)(unsafe.Add(v.base, HeaderBytes+uintptr(v.info>>46&8)))
}

// Kind of the value.
func (v View) Kind() uint8 { return uint8(v.identity >> 56) }

func (v View) valueOffset() uintptr {
	return keyOffset(v.info) + uintptr(pad8(int(v.identity>>32&MaxKeyBytes)))
}

// ValueEnd is where the value ends, in bytes from the start of the record.
func (v View) ValueEnd() int { return int(v.valueOffset()) + int(v.lengths&(1<<32-1)) }

// CopyValue copies the value to the start of a buffer and returns its length; ok is false when it does not fit.
// It copies whole words, so the rest of the buffer's last word may change as well. Unlike Value it may run
// beside a writer: length and place go together whatever the writer does, though the bytes may be torn.
func (v View) CopyValue(to *Buffer) (length int, ok bool) {
	length = int(v.lengths & (1<<32 - 1))
	if length > BufferBytes {
		return 0, false
	}
	from := unsafe.Add(v.base, v.valueOffset())
	if length <= 8 {
		if length > 0 {
			to.words[0] = *(*uint64)(from)
		}
		return length, true
	}
	return copy(to.Bytes(BufferBytes), unsafe.Slice((*byte)(from), length)), true
}

// BufferBytes is the longest value that a Buffer takes.
const BufferBytes = 512

// Buffer takes a copy of a value.
type Buffer struct{ words [BufferBytes / 8]uint64 }

// Bytes returns the first bytes of the buffer.
func (b *Buffer) Bytes(length int) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&b.words)), BufferBytes)[:length:length]
}

// Size is the record's length in the log, in bytes.
func (r Record) Size() int { return int(r.valueOffset()) + r.ValueCapacity() }

// Bytes returns the whole record, in place.
func (r Record) Bytes() []byte { return unsafe.Slice((*byte)(r.base), r.Size()) }

// Layout is the shape of a record that is about to be written.
type Layout struct {
	Namespace   uint32
	Key         []byte
	Capacity    int // of the value, a multiple of 8
	HasDeadline bool
	HasEtag     bool
	Odd         bool // the version is
}

// Size is the length of a record of this layout, in bytes.
func (l Layout) Size() int {
	n := HeaderBytes + pad8(len(l.Key)) + l.Capacity
	if l.HasDeadline {
		n += 8
	}
	if l.HasEtag {
		n += 8
	}
	return n
}

// Init writes identity, lengths and key of a new record into zeroed memory; Publish ends it. In
// between the caller fills in value, kind, deadline and etag.
func (r Record) Init(l Layout, valueLength int) {
	info := uint64(0)
	if l.HasDeadline {
		info |= deadlineBit
	}
	if l.HasEtag {
		info |= etagBit
	}
	if l.Odd {
		info |= oddBit
	}
	release.Store(r.word(0), info)
	*r.word(8) = uint64(l.Namespace) | uint64(len(l.Key))<<32
	*r.word(16) = uint64(valueLength) | uint64(l.Capacity)<<32
	copy(r.Key(), l.Key)
}

// Publish makes the record valid, with its place in the chain.
func (r Record) Publish(previous Address, tombstone bool) {
	info := r.info() | uint64(previous) | validBit
	if tombstone {
		info |= tombstoneBit
	}
	release.Store(r.word(0), info)
}

// PublishVoid makes the record one that scans step over and recovery leaves out.
func (r Record) PublishVoid() {
	release.Store(r.word(0), r.info()|validBit|tombstoneBit|voidBit)
}

// CopyVoid writes the header of a void record of the same size to b, whose other bytes stay as they are. It reads
// nothing of r that may be changing.
func (r Record) CopyVoid(b []byte) {
	void := InBuffer(b)
	*void.word(0) = r.info()&(deadlineBit|etagBit|oddBit) | validBit | tombstoneBit | voidBit
	*void.word(8) = r.identity() & (1<<56 - 1)
	*void.word(16) = r.lengths() >> 32 << 32
}

// CheckBuffer looks at a record that starts at b[0] and of which only len(b) bytes are there. It
// returns the record's whole size, or 0 when fewer than HeaderBytes are there. ok is false when the
// header makes no sense: the bytes are not a record that fits into limit bytes.
func CheckBuffer(b []byte, limit int) (size int, ok bool) {
	if len(b) < HeaderBytes {
		return 0, true
	}
	r := InBuffer(b)
	if !r.IsValid() || r.ValueCapacity()%8 != 0 || r.ValueLength() > r.ValueCapacity() || r.ValueCapacity() > limit {
		return 0, false
	}
	size = r.Size()
	return size, size <= limit
}

// HoldsInBuffer is Holds for a record of which only len(b) bytes are there; known is false when
// they do not suffice to tell.
func HoldsInBuffer(b []byte, namespace uint32, key []byte) (holds, known bool) {
	r := InBuffer(b)
	if r.identity()&(1<<56-1) != uint64(namespace)|uint64(len(key))<<32 {
		return false, true
	}
	if int(r.keyOffset())+len(key) > len(b) {
		return false, false
	}
	return r.Holds(namespace, key), true
}

func pad8(n int) int { return (n + 7) &^ 7 }

// Pad8 rounds up to a multiple of 8.
func Pad8(n int) int { return pad8(n) }
