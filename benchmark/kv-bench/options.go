package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/pyropedb/pyrope/benchmark/program"
	"github.com/pyropedb/pyrope/benchmark/report"
	"github.com/pyropedb/pyrope/benchmark/workload"
	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/tsavorite"
)

// Bounds of the options.
const (
	minValueBytes = 8 // RMW counts in the first eight
	maxValueBytes = 1 << 20
	maxKeys       = 1 << 40
	maxThreads    = 1024
	maxBatch      = 1 << 20
)

// options are the flags of the program.
type options struct {
	program.Help

	Threads     int   `short:"t" default:"1" help:"Workers of the run phase."`
	LoadThreads int   `default:"0" help:"Workers of the load phase; 0 is as many as --threads."`
	Sweep       []int `name:"run-threads-sweep" placeholder:"T,..." help:"Worker counts to run with, one after another, on one loaded store."`

	Keys         uint64      `short:"n" default:"0" help:"Number of keys; 0 is 100,000,000, or 2,000,000 with --preset 2M."`
	ValueSize    int         `short:"v" default:"100" help:"Bytes of a value."`
	ValueSizeMax config.Size `default:"0" placeholder:"BYTES" help:"Sizes of values go up to this, log-uniformly, each key's by its number; 0 gives all --value-size."`
	Preset       []string    `placeholder:"A" help:"A workload of YCSB, which sets --rumd and --distribution where they are not given: A, B, C, D or F; 2M sets --keys. Both: 2M,A."`
	Mix          mix         `name:"rumd" placeholder:"R,U,M,D" help:"Percentages of reads, upserts, RMWs and deletes; 100,0,0,0 without a preset."`
	Distribution string      `short:"d" placeholder:"NAME" help:"How keys are chosen: uniform (without a preset), zipf, or latest: zipf from the newest key on, and upserts add keys."`
	ZipfTheta    float64     `default:"0.99" help:"Skew of zipf, from 0 to below 1."`
	RunSeconds   float64     `name:"runsec" default:"30" help:"Seconds of the measured window."`
	WarmupSecs   float64     `name:"warmup-sec" default:"5" help:"Seconds that are run before the window and discarded."`
	Batch        int         `name:"batch-size" short:"b" default:"1024" help:"Operations between looks at the stop flag; also the keys of a batched read."`
	Seed         uint64      `short:"s" default:"211" help:"Seed of the key and operation choice."`
	Iterations   int         `short:"i" default:"1" help:"Runs for each worker count."`
	ReadMode     string      `default:"auto" enum:"auto,batch,async,single" help:"How reads are asked for: batch, async or single (which prefetches nothing, for writes neither); auto is batch in memory and async with data on the device."`

	HashPack    float64     `name:"hashpack" default:"2.0" help:"Keys an index bucket; sets the size of the index."`
	IndexSize   config.Size `default:"0" help:"Size of the index, a power of two; 0 follows --hashpack."`
	LogMemory   string      `default:"auto" help:"Memory of the log; auto holds all keys if there is enough."`
	Preallocate bool        `name:"preallocate-log" help:"Touch the memory of the log before the load, so that no page of it faults while something is measured."`
	PageSize    config.Size `default:"0" help:"Size of a log page; 0 is 16m, or less so that --log-memory holds four."`
	SegmentSize config.Size `default:"1GB" help:"Size of a device segment."`

	DeviceName string `name:"device" default:"default" help:"${devices}."`
	program.Device
	DataPath  string `default:"temp/kv-benchmark" help:"Directory that holds the run's directory."`
	CopyReads bool   `name:"copy-reads-to-tail" help:"Copy records that were read from the device to the tail of the log, so that hot ones come back to memory."`
	Warm      bool   `help:"Read the device once from end to end before the first run, so that caches beneath it are in the same state."`
	NoNumaPin bool   `help:"Do not pin workers to processors where there is more than one NUMA node."`
	NumaNode  int    `default:"0" help:"The NUMA node whose processors workers are pinned to first."`

	Validate         bool    `help:"Check every byte of every value instead of timing; exit with 2 on a difference."`
	DumpDistribution bool    `help:"Print how full the buckets of the index are after the load."`
	ReportInterval   float64 `name:"report-interval-sec" default:"0" help:"Seconds between progress lines during a run; 0 is none."`
	GCEvery          float64 `name:"gc-every" default:"0" placeholder:"SECONDS" help:"Force a garbage collection so often within the window, to see the pauses; 0 leaves it to the runtime."`
	Quiet            bool    `help:"Print the results only."`
	report.Files
}

// parseOptions reads the command line and checks it. Help goes to stdout.
func parseOptions(args []string, stdout io.Writer) (options, error) {
	var o options
	err := program.Parse("kv-bench", "Measures the key-value engine without a server.", &o, args, stdout,
		kong.Vars{"devices": "Where the log spills to: " + strings.Join(deviceNames(), ", ")})
	return o, err
}

