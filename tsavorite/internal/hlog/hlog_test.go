package hlog_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
	"github.com/pyropedb/pyrope/device/localmemory"
	"github.com/pyropedb/pyrope/device/null"
	"github.com/pyropedb/pyrope/tsavorite/internal/epoch"
	"github.com/pyropedb/pyrope/tsavorite/internal/hlog"
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

const (
	page    = 4096
	keySize = 8
	minSize = record.HeaderBytes + keySize // of the records that these tests write
)

// moodyDevice fails on request. The counters say how many of the next operations fail.
type moodyDevice struct {
	device.Device
	failWrites, shortWrites, failTruncates atomic.Int64
}

var errMoody = errors.New("the device is in a mood")

func takeOne(n *atomic.Int64) bool {
	for {
		left := n.Load()
		if left <= 0 {
			return false
		}
		if n.CompareAndSwap(left, left-1) {
			return true
		}
	}
}

func (d *moodyDevice) NewQueue() (device.Queue, error) {
	q, err := d.Device.NewQueue()
	return &moodyQueue{q, d}, err
}

func (d *moodyDevice) Truncate(begin uint64) error {
	if takeOne(&d.failTruncates) {
		return errMoody
	}
	return d.Device.Truncate(begin)
}

type moodyQueue struct {
	device.Queue
	device *moodyDevice
}

func (q *moodyQueue) Poll(done []*device.Request, wait bool) int {
	n := q.Queue.Poll(done, wait)
	for _, r := range done[:n] {
		if r.Op != device.OpWrite {
			continue
		}
		if takeOne(&q.device.failWrites) {
			r.Err = errMoody
		} else if takeOne(&q.device.shortWrites) {
			r.Transferred -= 512
		}
	}
	return n
}

// openDevice returns a device in RAM that completes behind the submitter's back.
func openDevice(t *testing.T) *moodyDevice {
	t.Helper()
	d, err := localmemory.Open(device.Options{SegmentSizeBytes: 4 * page})
	if err != nil {
		t.Fatalf("cannot open the device: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("cannot close the device: %v", err)
		}
	})
	return &moodyDevice{Device: d}
}

// testLog is a log and what a store would add to it.
type testLog struct {
	*hlog.Log
	t      *testing.T
	epochs *epoch.Table
	config hlog.Config
	shut   sync.Once
}

// newLog opens a log of so many pages whose compaction never finds anything to gain.
func newLog(t *testing.T, pages uint64, change func(*hlog.Config)) *testLog {
	t.Helper()
	l := &testLog{t: t, epochs: epoch.New()}
	wake := make(chan struct{}, 1)
	l.config = hlog.Config{PageBytes: page, MemoryBytes: pages * page, MutablePercent: 50, Epochs: l.epochs, Compact: func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}}
	if change != nil {
		change(&l.config)
	}
	var err error
	if l.Log, err = hlog.New(l.config); err != nil {
		t.Fatalf("cannot open the log: %v", err)
	}
	stop := make(chan struct{})
	var compactor sync.WaitGroup
	compactor.Go(func() {
		for {
			select {
			case <-wake:
				l.SetFull(time.Hour)
			case <-stop:
				return
			}
		}
	})
	t.Cleanup(func() {
		close(stop)
		compactor.Wait()
		l.close()
	})
	return l
}

// close closes the log once.
func (l *testLog) close() {
	l.shut.Do(func() {
		if err := l.Close(); err != nil {
			l.t.Errorf("cannot close the log: %v", err)
		}
	})
}

// overDevice is a change of the configuration.
func overDevice(d device.Device) func(*hlog.Config) {
	return func(c *hlog.Config) { c.Device = d }
}

func evicting(c *hlog.Config) { c.EvictOldest = true }

// tryAppend writes one record of size bytes whose key is id, in one visit to the epoch. It returns 0 and
// the limit seen before when there is no room.
func (l *testLog) tryAppend(e *epoch.Entry, id uint64, size int) (at record.Address, seen uint64) {
	e.Enter()
	defer e.Leave()
	seen = l.Limit()
	if at = l.Allocate(size); at == 0 {
		return 0, seen
	}
	for offset := 0; offset < size; offset += 8 {
		if word := *(*uint64)(unsafe.Add(l.Base(), l.Place(at+record.Address(offset)))); word != 0 {
			l.t.Errorf("the word at %d of %v is %#x when it is allocated (H4)", uint64(at)+uint64(offset), l.Addresses(), word)
		}
	}
	r := l.Record(at)
	var key [keySize]byte
	binary.LittleEndian.PutUint64(key[:], id)
	r.Init(record.Layout{Key: key[:], Capacity: size - minSize}, size-minSize)
	for i, value := 0, r.Value(); i < len(value); i++ {
		value[i] = valueByte(id, i)
	}
	r.Publish(at-1, false)
	return at, seen
}

