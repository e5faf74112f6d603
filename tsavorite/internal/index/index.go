// Package index is the hash index: it maps a key's hash to the newest record that may hold the key.
//
//	hash     63         49                                 0
//	         [   tag    |      bucket, up to the first size ]
//
//	bucket   [entry][entry][entry][entry][entry][entry][entry][overflow]      64 bytes, one cache line
//
//	entry    63         62        48 47                    0
//	         [tentative |    tag     |  address of newest   ]       0 is free
//
//	overflow 63     40   39      38          37         26 25                      0
//	         [ version | moved | exclusive | shared count |  number of next bucket  ]
//
// The overflow word of a main bucket carries the latch of its whole chain. All records whose keys
// share bucket and tag hang on one entry, linked by their previous addresses. The version counts exclusive latches,
// so that a reader may do without a latch and see afterwards whether a writer came in between.
//
// The index doubles while it serves. The new table takes one more bit to choose a bucket: the
// next bit of the tag. So an entry says by itself to which half it goes, no record is read, and a
// chain of records never splits. Each doubling makes one bit of the tag the same for all of a bucket,
// which leaves it 14, 13, ... bits to tell keys apart; an index may double 12 times. A bucket is moved
// under its latch and then marked; whoever meets the mark goes on to the next table.
//
// Invariants:
//
//	I1  Entries and chain of a bucket change only while it is latched exclusively.
//	I2  A bucket holds at most one entry a tag.
//	I3  A tentative entry is a claim of the session that holds the latch; it points nowhere, and is
//	    gone when the latch is released.
//	I4  An entry lies in the bucket that its hash chooses in that table: low bits of the hash, then low bits of the tag.
//	I5  A bucket that is marked as moved never changes again; all its live entries are in the next table.
//	I6  What the exclusive latch guards changes only between the store that sets its bit and the one that clears it
//	    and raises the version. So what was read between two loads of the same version, free both times, is consistent.
//	    (A reader would have to sleep through a multiple of 2^24 writes to one bucket to be deceived.)
package index

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/tsavorite/internal/invariant"
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// MaxDoublings is how often an index may double: three tag bits always stay to tell keys apart.
const MaxDoublings = tagBits - 3

// Index is the current table, and while it grows the next one.
type Index struct {
	current atomic.Pointer[Table]
	growths atomic.Uint64
}

// New returns an index of sizeBytes, a power of two of at least one bucket.
func New(sizeBytes uint64) (*Index, error) {
	bucketBits := log2(sizeBytes / bucketBytes)
	t, err := newTable(bucketBits, bucketBits)
	if err != nil {
		return nil, err
	}
	x := &Index{}
	x.current.Store(t)
	return x, nil
}

// Close unmaps the index. No session may use it any more.
func (x *Index) Close() {
	for t := x.current.Load(); t != nil; t = t.next.Load() {
		t.release()
	}
}

// Table returns the current table. It stays mapped while the caller's epoch is held.
func (x *Index) Table() *Table { return x.current.Load() }

// Next returns the table that follows one with moved buckets.
func (t *Table) Next() *Table { return t.next.Load() }

// Sizes describes the index.
type Sizes struct {
	Buckets, OverflowBuckets, Growths uint64
	Bytes, OverflowBytes              uint64
}

// Sizes returns the present sizes.
func (x *Index) Sizes() Sizes {
	t := x.current.Load()
	overflow := t.overflowCount.Load()
	chunks := (overflow + overflowChunkBuckets - 1) / overflowChunkBuckets
	return Sizes{
		Buckets: t.BucketCount(), OverflowBuckets: overflow, Growths: x.growths.Load(),
		Bytes: t.BucketCount() * bucketBytes, OverflowBytes: chunks * overflowChunkBuckets * bucketBytes,
	}
}

// Crowded reports whether the index should double: more than an eighth as many overflow buckets as main ones
// (decision 12 has what other shares would cost).
func (x *Index) Crowded() bool {
	t := x.current.Load()
	return t.overflowCount.Load() > t.BucketCount()/8
}

// CanDouble reports whether the index may double within maxBytes.
func (x *Index) CanDouble(maxBytes uint64) bool {
	t := x.current.Load()
	return t.bucketBits-t.baseBits < MaxDoublings && t.BucketCount()*bucketBytes*2 <= maxBytes
}

// Double moves every entry to a table of twice the size, bucket by bucket, while sessions go on.
// The caller is outside the epoch, and the only one that doubles. retire is given a function that
// unmaps the old table, to be run once no session can be using it. Entries below begin are left
// behind. Buckets that have moved cannot come back, so when memory runs out half-way Double goes on
// trying; it gives up only when stop is closed, which leaves both tables in use.
func (x *Index) Double(begin func() record.Address, retire func(release func()), stop <-chan struct{}) error {
	old := x.current.Load()
	next, err := newTable(old.bucketBits+1, old.baseBits)
	if err != nil {
		return err
	}
	old.next.Store(next)
	for i := uint64(0); i <= old.mask; i++ {
		b := old.bucket(i)
		for b.TryExclusive() != Latched {
			time.Sleep(20 * time.Microsecond)
		}
		for err := old.split(i, next, begin()); err != nil; err = old.split(i, next, begin()) {
			select {
			case <-stop:
				b.ReleaseExclusive()
				return err
			case <-time.After(time.Millisecond):
			}
		}
		b.releaseMoved()
	}
	x.current.Store(next)
	x.growths.Add(1)
	retire(old.release)
	return nil
}

// split copies the live entries of bucket i, latched exclusively, to its two heirs. It starts over
// when called again.
func (t *Table) split(i uint64, next *Table, begin record.Address) error {
	var heirs [2]*Bucket
	var filled [2]int
	for half := range heirs {
		heirs[half] = next.bucket(i | uint64(half)<<t.bucketBits)
		next.clear(heirs[half])
	}
	tagBit := t.bucketBits - t.baseBits
	for b := t.bucket(i); b != nil; b = t.chained(b) {
		for e := range b.entries {
			word := b.entries[e]
			if word == 0 || entryAddress(word) < begin {
				continue
			}
			if invariant.Enabled && word&tentativeBit != 0 {
				invariant.Violated("I3", "entry %#x of bucket %d is tentative outside its latch", word, i)
			}
			half := entryTag(word) >> tagBit & 1
			if filled[half] == entriesPerBucket {
				more, err := next.addChained(heirs[half])
				if err != nil {
					return fmt.Errorf("cannot split bucket %d: %w", i, err)
				}
				heirs[half], filled[half] = more, 0
			}
			atomic.StoreUint64(&heirs[half].entries[filled[half]], word)
			filled[half]++
		}
	}
	return nil
}

// clear empties a chain that nobody else can reach yet.
func (t *Table) clear(b *Bucket) {
	for ; b != nil; b = t.chained(b) {
		for e := range b.entries {
			atomic.StoreUint64(&b.entries[e], 0)
		}
	}
}
