//go:build !linux

package uring

import (
	"fmt"
	"runtime"

	"github.com/pyropedb/pyrope/device"
)

// Open fails: only Linux has such rings.
func Open(device.Options) (device.Device, error) {
	return nil, fmt.Errorf("cannot open the io_uring device on %s: %w", runtime.GOOS, device.ErrUnsupported)
}