func valueByte(id uint64, i int) byte { return byte(id)*31 + byte(i) | 1 }

// append is tryAppend that waits for room.
func (l *testLog) append(e *epoch.Entry, id uint64, size int) (record.Address, hlog.Room, error) {
	for {
		at, seen := l.tryAppend(e, id, size)
		if at != 0 {
			return at, hlog.RoomMade, nil
		}
		if room, err := l.WaitRoom(seen); room != hlog.RoomMade {
			return 0, room, err
		}
	}
}

// mustAppend is append where room must come.
func (l *testLog) mustAppend(e *epoch.Entry, id uint64, size int) record.Address {
	l.t.Helper()
	at, room, err := l.append(e, id, size)
	if room != hlog.RoomMade {
		l.t.Fatalf("no room for record %d: %d, %v; %v", id, room, err, l.Addresses())
	}
	return at
}

// checkRecord says whether r is record id as it was written.
func checkRecord(r record.Record, id uint64) error {
	if !r.IsValid() || len(r.Key()) != keySize || binary.LittleEndian.Uint64(r.Key()) != id {
		return fmt.Errorf("record %d is not there: valid %v, key %x", id, r.IsValid(), r.Key())
	}
	for i, b := range r.Value() {
		if b != valueByte(id, i) {
			return fmt.Errorf("byte %d of record %d is %#x", i, id, b)
		}
	}
	return nil
}

// eventually waits until a condition that the pager brings about holds.
func (l *testLog) eventually(what string, condition func() bool) {
	l.t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			l.t.Fatalf("%s: not within a minute; %v, error %v", what, l.Addresses(), l.Err())
		}
	}
}

// randomSize is the size of a record, now and then a whole page.
func randomSize(random *rand.Rand) int {
	if random.IntN(20) == 0 {
		return page
	}
	return minSize + 8*random.IntN(40)
}

// readDevice returns what the device holds from an address on.
func readDevice(t *testing.T, d device.Device, from, until uint64) []byte {
	t.Helper()
	q, err := d.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	b, err := aligned.Map(int(until - from))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = aligned.Unmap(b) })
	r := &device.Request{Op: device.OpRead, Address: from, Buffer: b}
	q.SubmitAndPoll([]*device.Request{r}, make([]*device.Request, 1), true)
	if r.Err != nil || r.Transferred != len(b) {
		t.Fatalf("the device returns %d of %d bytes: %v", r.Transferred, len(b), r.Err)
	}
	return b
}

// checkDevice compares the flushed part of the device with what was written (H3).
func (l *testLog) checkDevice(written map[record.Address]uint64) {
	l.t.Helper()
	until := l.Addresses().FlushedUntil
	b := readDevice(l.t, l.config.Device, 0, until)
	checked := 0
	for at, id := range written {
		if uint64(at) >= until {
			continue
		}
		size, ok := record.CheckBuffer(b[at:], l.PageRest(at))
		if !ok || size == 0 {
			l.t.Fatalf("the device has no record %d at address %d", id, at)
		}
		if err := checkRecord(record.InBuffer(b[at:]), id); err != nil {
			l.t.Fatalf("on the device, address %d: %v (H3)", at, err)
		}
		checked++
	}
	if checked == 0 {
		l.t.Error("nothing was flushed, nothing was checked")
	}
}

