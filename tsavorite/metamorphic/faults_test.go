package metamorphic

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
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
		burst := 1 + f.random.IntN(8)
		f.writeAt = writes + n + burst
		f.writeCount++
		for i := range burst {
			if f.random.IntN(2) == 0 {
				f.device.FailNth(device.OpWrite, n+i, nil)
			} else {
				f.device.TearNthWrite(n+i, f.random.IntN(tinyPage))
			}
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

// settle takes back the faults that are still armed, so that what follows must succeed.
func (f *faults) settle(r *run) {
	if f.device == nil {
		return
	}
	if f.seen == 0 && r.current.index > 1000 {
		r.fail(-1, "no fault has struck")
	}
	f.device.Disarm()
	f.readAt, f.writeAt = 0, 0
	for deadline := time.Now().Add(time.Minute); r.store.Info().FlushError != ""; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			r.fail(-1, "the store has not recovered from a failed flush")
		}
	}
}

// faultStore is a store of three pages over a device that fails when told to, with cold keys: key
// i has the value of its number.
func faultStore(t *testing.T, keys int) (*faultdev.Device, *tsavorite.Store, *tsavorite.Session) {
	t.Helper()
	failing := openFailing(t).(*faultdev.Device)
	store, err := tsavorite.Open(tsavorite.Options{Device: failing, MemoryBytes: tinyLog, PageBytes: tinyPage, IndexBytes: tinyIndex})
	if err != nil {
		t.Fatalf("cannot open the store: %v", err)
	}
	session, err := store.NewSession()
	if err != nil {
		t.Fatalf("cannot make a session: %v", err)
	}
	t.Cleanup(func() {
		session.Close()
		if err := store.Close(); err != nil {
			t.Errorf("cannot close the store: %v", err)
		}
	})
	session.Enter()
	for i := range keys {
		if status := session.Upsert(faultKey(i), faultValue(i), tsavorite.Metadata{}); status > tsavorite.Blind {
			t.Fatalf("Upsert says %v: %v", status, session.Err())
		}
	}
	session.Leave()
	return failing, store, session
}

func faultKey(i int) tsavorite.Key { return tsavorite.Key{Bytes: fmt.Appendf(nil, "key:%d", i)} }

func faultValue(i int) []byte {
	value := make([]byte, 400)
	fill(value, uint64(i))
	return value
}

// checkFaultReads reads every key in one batch; none may fail.
func checkFaultReads(t *testing.T, session *tsavorite.Session, keys int) {
	t.Helper()
	list := make([]tsavorite.Key, keys)
	for i := range list {
		list[i] = faultKey(i)
	}
	r := &reader{}
	session.ReadBatch(list, r)
	for i, result := range r.results {
		if result.status != tsavorite.Found || !bytes.Equal(result.record.Value, faultValue(i)) {
			t.Fatalf("key %d: read says %v, %d bytes: %v", i, result.status, len(result.record.Value), session.Err())
		}
	}
}

// TestEveryReadMayFail lets the nth read of the device fail, for every n that a list of verbs comes
// to. One verb says so, the others go on, and nothing has changed.
func TestEveryReadMayFail(t *testing.T) {
	const keys = 40
	for n := 1; ; n++ {
		failing, _, session := faultStore(t, keys)
		before, _, _ := failing.Counts()
		failing.FailNth(device.OpRead, n, nil)
		session.Enter()
		failures := coldVerbs(t, session)
		after, _, _ := failing.Counts()
		if after-before < n {
			if failures != 0 || n < 8 {
				t.Fatalf("%d reads went to the device, and %d verbs failed with the fault after them", after-before, failures)
			}
			session.Leave()
			return
		}
		if failures != 1 {
			t.Fatalf("read %d failed, and %d verbs say so", n, failures)
		}
		checkFaultReads(t, session, keys)
		session.Leave()
	}
}

// coldVerbs runs verbs that read the device and change nothing, and returns how many of them failed.
func coldVerbs(t *testing.T, session *tsavorite.Session) (failures int) {
	judge := func(status tsavorite.Status) {
		switch {
		case status == tsavorite.StatusError && errors.Is(session.Err(), faultdev.ErrInjected):
			failures++
		case status != tsavorite.Found:
			t.Fatalf("a cold verb says %v: %v", status, session.Err())
		}
	}
	read, batch, async := &reader{}, &reader{}, &reader{}
	judge(session.Read(faultKey(0), 0, read))
	session.ReadBatch([]tsavorite.Key{faultKey(1), faultKey(2), faultKey(3)}, batch)
	for _, result := range batch.results {
		judge(result.status)
	}
	judge(session.RMW(faultKey(4), &updater{operation: operation{change: changeKeep}, unsure: true}))
	late := &updater{operation: operation{change: changeKeep}, unsure: true}
	session.ReadAsync(faultKey(5), 0, async)
	session.RMWAsync(faultKey(6), 0, late)
	if left := session.CompletePending(true); left != 0 || len(async.results) != 1 || late.finishes != 1 {
		t.Fatalf("%d operations are pending, %d and %d were answered", left, len(async.results), late.finishes)
	}
	judge(async.results[0].status)
	judge(late.status)
	v := &visitor{}
	if _, err := session.Scan(0, 0, 0, v); errors.Is(err, faultdev.ErrInjected) {
		failures++
	} else if err != nil || len(v.keys) != 40 {
		t.Fatalf("a scan visited %d keys: %v", len(v.keys), err)
	}
	return failures
}

// TestFlushErrorIsReported: while the device takes no pages, what does not fit in memory is
// refused with the reason, what was acknowledged is there, and the store goes on by itself afterwards.
func TestFlushErrorIsReported(t *testing.T) {
	for name, fault := range map[string]func(*faultdev.Device, int){
		"fails": func(d *faultdev.Device, n int) { d.FailNth(device.OpWrite, n, nil) },
		"torn":  func(d *faultdev.Device, n int) { d.TearNthWrite(n, 512) },
	} {
		t.Run(name, func(t *testing.T) {
			failing, store, session := faultStore(t, 40)
			for n := range 40 {
				fault(failing, n+1)
			}
			stored, refused := 40, 0
			session.Enter()
			defer session.Leave()
			for deadline := time.Now().Add(20 * time.Second); refused == 0 || stored < 200; {
				status := session.Upsert(faultKey(stored), faultValue(stored), tsavorite.Metadata{})
				switch {
				case status <= tsavorite.Blind:
					stored++
				case status == tsavorite.StatusError && (errors.Is(session.Err(), faultdev.ErrInjected) || errors.Is(session.Err(), faultdev.ErrTorn)):
					if refused++; refused == 1 && store.Info().FlushError == "" {
						t.Error("Info does not report the failed flush")
					}
					checkFaultReads(t, session, stored)
					time.Sleep(time.Millisecond)
				default:
					t.Fatalf("Upsert says %v: %v", status, session.Err())
				}
				if time.Now().After(deadline) {
					t.Fatalf("after 20 seconds %d records are stored, %d were refused", stored, refused)
				}
			}
			checkFaultReads(t, session, stored)
			if report := store.Info().FlushError; report != "" {
				t.Errorf("Info still reports %q", report)
			}
		})
	}
}
