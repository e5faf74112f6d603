package ring

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
	"github.com/pyropedb/pyrope/device/internal/segment"
)

const (
	defaultDepth  = 1024
	maxRings      = 16 // by default
	smallestDepth = 4
	// comfortableDepth is the depth down to which rings shrink before their number does.
	comfortableDepth = 64
	// probeTries is how often the probe asks a busy kernel again.
	probeTries = 1000
)

// Driver makes one sort of kernel ring.
type Driver struct {
	Kind       string
	DirectFlag int // added when segment files are opened, to go past the page cache
	// OpenKernel makes a ring for depth operations at once.
	OpenKernel func(depth int) (Kernel, error)
	// IsTooLarge says that OpenKernel's error may go away with a smaller depth.
	IsTooLarge func(error) bool
	// Explain adds to OpenKernel's error what its likely cause is.
	Explain func(error) error
}

// Open makes the rings that o asks for, proves with a small write and read that they work in o's
// directory, and opens the segment files. Rings that do not fit the system's limits are made
// smaller, which Info().Reason tells.
func Open(driver Driver, o device.Options) (*Device, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.WithDefaults()
	plan, err := newPlan(o)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Directory, 0o755); err != nil {
		return nil, fmt.Errorf("cannot open the %s device: %w", driver.Kind, err)
	}
	kernels, reason, err := plan.openKernels(driver)
	if err != nil {
		return nil, fmt.Errorf("cannot open the %s device: %w", driver.Kind, driver.Explain(err))
	}
	sectorSizeBytes, err := probe(driver, kernels[0], o)
	if err == nil {
		var files *segment.Files
		if files, err = segment.Open(o, driver.DirectFlag); err == nil {
			return newDevice(device.Info{
				Kind: driver.Kind, Reason: reason, SectorSizeBytes: sectorSizeBytes, SegmentSizeBytes: o.SegmentSizeBytes,
				FileName: o.FileName, InFlightLimit: plan.limit, RingCount: plan.rings,
			}, files, kernels, o.CompletionThreads), nil
		}
	}
	return nil, errors.Join(fmt.Errorf("cannot open the %s device: %w", driver.Kind, err), closeKernels(kernels))
}

// plan is how many rings there are (N), how deep each is (D), and how many requests are in flight
// in all (T ≤ N × D).
type plan struct{ rings, depth, limit int }

// newPlan fills in the defaults: the number that was not given follows from those that were.
func newPlan(o device.Options) (plan, error) {
	p := plan{rings: o.IOContexts, depth: o.QueueDepth, limit: o.ThrottleLimit}
	if p.rings == 0 {
		p.rings = o.CompletionThreads
		if p.rings == 0 {
			p.rings = min(runtime.NumCPU(), maxRings)
		}
		if p.limit > 0 {
			p.rings = min(p.rings, p.limit)
		}
	}
	if p.depth == 0 {
		p.depth = max(defaultDepth, (p.limit+p.rings-1)/p.rings)
	}
	if p.depth > device.MaxQueueDepth || p.limit > p.rings*p.depth {
		return p, fmt.Errorf("device: ThrottleLimit is %d; it must not exceed IOContexts × QueueDepth (%d × %d = %d)",
			p.limit, p.rings, min(p.depth, device.MaxQueueDepth), p.rings*min(p.depth, device.MaxQueueDepth))
	}
	if p.limit == 0 {
		p.limit = p.rings * p.depth
	}
	return p, nil
}

// openKernels makes the rings, smaller ones or fewer where the system refuses.
func (p *plan) openKernels(driver Driver) (kernels []Kernel, reason string, err error) {
	asked := *p
	for {
		kernels, err = openAll(driver, p.rings, p.depth)
		if err == nil {
			break
		}
		if !driver.IsTooLarge(err) || !p.shrink() {
			return nil, "", err
		}
		reason = fmt.Sprintf("asked for; %d rings of %d instead of %d of %d: %v", p.rings, p.depth, asked.rings, asked.depth, driver.Explain(err))
	}
	if reason == "" {
		reason = "asked for"
	}
	p.limit = min(p.limit, p.rings*p.depth)
	return kernels, reason, nil
}

