package main

import (
	"fmt"
	"io"
	"math/bits"
	"path/filepath"
	"slices"

	"github.com/pyropedb/pyrope/benchmark/program"
	"github.com/pyropedb/pyrope/benchmark/report"
	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/server/config"
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
	program.Help

	FileName    string      `default:"temp/device-bench/test.dat" help:"File to read; its segments are FILE.0, FILE.1 and so on."`
	FileSize    config.Size `default:"1g" help:"Size of the file, a multiple of 1024 sectors."`
	SectorSize  config.Size `default:"512" help:"Bytes of a read, a power of two."`
	SegmentSize config.Size `default:"1g" help:"Size of a segment, a power of two."`
	Keep        bool        `help:"Leave the file there at the end."`

	DeviceType device.Kind `default:"Native" help:"Default, Native, RandomAccess, FileStream, LocalMemory or Null."`
	program.Device

	BatchSizes []int   `name:"batch-size" short:"b" default:"1024" help:"Reads outstanding a thread; a list is run one after another."`
	Threads    []int   `short:"t" default:"1,2,4,8,16,32" help:"Threads; a list is run one after another."`
	Runtime    float64 `default:"15" help:"Seconds of each configuration."`
	Warm       bool    `help:"Read the file once from end to end first, so that caches beneath it are in the same state."`
	Verify     bool    `help:"Check every byte that is read; exit with 2 on a difference."`

	report.Files
}

// parseOptions reads the command line and checks it. Help goes to stdout.
func parseOptions(args []string, stdout io.Writer) (options, error) {
	var o options
	err := program.Parse("device-bench", "Measures a device by random reads.", &o, args, stdout)
	return o, err
}

// Check reports the first option that is out of range or does not go with the others.
func (o *options) Check() error {
	switch {
	case bits.OnesCount64(uint64(o.SectorSize)) != 1 || o.SectorSize > maxSectorBytes:
		return fmt.Errorf("--sector-size is %v; it must be a power of two up to %d", o.SectorSize, maxSectorBytes)
	case o.FileSize == 0 || o.FileSize%(fillSectors*o.SectorSize) != 0:
		return fmt.Errorf("FileSize must be a perfect multiple of the temporary buffer size (%d sectors). --file-size is %d; %d would be right",
			fillSectors, uint64(o.FileSize), uint64(max(o.FileSize/(fillSectors*o.SectorSize), 1)*fillSectors*o.SectorSize))
	case o.SegmentSize < o.SectorSize:
		return fmt.Errorf("--segment-size is %v; it must be at least --sector-size (%v)", o.SegmentSize, o.SectorSize)
	case !(o.Runtime > 0):
		return fmt.Errorf("--runtime is %v; it must be more than 0", o.Runtime)
	case len(o.Threads) == 0 || slices.Min(o.Threads) < 1 || slices.Max(o.Threads) > maxThreads:
		return fmt.Errorf("--threads is %v; it must be a list of counts from 1 to %d", o.Threads, maxThreads)
	case len(o.BatchSizes) == 0 || slices.Min(o.BatchSizes) < 1 || slices.Max(o.BatchSizes) > maxBatch:
		return fmt.Errorf("--batch-size is %v; it must be a list of counts from 1 to %d", o.BatchSizes, maxBatch)
	}
	return o.deviceOptions().Validate()
}

// deviceOptions are the device's part of the options.
func (o *options) deviceOptions() device.Options {
	d := o.Device.Options(uint64(o.SegmentSize))
	d.Directory, d.FileName = filepath.Dir(o.FileName), filepath.Base(o.FileName)
	return d
}
