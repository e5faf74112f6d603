package log

import (
	"fmt"

	"github.com/pyropedb/pyrope/device"
)

// Address is a place in the log.
type Address uint64

// Bounds of the sizes in Options.
const (
	MinPageBytes = 4 << 10
	MaxPageBytes = 64 << 20
	// MaxEntryBytes is the longest entry: a value of 512 MB, its key, and what describes them.
	MaxEntryBytes = 512<<20 + 32<<20

	defaultPageBytes   = 1 << 20
	defaultMemoryPages = 32
)

// Options says where a log lies and what it may hold in memory. Only the device must be given.
type Options struct {
	// Device holds the log. It takes any alignment: its sector size is 1. The caller closes it after the log.
	Device device.Device
	// PageBytes is the longest block, a power of two from 4 KiB to 64 MiB and at most a segment; 0 is 1 MiB, or a
	// segment if that is less. It bounds what a crash between two commits can cost, not the length of entries.
	PageBytes int
	// MemoryBytes bounds the entries that are not written yet; at least two pages. 0 is 32 pages.
	MemoryBytes int
	// Replay gets every entry that Open finds, in order; its bytes are valid during the call. An error ends Open.
	// nil is none.
	Replay func(at Address, entry []byte) error
	// Progress is told by Open now and then how much of the log was read, in bytes. nil is none.
	Progress func(read, total uint64)
}

func (o Options) withDefaults() Options {
	segment := o.Device.Info().SegmentSizeBytes
	if o.PageBytes == 0 {
		o.PageBytes = int(min(defaultPageBytes, segment))
	}
	if o.MemoryBytes == 0 {
		o.MemoryBytes = defaultMemoryPages * o.PageBytes
	}
	if o.Replay == nil {
		o.Replay = func(Address, []byte) error { return nil }
	}
	if o.Progress == nil {
		o.Progress = func(uint64, uint64) {}
	}
	return o
}

// Validate reports the first field that is out of range, with the value given and what would be right.
func (o Options) Validate() error {
	if o.Device == nil {
		return fmt.Errorf("log: Device is nil; it must be given")
	}
	info := o.Device.Info()
	o = o.withDefaults()
	switch {
	case info.SectorSizeBytes != 1:
		return fmt.Errorf("log: the sector size of the device is %d; it must be 1", info.SectorSizeBytes)
	case o.PageBytes < MinPageBytes || o.PageBytes > MaxPageBytes || o.PageBytes&(o.PageBytes-1) != 0:
		return fmt.Errorf("log: PageBytes is %d; it must be a power of two from %d to %d", o.PageBytes, MinPageBytes, MaxPageBytes)
	case uint64(o.PageBytes) > info.SegmentSizeBytes:
		return fmt.Errorf("log: PageBytes is %d; it must not exceed the device's segments (%d)", o.PageBytes, info.SegmentSizeBytes)
	case o.MemoryBytes < 2*o.PageBytes:
		return fmt.Errorf("log: MemoryBytes is %d; it must be at least two pages: %d", o.MemoryBytes, 2*o.PageBytes)
	}
	return nil
}
