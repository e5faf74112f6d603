package uring

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	kernel "github.com/iceber/iouring-go/syscall"
	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/internal/ring"
	"golang.org/x/sys/unix"
)

// Entries as the kernel lays them out.
type (
	submissionEntry = kernel.SubmissionQueueEntry64
	completionEntry = kernel.CompletionQueueEvent16
)

// Sizes are the kernel's ABI.
var (
	_ [64]byte = [unsafe.Sizeof(submissionEntry{})]byte{}
	_ [16]byte = [unsafe.Sizeof(completionEntry{})]byte{}
	_ [24]byte = [unsafe.Sizeof(enterArgument{})]byte{}
)

// mapping is memory that the kernel shares with the process.
type mapping struct {
	address unsafe.Pointer
	length  uintptr
}

func mapShared(descriptor int, offset uint64, length uintptr) (mapping, error) {
	address, err := unix.MmapPtr(descriptor, int64(offset), nil, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return mapping{}, fmt.Errorf("mmap of an io_uring: %w", err)
	}
	return mapping{address, length}, nil
}

func (m mapping) word(offset uint32) *uint32 { return (*uint32)(unsafe.Add(m.address, offset)) }

// instance is one io_uring. It implements ring.Kernel and shares its locking.
type instance struct {
	descriptor int
	maps       []mapping

	submissionHead *uint32 // the kernel's: entries before it are taken
	submissionTail *uint32 // ours: entries before it are staged; stored after the entry is filled
	submissionMask uint32
	submissions    []submissionEntry
	hasWrite       bool // a staged operation writes

	completionHead *uint32 // ours: entries before it are reaped
	completionTail *uint32 // the kernel's: entries before it are filled
	completionMask uint32
	completions    []completionEntry

	registered registry

	hasLimit bool          // the kernel takes argument
	limit    unix.Timespec // of a wait for several completions; never changes
	argument enterArgument // points at limit
}

// enterArgument is the kernel's struct io_uring_getevents_arg.
type enterArgument struct {
	signalMask     uint64
	signalMaskSize uint32
	minimumWait    uint32
	limit          uint64 // address of a timespec
}

// Flags that iouring-go does not name.
const (
	featureExtendedArgument = 1 << 8 // IORING_FEAT_EXT_ARG, Linux 5.11
	enterExtendedArgument   = 1 << 3 // IORING_ENTER_EXT_ARG
)

// newInstance makes a ring for depth requests.
func newInstance(depth int) (*instance, error) {
	var parameters kernel.IOURingParams
	descriptor, err := kernel.IOURingSetup(uint(depth), &parameters)
	if err != nil {
		return nil, fmt.Errorf("io_uring_setup of %d requests: %w", depth, err)
	}
	i := &instance{descriptor: descriptor, limit: unix.NsecToTimespec(int64(ring.WaitLimit))}
	i.hasLimit = parameters.Features&featureExtendedArgument != 0
	i.argument.limit = uint64(uintptr(unsafe.Pointer(&i.limit)))
	unix.CloseOnExec(descriptor)
	if err := i.mapRings(&parameters); err != nil {
		return nil, errors.Join(err, i.Close())
	}
	return i, nil
}

func (i *instance) mapRings(p *kernel.IOURingParams) error {
	sizes := []struct {
		offset uint64
		length uintptr
	}{
		{kernel.IORING_OFF_SQ_RING, uintptr(p.SQOffset.Array) + uintptr(p.SQEntries)*4},
		{kernel.IORING_OFF_CQ_RING, uintptr(p.CQOffset.Cqes) + uintptr(p.CQEntries)*unsafe.Sizeof(completionEntry{})},
		{kernel.IORING_OFF_SQES, uintptr(p.SQEntries) * unsafe.Sizeof(submissionEntry{})},
	}
	for _, size := range sizes {
		m, err := mapShared(i.descriptor, size.offset, size.length)
		if err != nil {
			return err
		}
		i.maps = append(i.maps, m)
	}
	submission, completion, entries := i.maps[0], i.maps[1], i.maps[2]
	i.submissionHead, i.submissionTail = submission.word(p.SQOffset.Head), submission.word(p.SQOffset.Tail)
	i.submissionMask = *submission.word(p.SQOffset.RingMask)
	i.submissions = unsafe.Slice((*submissionEntry)(entries.address), p.SQEntries)
	array := unsafe.Slice(submission.word(p.SQOffset.Array), p.SQEntries)
	for index := range array {
		array[index] = uint32(index)
	}
	i.completionHead, i.completionTail = completion.word(p.CQOffset.Head), completion.word(p.CQOffset.Tail)
	i.completionMask = *completion.word(p.CQOffset.RingMask)
	i.completions = unsafe.Slice((*completionEntry)(unsafe.Add(completion.address, p.CQOffset.Cqes)), p.CQEntries)
	return nil
}

