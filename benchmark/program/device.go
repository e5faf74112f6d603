package program

import "github.com/pyropedb/pyrope/device"

// Device is the flags that tune a device; which device it is has flags of the program's own.
type Device struct {
	ThrottleLimit     int            `name:"device-throttle-limit" default:"0" help:"Reads in flight at once; 0 is what the rings hold."`
	IOBackend         device.Backend `name:"device-io-backend" default:"default" help:"Kernel interface of a native device: default, libaio or uring."`
	CompletionThreads int            `name:"device-completion-threads" default:"0" help:"Completion threads or workers; 0 is the device's default."`
	IOContexts        int            `name:"device-io-contexts" default:"0" help:"Kernel rings; 0 is the device's default."`
	QueueDepth        int            `name:"device-queue-depth" default:"0" help:"Depth of a kernel ring; 0 is the device's default."`
	InlineCompletion  bool           `name:"device-inline-completion" help:"Complete on the submitting thread (localmemory)."`
}

// Options are the flags as package device takes them, for a device whose content is written anew.
func (d Device) Options(segmentBytes uint64) device.Options {
	return device.Options{
		Fresh: true, SegmentSizeBytes: segmentBytes, Backend: d.IOBackend, CompletionThreads: d.CompletionThreads,
		IOContexts: d.IOContexts, QueueDepth: d.QueueDepth, ThrottleLimit: d.ThrottleLimit, InlineCompletion: d.InlineCompletion,
	}
}
