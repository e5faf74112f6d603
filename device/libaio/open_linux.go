package libaio

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/internal/ring"
	"golang.org/x/sys/unix"
)

// Open opens a device of o.IOContexts contexts of o.QueueDepth requests each. Contexts count
// against fs.aio-max-nr for the whole system; smaller ones are tried before it gives up.
func Open(o device.Options) (device.Device, error) {
	writes := new(atomic.Int64)
	d, err := ring.Open(ring.Driver{
		Kind:       "libaio",
		DirectFlag: unix.O_DIRECT,
		OpenKernel: func(depth int) (ring.Kernel, error) { return newContext(depth, writes) },
		IsTooLarge: func(err error) bool { return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENOMEM) },
		Explain:    explain,
	}, o)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// explain names the system's limit and how much of it is in use.
func explain(err error) error {
	switch {
	case errors.Is(err, unix.EAGAIN):
		return fmt.Errorf("%w: fs.aio-max-nr is exhausted: %s of %s requests are reserved by all processes; raise it with sysctl, or lower IOContexts × QueueDepth",
			err, readNumber("/proc/sys/fs/aio-nr"), readNumber("/proc/sys/fs/aio-max-nr"))
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: the kernel was built without it, or a seccomp profile forbids it", err)
	}
	return err
}

func readNumber(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "an unknown number"
	}
	return strings.TrimSpace(string(text))
}
