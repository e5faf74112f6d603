//go:build darwin && !race

package aligned

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func adviseHuge([]byte) {}

// discardPages maps fresh pages over the old ones: the system's advice calls do not promise zeroes.
func discardPages(pages []byte) {
	address := unsafe.Pointer(unsafe.SliceData(pages))
	if _, err := unix.MmapPtr(-1, 0, address, uintptr(len(pages)), unix.PROT_READ|unix.PROT_WRITE, mapFlags|unix.MAP_FIXED); err != nil {
		clear(pages)
	}
}
