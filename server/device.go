package server

import (
	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/open"
	"github.com/pyropedb/pyrope/server/config"
)

// openDevice opens the device that the options ask for; with fresh, segment files of an earlier run are removed.
func openDevice(o config.Options, fresh bool) (device.Device, error) {
	return open.Device(o.DeviceType, device.Options{
		Directory:         o.LogDir,
		Fresh:             fresh,
		SegmentSizeBytes:  uint64(o.Segment),
		Backend:           o.DeviceBackend,
		CompletionThreads: o.DeviceCompletionThreads,
		IOContexts:        o.DeviceContexts,
		QueueDepth:        o.DeviceQueueDepth,
		ThrottleLimit:     o.DeviceThrottle,
	})
}
