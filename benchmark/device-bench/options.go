package main

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"path/filepath"

	"github.com/alecthomas/kong"
	"github.com/pyropedb/pyrope/benchmark/size"
	"github.com/pyropedb/pyrope/device"
)

// fillSectors is how many sectors are written at once when the file is filled.
const fillSectors = 1024

// Bounds of the options.
const (
	maxThreads     = 1024
	maxBatch       = 1 << 20
	maxSectorBytes = 1 << 20
)

// options are the flags of the program.
type options struct {
	Help helpFlag `help:"Show this help and exit."`

	FileName    string     `default:"temp/device-bench/test.dat" help:"File to read; its segments are FILE.0, FILE.1 and so on."`
	FileSize    size.Bytes `default:"1g" help:"Size of the file, a multiple of 1024 sectors."`
	SectorSize  size.Bytes `default:"512" help:"Bytes of a read, a power of two."`
	SegmentSize size.Bytes `default:"1g" help:"Size of a segment, a power of two."`
	Keep        bool       `help:"Leave the file there at the end."`

	DeviceType        device.Kind    `default:"Native" help:"Default, Native, RandomAccess, FileStream, LocalMemory or Null."`
	IOBackend         device.Backend `name:"device-io-backend" default:"Default" help:"Kernel interface of a Native device: Default (Libaio), Libaio or Uring."`
	CompletionThreads int            `name:"device-completion-threads" default:"0" help:"Completion threads or workers; 0 is the device's default."`
	IOContexts        int            `name:"device-io-contexts" default:"0" help:"Kernel rings; 0 is the device's default."`
	QueueDepth        int            `name:"device-queue-depth" default:"0" help:"Depth of a kernel ring; 0 is the device's default."`
	ThrottleLimit     int            `name:"device-throttle-limit" default:"0" help:"Reads in flight at once; 0 is what the rings hold."`
	InlineCompletion  bool           `name:"device-inline-completion" help:"Complete on the submitting thread (LocalMemory)."`

	BatchSizes []int   `name:"batch-size" short:"b" default:"1024" help:"Reads outstanding a thread; a list is run one after another."`
	Threads    []int   `short:"t" default:"1,2,4,8,16,32" help:"Threads; a list is run one after another."`
	Runtime    float64 `default:"15" help:"Seconds of each configuration."`
	Warm       bool    `help:"Read the file once from end to end first, so that caches beneath it are in the same state."`
	Verify     bool    `help:"Check every byte that is read."`
}

// helpFlag shows the help and ends the parse.
type helpFlag bool

// BeforeReset runs before other flags are looked at.
func (helpFlag) BeforeReset(c *kong.Context) error {
	if err := c.PrintUsage(false); err != nil {
		return err
	}
	return errHelpShown
}

// parseOptions reads the command line and checks it. Help goes to stdout.
func parseOptions(args []string, stdout io.Writer) (options, error) {
	var o options
	parser, err := kong.New(&o, kong.Name("device-bench"), kong.Description("Measures a device by random reads."),
		kong.NoDefaultHelp(), kong.Writers(stdout, stdout))
	if err != nil {
		return o, err
	}
	if _, err := parser.Parse(args); err != nil {
		if errors.Is(err, errHelpShown) {
			return o, errHelpShown
		}
		return o, err
	}
	return o, o.validate()
}

// validate reports the first option that is out of range or does not go with the others.
func (o *options) validate() error {
	switch {
	case bits.OnesCount64(uint64(o.SectorSize)) != 1 || o.SectorSize > maxSectorBytes:
		return fmt.Errorf("--sector-size is %d; it must be a power of two up to %d", o.SectorSize, maxSectorBytes)
	case o.FileSize == 0 || o.FileSize%(fillSectors*o.SectorSize) != 0:
		return fmt.Errorf("FileSize must be a perfect multiple of the temporary buffer size (%d sectors). --file-size is %d; %d would be right",
			fillSectors, o.FileSize, max(o.FileSize/(fillSectors*o.SectorSize), 1)*fillSectors*o.SectorSize)
	case o.SegmentSize < o.SectorSize:
		return fmt.Errorf("--segment-size is %d; it must be at least --sector-size (%d)", o.SegmentSize, o.SectorSize)
	case !(o.Runtime > 0):
		return fmt.Errorf("--runtime is %v; it must be more than 0", o.Runtime)
	case len(o.Threads) == 0 || len(o.BatchSizes) == 0:
		return errors.New("--threads and --batch-size must each name at least one count")
	}
	for _, n := range o.Threads {
		if n < 1 || n > maxThreads {
			return fmt.Errorf("--threads is %v; each count must be from 1 to %d", o.Threads, maxThreads)
		}
	}
	for _, n := range o.BatchSizes {
		if n < 1 || n > maxBatch {
			return fmt.Errorf("--batch-size is %v; each must be from 1 to %d", o.BatchSizes, maxBatch)
		}
	}
	return o.deviceOptions().Validate()
}

// deviceOptions are the device's part of the options. The file is always written afresh.
func (o *options) deviceOptions() device.Options {
	return device.Options{
		Directory:         filepath.Dir(o.FileName),
		FileName:          filepath.Base(o.FileName),
		Fresh:             true,
		SegmentSizeBytes:  uint64(o.SegmentSize),
		Backend:           o.IOBackend,
		CompletionThreads: o.CompletionThreads,
		IOContexts:        o.IOContexts,
		QueueDepth:        o.QueueDepth,
		ThrottleLimit:     o.ThrottleLimit,
		InlineCompletion:  o.InlineCompletion,
	}
}
