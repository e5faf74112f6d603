// Package aligned hands out memory that lies outside the Go heap, in whole pages:
//
//	Map(n)   | page | page | page | ... |      lazily populated: a page costs RAM once it is touched
//	           ^ starts on a page; from HugePageBytes on it starts on a huge page
//
// The garbage collector neither scans nor moves nor frees it, and the kernel may write to it at any
// time, which is what log pages, the hash index and the buffers of device requests need. Whoever
// maps owns the memory until Unmap; a slice kept beyond that faults.
//
// The race detector does not see mapped memory. In race builds Map therefore takes page-aligned
// memory from the Go heap, Unmap does nothing and Discard clears.
package aligned

import (
	"fmt"
	"os"
	"unsafe"
)

// HugePageBytes is the size of a huge page on the platforms that have them.
const HugePageBytes = 2 << 20

// pageBytes is the system's page size, constant while the process lives.
var pageBytes = os.Getpagesize()

// PageBytes returns the system's page size, a power of two.
func PageBytes() int { return pageBytes }

// Map returns size bytes of zeroed memory outside the Go heap, starting on a page (on a huge page
// from HugePageBytes on). Memory is taken from the system as it is touched.
func Map(size int) ([]byte, error) {
	if size <= 0 {
		return nil, fmt.Errorf("cannot map memory: size is %d bytes; it must be at least 1", size)
	}
	return mapMemory(size)
}

// Unmap gives back memory that Map returned, as it was returned: not a part of it. nil is allowed.
func Unmap(memory []byte) error {
	if len(memory) == 0 {
		return nil
	}
	return unmapMemory(memory)
}

// AdviseHuge asks the system to back memory with huge pages. It is a wish: systems without them
// ignore it.
func AdviseHuge(memory []byte) {
	if len(memory) > 0 {
		adviseHuge(memory)
	}
}

// Discard gives the whole pages within memory back to the system while they stay mapped. All of
// memory reads as zero afterwards. Nobody may use it during the call.
func Discard(memory []byte) {
	if len(memory) == 0 {
		return
	}
	start := uintptr(unsafe.Pointer(&memory[0]))
	first := int(-start & uintptr(pageBytes-1))
	if first >= len(memory) {
		clear(memory)
		return
	}
	last := first + (len(memory)-first)&^(pageBytes-1)
	clear(memory[:first])
	clear(memory[last:])
	if first < last {
		discardPages(memory[first:last:last])
	}
}

// Buffers maps one area and cuts it into count buffers of size bytes, each starting at a multiple
// of alignment, a power of two no larger than a page. The area belongs to the caller: Unmap it when
// no buffer is in use any more.
func Buffers(count, size, alignment int) (buffers [][]byte, area []byte, err error) {
	stride := RoundUp(size, alignment)
	area, err = Map(count * stride)
	if err != nil {
		return nil, nil, err
	}
	buffers = make([][]byte, count)
	for i := range buffers {
		buffers[i] = area[i*stride : i*stride+size : i*stride+size]
	}
	return buffers, area, nil
}

// RoundUp returns n rounded up to a multiple of alignment, a power of two.
func RoundUp(n, alignment int) int { return (n + alignment - 1) &^ (alignment - 1) }
