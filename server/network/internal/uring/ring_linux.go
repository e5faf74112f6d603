package uring

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// submission is the kernel's struct io_uring_sqe.
type submission struct {
	operation   uint8
	flags       uint8
	priority    uint16 // flags of sends and receives
	descriptor  int32
	offset      uint64
	address     uint64
	length      uint32
	detail      uint32 // flags of the operation, or the events of a poll
	mark        uint64
	bufferGroup uint16
	personality uint16
	file        int32
	rest        [2]uint64
}

// Completion is the kernel's struct io_uring_cqe.
type Completion struct {
	// Mark is what the operation was staged with.
	Mark uint64
	// Result is what the system call would have returned, or the negative error number.
	Result int32
	flags  uint32
}

// parameters is the kernel's struct io_uring_params.
type parameters struct {
	submissions, completions, flags      uint32
	threadProcessor, threadIdle          uint32
	features, workers                    uint32
	reserved                             [3]uint32
	submissionOffsets, completionOffsets offsets
}

// offsets are where the parts of a queue lie in its mapping. The last two differ by queue.
type offsets struct {
	head, tail, mask, entries uint32
	submissionFlags           uint32 // overflow, of the completion queue
	submissionDropped         uint32 // entries, of the completion queue
	submissionArray           uint32 // flags, of the completion queue
	reserved                  uint32
	address                   uint64
}

// waitArgument is the kernel's struct io_uring_getevents_arg.
type waitArgument struct {
	signalMask     uint64
	signalMaskSize uint32
	minimumWait    uint32
	limit          uint64 // address of a timespec
}

// Sizes are the kernel's ABI.
var (
	_ [64]byte  = [unsafe.Sizeof(submission{})]byte{}
	_ [16]byte  = [unsafe.Sizeof(Completion{})]byte{}
	_ [120]byte = [unsafe.Sizeof(parameters{})]byte{}
	_ [24]byte  = [unsafe.Sizeof(waitArgument{})]byte{}
)

// The kernel's numbers.
const (
	setupCompletions = 1 << 3 // the size of the completion queue is given
	setupSubmitAll   = 1 << 7 // an entry that is refused does not end a submission
	setupCooperative = 1 << 8 // IORING_SETUP_COOP_TASKRUN
	setupFlagged     = 1 << 9 // IORING_SETUP_TASKRUN_FLAG

	featureNoDrop           = 1 << 1
	featureExtendedArgument = 1 << 8
	featureSkipSuccess      = 1 << 11

	offsetCompletions = 0x8000000
	offsetEntries     = 0x10000000

	operationPoll    = 6
	operationCancel  = 14
	operationSend    = 26
	operationReceive = 27

	entrySelectsBuffer = 1 << 5
	entrySkipsSuccess  = 1 << 6

	priorityPollFirst = 1 << 0

	cancelAll = 1 << 0
	cancelAny = 1 << 2

	enterGetEvents        = 1 << 0
	enterExtendedArgument = 1 << 3

	completionHasBuffer   = 1 << 0
	completionBufferShift = 16
)

// Ring is one io_uring with its ring of buffers.
type Ring struct {
	descriptor int
	maps       [][]byte

	submissionHead *uint32 // the kernel's
	submissionTail *uint32 // ours
	submissionMask uint32
	submissions    []submission
	tail           uint32 // what submissionTail becomes when the entries are submitted

	completionHead *uint32 // ours
	completionTail *uint32 // the kernel's
	completionMask uint32
	completions    []Completion

	buffers  bufferRing
	limit    unix.Timespec
	argument waitArgument
}

// Options are the sizes of a ring; all are powers of two.
type Options struct {
	Entries     int // operations that may be staged
	Completions int // completions that wait in the ring; the kernel keeps more of them elsewhere
	Buffers     int // what Fill makes
}

// Open makes a ring. The error says what the system lacks or forbids.
func Open(o Options) (*Ring, error) {
	p := parameters{completions: uint32(o.Completions), flags: setupCompletions | setupSubmitAll | setupCooperative | setupFlagged}
	descriptor, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(o.Entries), uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, explain(errno)
	}
	r := &Ring{descriptor: int(descriptor)}
	const needed = featureNoDrop | featureExtendedArgument | featureSkipSuccess
	err := errTooOld
	if p.features&needed == needed {
		if err = r.mapQueues(&p); err == nil {
			err = r.openBuffers(o.Buffers)
		}
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Ring) mapQueue(offset int64, length uintptr) ([]byte, error) {
	m, err := unix.Mmap(r.descriptor, offset, int(length), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("mmap of an io_uring: %w", err)
	}
	r.maps = append(r.maps, m)
	return m, nil
}

func word(m []byte, offset uint32) *uint32 { return (*uint32)(unsafe.Pointer(&m[offset])) }

