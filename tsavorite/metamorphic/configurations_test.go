package metamorphic

import (
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/faultdev"
	"github.com/pyropedb/pyrope/device/file"
	"github.com/pyropedb/pyrope/device/libaio"
	"github.com/pyropedb/pyrope/device/localmemory"
	"github.com/pyropedb/pyrope/device/null"
	"github.com/pyropedb/pyrope/device/uring"
	"github.com/pyropedb/pyrope/tsavorite"
)

// configuration is one way to set a store up.
type configuration struct {
	name    string
	options tsavorite.Options
	open    func(t *testing.T) device.Device // nil is a store without a device
	lossy   bool                             // records may be dropped
	spills  bool                             // so little memory that reads must go to the device
	moves   bool                             // records move by themselves: a scan may visit them twice
	forced  bool                             // the device is compacted all the time
	slow    int                              // the operations are divided by this; 0 is 1
	faulty  bool                             // the device is a faultdev.Device whose operations fail now and then
}

// lasts says that a checkpoint brings every record back, and can be taken at any time.
func (c *configuration) lasts() bool {
	return !c.lossy && !c.faulty && c.name != "null,roomy"
}

const (
	tinyPage  = 4 << 10
	tinyLog   = 3 * tinyPage
	tinyIndex = 512 // eight buckets: chains overflow and tags collide
)

// configurations lists the ways that the operations run under.
func configurations(t *testing.T) []configuration {
	const plenty = 64 << 20
	tiny := tsavorite.Options{MemoryBytes: tinyLog, PageBytes: tinyPage, IndexBytes: tinyIndex, IndexMaxBytes: tinyIndex}
	growing := tiny
	growing.IndexMaxBytes = 0
	list := []configuration{
		{name: "memory", options: tsavorite.Options{MemoryBytes: plenty}},
		{name: "memory,tiny index", options: tsavorite.Options{MemoryBytes: plenty, PageBytes: tinyPage, IndexBytes: tinyIndex, IndexMaxBytes: tinyIndex}},
		{name: "memory,growing index", options: tsavorite.Options{MemoryBytes: plenty, PageBytes: 64 << 10, IndexBytes: tinyIndex}},
		{name: "memory,compacted", moves: true, options: tsavorite.Options{MemoryBytes: 2 << 20, PageBytes: tinyPage, IndexBytes: tinyIndex}},
		{name: "volatile", lossy: true, moves: true, options: volatile(sized(growing, 64, 90))},
		{name: "evict,tiny", lossy: true, options: evicting(tiny)},
		{name: "evict,more", lossy: true, options: evicting(growing)},
		{name: "null,roomy", open: openNull, options: tsavorite.Options{MemoryBytes: plenty, PageBytes: 64 << 10, IndexBytes: tinyIndex}},
		{name: "null,tiny", open: openNull, lossy: true, options: tiny},
		{name: "localmemory,tiny", open: openLocalMemory, spills: true, options: tiny},
		{name: "localmemory,growing index", open: openLocalMemory, spills: true, options: growing},
		{name: "localmemory,inline", open: openInline, spills: true, options: growing},
		{name: "localmemory,one percent mutable", open: openLocalMemory, spills: true, options: sized(growing, 16, 1)},
		{name: "localmemory,most mutable", open: openLocalMemory, spills: true, options: sized(tiny, 16, 99)},
		{name: "localmemory,odd page count", open: openLocalMemory, spills: true, options: sized(growing, 5, 50)},
		{name: "localmemory,bigger pages", open: openLocalMemory, options: tsavorite.Options{MemoryBytes: 3 * 64 << 10, PageBytes: 64 << 10}},
		{name: "localmemory,copied reads", open: openLocalMemory, spills: true, options: copying(growing)},
		{name: "file,copied reads", open: openFile, spills: true, options: copying(sized(tiny, 6, 30))},
		{name: "localmemory,compacted", open: openLocalMemory, spills: true, moves: true, forced: true, options: tiny},
		{name: "localmemory,compacted copied reads", open: openLocalMemory, spills: true, moves: true, forced: true, options: copying(sized(growing, 6, 30))},
		{name: "file,compacted", open: openFile, spills: true, moves: true, forced: true, options: sized(growing, 8, 50)},
		{name: "localmemory,compacted by scan", open: openLocalMemory, spills: true, moves: true, forced: true, options: scanning(tiny)},
		{name: "localmemory,compacted by scan, growing index", open: openLocalMemory, spills: true, moves: true, forced: true, options: scanning(copying(sized(growing, 6, 30)))},
		{name: "file,compacted by scan", open: openFile, spills: true, moves: true, forced: true, options: scanning(sized(growing, 8, 50))},
		{name: "localmemory,bounded and compacted by scan", open: openLocalMemory, spills: true, moves: true, forced: true, options: scanning(bounded(tiny))},
		{name: "localmemory,bounded", open: openLocalMemory, spills: true, moves: true, forced: true, options: bounded(tiny)},
		{name: "localmemory,bounded and evicting", open: openLocalMemory, spills: true, lossy: true, moves: true, forced: true, options: evicting(sized(bounded(tiny), 5, 50))},
		{name: "file,tiny", open: openFile, spills: true, options: tiny},
		{name: "file,more", open: openFile, spills: true, options: sized(growing, 8, 90)},
	}
	for _, native := range []struct {
		name string
		open func(device.Options) (device.Device, error)
	}{{"libaio", libaio.Open}, {"uring", uring.Open}} {
		if !works(t, native.open) {
			continue
		}
		open := func(t *testing.T) device.Device {
			o := deviceOptions(t)
			o.IOContexts, o.QueueDepth = 1, 64
			d, err := native.open(o)
			return closing(t, d, err)
		}
		list = append(list,
			configuration{name: native.name + ",tiny", open: open, spills: true, slow: 5, options: tiny},
			configuration{name: native.name + ",more", open: open, spills: true, slow: 5, options: sized(growing, 8, 90)})
	}
	return append(list,
		configuration{name: "faults,late", open: openLate, spills: true, slow: 8, options: growing},
		configuration{name: "faults,failing", open: openFailing, spills: true, faulty: true, options: tiny},
		configuration{name: "faults,late compacted", open: openLate, spills: true, slow: 40, moves: true, forced: true, options: growing},
		configuration{name: "faults,failing compacted", open: openFailing, spills: true, faulty: true, moves: true, forced: true, options: sized(growing, 6, 50)},
		configuration{name: "faults,late compacted by scan", open: openLate, spills: true, slow: 40, moves: true, forced: true, options: scanning(growing)},
		configuration{name: "faults,failing compacted by scan", open: openFailing, spills: true, faulty: true, moves: true, forced: true, options: scanning(sized(growing, 6, 50))},
		configuration{name: "faults,failing copied reads", open: openFailing, spills: true, faulty: true, options: copying(growing)})
}

