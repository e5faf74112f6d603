package metamorphic

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/faultdev"
	"github.com/pyropedb/pyrope/tsavorite"
)

// faults makes a run's device fail now and then. The zero value makes nothing fail. Which operation
// of the device a fault strikes depends on timing, so a seed repeats the operations of a run and not
// its faults; what must hold holds wherever they strike: a verb that says StatusError has changed
// nothing, and everything else is as if there had been no fault.
type faults struct {
	device     *faultdev.Device // nil is none
	random     *rand.Rand
	readAt     int // a read fault is armed until so many reads were asked for
	writeAt    int // the same for writes
	writeCount int // faults of writes so far
	seen       int // errors that a fault explains
}

// Failed writes make the store wait before it tries again, so there are few of them.
const maxWriteFaults = 15

// arm sets the next faults once the last ones have struck.
func (f *faults) arm() {
	if f.device == nil {
		return
	}
	reads, writes, _ := f.device.Counts()
	if reads >= f.readAt {
		n := 1 + f.random.IntN(60)
		f.readAt = reads + n
		f.device.FailNth(device.OpRead, n, nil)
	}
	if writes >= f.writeAt && f.writeCount < maxWriteFaults {
		n := 1 + f.random.IntN(100)
		f.writeAt = writes + n
		f.writeCount++
		if f.random.IntN(2) == 0 {
			f.device.FailNth(device.OpWrite, n, nil)
		} else {
			f.device.TearNthWrite(n, f.random.IntN(tinyPage))
		}
	}
}

// excuses says whether an error is one that was injected.
func (f *faults) excuses(err error) bool {
	if f.device == nil || !errors.Is(err, faultdev.ErrInjected) && !errors.Is(err, faultdev.ErrTorn) {
		return false
	}
	f.seen++
	return true
}

// struck says whether faults may have interrupted a scan, which then repeats a step.
func (f *faults) struck() bool { return f.seen > 0 }

// isExcused says whether a session's last StatusError comes from an injected fault. A failed flush is
// tried again by the store: until then no verb gets room, so the run waits a moment.
func (r *run) isExcused(session *tsavorite.Session) bool {
	if !r.faults.excuses(session.Err()) {
		return false
	}
	if r.store.Info().FlushError != "" {
		time.Sleep(5 * time.Millisecond)
	}
	return true
}

// settle uses up the faults that are still armed, so that what follows must succeed.
func (f *faults) settle(r *run) {
	if f.device == nil {
		return
	}
	if f.seen == 0 && r.current.index > 1000 {
		r.fail(-1, "no fault has struck")
	}
	session := r.enter(0)
	for round := 0; ; round++ {
		if reads, _, _ := f.device.Counts(); reads >= f.readAt {
			return
		}
		for key := range keyCount {
			session.Read(keyAt(key), 0, &reader{})
		}
		if round > 100 {
			r.fail(-1, "a hundred rounds of reads did not use up the faults")
		}
	}
}
