package index

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/pyropedb/pyrope/device/aligned"
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
	"github.com/pyropedb/pyrope/tsavorite/internal/release"
)

const (
	overflowChunkBits    = 12 // buckets a chunk: 4096, 256 KiB
	overflowChunkBuckets = 1 << overflowChunkBits
	maxOverflowChunks    = 1 << 13 // of which overflowMask must be able to number every bucket
	bucketBytes          = 64
	hugePageBytes        = 2 << 20
)

// Table is one size of the index: the main buckets and their overflow buckets.
type Table struct {
	memory     []byte         // mapped; unmapped by release
	base       unsafe.Pointer // memory[0]
	mask       uint64         // bucket count - 1
	baseMask   uint64         // the bucket count the index started with - 1
	bucketBits uint           // log2 of the bucket count
	baseBits   uint           // log2 of the bucket count the index started with
	next       atomic.Pointer[Table]

	overflowCount atomic.Uint64 // overflow buckets handed out
	overflow      [maxOverflowChunks]atomic.Pointer[overflowChunk]
	overflowMu    sync.Mutex // guards the allocation of chunks
}

// overflowChunk is a block of overflow buckets; immutable after it is published.
type overflowChunk struct {
	memory []byte
	base   unsafe.Pointer
}

func newTable(bucketBits, baseBits uint) (*Table, error) {
	size := bucketBytes << bucketBits
	memory, err := aligned.Map(size)
	if err != nil {
		return nil, fmt.Errorf("cannot map %d bytes for the hash index: %w", size, err)
	}
	if size >= 8*hugePageBytes {
		aligned.AdviseHuge(memory)
	}
	return &Table{
		memory: memory, base: unsafe.Pointer(unsafe.SliceData(memory)),
		mask: 1<<bucketBits - 1, baseMask: 1<<baseBits - 1, bucketBits: bucketBits, baseBits: baseBits,
	}, nil
}

// release unmaps the table. Nobody may be able to reach it any more.
func (t *Table) release() {
	_ = aligned.Unmap(t.memory)
	for i := range t.overflow {
		chunk := t.overflow[i].Load()
		if chunk == nil {
			return
		}
		_ = aligned.Unmap(chunk.memory)
	}
}

// bucketIndex is where a hash lives in this table: the low bits of the hash up to the size the
// index started with, then bits of the tag, lowest first (I4).
func (t *Table) bucketIndex(hash uint64) uint64 {
	return (hash&t.baseMask | TagOf(hash)<<(t.baseBits&63)) & t.mask
}

func (t *Table) bucket(i uint64) *Bucket { return (*Bucket)(unsafe.Add(t.base, i*bucketBytes)) }

// LatchID names the latch of a hash's bucket among all tables an index ever has; smaller tables
// and lower buckets come first.
func (t *Table) LatchID(hash uint64) uint64 { return uint64(t.bucketBits)<<56 | t.bucketIndex(hash) }

// LatchedBucket returns the bucket of a LatchID of this table.
func (t *Table) LatchedBucket(id uint64) *Bucket { return t.bucket(id & t.mask) }

// Owns reports whether a LatchID is of this table.
func (t *Table) Owns(id uint64) bool { return id>>56 == uint64(t.bucketBits) }

// Bucket returns the main bucket of a hash.
func (t *Table) Bucket(hash uint64) *Bucket { return t.bucket(t.bucketIndex(hash)) }

// Base is where the main buckets start, for a prefetch.
func (t *Table) Base() unsafe.Pointer { return t.base }

// Place is where the main bucket of a hash lies, in bytes from Base.
func (t *Table) Place(hash uint64) uint64 { return t.bucketIndex(hash) * bucketBytes }

// At returns the main bucket at a Place.
func (t *Table) At(place uint64) *Bucket { return (*Bucket)(unsafe.Add(t.base, place)) }

// BucketCount is the number of main buckets.
func (t *Table) BucketCount() uint64 { return t.mask + 1 }

// chained returns the next bucket of a chain, or nil.
func (t *Table) chained(b *Bucket) *Bucket {
	number := atomic.LoadUint64(&b.overflow) & overflowMask
	if number == 0 {
		return nil
	}
	return t.overflow[(number-1)>>overflowChunkBits].Load().bucket(number)
}

// bucket is the overflow bucket of a number, which must lie in this chunk.
func (c *overflowChunk) bucket(number uint64) *Bucket {
	return (*Bucket)(unsafe.Add(c.base, ((number-1)&(overflowChunkBuckets-1))*bucketBytes))
}

