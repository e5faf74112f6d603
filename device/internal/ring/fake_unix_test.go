//go:build unix

package ring

import (
	"errors"
	"sync"
	"syscall"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/internal/eventfd"
)

// nature is how a fakeKernel makes life hard.
type nature struct {
	mostBytes      int  // moved by one operation; 0 is no bound
	busyEvery      int  // every so many Submits take only half
	transientEvery int  // every so many operations end with EAGAIN or ECANCELED
	refuseEvery    int  // every so many operations are refused with EBADF
	hides          bool // completions appear in Wait only, or at the second look
	combines       bool // Submit leaves everything to Wait when told that it follows
}

// fakeKernel is a ring that uses pread and pwrite, and whose completions wait for somebody to look.
type fakeKernel struct {
	nature  nature
	depth   int
	eventFD int

	staged     []Operation  // guarded by the ring's lock, and by mutex
	refused    []Completion // guarded by the ring's lock
	operations int          // counted, as are submits
	submits    int
	looks      int
	leasts     []int // what each Wait was told, guarded by mutex

	mutex   sync.Mutex
	arrived sync.Cond
	hidden  []Completion // guarded by mutex
	visible []Completion // guarded by mutex
	closed  bool
}

func newFake(n nature, depth int) *fakeKernel {
	k := &fakeKernel{nature: n, depth: depth, eventFD: -1}
	k.arrived.L = &k.mutex
	return k
}

func every(n, count int) bool { return n > 0 && count%n == 0 }

func (k *fakeKernel) Stage(o Operation) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if len(k.staged)+len(k.hidden)+len(k.visible) >= k.depth {
		panic("more operations than the ring is deep")
	}
	k.staged = append(k.staged, o)
}

func (k *fakeKernel) Submit(waitFollows bool) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.refused = k.refused[:0]
	if waitFollows && k.nature.combines {
		return nil
	}
	return k.submitLocked()
}

func (k *fakeKernel) submitLocked() error {
	if len(k.staged) == 0 {
		return nil
	}
	k.submits++
	take := len(k.staged)
	if every(k.nature.busyEvery, k.submits) {
		take /= 2
	}
	for _, o := range k.staged[:take] {
		k.carryOut(o)
	}
	k.staged = append(k.staged[:0], k.staged[take:]...)
	if len(k.staged) > 0 {
		return ErrBusy
	}
	return nil
}

func (k *fakeKernel) carryOut(o Operation) {
	k.operations++
	if every(k.nature.refuseEvery, k.operations) {
		k.refused = append(k.refused, Completion{Slot: o.Slot, Result: -int64(syscall.EBADF)})
		return
	}
	c := Completion{Slot: o.Slot, Result: move(o, k.nature.mostBytes)}
	if every(k.nature.transientEvery, k.operations) {
		c.Result = -int64([]syscall.Errno{syscall.EAGAIN, syscall.ECANCELED, syscall.EINTR}[k.operations%3])
	}
	if k.nature.hides {
		k.hidden = append(k.hidden, c)
	} else {
		k.visible = append(k.visible, c)
	}
	if k.eventFD >= 0 {
		eventfd.Signal(k.eventFD)
	}
	k.arrived.Signal()
}

func move(o Operation, most int) int64 {
	memory := o.Memory
	if most > 0 {
		memory = memory[:min(most, len(memory))]
	}
	call := syscall.Pread
	if o.Op == device.OpWrite {
		call = syscall.Pwrite
	}
	n, err := call(o.Descriptor, memory, o.Offset)
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return -int64(errno)
	}
	return int64(n)
}

func (k *fakeKernel) Refused() []Completion { return k.refused }

func (k *fakeKernel) Wait(least int) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.leasts = append(k.leasts, least)
	if k.nature.combines {
		if err := k.submitLocked(); err != nil {
			return err
		}
	}
	for len(k.hidden)+len(k.visible) == 0 {
		if len(k.staged) > 0 {
			return nil // as if interrupted
		}
		k.arrived.Wait()
	}
	k.show()
	return nil
}

func (k *fakeKernel) show() {
	k.visible = append(k.visible, k.hidden...)
	k.hidden = k.hidden[:0]
}

func (k *fakeKernel) Reap(completions []Completion) int {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.closed {
		panic("reaped after Close")
	}
	if k.looks++; k.looks%2 == 0 {
		k.show()
	}
	n := copy(completions, k.visible)
	k.visible = append(k.visible[:0], k.visible[n:]...)
	return n
}

func (k *fakeKernel) Announce(eventFD int) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.eventFD = eventFD
	return nil
}

func (k *fakeKernel) Close() error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.closed || len(k.staged)+len(k.hidden)+len(k.visible) > 0 {
		panic("closed twice or with operations in flight")
	}
	k.closed = true
	return nil
}
