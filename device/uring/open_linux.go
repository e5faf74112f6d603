package uring

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/internal/ring"
	"golang.org/x/sys/unix"
)

// Open opens a device of o.IOContexts rings of o.QueueDepth requests each. Where RLIMIT_MEMLOCK is
// too low for them, smaller rings are tried before it gives up.
func Open(o device.Options) (device.Device, error) {
	d, err := ring.Open(ring.Driver{
		Kind:       "uring",
		DirectFlag: unix.O_DIRECT,
		OpenKernel: func(depth int) (ring.Kernel, error) { return newInstance(depth) },
		IsTooLarge: func(err error) bool { return errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.EAGAIN) },
		Explain:    explain,
	}, o)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// explain adds the likely cause of a refused io_uring_setup.
func explain(err error) error {
	switch {
	case errors.Is(err, unix.EPERM):
		disabled, readErr := os.ReadFile("/proc/sys/kernel/io_uring_disabled")
		if value := strings.TrimSpace(string(disabled)); readErr == nil && value != "0" {
			return fmt.Errorf("%w: kernel.io_uring_disabled is %s", err, value)
		}
		return fmt.Errorf("%w: forbidden by a seccomp profile, as containers have by default", err)
	case errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("%w: the kernel is older than 5.1, or a seccomp profile hides it", err)
	case errors.Is(err, unix.ENOMEM):
		var limit unix.Rlimit
		if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit) == nil {
			return fmt.Errorf("%w: RLIMIT_MEMLOCK is %d KiB (ulimit -l)", err, limit.Cur>>10)
		}
	}
	return err
}
