package index

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/pyropedb/pyrope/tsavorite/internal/record"
	"github.com/pyropedb/pyrope/tsavorite/internal/release"
)

const (
	entriesPerBucket = 7

	tagShift     = 48
	tagBits      = 15
	tentativeBit = 1 << 63

	overflowMask = 1<<26 - 1
	sharedOne    = 1 << 26
	sharedMask   = (1<<12 - 1) << 26
	exclusiveBit = 1 << 38
	movedBit     = 1 << 39
	versionOne   = 1 << 40
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
		if word&(exclusiveBit|movedBit) == 0 && word&sharedMask != sharedMask {
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

// ReleaseExclusive gives an exclusive latch back. Readers may come and go on the same word only while the
// bit is clear, so a store suffices. The version falls off the top of the word when it has run full.
func (b *Bucket) ReleaseExclusive() {
	release.Store(&b.overflow, atomic.LoadUint64(&b.overflow)&^exclusiveBit+versionOne)
}

// releaseMoved marks the bucket as moved and gives its exclusive latch back in one step.
func (b *Bucket) releaseMoved() {
	release.Store(&b.overflow, atomic.LoadUint64(&b.overflow)&^exclusiveBit|movedBit)
}

// Version is the state of a bucket's latch, for a read that takes none.
type Version uint64

// Version says what the latch looks like; free is false while a writer has it, or after the bucket has moved.
func (b *Bucket) Version() (v Version, free bool) {
	word := atomic.LoadUint64(&b.overflow)
	return Version(word), word&(exclusiveBit|movedBit) == 0
}

// Unchanged reports whether nobody has latched the bucket exclusively since a version that was free: what was read
// in between is what a reader with the latch would have read (I6).
func (b *Bucket) Unchanged(since Version) bool {
	return (atomic.LoadUint64(&b.overflow)^uint64(since))&^sharedMask == 0
}

// IsMoved reports whether the bucket's entries have gone to the next table.
func (b *Bucket) IsMoved() bool { return atomic.LoadUint64(&b.overflow)&movedBit != 0 }
