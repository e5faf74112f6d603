package uring

import (
	"math/bits"
	"unsafe"

	kernel "github.com/iceber/iouring-go/syscall"
	"golang.org/x/sys/unix"
)

// Register operations that iouring-go does not name, both from Linux 5.13; sparse tables are from 5.19.
const (
	registerBuffers2      = 15 // IORING_REGISTER_BUFFERS2
	registerBuffersUpdate = 16 // IORING_REGISTER_BUFFERS_UPDATE
	registerSparse        = 1  // IORING_RSRC_REGISTER_SPARSE
)

// registrySize is how many pieces of memory a ring can know, a multiple of 64.
const registrySize = 1024

// longestRegistered is the longest piece that the kernel takes.
const longestRegistered = 1 << 30

// registerArgument is the kernel's struct io_uring_rsrc_register.
type registerArgument struct {
	count, flags    uint32
	reserved        uint64
	vectors, labels uint64
}

// updateArgument is the kernel's struct io_uring_rsrc_update2.
type updateArgument struct {
	index, reserved uint32
	vectors, labels uint64
	count, padding  uint32
}

// Sizes are the kernel's ABI.
var (
	_ [32]byte = [unsafe.Sizeof(registerArgument{})]byte{}
	_ [32]byte = [unsafe.Sizeof(updateArgument{})]byte{}
)

// registry is the memory that a ring keeps pinned: a table in the kernel, sparse at first, of which
// used says which places are taken. It is made at the first use and goes with the ring.
type registry struct {
	made, refused bool
	used          [registrySize / 64]uint64
	vector        unix.Iovec // the kernel's argument, looked at during the call only
}

// Register implements ring.Registrar.
func (i *instance) Register(memory []byte) uint32 {
	g := &i.registered
	if !g.made && !g.refused {
		argument := registerArgument{count: registrySize, flags: registerSparse}
		err := kernel.IOURingRegister(i.descriptor, registerBuffers2, unsafe.Pointer(&argument), uint32(unsafe.Sizeof(argument)))
		g.made, g.refused = err == nil, err != nil
	}
	if g.refused || len(memory) == 0 || len(memory) > longestRegistered {
		return 0
	}
	for word, used := range g.used {
		if bit := bits.TrailingZeros64(^used); bit < 64 {
			if i.updateRegistry(uint32(word*64+bit), memory) != nil {
				return 0
			}
			g.used[word] |= 1 << bit
			return uint32(word*64+bit) + 1
		}
	}
	return 0
}

// Unregister implements ring.Registrar.
func (i *instance) Unregister(number uint32) {
	_ = i.updateRegistry(number-1, nil) // an empty place is never refused
	i.registered.used[(number-1)/64] &^= 1 << ((number - 1) % 64)
}

// updateRegistry puts memory, or nothing, into a place of the kernel's table.
func (i *instance) updateRegistry(index uint32, memory []byte) error {
	g := &i.registered
	g.vector.Base = unsafe.SliceData(memory)
	g.vector.SetLen(len(memory))
	argument := updateArgument{index: index, vectors: uint64(uintptr(unsafe.Pointer(&g.vector))), count: 1}
	err := kernel.IOURingRegister(i.descriptor, registerBuffersUpdate, unsafe.Pointer(&argument), uint32(unsafe.Sizeof(argument)))
	g.vector.Base = nil
	return err
}
