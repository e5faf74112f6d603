package device

import (
	"fmt"
	"math/bits"
	"strings"
)

// Kind names an implementation, or a way to choose one. It reads from text, whatever the case.
type Kind uint8

// The kinds.
const (
	Default      Kind = iota // the best of io_uring, libaio and file that works here
	Native                   // libaio or io_uring, as Options.Backend says
	RandomAccess             // file
	FileStream               // file
	LocalMemory              // RAM
	Null                     // keeps nothing
)

var kindNames = [...]string{"Default", "Native", "RandomAccess", "FileStream", "LocalMemory", "Null"}

// String returns the name as the option writes it.
func (k Kind) String() string { return kindNames[k] }

// UnmarshalText sets k from its name.
func (k *Kind) UnmarshalText(text []byte) error {
	for i, name := range kindNames {
		if strings.EqualFold(string(text), name) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("device-type is %q; it must be one of %s", text, strings.Join(kindNames[:], ", "))
}

// Backend is the kernel interface of a Native device.
type Backend uint8

// The backends.
const (
	BackendDefault Backend = iota // Libaio
	Libaio
	Uring
)

var backendNames = [...]string{"Default", "Libaio", "Uring"}

// String returns the name as the option writes it.
func (b Backend) String() string { return backendNames[b] }

// UnmarshalText sets b from its name.
func (b *Backend) UnmarshalText(text []byte) error {
	for i, name := range backendNames {
		if strings.EqualFold(string(text), name) {
			*b = Backend(i)
			return nil
		}
	}
	return fmt.Errorf("device-io-backend is %q; it must be one of %s", text, strings.Join(backendNames[:], ", "))
}

// Bounds of the numbers in Options.
const (
	MinSegmentBytes      = 1 << 12
	MaxSegmentBytes      = 1 << 46
	MaxSectorBytes       = 1 << 16
	MaxCompletionThreads = 64
	MaxIOContexts        = 4096
	MaxQueueDepth        = 32768
	MaxThrottleLimit     = 65536

	defaultSegmentBytes = 1 << 30
	defaultFileName     = "hlog"
)

// Options says where a device keeps its bytes and how it moves them. The zero value is usable: the
// working directory, segments of 1 GiB, and each kind's defaults.
type Options struct {
	// Directory holds the segment files; it is made if need be. "" is the working directory.
	Directory string
	// FileName is what segment files begin with: segment i is the file FileName.i. "" is hlog.
	FileName string
	// Fresh removes the segment files of that name which Directory holds. Otherwise they are the
	// device's present content, and the lowest of them is where its addresses begin.
	Fresh bool
	// SegmentSizeBytes is a power of two in [4 KiB, 64 TiB], at least one sector. 0 is 1 GiB.
	SegmentSizeBytes uint64
	// SectorSizeBytes is the alignment of requests, a power of two up to 64 KiB. 0 is 1, and for
	// libaio and io_uring the smallest of 512 and 4096 that the file system takes.
	SectorSizeBytes int
	// Backend is the kernel interface of a Native device.
	Backend Backend
	// CompletionThreads is, for libaio and io_uring, the number of goroutines that wait for
	// completions, at most one a ring; 0 is none: whoever polls waits. For file it is the number of
	// workers, 0 is 8. For LocalMemory it is the number of workers, 0 is one a core.
	CompletionThreads int
	// IOContexts is the number of kernel rings, up to 4096. 0 is CompletionThreads, or one a core up to 16.
	IOContexts int
	// QueueDepth is the number of requests a kernel ring holds at once, up to 32768. 0 is 1024.
	QueueDepth int
	// ThrottleLimit is the number of requests in flight at once, at most IOContexts × QueueDepth. 0 is no limit but that.
	ThrottleLimit int
	// InlineCompletion makes LocalMemory complete requests within Submit.
	InlineCompletion bool
}

// WithDefaults returns o with the fields set whose default is the same for every kind.
func (o Options) WithDefaults() Options {
	if o.Directory == "" {
		o.Directory = "."
	}
	if o.FileName == "" {
		o.FileName = defaultFileName
	}
	if o.SegmentSizeBytes == 0 {
		o.SegmentSizeBytes = defaultSegmentBytes
	}
	return o
}

// Validate reports the first field that is out of range, with the value given and what would be right.
func (o Options) Validate() error {
	o = o.WithDefaults()
	if strings.ContainsAny(o.FileName, "/\\") {
		return fmt.Errorf("device: FileName is %q; it must not contain a slash (the path goes into Directory)", o.FileName)
	}
	if bits.OnesCount64(o.SegmentSizeBytes) != 1 || o.SegmentSizeBytes < MinSegmentBytes || o.SegmentSizeBytes > MaxSegmentBytes {
		return fmt.Errorf("device: SegmentSizeBytes is %d; it must be a power of two from %d to %d", o.SegmentSizeBytes, uint64(MinSegmentBytes), uint64(MaxSegmentBytes))
	}
	if o.SectorSizeBytes != 0 && (bits.OnesCount64(uint64(o.SectorSizeBytes)) != 1 || o.SectorSizeBytes < 0 || o.SectorSizeBytes > MaxSectorBytes) {
		return fmt.Errorf("device: SectorSizeBytes is %d; it must be 0 or a power of two up to %d", o.SectorSizeBytes, MaxSectorBytes)
	}
	if uint64(o.SectorSizeBytes) > o.SegmentSizeBytes {
		return fmt.Errorf("device: SectorSizeBytes is %d; it must not exceed SegmentSizeBytes (%d)", o.SectorSizeBytes, o.SegmentSizeBytes)
	}
	for _, field := range []struct {
		name       string
		value, max int
	}{
		{"CompletionThreads", o.CompletionThreads, MaxCompletionThreads},
		{"IOContexts", o.IOContexts, MaxIOContexts},
		{"QueueDepth", o.QueueDepth, MaxQueueDepth},
		{"ThrottleLimit", o.ThrottleLimit, MaxThrottleLimit},
	} {
		if field.value < 0 || field.value > field.max {
			return fmt.Errorf("device: %s is %d; it must be from 0 (default) to %d", field.name, field.value, field.max)
		}
	}
	return o.validateThrottle()
}

// validateThrottle checks T ≤ N × D and T ≥ N where the fields concerned are given.
func (o Options) validateThrottle() error {
	if o.ThrottleLimit == 0 || o.IOContexts == 0 {
		return nil
	}
	if o.ThrottleLimit < o.IOContexts {
		return fmt.Errorf("device: ThrottleLimit is %d; it must be 0 or at least IOContexts (%d), one request a ring", o.ThrottleLimit, o.IOContexts)
	}
	if o.QueueDepth != 0 && o.ThrottleLimit > o.IOContexts*o.QueueDepth {
		return fmt.Errorf("device: ThrottleLimit is %d; it must not exceed IOContexts × QueueDepth (%d × %d = %d)", o.ThrottleLimit, o.IOContexts, o.QueueDepth, o.IOContexts*o.QueueDepth)
	}
	return nil
}