// addChained appends a fresh bucket to a chain that is latched exclusively, or that nobody else
// can reach yet.
func (t *Table) addChained(last *Bucket) (*Bucket, error) {
	number := t.overflowCount.Add(1)
	chunkIndex := (number - 1) >> overflowChunkBits
	if chunkIndex >= maxOverflowChunks {
		return nil, fmt.Errorf("the hash index has no room for more than %d overflow buckets", maxOverflowChunks*overflowChunkBuckets)
	}
	if t.overflow[chunkIndex].Load() == nil {
		if err := t.mapChunk(chunkIndex); err != nil {
			return nil, err
		}
	}
	atomic.StoreUint64(&last.overflow, atomic.LoadUint64(&last.overflow)&^overflowMask|number)
	return t.chained(last), nil
}

func (t *Table) mapChunk(i uint64) error {
	t.overflowMu.Lock()
	defer t.overflowMu.Unlock()
	if t.overflow[i].Load() != nil {
		return nil
	}
	memory, err := aligned.Map(overflowChunkBuckets * bucketBytes)
	if err != nil {
		return fmt.Errorf("cannot map overflow buckets of the hash index: %w", err)
	}
	t.overflow[i].Store(&overflowChunk{memory, unsafe.Pointer(unsafe.SliceData(memory))})
	return nil
}

// Find looks for the entry of a tag in a bucket's chain. It returns the slot and the newest
// address, or nil and 0. Entries below begin count as free. It works latched, and unlatched as a hint.
func (t *Table) Find(b *Bucket, tag uint64, begin record.Address) (Slot, record.Address) {
	for b != nil {
		for found := b.withTag(tag); found != 0; found &= found - 1 {
			slot := &b.entries[bits.TrailingZeros64(found)]
			if address := entryAddress(atomic.LoadUint64(slot)); address >= begin {
				return slot, address
			}
		}
		b = t.chained(b)
	}
	return nil, 0
}

// withTag returns a bit for each entry that has the tag and is not tentative. It looks at all of them, for a
// branch that goes another way in every bucket costs more than that.
func (b *Bucket) withTag(tag uint64) uint64 {
	return hasTag(&b.entries[0], tag) | hasTag(&b.entries[1], tag)<<1 | hasTag(&b.entries[2], tag)<<2 |
		hasTag(&b.entries[3], tag)<<3 | hasTag(&b.entries[4], tag)<<4 | hasTag(&b.entries[5], tag)<<5 |
		hasTag(&b.entries[6], tag)<<6
}

// hasTag is 1 for an entry that has the tag and is not tentative, and 0 for others.
func hasTag(slot Slot, tag uint64) uint64 {
	return ((atomic.LoadUint64(slot)>>tagShift ^ tag) - 1) >> 63
}

// Claim returns a slot for a tag that Find did not find: it is marked tentative until Publish or
// Abandon (I3). The bucket is latched exclusively.
func (t *Table) Claim(b *Bucket, tag uint64, begin record.Address) (Slot, error) {
	for {
		for i := range b.entries {
			word := atomic.LoadUint64(&b.entries[i])
			if word&tentativeBit == 0 && entryAddress(word) < begin {
				release.Store(&b.entries[i], tentativeBit|tag<<tagShift)
				return &b.entries[i], nil
			}
		}
		next := t.chained(b)
		if next == nil {
			var err error
			if next, err = t.addChained(b); err != nil {
				return nil, err
			}
		}
		b = next
	}
}

// Publish lets the slot point to a record.
func Publish(slot Slot, tag uint64, address record.Address) {
	release.Store(slot, tag<<tagShift|uint64(address))
}

// Abandon frees the slot.
func Abandon(slot Slot) { release.Store(slot, 0) }

// EntryAddresses appends the addresses in the chain of main bucket i that lie at or above begin.
// It takes no latch: what it returns is a hint.
func (t *Table) EntryAddresses(to []record.Address, i uint64, begin record.Address) []record.Address {
	for b := t.bucket(i & t.mask); b != nil; b = t.chained(b) {
		for e := range b.entries {
			word := atomic.LoadUint64(&b.entries[e])
			if word&tentativeBit == 0 && entryAddress(word) >= begin {
				to = append(to, entryAddress(word))
			}
		}
	}
	return to
}

// TagOf is the part of a hash that an entry keeps.
func TagOf(hash uint64) uint64 { return hash >> (64 - tagBits) }

func log2(n uint64) uint { return uint(bits.Len64(n) - 1) }