func (r *Ring) mapQueues(p *parameters) error {
	so, co := &p.submissionOffsets, &p.completionOffsets
	firstCompletion := co.submissionDropped
	sm, err := r.mapQueue(0, uintptr(so.submissionArray)+uintptr(p.submissions)*4)
	if err != nil {
		return err
	}
	cm, err := r.mapQueue(offsetCompletions, uintptr(firstCompletion)+uintptr(p.completions)*unsafe.Sizeof(Completion{}))
	if err != nil {
		return err
	}
	em, err := r.mapQueue(offsetEntries, uintptr(p.submissions)*unsafe.Sizeof(submission{}))
	if err != nil {
		return err
	}
	r.submissionHead, r.submissionTail, r.submissionMask = word(sm, so.head), word(sm, so.tail), *word(sm, so.mask)
	r.submissions = unsafe.Slice((*submission)(unsafe.Pointer(&em[0])), p.submissions)
	for i, array := uint32(0), unsafe.Slice(word(sm, so.submissionArray), p.submissions); i < p.submissions; i++ {
		array[i] = i
	}
	r.completionHead, r.completionTail, r.completionMask = word(cm, co.head), word(cm, co.tail), *word(cm, co.mask)
	r.completions = unsafe.Slice((*Completion)(unsafe.Pointer(&cm[firstCompletion])), p.completions)
	return nil
}

// Staged is the number of operations that the kernel has not been given yet.
func (r *Ring) Staged() int { return int(r.tail - atomic.LoadUint32(r.submissionHead)) }

// Room is the number of operations that may be staged before the next Enter.
func (r *Ring) Room() int { return len(r.submissions) - r.Staged() }

// next returns an empty entry.
func (r *Ring) next(operation uint8, descriptor int, mark uint64) *submission {
	if r.Room() == 0 {
		panic("BUG: more operations are staged than the ring has entries")
	}
	entry := &r.submissions[r.tail&r.submissionMask]
	r.tail++
	*entry = submission{operation: operation, descriptor: int32(descriptor), mark: mark}
	return entry
}

// Send stages a send that does not wait for the peer. It completes in the next Enter, and only then is there a
// completion when not all of data was taken. data stays in place and reachable until then.
func (r *Ring) Send(descriptor int, data []byte, mark uint64) {
	entry := r.next(operationSend, descriptor, mark)
	entry.flags = entrySkipsSuccess
	entry.address, entry.length = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(data)))), uint32(len(data))
	entry.detail = unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT | unix.MSG_WAITALL // a short one is a failure
}

// Receive stages a receive into one of the ring's buffers.
func (r *Ring) Receive(descriptor int, mark uint64) {
	entry := r.next(operationReceive, descriptor, mark)
	entry.flags = entrySelectsBuffer
	entry.priority = priorityPollFirst
}

// Poll stages a wait for one of events.
func (r *Ring) Poll(descriptor int, events uint32, mark uint64) {
	entry := r.next(operationPoll, descriptor, mark)
	entry.detail = pollEvents(events)
}

// Cancel stages the end of the operation that was staged with a mark; it completes with ECANCELED, or as it has meanwhile.
func (r *Ring) Cancel(target, mark uint64) {
	entry := r.next(operationCancel, -1, mark)
	entry.flags, entry.address = entrySkipsSuccess, target
}

// CancelAll stages the end of all operations.
func (r *Ring) CancelAll(mark uint64) {
	entry := r.next(operationCancel, -1, mark)
	entry.flags, entry.detail = entrySkipsSuccess, cancelAll|cancelAny
}

// Submit gives the kernel what is staged and has it do what is ready, without waiting. Go's scheduler is not told of it:
// with a hundred sends it is long enough to lose the processor, and to get it back took as long again.
func (r *Ring) Submit() {
	atomic.StoreUint32(r.submissionTail, r.tail)
	_, _, errno := unix.RawSyscall6(unix.SYS_IO_URING_ENTER, uintptr(r.descriptor), uintptr(r.Staged()), 0, enterGetEvents, 0, 0)
	checkEnter(errno)
}

// Wait submits and waits until something has completed, or until limit has passed if it is not negative.
func (r *Ring) Wait(limit time.Duration) {
	atomic.StoreUint32(r.submissionTail, r.tail)
	flags, argument, size := uintptr(enterGetEvents), uintptr(0), uintptr(0)
	if limit >= 0 {
		r.limit = unix.NsecToTimespec(int64(limit))
		r.argument.limit = uint64(uintptr(unsafe.Pointer(&r.limit)))
		flags |= enterExtendedArgument
		argument, size = uintptr(unsafe.Pointer(&r.argument)), unsafe.Sizeof(r.argument)
	}
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.descriptor), uintptr(r.Staged()), 1, flags, argument, size)
	checkEnter(errno)
}

// checkEnter passes over what a later Enter makes good: an interruption, the end of the limit, a kernel short of memory.
func checkEnter(errno unix.Errno) {
	switch errno {
	case 0, unix.EINTR, unix.ETIME, unix.EAGAIN, unix.EBUSY, unix.ENOMEM:
		return
	}
	panic("BUG: io_uring_enter of a loop: " + errno.Error())
}

// Reap takes completions away and appends them to list.
func (r *Ring) Reap(list []Completion) []Completion {
	head, tail := *r.completionHead, atomic.LoadUint32(r.completionTail)
	if head == tail {
		return list
	}
	for ; head != tail; head++ {
		list = append(list, r.completions[head&r.completionMask])
	}
	atomic.StoreUint32(r.completionHead, head)
	return list
}

// Close frees the ring. No operation is in flight.
func (r *Ring) Close() error {
	problems := []error{unix.Close(r.descriptor)}
	for _, m := range r.maps {
		problems = append(problems, unix.Munmap(m))
	}
	r.maps = nil
	return errors.Join(append(problems, r.buffers.close())...)
}
