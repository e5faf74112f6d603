package index

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

const (
	entriesPerBucket = 7

	tagShift     = 48
	tagBits      = 15
	tentativeBit = 1 << 63

	overflowMask = 1<<32 - 1
	sharedOne    = 1 << 32
	sharedMask   = (1<<15 - 1) << 32
	exclusiveBit = 1 << 47
	movedBit     = 1 << 48
)

// Bucket is one cache line: seven entries and the overflow word.
type Bucket struct {
	entries  [entriesPerBucket]uint64
	overflow uint64
}

// A bucket is one cache line.
const _ = -(unsafe.Sizeof(Bucket{}) ^ 64)

// Slot is the place of one entry. It stays valid while its bucket is latched.
type Slot = *uint64

// Address of the entry's newest record.
func entryAddress(word uint64) record.Address { return record.Address(word & record.AddressMask) }

func entryTag(word uint64) uint64 { return word >> tagShift & (1<<tagBits - 1) }

// Outcome of an attempt to latch.
type Outcome uint8

// The outcomes.
const (
	Latched Outcome = iota // the latch is held
	Busy                   // somebody else holds it for longer than a spin
	Moved                  // the bucket's entries have gone to the next table
)

const latchSpins = 128

// TryShared takes the latch together with other readers. It gives up after a short spin.
func (b *Bucket) TryShared() Outcome {
	for spin := 0; ; spin++ {
		word := atomic.LoadUint64(&b.overflow)
		if word&(exclusiveBit|movedBit) == 0 {
			if atomic.CompareAndSwapUint64(&b.overflow, word, word+sharedOne) {
				return Latched
			}
			continue
		}
		if word&movedBit != 0 {
			return Moved
		}
		if spin >= latchSpins {
			return Busy
		}
		if spin%32 == 31 {
			runtime.Gosched()
		}
	}
}

// ReleaseShared gives a shared latch back.
func (b *Bucket) ReleaseShared() { atomic.AddUint64(&b.overflow, ^uint64(sharedOne-1)) }

// TryExclusive takes the latch alone: it claims the bit, then waits for the readers, who hold it
// only for as long as it takes to copy a value.
func (b *Bucket) TryExclusive() Outcome {
	for spin := 0; ; spin++ {
		word := atomic.LoadUint64(&b.overflow)
		if word&(exclusiveBit|movedBit) == 0 {
			if !atomic.CompareAndSwapUint64(&b.overflow, word, word|exclusiveBit) {
				continue
			}
			if word&sharedMask != 0 {
				b.awaitReaders()
			}
			return Latched
		}
		if word&movedBit != 0 {
			return Moved
		}
		if spin >= latchSpins {
			return Busy
		}
		if spin%32 == 31 {
			runtime.Gosched()
		}
	}
}

func (b *Bucket) awaitReaders() {
	for spin := 1; atomic.LoadUint64(&b.overflow)&sharedMask != 0; spin++ {
		if spin%32 == 0 {
			runtime.Gosched()
		}
	}
}

// ReleaseExclusive gives an exclusive latch back.
func (b *Bucket) ReleaseExclusive() { b.setAndClear(0, exclusiveBit) }

// releaseMoved marks the bucket as moved and gives its exclusive latch back in one step.
func (b *Bucket) releaseMoved() { b.setAndClear(movedBit, exclusiveBit) }

// setAndClear changes bits of the overflow word of a bucket that is latched exclusively. Readers
// may come and go on the same word only while the bit is clear, so a plain store suffices.
func (b *Bucket) setAndClear(set, clear uint64) {
	atomic.StoreUint64(&b.overflow, atomic.LoadUint64(&b.overflow)&^clear|set)
}

// IsMoved reports whether the bucket's entries have gone to the next table.
func (b *Bucket) IsMoved() bool { return atomic.LoadUint64(&b.overflow)&movedBit != 0 }

// Line is where the bucket lies, for a prefetch.
func (b *Bucket) Line() unsafe.Pointer { return unsafe.Pointer(b) }