// TestRecordsLieWithinPages: records follow each other without a gap but at the end of a page, which none
// crosses (R1); what leaves memory is on the device as it was written; memory need not be a power of two
// of pages.
func TestRecordsLieWithinPages(t *testing.T) {
	for _, pages := range []uint64{3, 4, 5, 6, 7, 8} {
		t.Run(fmt.Sprintf("%d pages", pages), func(t *testing.T) {
			l := newLog(t, pages, overDevice(openDevice(t)))
			e := l.epochs.Register()
			random := rand.New(rand.NewPCG(pages, 5))
			written := map[record.Address]uint64{}
			next := hlog.FirstAddress
			for id := range uint64(600) {
				size := randomSize(random)
				if l.PageRest(next) < size {
					next = l.PageEnd(next)
				}
				at := l.mustAppend(e, id, size)
				if at != next || uint64(at)/page != (uint64(at)+uint64(size)-1)/page {
					t.Fatalf("record %d of %d bytes lies at %d, want %d (R1)", id, size, at, next)
				}
				written[at] = id
				if next = at + record.Address(size); l.Tail() != next {
					t.Fatalf("tail is %d after a record that ends at %d", l.Tail(), next)
				}
			}
			l.eventually("the pager catches up", func() bool {
				a := l.Addresses()
				return a.FlushedUntil == a.ReadOnly && a.ReadOnly > a.Tail-pages*page
			})
			l.checkDevice(written)
			l.checkMemory(e, written)
		})
	}
}

// checkMemory looks at the records at or above head.
func (l *testLog) checkMemory(e *epoch.Entry, written map[record.Address]uint64) {
	l.t.Helper()
	e.Enter()
	defer e.Leave()
	for at, id := range written {
		if at < l.Head() || at < l.Begin() {
			continue
		}
		if err := checkRecord(l.Record(at), id); err != nil {
			l.t.Fatalf("in memory, address %d: %v", at, err)
		}
	}
}

// checkOrder samples the addresses until stop: in order, and growing (H1).
func (l *testLog) checkOrder(stop *atomic.Bool) {
	var last hlog.Addresses
	for !stop.Load() {
		a := l.Addresses()
		ordered := [...]uint64{a.ClosedUntil, a.Head, a.FlushedUntil, a.SafeReadOnly, a.ReadOnly, a.Tail, l.Limit() + page}
		before := [...]uint64{last.ClosedUntil, last.Head, last.FlushedUntil, last.SafeReadOnly, last.ReadOnly, last.Tail, 0}
		for i := range ordered {
			if i > 0 && ordered[i] < ordered[i-1] || ordered[i] < before[i] || a.Begin < last.Begin {
				l.t.Errorf("addresses out of order: %v after %v (H1)", a, last)
				return
			}
		}
		last = a
	}
}

// TestOrderOfAddresses lets several goroutines allocate with tiny pages while the addresses are watched.
// Every record keeps its bytes until it leaves memory, and on the device.
func TestOrderOfAddresses(t *testing.T) {
	count := 3000
	if testing.Short() {
		count = 600
	}
	for _, mode := range []struct {
		name   string
		pages  uint64
		change func(*testing.T) func(*hlog.Config)
	}{
		{"localmemory, 4 pages", 4, func(t *testing.T) func(*hlog.Config) { return overDevice(openDevice(t)) }},
		{"localmemory, 3 pages", 3, func(t *testing.T) func(*hlog.Config) { return overDevice(openDevice(t)) }},
		{"evicting, 5 pages", 5, func(*testing.T) func(*hlog.Config) { return evicting }},
	} {
		t.Run(mode.name, func(t *testing.T) {
			l := newLog(t, mode.pages, mode.change(t))
			var stop atomic.Bool
			var watcher, group sync.WaitGroup
			watcher.Go(func() { l.checkOrder(&stop) })
			var mu sync.Mutex
			written := map[record.Address]uint64{}
			for w := range uint64(4) {
				e := l.epochs.Register()
				group.Go(func() {
					random := rand.New(rand.NewPCG(w, 6))
					for n := range uint64(count) {
						id, size := w<<32|n, randomSize(random)
						at, room, err := l.append(e, id, size)
						if room != hlog.RoomMade {
							t.Errorf("no room for record %#x: %d, %v", id, room, err)
							return
						}
						mu.Lock()
						if _, twice := written[at]; twice {
							t.Errorf("address %d was allocated twice", at)
						}
						written[at] = id
						mu.Unlock()
					}
				})
			}
			group.Wait()
			stop.Store(true)
			watcher.Wait()
			l.checkMemory(l.epochs.Register(), written)
			if l.config.Device != nil {
				l.checkDevice(written)
			}
		})
	}
}