// shrink halves the depth, then the number of rings, then the depth again.
func (p *plan) shrink() bool {
	switch {
	case p.depth > comfortableDepth:
		p.depth = max(p.depth/2, comfortableDepth)
	case p.rings > 1:
		p.rings /= 2
	case p.depth > smallestDepth:
		p.depth = max(p.depth/2, smallestDepth)
	default:
		return false
	}
	return true
}

func openAll(driver Driver, rings, depth int) ([]Kernel, error) {
	kernels := make([]Kernel, 0, rings)
	for range rings {
		kernel, err := driver.OpenKernel(depth)
		if err != nil {
			return nil, errors.Join(err, closeKernels(kernels))
		}
		kernels = append(kernels, kernel)
	}
	return kernels, nil
}

func closeKernels(kernels []Kernel) error {
	var failures []error
	for _, kernel := range kernels {
		failures = append(failures, kernel.Close())
	}
	return errors.Join(failures...)
}

// probe writes a sector through the kernel's ring to a file of its own in o's directory, reads it
// back, and returns the sector size: the one asked for, or the smallest that the file system takes.
func probe(driver Driver, kernel Kernel, o device.Options) (sectorSizeBytes int, err error) {
	path := filepath.Join(o.Directory, fmt.Sprintf("%s.probe-%d", o.FileName, os.Getpid()))
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC|driver.DirectFlag, 0o644)
	if err != nil {
		if errors.Is(err, syscall.EINVAL) {
			return 0, fmt.Errorf("the file system refuses direct I/O: %w", err)
		}
		return 0, fmt.Errorf("cannot make a file in the device's directory: %w", err)
	}
	defer func() {
		_ = file.Close()
		err = errors.Join(err, os.Remove(path))
	}()
	area, err := aligned.Map(2 * device.MaxSectorBytes)
	if err != nil {
		return 0, err
	}
	defer func() { _ = aligned.Unmap(area) }()
	candidates := []int{512, 4096}
	if o.SectorSizeBytes != 0 {
		candidates = []int{o.SectorSizeBytes}
	}
	for _, size := range candidates {
		written, read := area[:size], area[device.MaxSectorBytes:device.MaxSectorBytes+size]
		for i := range written {
			written[i] = byte(i*7 + size>>9)
		}
		if err = roundTrip(kernel, int(file.Fd()), written, read); err == nil {
			return size, nil
		}
	}
	return 0, fmt.Errorf("direct I/O in sectors of %v bytes does not work in %s: %w", candidates, o.Directory, err)
}

func roundTrip(kernel Kernel, descriptor int, written, read []byte) error {
	if err := moveOne(kernel, Operation{Op: device.OpWrite, Descriptor: descriptor, Memory: written}); err != nil {
		return err
	}
	if err := moveOne(kernel, Operation{Op: device.OpRead, Descriptor: descriptor, Memory: read}); err != nil {
		return err
	}
	if !bytes.Equal(written, read) {
		return errors.New("what was written does not read back")
	}
	return nil
}

// moveOne carries out one operation by itself.
func moveOne(kernel Kernel, o Operation) error {
	kernel.Stage(o)
	var completions [1]Completion
	for tries, n := 0, 0; n == 0; tries++ {
		err := kernel.Submit(false)
		if n = copy(completions[:], kernel.Refused()); n > 0 {
			break
		}
		if err == nil {
			err = kernel.Wait(1)
		}
		if err != nil && (err != ErrBusy || tries == probeTries) {
			return fmt.Errorf("cannot %s %d bytes: %w", o.Op, len(o.Memory), err)
		}
		if err == ErrBusy {
			time.Sleep(busyPause)
		}
		n = kernel.Reap(completions[:])
	}
	switch result := completions[0].Result; {
	case result < 0:
		return fmt.Errorf("cannot %s %d bytes: %w", o.Op, len(o.Memory), syscall.Errno(-result))
	case int(result) != len(o.Memory):
		return fmt.Errorf("cannot %s %d bytes: only %d were moved", o.Op, len(o.Memory), result)
	}
	return nil
}
