//go:build race || !(linux || darwin || windows)

package aligned

import "unsafe"

// Lazy says that memory costs nothing before it is touched.
const Lazy = false

// mapMemory takes memory from the Go heap, which the race detector watches.
func mapMemory(size int) ([]byte, error) {
	alignment := pageBytes
	if size >= HugePageBytes {
		alignment = HugePageBytes
	}
	memory := make([]byte, size+alignment)
	head := int(-uintptr(unsafe.Pointer(unsafe.SliceData(memory))) & uintptr(alignment-1))
	return memory[head : head+size : head+size], nil
}

func unmapMemory([]byte) error { return nil }

func adviseHuge([]byte) {}

func discardPages(pages []byte) { clear(pages) }
