package server

import (
	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/open"
	"github.com/pyropedb/pyrope/server/config"
)

// openDevice opens the device that the options ask for. The log cannot be recovered yet, so
// segment files of an earlier run are removed.
func openDevice(o config.Options) (device.Device, error) {
	return open.Device(o.DeviceType, device.Options{
		Directory:         o.LogDir,
		Fresh:             true,
		SegmentSizeBytes:  uint64(o.Segment),
		Backend:           o.DeviceBackend,
		CompletionThreads: o.DeviceCompletionThreads,
		IOContexts:        o.DeviceContexts,
		QueueDepth:        o.DeviceQueueDepth,
		ThrottleLimit:     o.DeviceThrottle,
	})
}