// commands are the operation codes, by device.Op and by whether the memory is registered.
var commands = [...][2]uint8{
	device.OpRead:  {kernel.IORING_OP_READ, kernel.IORING_OP_READ_FIXED},
	device.OpWrite: {kernel.IORING_OP_WRITE, kernel.IORING_OP_WRITE_FIXED},
}

// Stage fills the next submission entry and publishes it. The kernel looks at it in the next enter.
func (i *instance) Stage(o ring.Operation) {
	tail := *i.submissionTail // written by us only, under the lock
	entry := &i.submissions[tail&i.submissionMask]
	command := commands[o.Op][min(o.Registered, 1)]
	i.hasWrite = i.hasWrite || o.Op == device.OpWrite
	entry.Reset()
	entry.PrepOperation(command, int32(o.Descriptor), uint64(uintptr(unsafe.Pointer(unsafe.SliceData(o.Memory)))), uint32(len(o.Memory)), uint64(o.Offset))
	entry.SetUserData(uint64(o.Slot))
	if o.Registered > 0 {
		entry.SetBufIndex(uint16(o.Registered - 1))
	}
	atomic.StoreUint32(i.submissionTail, tail+1)
}

// staged is the number of entries that the kernel has not taken.
func (i *instance) staged() uint32 {
	return atomic.LoadUint32(i.submissionTail) - atomic.LoadUint32(i.submissionHead)
}

// Submit enters the kernel with what is staged, unless Wait is about to. An enter that only reads
// returns within microseconds, so the scheduler is not told of it.
func (i *instance) Submit(waitFollows bool) error {
	for {
		count := i.staged()
		if count == 0 {
			i.hasWrite = false
			return nil
		}
		if waitFollows {
			return nil
		}
		enter := unix.RawSyscall6
		if i.hasWrite {
			enter = unix.Syscall6
		}
		_, _, errno := enter(kernel.SYS_IO_URING_ENTER, uintptr(i.descriptor), uintptr(count), 0, 0, 0, 0)
		if err := checkEnter(errno); err != nil {
			return err
		}
	}
}

// Refused returns nil: io_uring tells of invalid operations by completions.
func (i *instance) Refused() []ring.Completion { return nil }

// Wait submits what is staged and blocks until least completions are there, or until the limit has
// passed if that is more than one. A kernel that knows no limit waits for one.
func (i *instance) Wait(least int) error {
	flags := uintptr(kernel.IORING_ENTER_FLAGS_GETEVENTS)
	var argument unsafe.Pointer
	var size uintptr
	if least > 1 && i.hasLimit {
		flags |= enterExtendedArgument
		argument, size = unsafe.Pointer(&i.argument), unsafe.Sizeof(i.argument)
	} else {
		least = 1
	}
	_, _, errno := unix.Syscall6(kernel.SYS_IO_URING_ENTER, uintptr(i.descriptor), uintptr(i.staged()), uintptr(least),
		flags, uintptr(argument), size)
	return checkEnter(errno)
}

// checkEnter sorts the ends of io_uring_enter into done, interrupted or out of time, busy, and our own mistakes.
func checkEnter(errno unix.Errno) error {
	switch errno {
	case 0, unix.EINTR, unix.ETIME:
		return nil
	case unix.EAGAIN, unix.EBUSY, unix.ENOMEM:
		return ring.ErrBusy
	}
	panic(fmt.Sprintf("BUG: io_uring_enter: %v", errno))
}

// Reap takes completions. The kernel fills an entry before it moves the tail, which is read atomically.
func (i *instance) Reap(completions []ring.Completion) int {
	head, tail := *i.completionHead, atomic.LoadUint32(i.completionTail)
	n := 0
	for head != tail && n < len(completions) {
		entry := &i.completions[head&i.completionMask]
		completions[n] = ring.Completion{Slot: uint32(entry.UserData()), Result: int64(entry.Result())}
		n++
		head++
	}
	if n > 0 {
		atomic.StoreUint32(i.completionHead, head)
	}
	return n
}

// Announce registers the descriptor for every completion of the ring.
func (i *instance) Announce(eventFD int) error {
	value := int32(eventFD)
	return kernel.IOURingRegister(i.descriptor, kernel.IORING_REGISTER_EVENTFD, unsafe.Pointer(&value), 1)
}

// Close unmaps the queues and closes the ring.
func (i *instance) Close() error {
	var failures []error
	for _, m := range i.maps {
		failures = append(failures, unix.MunmapPtr(m.address, m.length))
	}
	i.maps = nil
	return errors.Join(append(failures, unix.Close(i.descriptor))...)
}
