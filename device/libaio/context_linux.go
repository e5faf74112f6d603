package libaio

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
	"github.com/pyropedb/pyrope/device/internal/ring"
	"golang.org/x/sys/unix"
)

// Commands and flags of a controlBlock.
const (
	commandRead  = 0
	commandWrite = 1
	flagEventFD  = 1
)

// controlBlock is the kernel's struct iocb on little-endian machines.
type controlBlock struct {
	data            uint64 // the slot; comes back with the event
	key             uint32
	readWriteFlags  uint32
	command         uint16
	priority        int16
	descriptor      uint32
	buffer          uint64
	length          uint64
	offset          int64
	reserved        uint64
	flags           uint32
	eventDescriptor uint32
}

// event is the kernel's struct io_event.
type event struct {
	data    uint64
	object  uint64
	result  int64
	result2 int64
}

// ringHeader begins the completion ring that the kernel maps.
type ringHeader struct {
	id, count       uint32
	head            uint32 // next event to take; only the process moves it, or io_getevents for it
	tail            uint32 // behind the last event; only the kernel moves it
	magic           uint32
	compatFeatures  uint32
	incompatFeature uint32
	headerLength    uint32
}

const ringMagic = 0xa10a10a1

// Sizes are the kernel's ABI.
var (
	_ [64]byte = [unsafe.Sizeof(controlBlock{})]byte{}
	_ [32]byte = [unsafe.Sizeof(event{})]byte{}
	_ [32]byte = [unsafe.Sizeof(ringHeader{})]byte{}
)

// waitBatch is how many events one io_getevents takes.
const waitBatch = 256

// context is one kernel context. It implements ring.Kernel and shares its locking.
type context struct {
	handle uintptr     // the kernel's aio_context_t: where the completion ring is mapped
	header *ringHeader // the same, or nil if its layout is not the one we know
	events []event     // behind the header

	area        []byte            // holds blocks, pointers and waited: memory the kernel reads or writes
	blocks      []controlBlock    // by slot
	pointers    []uint64          // addresses of staged reads, in order: io_submit's argument
	staged      int               // pointers in use
	waited      []event           // filled by Wait
	waitedCount int               // events in waited that Reap has yet to hand out
	refused     []ring.Completion // by the last Submit

	writer  *writer
	writes  *atomic.Int64 // writes being submitted by the device's contexts
	eventFD atomic.Int64  // -1 for none; read by the writer as well
}

// newContext makes a context for depth requests. writes is shared by the contexts of a device.
func newContext(depth int, writes *atomic.Int64) (*context, error) {
	c := &context{writes: writes}
	c.eventFD.Store(-1)
	if _, _, errno := unix.Syscall(unix.SYS_IO_SETUP, uintptr(depth), uintptr(unsafe.Pointer(&c.handle)), 0); errno != 0 {
		return nil, fmt.Errorf("io_setup of %d requests: %w", depth, errno)
	}
	blockBytes, pointerBytes := depth*int(unsafe.Sizeof(controlBlock{})), depth*8
	area, err := aligned.Map(blockBytes + pointerBytes + waitBatch*int(unsafe.Sizeof(event{})))
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.area = area
	c.blocks = unsafe.Slice((*controlBlock)(unsafe.Pointer(&area[0])), depth)
	c.pointers = unsafe.Slice((*uint64)(unsafe.Pointer(&area[blockBytes])), depth)
	c.waited = unsafe.Slice((*event)(unsafe.Pointer(&area[blockBytes+pointerBytes])), waitBatch)
	c.refused = make([]ring.Completion, 0, depth)
	c.writer = newWriter(c, depth)
	// The handle is an address of memory that the kernel owns; reading it as a pointer through its own
	// variable says so to vet.
	header := *(**ringHeader)(unsafe.Pointer(&c.handle))
	if header.magic == ringMagic && header.incompatFeature == 0 && header.headerLength == uint32(unsafe.Sizeof(ringHeader{})) {
		c.header = header
		c.events = unsafe.Slice((*event)(unsafe.Add(unsafe.Pointer(header), unsafe.Sizeof(ringHeader{}))), header.count)
	}
	return c, nil
}

// Stage fills the slot's control block. A write goes to the writer at once.
func (c *context) Stage(o ring.Operation) {
	block := &c.blocks[o.Slot]
	*block = controlBlock{
		data:       uint64(o.Slot),
		command:    commandRead,
		descriptor: uint32(o.Descriptor),
		buffer:     uint64(uintptr(unsafe.Pointer(unsafe.SliceData(o.Memory)))),
		length:     uint64(len(o.Memory)),
		offset:     o.Offset,
	}
	if fd := c.eventFD.Load(); fd >= 0 {
		block.flags, block.eventDescriptor = flagEventFD, uint32(fd)
	}
	address := uint64(uintptr(unsafe.Pointer(block)))
	if o.Op == device.OpWrite {
		block.command = commandWrite
		c.writer.push(address)
		return
	}
	c.pointers[c.staged] = address
	c.staged++
}

