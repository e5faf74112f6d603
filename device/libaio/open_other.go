//go:build !linux

package libaio

import (
	"fmt"
	"runtime"

	"github.com/pyropedb/pyrope/device"
)

// Open fails: only Linux has such contexts.
func Open(device.Options) (device.Device, error) {
	return nil, fmt.Errorf("cannot open the libaio device on %s: %w", runtime.GOOS, device.ErrUnsupported)
}