// TestFullWithoutDevice: memory runs full, says so, and has room again after a truncation.
func TestFullWithoutDevice(t *testing.T) {
	for _, pages := range []uint64{3, 4, 5} {
		t.Run(fmt.Sprintf("%d pages", pages), func(t *testing.T) {
			l := newLog(t, pages, nil)
			e := l.epochs.Register()
			for round := range 5 {
				count := uint64(0)
				for ; ; count++ {
					_, room, err := l.append(e, count, 256)
					if room == hlog.RoomFull {
						break
					}
					if room != hlog.RoomMade {
						t.Fatalf("round %d, record %d: room %d, %v", round, count, room, err)
					}
				}
				if want := (pages - 2) * page / 256; count < want-1 {
					t.Errorf("round %d: %d records of 256 bytes fill %d pages", round, count, pages)
				}
				if a := l.Addresses(); a.ReadOnly > a.Begin || a.FlushedBytes != 0 {
					t.Errorf("without a device read-only is %d, flushed %d bytes", a.ReadOnly, a.FlushedBytes)
				}
				l.Truncate()
				seen := l.Limit()
				begin := l.Tail()
				if l.Begin() != begin {
					t.Fatalf("begin is %d after a truncation at %d", l.Begin(), begin)
				}
				l.eventually("the dropped pages are freed", func() bool {
					return l.Addresses().ClosedUntil == uint64(begin)&^(page-1) && l.Limit() >= seen
				})
			}
		})
	}
}

// TestNeedfulWritesLeaveCompactionAPage: whatever they take in memory that is full, compaction can move a page of records still, also
// where the address space ends with the budget.
func TestNeedfulWritesLeaveCompactionAPage(t *testing.T) {
	for _, pages := range []uint64{3, 4, 5, 8, 16, 17} {
		t.Run(fmt.Sprintf("%d pages", pages), func(t *testing.T) {
			l := newLog(t, pages, nil)
			e := l.epochs.Register()
			for id := uint64(0); ; id++ {
				if _, room, _ := l.append(e, id, 256); room == hlog.RoomFull {
					break
				}
			}
			e.Enter()
			defer e.Leave()
			needful := 0
			for ; l.AllocateNeedful(256) != 0; needful++ {
				if needful > 2*int(pages)*page/256 {
					t.Fatal("needful writes are not bounded")
				}
			}
			if needful < page/256 && pages > 3 {
				t.Errorf("%d needful writes of 256 bytes are made, want a page of them", needful)
			}
			l.FollowTail()
			for moved := range page / 1024 {
				if l.AllocateReserved(1024) == 0 {
					t.Fatalf("compaction finds room for %d KiB, want 4", moved)
				}
			}
		})
	}
}

// TestEvictOldest: without a device the oldest page goes, begin with it, and there is always room.
func TestEvictOldest(t *testing.T) {
	for _, change := range []func(*hlog.Config){evicting, func(c *hlog.Config) {
		c.Device, _ = null.Open(device.Options{SegmentSizeBytes: 4 * page})
	}} {
		l := newLog(t, 3, change)
		e := l.epochs.Register()
		written := map[record.Address]uint64{}
		for id := range uint64(500) {
			written[l.mustAppend(e, id, 520)] = id
			if a := l.Addresses(); a.Begin > a.Tail || a.Tail-a.ClosedUntil > 3*page {
				t.Fatalf("addresses are %v", a)
			}
		}
		l.eventually("begin follows head", func() bool {
			return l.Begin() == l.Head() && l.Head() >= l.Tail()-3*page
		})
		l.checkMemory(e, written)
		if a := l.Addresses(); a.FlushedBytes != 0 && l.config.Device == nil {
			t.Errorf("%d bytes were flushed to no device", a.FlushedBytes)
		}
	}
}

