// Package ring turns kernel rings (libaio contexts, io_uring instances) into a device.Device. What
// differs between them is behind the interface Kernel; what is the same is here once: slots,
// segments, the cap on requests in flight, and how queues share a ring.
//
//	queue  queue            queue            a queue is bound to the ring with the fewest queues
//	   \    /                 |
//	   ring 0               ring 1           one lock each, held for no system call that waits
//	   waiting -> slots     waiting -> slots requests beyond the cap wait in order
//	   kernel ring          kernel ring      a slot's number is all that the kernel knows of a request
//
// Whoever polls reaps for all: completions of other queues go to their done lists. To wait in the
// kernel is the leader's part, one goroutine a ring; the others that wait follow, until the leader hands
// them a completion or its place. With drainers, goroutines of the device lead for good. A ring with
// one queue has no followers, and then all of this is an uncontended lock and a comparison.
//
// A queue whose requests are the only ones of its ring waits for a part of them, not for the first: each
// return to refill costs a system call or two, a doorbell of the device and a switch of threads.
// WaitLimit bounds what that adds to the time of a read.
//
// Invariants, beside the device's own (D1 to D8):
//
//	K1  A slot is taken from when its piece is staged until its completion is reaped or the kernel refuses it, so the
//	    kernel has never more than there are slots, and no completion is without one.
//	K2  A request is in one place: waiting, in slots, or in its queue's done list. It gets there once, when its
//	    last piece has ended and no byte of it waits to be staged.
//	K3  One goroutine leads at a time. The lock is not held while it waits in the kernel.
//	K4  Who gives up the lock has passed on what was staged, or leads and does so next. While requests are in flight
//	    and a queue waits, one leads: a leader that leaves wakes the oldest follower.
//	K5  A queue waits for more than one completion only if all requests of the ring are its own.
package ring

import (
	"errors"
	"time"

	"github.com/pyropedb/pyrope/device"
)

// Operation is one read or write within one file.
type Operation struct {
	Slot       uint32 // comes back with the completion
	Op         device.Op
	Descriptor int
	Offset     int64
	Memory     []byte // stays reachable and in place until the completion
	Registered uint32 // number of the registered memory that Memory lies in, or 0
}

// Completion is the end of an Operation.
type Completion struct {
	Slot   uint32
	Result int64 // bytes moved, or the negative error number
}

// WaitLimit is the longest wait for more than one completion.
const WaitLimit = time.Millisecond

// ErrBusy says that the kernel cannot take more at the moment; what it did not take stays staged.
var ErrBusy = errors.New("device: the kernel's ring is busy")

// Registrar is a Kernel that can keep memory pinned. Both methods are called with the ring's lock held,
// also during Wait.
type Registrar interface {
	// Register returns a number from 1, or 0 where the system refuses.
	Register(memory []byte) uint32
	// Unregister takes back what Register did; no operation uses it.
	Unregister(number uint32)
}

// Kernel is one ring of the kernel. It has no lock: all methods are called with the ring's lock
// held, except Wait, during which the others than Stage and Submit are not called.
type Kernel interface {
	// Stage notes an operation. There is always room: the ring counts its slots.
	Stage(o Operation)
	// Submit passes what is staged to the kernel. With waitFollows it may leave that to Wait.
	Submit(waitFollows bool) error
	// Refused returns the operations that the last Submit could not make the kernel take, as if
	// they had completed. The slice is valid until the next Submit.
	Refused() []Completion
	// Wait blocks until there are least completions to reap. With least above 1 it returns after WaitLimit
	// with fewer, even none. It may return early in any case.
	Wait(least int) error
	// Reap stores completions that have arrived, without waiting, and returns how many.
	Reap(completions []Completion) int
	// Announce makes the kernel signal an eventfd for every completion of what is staged from now on.
	Announce(eventFD int) error
	// Close frees the ring; nothing is in flight.
	Close() error
}
