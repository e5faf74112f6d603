//go:build windows && !race

package aligned

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Lazy says that memory costs nothing before it is touched.
const Lazy = false

func mapMemory(size int) ([]byte, error) {
	length := uintptr(RoundUp(size, pageBytes))
	address, err := windows.VirtualAlloc(0, length, windows.MEM_RESERVE|windows.MEM_COMMIT, windows.PAGE_READWRITE)
	if err != nil {
		return nil, fmt.Errorf("cannot map %d bytes of memory: %w", size, err)
	}
	// The address is no Go pointer; reading it through its own variable says so to vet.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), length)[:size:size], nil
}

func unmapMemory(memory []byte) error {
	address := uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
	if err := windows.VirtualFree(address, 0, windows.MEM_RELEASE); err != nil {
		return fmt.Errorf("cannot unmap %d bytes of memory: %w", len(memory), err)
	}
	return nil
}

func adviseHuge([]byte) {}

// discardPages clears: giving pages back and committing them again could fail in between.
func discardPages(pages []byte) { clear(pages) }
