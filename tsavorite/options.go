package tsavorite

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/pyropedb/pyrope/device"
)

// Bounds of the sizes in Options.
const (
	MinPageBytes  = 1 << 12
	MaxPageBytes  = 1 << 27
	MinPageCount  = 3 // pages of memory: one being filled, one ahead, one on its way to the device
	MinIndexBytes = 64 * 8
	MaxIndexBytes = 1 << 37
)

// Options says how big a Store is and where it spills to. The zero value is a usable store of
// 64 MB in memory only.
type Options struct {
	// Device takes what does not fit in memory. nil keeps everything in memory: when it is full,
	// writes answer OutOfMemory, or the oldest records are dropped if EvictOldest is set.
	Device device.Device
	// EvictOldest drops the oldest page instead of refusing writes when there is no Device, or when no more may lie on it.
	EvictOldest bool
	// EvictExpiring, without a Device and without EvictOldest, drops records that have a deadline, oldest first, before writes are
	// refused.
	EvictExpiring bool
	// IndexBytes is the initial size of the hash index, a power of two of 64-byte buckets. 0 is 1 MiB.
	IndexBytes uint64
	// IndexMaxBytes is the size up to which the index doubles by itself. 0 lets it grow without bound;
	// a value equal to IndexBytes keeps it as it is.
	IndexMaxBytes uint64
	// MemoryBytes is the part of the log kept in memory, a multiple of PageBytes and at least three pages. 0 is 64 MiB.
	MemoryBytes uint64
	// MemoryCeilingBytes is up to where SetMemory may raise MemoryBytes; it is rounded up to a power of two of address space. 0 is MemoryBytes.
	MemoryCeilingBytes uint64
	// PageBytes is the size of a log page, a power of two in [4 KiB, 128 MiB]. 0 is 1 MiB, or less
	// so that MemoryBytes holds 16.
	PageBytes uint64
	// MutablePercent is the share of the memory part that is updated in place, 1 to 99. 0 is 90.
	// Without a Device everything in memory is mutable.
	MutablePercent int
	// CopyReadsToTail copies a record that was read from the device to the tail of the log, so that hot
	// records come back to memory. It pays where reads are skewed; each copy is written to the device again.
	CopyReadsToTail bool
	// Preallocate touches the memory part of the log when the store opens, so that later no write waits for the system to
	// give it a page.
	Preallocate bool
	// Journal is told every write. nil is none.
	Journal Journal
	// CompactionMaxDeadPercent is the share of the log that may be dead before the oldest pages on the Device are
	// compacted, 1 to 100; 100 is never. 0 is 50. Without a Device memory is compacted when it is full.
	CompactionMaxDeadPercent int
	// CompactionKind is how pages on the Device are compacted. The zero value looks keys up. Where writers wait for room on the Device, and
	// in memory, keys are looked up whatever it says.
	CompactionKind CompactionKind
	// MaxDeviceBytes bounds how much of the log may lie on the Device, at least one page; 0 is no bound. When it is
	// reached, writes answer OutOfMemory, or with EvictOldest the oldest records are dropped.
	MaxDeviceBytes uint64
	// Clock returns the Unix time in milliseconds. nil is the system's clock.
	Clock func() int64
}

// withDefaults returns o with every zero field set to its default.
func (o Options) withDefaults() Options {
	if o.MemoryBytes == 0 {
		o.MemoryBytes = 64 << 20
	}
	if o.PageBytes == 0 {
		o.PageBytes = 1 << 20
		for o.PageBytes > MinPageBytes && o.PageBytes*16 > o.MemoryBytes {
			o.PageBytes /= 2
		}
	}
	if o.IndexBytes == 0 {
		o.IndexBytes = 1 << 20
	}
	if o.IndexMaxBytes == 0 {
		o.IndexMaxBytes = MaxIndexBytes
	}
	if o.MutablePercent == 0 {
		o.MutablePercent = 90
	}
	if o.CompactionMaxDeadPercent == 0 {
		o.CompactionMaxDeadPercent = 50
	}
	if o.Clock == nil {
		o.Clock = func() int64 { return time.Now().UnixMilli() }
	}
	return o
}

// Validate reports the first field that is out of range, with the value given and what would be right.
func (o Options) Validate() error {
	o = o.withDefaults()
	switch {
	case bits.OnesCount64(o.PageBytes) != 1 || o.PageBytes < MinPageBytes || o.PageBytes > MaxPageBytes:
		return fmt.Errorf("tsavorite: PageBytes is %d; it must be a power of two from %d to %d", o.PageBytes, MinPageBytes, MaxPageBytes)
	case o.MemoryBytes%o.PageBytes != 0 || o.MemoryBytes < MinPageCount*o.PageBytes:
		return fmt.Errorf("tsavorite: MemoryBytes is %d; it must be a multiple of PageBytes (%d) and at least %d of them: %d", o.MemoryBytes, o.PageBytes, MinPageCount, MinPageCount*o.PageBytes)
	case bits.OnesCount64(o.IndexBytes) != 1 || o.IndexBytes < MinIndexBytes || o.IndexBytes > MaxIndexBytes:
		return fmt.Errorf("tsavorite: IndexBytes is %d; it must be a power of two from %d to %d", o.IndexBytes, MinIndexBytes, uint64(MaxIndexBytes))
	case o.IndexMaxBytes < o.IndexBytes:
		return fmt.Errorf("tsavorite: IndexMaxBytes is %d; it must be at least IndexBytes (%d)", o.IndexMaxBytes, o.IndexBytes)
	case o.CompactionMaxDeadPercent < 1 || o.CompactionMaxDeadPercent > 100:
		return fmt.Errorf("tsavorite: CompactionMaxDeadPercent is %d; it must be from 1 to 100", o.CompactionMaxDeadPercent)
	case o.CompactionKind > ScanCompaction:
		return fmt.Errorf("tsavorite: CompactionKind is %d; it must be LookUpCompaction (%d) or ScanCompaction (%d)", o.CompactionKind, LookUpCompaction, ScanCompaction)
	case o.MaxDeviceBytes != 0 && o.MaxDeviceBytes < o.PageBytes:
		return fmt.Errorf("tsavorite: MaxDeviceBytes is %d; it must be 0 or at least PageBytes (%d)", o.MaxDeviceBytes, o.PageBytes)
	case o.MutablePercent < 1 || o.MutablePercent > 99:
		return fmt.Errorf("tsavorite: MutablePercent is %d; it must be from 1 to 99", o.MutablePercent)
	}
	if o.Device != nil {
		info := o.Device.Info()
		if info.SegmentSizeBytes < o.PageBytes {
			return fmt.Errorf("tsavorite: the device's segments are %d bytes; they must hold at least one page (%d)", info.SegmentSizeBytes, o.PageBytes)
		}
	}
	return nil
}