// TestFramesStayWhileInside: what a session sees stays as it is until it leaves, though others wait for room
// (H2); only then the frames are freed, and they are zeroed (H4, checked by tryAppend).
func TestFramesStayWhileInside(t *testing.T) {
	for _, pages := range []uint64{3, 4} {
		l := newLog(t, pages, overDevice(openDevice(t)))
		reader, writer := l.epochs.Register(), l.epochs.Register()
		first := l.mustAppend(writer, 0, 128)
		reader.Enter()
		last := uint64(1)
		for ; ; last++ {
			if at, _ := l.tryAppend(writer, last, 128); at == 0 {
				break
			}
		}
		done := make(chan hlog.Room)
		go func() {
			_, room, _ := l.append(writer, last, 128)
			done <- room
		}()
		select {
		case room := <-done:
			t.Fatalf("room %d was made while a session could see the oldest frame (H2)", room)
		case <-time.After(20 * time.Millisecond):
		}
		if err := checkRecord(l.Record(first), 0); err != nil {
			t.Errorf("a session that never left: %v (H2)", err)
		}
		reader.Leave()
		if room := <-done; room != hlog.RoomMade {
			t.Fatalf("room is %d after the session has left", room)
		}
	}
}

// TestCloseWakesWaiters: whoever waits for room is told that the log is closed.
func TestCloseWakesWaiters(t *testing.T) {
	l := newLog(t, 3, overDevice(openDevice(t)))
	inside, writer := l.epochs.Register(), l.epochs.Register()
	inside.Enter()
	seen := uint64(0)
	for id := uint64(0); ; id++ {
		var at record.Address
		if at, seen = l.tryAppend(writer, id, 1024); at == 0 {
			break
		}
	}
	type answer struct {
		room hlog.Room
		err  error
	}
	done := make(chan answer)
	go func() {
		room, err := l.WaitRoom(seen)
		done <- answer{room, err}
	}()
	time.Sleep(5 * time.Millisecond)
	l.close()
	if got := <-done; got.room != hlog.RoomGone || got.err == nil {
		t.Errorf("WaitRoom of a closed log says %d, %v", got.room, got.err)
	}
}

// TestFlushErrors: a device that refuses pages, or takes parts of them, is reported to whoever waits for
// room; the pager tries again, and nothing is lost.
func TestFlushErrors(t *testing.T) {
	for _, mood := range []struct {
		name  string
		count func(*moodyDevice) *atomic.Int64
		says  string
	}{
		{"failed", func(d *moodyDevice) *atomic.Int64 { return &d.failWrites }, errMoody.Error()},
		{"short", func(d *moodyDevice) *atomic.Int64 { return &d.shortWrites }, "took 3584 of 4096 bytes"},
	} {
		t.Run(mood.name, func(t *testing.T) {
			d := openDevice(t)
			l := newLog(t, 4, overDevice(d))
			e := l.epochs.Register()
			written := map[record.Address]uint64{}
			mood.count(d).Store(1 << 40)
			id := uint64(0)
			for {
				at, room, err := l.append(e, id, 512)
				if room == hlog.RoomGone {
					if err == nil || !strings.Contains(err.Error(), mood.says) || !strings.Contains(err.Error(), "cannot flush") {
						t.Fatalf("the error is %v, want one that says %q", err, mood.says)
					}
					break
				}
				if written[at] = id; room != hlog.RoomMade || id > 1000 {
					t.Fatalf("record %d: room %d though the device takes nothing", id, room)
				}
				id++
			}
			if l.Err() == nil || l.Addresses().FlushedUntil != 0 {
				t.Errorf("error %v, %v: want an error and nothing flushed", l.Err(), l.Addresses())
			}
			mood.count(d).Store(0)
			l.eventually("the pager tries again", func() bool { return l.Err() == nil })
			for range 100 {
				written[l.mustAppend(e, id, 512)] = id
				id++
			}
			l.eventually("pages are flushed", func() bool { return l.Addresses().FlushedUntil > 4*page })
			l.checkDevice(written)
		})
	}
}

// TestTruncateWithDevice: the device loses whole segments below begin, and pages that are dead before
// they were flushed are not written at all.
func TestTruncateWithDevice(t *testing.T) {
	d := openDevice(t)
	l := newLog(t, 8, overDevice(d))
	e := l.epochs.Register()
	for id := range uint64(400) {
		l.mustAppend(e, id, 512)
	}
	l.Truncate()
	begin := uint64(l.Begin())
	if begin != l.Addresses().Tail {
		t.Fatalf("begin is %d, tail %d", begin, l.Addresses().Tail)
	}
	l.eventually("head follows begin", func() bool { return l.Addresses().ClosedUntil == begin&^(page-1) })
	flushed := l.Addresses().FlushedBytes
	if flushed >= begin&^(page-1) {
		t.Errorf("%d bytes were flushed of %d, though the last pages were dead", flushed, begin)
	}
	q, err := d.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	r := &device.Request{Op: device.OpRead, Address: 0, Buffer: make([]byte, 512)}
	l.eventually("the device is truncated", func() bool {
		q.SubmitAndPoll([]*device.Request{r}, make([]*device.Request, 1), true)
		return errors.Is(r.Err, device.ErrTruncated)
	})
	written := map[record.Address]uint64{}
	for id := range uint64(200) {
		written[l.mustAppend(e, id, 512)] = id
	}
	l.checkMemory(e, written)
}

