package main

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/benchmark/pass"
	"github.com/pyropedb/pyrope/benchmark/report"
	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/open"
)

const (
	warmBytes        = 1 << 20 // of one read of the warming pass
	progressInterval = 2 * time.Second
)

// bench is one run of the program.
type bench struct {
	options     options
	output      io.Writer
	interrupted *atomic.Bool
	pause       time.Duration // between two configurations

	device device.Device
	info   device.Info
	rows   []row // results, in the order they were found
}

// run opens and fills the device and measures every configuration.
func (b *bench) run() (err error) {
	o := &b.options
	if b.device, err = open.Device(o.DeviceType, o.deviceOptions()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	b.info = b.device.Info()
	if uint64(o.SectorSize)%uint64(b.info.SectorSizeBytes) != 0 {
		return fmt.Errorf("--sector-size is %v; the device takes multiples of %d", o.SectorSize, b.info.SectorSizeBytes)
	}
	b.printConfiguration()
	if err := b.fill(); err != nil {
		return err
	}
	if o.Warm {
		if err := b.warm(); err != nil {
			return err
		}
	}
	err = b.measureAll()
	return errors.Join(err, report.Write(o.Files, b.output, "DEVICE-RESULT-JSON", b.rows))
}

// measureAll measures every configuration.
func (b *bench) measureAll() error {
	fmt.Fprintln(b.output, "Starting benchmark...")
	for i, threads := range b.options.Threads {
		for j, batchSize := range b.options.BatchSizes {
			if i+j > 0 {
				time.Sleep(b.pause)
			}
			if err := b.measure(threads, batchSize); err != nil {
				return err
			}
		}
	}
	return nil
}

// close removes the file, unless it is to be kept, and closes the device.
func (b *bench) close() error {
	var err error
	if !b.options.Keep {
		segment := uint64(b.options.SegmentSize)
		err = b.device.Truncate((uint64(b.options.FileSize) + segment - 1) / segment * segment)
	}
	return errors.Join(err, b.device.Close())
}

func (b *bench) printConfiguration() {
	o := &b.options
	fmt.Fprintln(b.output, "<<<<<<< Start Benchmark Configuration >>>>>>>>")
	for _, line := range []struct {
		name  string
		value any
	}{
		{"Device type", o.DeviceType}, {"Device", b.info.Kind}, {"Chosen because", b.info.Reason},
		{"File name", o.FileName}, {"File size", uint64(o.FileSize)}, {"Segment size", uint64(o.SegmentSize)},
		{"Sector size", uint64(o.SectorSize)}, {"Device sector size", b.info.SectorSizeBytes},
		{"Rings or workers", b.info.RingCount}, {"In-flight limit", b.info.InFlightLimit}, {"Completion threads", o.CompletionThreads},
		{"Inline completion", o.InlineCompletion}, {"Batch size", o.BatchSizes}, {"Threads", o.Threads},
		{"Runtime (s)", o.Runtime}, {"Warm", o.Warm}, {"Verify", o.Verify},
	} {
		fmt.Fprintf(b.output, "%s: %v\n", line.name, line.value)
	}
	fmt.Fprintln(b.output, "<<<<<<< End Benchmark Configuration >>>>>>>>")
}

// fill writes the whole file and syncs it.
func (b *bench) fill() error {
	fmt.Fprintln(b.output, "Filling device with test data...")
	if _, err := b.passOver(device.OpWrite, fillSectors*int(b.options.SectorSize)); err != nil {
		return fmt.Errorf("cannot fill the device: %w", err)
	}
	if err := b.device.Sync(); err != nil {
		return fmt.Errorf("cannot sync the device: %w", err)
	}
	return nil
}

// warm reads the whole file once and reports how long it took.
func (b *bench) warm() error {
	start := time.Now()
	n, err := b.passOver(device.OpRead, max(warmBytes, int(b.options.SectorSize)))
	if err != nil {
		return fmt.Errorf("cannot warm the device: %w", err)
	}
	seconds := time.Since(start).Seconds()
	fmt.Fprintf(b.output, "Warmed: read %d bytes once from end to end in %.2f s, %.2f MB/s\n", n, seconds, float64(n)/seconds/(1<<20))
	return nil
}

// passOver moves the whole file once, in blocks of so many bytes, and tells how far it is now and then.
func (b *bench) passOver(op device.Op, blockBytes int) (uint64, error) {
	size := uint64(b.options.FileSize)
	return pass.Pass{
		Device: b.device, Op: op, End: size, BlockBytes: blockBytes, Fill: fillContent, Check: b.checkTransfer,
		Interrupted: b.interrupted, Interval: progressInterval,
		Progress: func(moved uint64) {
			fmt.Fprintf(b.output, "  %d of %d bytes (%d%%)\n", moved, size, moved*100/size)
		},
	}.Run()
}

// checkTransfer reports a request that failed, came short, or, with --verify, read wrong bytes. The
// null device keeps nothing, so it has nothing to read.
func (b *bench) checkTransfer(r *device.Request) error {
	switch {
	case r.Err != nil:
		return r.Err
	case r.Op == device.OpRead && b.info.Kind == "null":
		return nil
	case r.Transferred != len(r.Buffer):
		return errShort
	case b.options.Verify && r.Op == device.OpRead:
		return checkContent(r.Buffer, r.Address)
	}
	return nil
}

var errShort = errors.New("fewer bytes were moved than asked for")
