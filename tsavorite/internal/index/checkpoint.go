package index

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// Shape is what must be known of a table to read its copy back.
type Shape struct {
	BucketBits, BaseBits uint
	OverflowBuckets      uint64
}

// copyBuckets are written at once by Copy and read at once by Restore.
const copyBuckets = 1024

// Copy gives the buckets of the current table to write, main ones first, as they are at the moment each is
// looked at. No latch is taken: an entry is one word. Nobody doubles the index meanwhile. Every entry of the copy was true
// at some time during the call, or is one that was made during it.
func (x *Index) Copy(write func([]byte) error) (Shape, error) {
	t := x.current.Load()
	b := make([]byte, 0, copyBuckets*bucketBytes)
	put := func(from *Bucket) error {
		b = appendBucket(b, from)
		if len(b) < cap(b) {
			return nil
		}
		err := write(b)
		b = b[:0]
		return err
	}
	for i := uint64(0); i <= t.mask; i++ {
		if err := put(t.bucket(i)); err != nil {
			return Shape{}, err
		}
	}
	// An overflow bucket that is handed out from here on holds nothing that was there when the copy began.
	overflow := min(t.overflowCount.Load(), maxOverflowChunks*overflowChunkBuckets)
	var none Bucket
	for number := uint64(1); number <= overflow; number++ {
		from := t.overflowBucket(number)
		if from == nil {
			from = &none
		}
		if err := put(from); err != nil {
			return Shape{}, err
		}
	}
	return Shape{t.bucketBits, t.baseBits, overflow}, write(b)
}

// appendBucket adds a bucket's words without latches and claims.
func appendBucket(b []byte, from *Bucket) []byte {
	for e := range from.entries {
		word := atomic.LoadUint64(&from.entries[e])
		if word&tentativeBit != 0 {
			word = 0
		}
		b = binary.LittleEndian.AppendUint64(b, word)
	}
	return binary.LittleEndian.AppendUint64(b, atomic.LoadUint64(&from.overflow)&overflowMask)
}

// overflowBucket returns an overflow bucket by its number, or nil if its chunk is not there.
func (t *Table) overflowBucket(number uint64) *Bucket {
	chunk := t.overflow[(number-1)>>overflowChunkBits].Load()
	if chunk == nil {
		return nil
	}
	return chunk.bucket(number)
}

// NewOfShape returns an index that Restore is to fill.
func NewOfShape(shape Shape) (*Index, error) {
	if shape.BucketBits > 31 || shape.BaseBits > shape.BucketBits || shape.BucketBits-shape.BaseBits > MaxDoublings || shape.OverflowBuckets > maxOverflowChunks*overflowChunkBuckets {
		return nil, fmt.Errorf("no index has the shape %+v", shape)
	}
	t, err := newTable(shape.BucketBits, shape.BaseBits)
	if err != nil {
		return nil, err
	}
	x := &Index{}
	x.current.Store(t)
	return x, nil
}

// Restore reads back what Copy wrote into an index of that shape. Every entry must point below limit. Links to overflow buckets that
// came too late for the copy are cut: they hold what was made during it. Nobody else uses the index, but for its sizes.
func (x *Index) Restore(shape Shape, read func([]byte) error, limit record.Address) error {
	return x.current.Load().restore(shape.OverflowBuckets, read, limit)
}

func (t *Table) restore(overflow uint64, read func([]byte) error, limit record.Address) error {
	b := make([]byte, copyBuckets*bucketBytes)
	left := t.BucketCount() + overflow
	rest := b[:0]
	next := func(to *Bucket) error {
		if len(rest) == 0 {
			rest = b[:min(left, copyBuckets)*bucketBytes]
			left -= uint64(len(rest)) / bucketBytes
			if err := read(rest); err != nil {
				return err
			}
		}
		for e := range to.entries {
			to.entries[e] = binary.LittleEndian.Uint64(rest[8*e:])
			if entryAddress(to.entries[e]) >= limit {
				return fmt.Errorf("an entry of the index points to address %d; the log ends at %d", entryAddress(to.entries[e]), limit)
			}
		}
		if to.overflow = binary.LittleEndian.Uint64(rest[8*entriesPerBucket:]); to.overflow > overflow {
			to.overflow = 0
		}
		rest = rest[bucketBytes:]
		return nil
	}
	for i := uint64(0); i <= t.mask; i++ {
		if err := next(t.bucket(i)); err != nil {
			return err
		}
	}
	for number := uint64(1); number <= overflow; number++ {
		if t.overflowBucket(number) == nil {
			if err := t.mapChunk((number - 1) >> overflowChunkBits); err != nil {
				return err
			}
		}
		if err := next(t.overflowBucket(number)); err != nil {
			return err
		}
	}
	t.overflowCount.Store(overflow)
	return nil
}

// Insert makes an address the newest of its hash's entry, unless that is newer. Nobody else uses the index.
func (x *Index) Insert(hash uint64, address, begin record.Address) error {
	t := x.current.Load()
	b, tag := t.Bucket(hash), TagOf(hash)
	slot, newest := t.Find(b, tag, begin)
	if slot == nil {
		var err error
		if slot, err = t.Claim(b, tag, begin); err != nil {
			return err
		}
	}
	if address > newest {
		Publish(slot, tag, address)
	}
	return nil
}
