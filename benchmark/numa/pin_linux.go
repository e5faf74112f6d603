package numa

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// System is the topology of this machine.
func System() (Topology, error) {
	var mask unix.CPUSet
	if err := unix.SchedGetaffinity(0, &mask); err != nil {
		return Topology{}, fmt.Errorf("cannot ask which processors may be used: %w", err)
	}
	return Read(os.DirFS("/sys/devices/system"), mask.IsSet)
}

// Pin binds the calling goroutine to a processor for the rest of its life: its thread belongs to it
// alone, and ends with it.
func Pin(processor int) error {
	runtime.LockOSThread()
	var mask unix.CPUSet
	mask.Set(processor)
	if err := unix.SchedSetaffinity(0, &mask); err != nil {
		return fmt.Errorf("cannot pin a worker to processor %d: %w", processor, err)
	}
	return nil
}