// Check settles the workload and reports the first option that is out of range or does not go
// with the others.
func (o *options) Check() error {
	if err := o.settleWorkload(); err != nil {
		return err
	}
	switch {
	case o.Threads < 1 || o.Threads > maxThreads:
		return fmt.Errorf("--threads is %d; it must be from 1 to %d", o.Threads, maxThreads)
	case o.LoadThreads < 0 || o.LoadThreads > maxThreads:
		return fmt.Errorf("--load-threads is %d; it must be from 0 to %d", o.LoadThreads, maxThreads)
	case len(o.Sweep) > 0 && (slices.Min(o.Sweep) < 1 || slices.Max(o.Sweep) > maxThreads):
		return fmt.Errorf("--run-threads-sweep is %v; each count must be from 1 to %d", o.Sweep, maxThreads)
	case o.Keys < 1 || o.Keys > maxKeys:
		return fmt.Errorf("--keys is %d; it must be from 1 to %d", o.Keys, uint64(maxKeys))
	case o.ValueSize < minValueBytes || o.ValueSize > maxValueBytes:
		return fmt.Errorf("--value-size is %d; it must be from %d to %d", o.ValueSize, minValueBytes, maxValueBytes)
	case o.ValueSizeMax != 0 && (o.ValueSizeMax < config.Size(o.ValueSize) || o.ValueSizeMax > maxValueBytes):
		return fmt.Errorf("--value-size-max is %v; it must be 0 or from --value-size (%d) to %d", o.ValueSizeMax, o.ValueSize, maxValueBytes)
	case !(o.ZipfTheta >= 0 && o.ZipfTheta < 1):
		return fmt.Errorf("--zipf-theta is %v; it must be at least 0 and less than 1", o.ZipfTheta)
	case o.NumaNode < 0:
		return fmt.Errorf("--numa-node is %d; it must not be negative", o.NumaNode)
	case !(o.RunSeconds > 0):
		return fmt.Errorf("--runsec is %v; it must be more than 0", o.RunSeconds)
	case !(o.WarmupSecs >= 0):
		return fmt.Errorf("--warmup-sec is %v; it must not be negative", o.WarmupSecs)
	case o.Batch < 1 || o.Batch > maxBatch:
		return fmt.Errorf("--batch-size is %d; it must be from 1 to %d", o.Batch, maxBatch)
	case o.Iterations < 1:
		return fmt.Errorf("--iterations is %d; it must be at least 1", o.Iterations)
	case !(o.HashPack > 0):
		return fmt.Errorf("--hashpack is %v; it must be more than 0", o.HashPack)
	case !(o.ReportInterval >= 0):
		return fmt.Errorf("--report-interval-sec is %v; it must not be negative", o.ReportInterval)
	case !(o.GCEvery >= 0):
		return fmt.Errorf("--gc-every is %v; it must not be negative", o.GCEvery)
	}
	return o.validateStore()
}

// validateStore checks what sizes the store and names the device.
func (o *options) validateStore() error {
	if o.LogMemory != autoMemory {
		if _, err := config.ParseSize(o.LogMemory); err != nil {
			return fmt.Errorf("--log-memory: %w", err)
		}
	}
	o.fitPage()
	if n := uint64(o.PageSize); n&(n-1) != 0 || n < tsavorite.MinPageBytes || n > tsavorite.MaxPageBytes {
		return fmt.Errorf("--page-size is %v; it must be a power of two from %d to %d bytes", o.PageSize, tsavorite.MinPageBytes, tsavorite.MaxPageBytes)
	}
	if most := o.sizes().Most(); recordBytes(most) > int(o.PageSize) {
		return fmt.Errorf("--page-size is %v; a record of %d bytes of value takes %d bytes and must fit into a page", o.PageSize, most, recordBytes(most))
	}
	if _, err := o.computeSizes(0); err != nil {
		return err
	}
	if o.SegmentSize < o.PageSize {
		return fmt.Errorf("--segment-size is %v; it must be at least --page-size (%v)", o.SegmentSize, o.PageSize)
	}
	if n := uint64(o.IndexSize); n != 0 && (n&(n-1) != 0 || n < tsavorite.MinIndexBytes || n > tsavorite.MaxIndexBytes) {
		return fmt.Errorf("--index-size is %v; it must be a power of two from %d to %d bytes", o.IndexSize, tsavorite.MinIndexBytes, uint64(tsavorite.MaxIndexBytes))
	}
	if _, _, err := o.deviceKind(); err != nil {
		return err
	}
	return o.deviceOptions("").Validate()
}

// sizes are those of the values; Check has seen that there are such.
func (o *options) sizes() workload.Sizes {
	s, _ := workload.NewSizes(o.ValueSize, int(o.ValueSizeMax))
	return s
}

// WhyNot tells why an option of the tool whose output this program follows is not here.
func (o *options) WhyNot(flag string) string {
	return map[string]string{
		"no-threadpool-tune": "there is no thread pool: Go sizes its own",
		"pool-stats":         "buffers for device reads belong to sessions and are bounded by the reads in flight",
		"pool-budget":        "buffers for device reads belong to sessions and are bounded by the reads in flight",
	}[flag]
}

// loadThreads is the number of workers that load.
func (o *options) loadThreads() int {
	if o.LoadThreads > 0 {
		return o.LoadThreads
	}
	return o.Threads
}

// runThreads lists the worker counts to run with.
func (o *options) runThreads() []int {
	if len(o.Sweep) > 0 {
		return o.Sweep
	}
	return []int{o.Threads}
}

// deviceOptions are what package device is told; directory holds the segment files.
func (o *options) deviceOptions(directory string) device.Options {
	d := o.Device.Options(uint64(o.SegmentSize))
	d.Directory = directory
	_, d.Backend, _ = o.deviceKind()
	return d
}