// works says whether the kernel offers a device here; containers forbid some.
func works(t *testing.T, open func(device.Options) (device.Device, error)) bool {
	d, err := open(device.Options{Directory: t.TempDir(), IOContexts: 1, QueueDepth: 64})
	if err != nil {
		t.Logf("without this device: %v", err)
		return false
	}
	return d.Close() == nil
}

// openLate is a device whose completions come late.
func openLate(t *testing.T) device.Device {
	inner, err := localmemory.Open(deviceOptions(t))
	if err != nil {
		t.Fatalf("cannot open the device: %v", err)
	}
	return closing(t, faultdev.Wrap(inner, faultdev.Options{Delay: 30 * time.Microsecond}), nil)
}

// openFailing is a device that fails when it is told to.
func openFailing(t *testing.T) device.Device {
	inner, err := localmemory.Open(deviceOptions(t))
	if err != nil {
		t.Fatalf("cannot open the device: %v", err)
	}
	return closing(t, faultdev.Wrap(inner, faultdev.Options{}), nil)
}

func evicting(o tsavorite.Options) tsavorite.Options {
	o.EvictOldest = true
	return o
}

func volatile(o tsavorite.Options) tsavorite.Options {
	o.EvictExpiring = true
	return o
}

// bounded leaves room on the device for what is live, and not for much more.
func bounded(o tsavorite.Options) tsavorite.Options {
	o.MaxDeviceBytes = 1 << 20
	return o
}

func scanning(o tsavorite.Options) tsavorite.Options {
	o.CompactionKind = tsavorite.ScanCompaction
	return o
}

func copying(o tsavorite.Options) tsavorite.Options {
	o.CopyReadsToTail = true
	return o
}

func sized(o tsavorite.Options, pages uint64, mutablePercent int) tsavorite.Options {
	o.MemoryBytes, o.MutablePercent = pages*o.PageBytes, mutablePercent
	return o
}

// deviceOptions are those of a device with small segments, so that every run crosses many.
func deviceOptions(t *testing.T) device.Options {
	return device.Options{Directory: t.TempDir(), SegmentSizeBytes: 64 << 10}
}

// closing closes the device when the test ends, which is after its store.
func closing(t *testing.T, d device.Device, err error) device.Device {
	t.Helper()
	if err != nil {
		t.Fatalf("cannot open the device: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("cannot close the device: %v", err)
		}
	})
	return d
}

func openNull(t *testing.T) device.Device {
	d, err := null.Open(deviceOptions(t))
	return closing(t, d, err)
}

func openLocalMemory(t *testing.T) device.Device {
	d, err := localmemory.Open(deviceOptions(t))
	return closing(t, d, err)
}

func openInline(t *testing.T) device.Device {
	o := deviceOptions(t)
	o.InlineCompletion = true
	d, err := localmemory.Open(o)
	return closing(t, d, err)
}

func openFile(t *testing.T) device.Device {
	d, err := file.Open(deviceOptions(t))
	return closing(t, d, err)
}
