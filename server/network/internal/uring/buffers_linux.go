package uring

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// bufferEntry is the kernel's struct io_uring_buf. The tail of the ring lies where the first entry's last field is.
type bufferEntry struct {
	address uint64
	length  uint32
	// tags are the buffer's number and, in the first entry, the ring's tail: one word, so that it is stored atomically.
	tags [2]uint16
}

// bufferArgument is the kernel's struct io_uring_buf_reg.
type bufferArgument struct {
	address      uint64
	entries      uint32
	group, flags uint16
	reserved     [3]uint64
}

// Sizes are the kernel's ABI.
var (
	_ [16]byte = [unsafe.Sizeof(bufferEntry{})]byte{}
	_ [40]byte = [unsafe.Sizeof(bufferArgument{})]byte{}
)

const registerBufferRing = 22 // IORING_REGISTER_PBUF_RING, Linux 5.19

// bufferRing is the memory that receives take.
type bufferRing struct {
	memory  []byte // of entries
	entries []bufferEntry
	buffers [][]byte // by number
	tail    uint16
}

// openBuffers registers a ring for count buffers, which is empty.
func (r *Ring) openBuffers(count int) error {
	b := &r.buffers
	memory, err := unix.Mmap(-1, 0, count*int(unsafe.Sizeof(bufferEntry{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("memory for a ring of %d buffers: %w", count, err)
	}
	b.memory = memory
	b.entries = unsafe.Slice((*bufferEntry)(unsafe.Pointer(&memory[0])), count)
	argument := bufferArgument{address: uint64(uintptr(unsafe.Pointer(&memory[0]))), entries: uint32(count)}
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.descriptor), registerBufferRing, uintptr(unsafe.Pointer(&argument)), 1, 0, 0)
	if errno == unix.EINVAL {
		return errTooOld
	}
	if errno != 0 {
		return fmt.Errorf("a ring of %d buffers: %w", count, errno)
	}
	return nil
}

// Fill lends the kernel as many buffers as the ring has room for, once.
func (r *Ring) Fill(sizeBytes int) {
	count := len(r.buffers.entries)
	all := make([]byte, count*sizeBytes)
	for number := range count {
		r.buffers.buffers = append(r.buffers.buffers, all[:sizeBytes:sizeBytes])
		all = all[sizeBytes:]
		r.buffers.lend(uint16(number))
	}
}

// lend gives the kernel a buffer.
func (b *bufferRing) lend(number uint16) {
	buffer := b.buffers[number]
	entry := &b.entries[int(b.tail)&(len(b.entries)-1)]
	entry.address, entry.length = uint64(uintptr(unsafe.Pointer(&buffer[0]))), uint32(len(buffer))
	entry.tags[0] = number
	b.tail++
	first := [2]uint16{b.entries[0].tags[0], b.tail}
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&b.entries[0].tags)), *(*uint32)(unsafe.Pointer(&first)))
}

// Buffer is the buffer a receive has used, and whether it has used one.
func (r *Ring) Buffer(c Completion) (buffer []byte, number uint16, used bool) {
	if c.flags&completionHasBuffer == 0 {
		return nil, 0, false
	}
	number = uint16(c.flags >> completionBufferShift)
	return r.buffers.buffers[number], number, true
}

// Recycle lends a buffer again, whose content is no longer needed.
func (r *Ring) Recycle(number uint16) { r.buffers.lend(number) }

// Replace lends other memory in place of a buffer, whose content is needed for longer.
func (r *Ring) Replace(number uint16, memory []byte) {
	r.buffers.buffers[number] = memory
	r.buffers.lend(number)
}

func (b *bufferRing) close() error {
	if b.memory == nil {
		return nil
	}
	err := unix.Munmap(b.memory)
	*b = bufferRing{}
	return err
}
