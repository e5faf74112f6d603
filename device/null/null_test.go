package null_test

import (
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/devicetest"
	"github.com/pyropedb/pyrope/device/null"
)

func TestDevice(t *testing.T) {
	for _, sector := range []int{0, 512} {
		devicetest.Run(t, devicetest.Config{
			Open:             func(o device.Options) (device.Device, error) { return null.Open(o) },
			Options:          device.Options{SectorSizeBytes: sector},
			KeepsNothing:     true,
			AllocatesNothing: true,
		})
	}
}

func TestOpenRefusesBadOptions(t *testing.T) {
	if _, err := null.Open(device.Options{SegmentSizeBytes: 3}); err == nil {
		t.Error("a segment size of 3 was accepted")
	}
}