// TestTruncateErrors: a device that cannot drop its segments is reported until a later try succeeds; room
// does not depend on it.
func TestTruncateErrors(t *testing.T) {
	d := openDevice(t)
	l := newLog(t, 4, overDevice(d))
	e := l.epochs.Register()
	for id := range uint64(100) {
		l.mustAppend(e, id, 512)
	}
	d.failTruncates.Store(1 << 40)
	l.Truncate()
	l.eventually("the error is reported", func() bool { return errors.Is(l.Err(), errMoody) })
	for id := range uint64(100) {
		l.mustAppend(e, id, 512)
	}
	if err := l.Err(); !errors.Is(err, errMoody) || !strings.Contains(err.Error(), "cannot truncate") {
		t.Errorf("after pages were flushed, the error of the truncation is %v", err)
	}
	d.failTruncates.Store(0)
	l.eventually("the error goes with the next try", func() bool { return l.Err() == nil })
}

// TestStillBegins: a truncation between look-up and allocation is noticed (H6).
func TestStillBegins(t *testing.T) {
	l := newLog(t, 4, nil)
	begin := l.Begin()
	if !l.StillBegins(begin) {
		t.Error("nothing was truncated, and begin no longer counts")
	}
	l.mustAppend(l.epochs.Register(), 1, 64)
	l.Truncate()
	if l.StillBegins(begin) || !l.StillBegins(l.Begin()) {
		t.Errorf("after a truncation begin %d still counts: %v; begin %d: %v", begin, l.StillBegins(begin), l.Begin(), l.StillBegins(l.Begin()))
	}
}

// TestSettledTail waits for the writers that were inside.
func TestSettledTail(t *testing.T) {
	l := newLog(t, 4, nil)
	e := l.epochs.Register()
	e.Enter()
	at := l.Allocate(64)
	done := make(chan record.Address)
	go func() { done <- l.SettledTail() }()
	select {
	case tail := <-done:
		t.Fatalf("tail %d is settled while the record at %d is being written", tail, at)
	case <-time.After(10 * time.Millisecond):
	}
	e.Leave()
	if tail := <-done; tail < at+64 {
		t.Errorf("settled tail is %d, below the end of the record at %d", tail, at)
	}
}

func TestAddressesInWords(t *testing.T) {
	l := newLog(t, 4, nil)
	if l.PageBytes() != page || l.MemoryBytes() != 4*page || l.Begin() != hlog.FirstAddress || l.Tail() != hlog.FirstAddress {
		t.Errorf("a new log has pages of %d, memory of %d, begin %d, tail %d", l.PageBytes(), l.MemoryBytes(), l.Begin(), l.Tail())
	}
	const want = "begin=64 closed=0 head=0 flushed=0 safe-read-only=0 read-only=0 tail=64"
	if got := l.Addresses().String(); got != want {
		t.Errorf("the addresses are %q, want %q", got, want)
	}
	for _, test := range []struct{ at, rest, end record.Address }{{64, page - 64, page}, {page, page, 2 * page}, {2*page - 8, 8, 2 * page}} {
		if l.PageRest(test.at) != int(test.rest) || l.PageEnd(test.at) != test.end {
			t.Errorf("the page of %d ends at %d, %d bytes on; want %d, %d", test.at, l.PageEnd(test.at), l.PageRest(test.at), test.end, test.rest)
		}
	}
}

func TestAllocateDoesNotAllocate(t *testing.T) {
	l := newLog(t, 4, evicting)
	e := l.epochs.Register()
	if n := testing.AllocsPerRun(100, func() {
		e.Enter()
		l.Allocate(16)
		e.Leave()
	}); n != 0 {
		t.Errorf("Allocate makes %.1f allocations on the Go heap", n)
	}
}