// slotOf is the slot whose control block lies at an address.
func (c *context) slotOf(block uint64) uint32 {
	first := uint64(uintptr(unsafe.Pointer(&c.blocks[0])))
	return uint32((block - first) / uint64(unsafe.Sizeof(controlBlock{})))
}

// Submit passes the staged reads to the kernel.
func (c *context) Submit(bool) error {
	c.refused = c.refused[:0]
	first := 0
	for first < c.staged {
		accepted, errno := c.submit(first)
		switch errno {
		case 0:
			first += accepted
		case unix.EINTR:
		case unix.EAGAIN:
			c.staged = copy(c.pointers, c.pointers[first:c.staged])
			return ring.ErrBusy
		default: // the kernel refuses the first of them
			c.refused = append(c.refused, ring.Completion{Slot: c.slotOf(c.pointers[first]), Result: -int64(errno)})
			first++
		}
	}
	c.staged = 0
	return nil
}

// submit passes on reads from the first on. That takes microseconds, so the scheduler is not told of
// it; except while the device writes, since a read of the file that grows waits for the write.
func (c *context) submit(first int) (int, unix.Errno) {
	count, argument := uintptr(c.staged-first), uintptr(unsafe.Pointer(&c.pointers[first]))
	if c.writes.Load() == 0 {
		accepted, _, errno := unix.RawSyscall(unix.SYS_IO_SUBMIT, c.handle, count, argument)
		return int(accepted), errno
	}
	accepted, _, errno := unix.Syscall(unix.SYS_IO_SUBMIT, c.handle, count, argument)
	return int(accepted), errno
}

// ioSubmitOne submits a single control block, telling the scheduler that it may take long.
func ioSubmitOne(handle uintptr, block uint64) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IO_SUBMIT, handle, 1, uintptr(unsafe.Pointer(&block)))
	return errno
}

// Refused returns what the kernel did not take, for an invalid descriptor or argument.
func (c *context) Refused() []ring.Completion { return c.refused }

// The time limits of io_getevents, which reads them only.
var (
	waitLimit      = unix.NsecToTimespec(int64(ring.WaitLimit))
	lookAgainLimit = unix.NsecToTimespec(int64(lookAgain))
)

// Wait blocks in io_getevents, for a short while only if least is more than one, or if a write might
// be refused meanwhile.
func (c *context) Wait(least int) error {
	var limit *unix.Timespec
	switch {
	case least > 1:
		limit = &waitLimit
	case c.writer.outstanding.Load() > 0:
		limit = &lookAgainLimit
	}
	if c.writer.lateCount.Load() > 0 {
		return nil
	}
	return c.getEvents(uintptr(min(least, waitBatch)), limit)
}

func (c *context) getEvents(least uintptr, limit *unix.Timespec) error {
	count, _, errno := unix.Syscall6(unix.SYS_IO_GETEVENTS, c.handle, least, waitBatch,
		uintptr(unsafe.Pointer(&c.waited[0])), uintptr(unsafe.Pointer(limit)), 0)
	switch errno {
	case 0:
		c.waitedCount = int(count)
		return nil
	case unix.EINTR:
		return nil
	}
	return fmt.Errorf("io_getevents: %w", errno)
}

// Reap hands out refused writes, then what Wait took, then what lies in the mapped ring.
func (c *context) Reap(completions []ring.Completion) int {
	n := c.writer.reap(completions)
	if c.header == nil && c.waitedCount == 0 {
		_ = c.getEvents(0, nil)
	}
	taken := 0
	for taken < c.waitedCount && n < len(completions) {
		completions[n] = ring.Completion{Slot: uint32(c.waited[taken].data), Result: c.waited[taken].result}
		taken, n = taken+1, n+1
	}
	c.waitedCount = copy(c.waited, c.waited[taken:c.waitedCount])
	return n + c.reapMapped(completions[n:])
}

// reapMapped takes events without a system call. The kernel writes an event before it moves the
// tail, which is read atomically; the head is ours while nobody is in io_getevents.
func (c *context) reapMapped(completions []ring.Completion) int {
	if c.header == nil {
		return 0
	}
	head, tail := atomic.LoadUint32(&c.header.head), atomic.LoadUint32(&c.header.tail)
	n := 0
	for head != tail && n < len(completions) {
		e := &c.events[head]
		completions[n] = ring.Completion{Slot: uint32(e.data), Result: e.result}
		n++
		head++
		if head == uint32(len(c.events)) {
			head = 0
		}
	}
	if n > 0 {
		atomic.StoreUint32(&c.header.head, head)
	}
	return n
}

// Announce adds the descriptor to blocks that are staged from now on.
func (c *context) Announce(eventFD int) error {
	c.eventFD.Store(int64(eventFD))
	return nil
}

// Close destroys the context.
func (c *context) Close() error {
	if c.writer != nil {
		c.writer.close()
	}
	var err error
	if _, _, errno := unix.Syscall(unix.SYS_IO_DESTROY, c.handle, 0, 0); errno != 0 {
		err = fmt.Errorf("io_destroy: %w", errno)
	}
	if c.area != nil {
		err = errors.Join(err, aligned.Unmap(c.area))
	}
	c.area, c.blocks, c.pointers, c.waited = nil, nil, nil, nil
	return err
}
