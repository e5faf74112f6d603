//go:build (linux || darwin) && !race

package aligned

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

const mapFlags = unix.MAP_ANON | unix.MAP_PRIVATE | unix.MAP_NORESERVE

// Lazy says that memory costs nothing before it is touched.
const Lazy = true

// mapMemory maps one huge page more than asked for when the area is that large, and cuts off what
// lies before the first huge page boundary and behind the end.
func mapMemory(size int) ([]byte, error) {
	length := uintptr(RoundUp(size, pageBytes))
	slack := uintptr(0)
	if length >= HugePageBytes {
		slack = HugePageBytes
	}
	area, err := unix.MmapPtr(-1, 0, nil, length+slack, unix.PROT_READ|unix.PROT_WRITE, mapFlags)
	if err != nil {
		return nil, fmt.Errorf("cannot map %d bytes of memory: %w", size, err)
	}
	if slack > 0 {
		head := -uintptr(area) & (HugePageBytes - 1)
		if head > 0 {
			_ = unix.MunmapPtr(area, head)
		}
		area = unsafe.Add(area, head)
		if tail := slack - head; tail > 0 {
			_ = unix.MunmapPtr(unsafe.Add(area, length), tail)
		}
	}
	return unsafe.Slice((*byte)(area), length)[:size:size], nil
}

func unmapMemory(memory []byte) error {
	length := uintptr(RoundUp(cap(memory), pageBytes))
	if err := unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(memory)), length); err != nil {
		return fmt.Errorf("cannot unmap %d bytes of memory: %w", len(memory), err)
	}
	return nil
}
