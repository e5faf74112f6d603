package tsavorite_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/faultdev"
	"github.com/pyropedb/pyrope/tsavorite"
)

// crowdedKeys returns keys that share their index entry with two others or more, however far an index of eight buckets grows: most of their records are
// not the first of their chain, so that compaction cannot tell from the index whether they are live. make makes the n-th key in a buffer.
func crowdedKeys(count int, make func(buffer []byte, n int) []byte) [][]byte {
	const candidates = 80_000
	var sharing [1 << 18]uint8
	places, buffer := [candidates]uint64{}, []byte(nil)
	for n := range candidates {
		buffer = make(buffer[:0], n)
		hash := tsavorite.HashOf(tsavorite.Key{Bytes: buffer})
		places[n] = hash>>49<<3 | hash&7
		sharing[places[n]]++
	}
	keys := [][]byte{}
	for n := 0; len(keys) < count; n++ {
		if sharing[places[n]] >= 3 {
			keys = append(keys, make(nil, n))
		}
	}
	return keys
}

var shortCrowded = sync.OnceValue(func() [][]byte {
	return crowdedKeys(1200, func(b []byte, n int) []byte { return fmt.Appendf(b, "%08d", n) })
})

// sweepStore is a store whose records are mostly on the device, and what it holds.
type sweepStore struct {
	*testing.T
	store  *tsavorite.Store
	s      *tsavorite.Session
	clock  *testClock
	keys   []tsavorite.Key
	want   map[int][]byte // of the keys that are there, by number
	filled int
}

func newSweepStore(t *testing.T, o tsavorite.Options, keys [][]byte) *sweepStore {
	t.Helper()
	x := &sweepStore{T: t, clock: newTestClock(), want: map[int][]byte{}}
	o.Clock = x.clock.Load
	x.store, x.s = openOutside(t, o)
	for _, key := range keys {
		x.keys = append(x.keys, tsavorite.Key{Bytes: key})
	}
	return x
}

func (x *sweepStore) set(n, round int, deadline int64) {
	x.Helper()
	value := tieredValue(n, round)
	x.s.Enter()
	defer x.s.Leave()
	if status := x.s.Upsert(x.keys[n], value, tsavorite.Metadata{Deadline: deadline}); status > tsavorite.Blind {
		x.Fatalf("upsert of key %d: %v (%v)", n, status, x.s.Err())
	}
	x.want[n] = value
}

func (x *sweepStore) remove(n int) {
	x.Helper()
	x.s.Enter()
	defer x.s.Leave()
	if status := x.s.Delete(x.keys[n]); status > tsavorite.Blind && status != tsavorite.Deleted {
		x.Fatalf("delete of key %d: %v (%v)", n, status, x.s.Err())
	}
	delete(x.want, n)
}

func (x *sweepStore) fill() []byte { return make([]byte, x.store.PageBytes()/40) }

// spill writes other keys until what was written before is on the device.
func (x *sweepStore) spill() {
	x.Helper()
	info := x.store.Info()
	x.spillPages(info.MemoryBytes/info.PageBytes + 1)
	x.settle()
}

// spillPages writes so many pages of other keys.
func (x *sweepStore) spillPages(pages uint64) {
	x.Helper()
	for end := x.store.Tail() + pages*x.store.PageBytes(); x.store.Tail() < end; x.filled++ {
		x.s.Enter()
		if status := x.s.Upsert(key("fill %d", x.filled), x.fill(), tsavorite.Metadata{}); status > tsavorite.Blind {
			x.Fatalf("upsert: %v (%v)", status, x.s.Err())
		}
		x.s.Leave()
	}
}

// check reads every key.
func (x *sweepStore) check() {
	x.Helper()
	x.s.Enter()
	defer x.s.Leave()
	for n := range x.keys {
		wantRead(x, x.s, x.keys[n], x.want[n])
	}
	for n := range x.filled {
		wantRead(x, x.s, key("fill %d", n), x.fill())
	}
}

// mixed writes all keys, overwrites and removes some and lets some expire, so that the oldest pages hold records of every sort, live and dead by turns. All of
// it is on the device then.
func (x *sweepStore) mixed() {
	x.Helper()
	for n := range x.keys {
		deadline := int64(0)
		switch n % 7 {
		case 5: // its record cannot grow in place, and the chain leaves it out
			x.s.Enter()
			x.s.Upsert(x.keys[n], []byte("short"), tsavorite.Metadata{})
			x.s.Leave()
		case 6:
			deadline = x.clock.Load() + 1000
		}
		x.set(n, 0, deadline)
	}
	x.spill()
	for n := range x.keys {
		switch n % 7 {
		case 0, 1:
			x.set(n, 1, 0)
		case 2:
			x.remove(n)
		case 6:
			delete(x.want, n)
		}
	}
	x.clock.Add(2000)
	x.spill()
	x.check()
}

// settle waits until the pager has nothing to do.
func (x *sweepStore) settle() {
	x.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		info := x.store.Info()
		if info.HeadAddress+info.MemoryBytes >= info.TailAddress&^(info.PageBytes-1)+2*info.PageBytes {
			return
		}
		if time.Now().After(deadline) {
			x.Fatalf("pages stay in memory: %+v", info)
		}
	}
}

func (x *sweepStore) compact(kind tsavorite.CompactionKind) tsavorite.CompactionRun {
	x.Helper()
	run, err := x.store.CompactBy(kind)
	if err != nil {
		x.Fatal(err)
	}
	return run
}

// TestScanMovesWhatLookUpMoves: both kinds move and drop the same, and tell of the same records that stand for others. One does so without many reads.
func TestScanMovesWhatLookUpMoves(t *testing.T) {
	var runs [2]tsavorite.CompactionRun
	var released [2][]string
	var lookedUp [2]uint64
	for kind := range tsavorite.CompactionKind(2) {
		x := newSweepStore(t, tieredOptions(t), shortCrowded())
		x.store.OnRelease(func(key tsavorite.Key, _ tsavorite.Record) {
			released[kind] = append(released[kind], fmt.Sprintf("%d %s", key.Namespace, key.Bytes))
		})
		for n := range 300 { // in front: dead as a namespace, and dead one by one
			for namespace := uint32(1); namespace < 3; namespace++ {
				x.s.Enter()
				x.s.Upsert(tsavorite.Key{Namespace: namespace, Bytes: x.keys[n].Bytes}, tieredValue(n, 9), tsavorite.Metadata{Kind: tsavorite.OwnerKind})
				x.s.Leave()
			}
		}
		x.spill()
		x.store.DropNamespace(1)
		for n := range 150 {
			x.s.Enter()
			x.s.Upsert(tsavorite.Key{Namespace: 2, Bytes: x.keys[n].Bytes}, tieredValue(n, 10), tsavorite.Metadata{Kind: tsavorite.OwnerKind})
			x.s.Leave()
		}
		x.mixed()
		before := x.store.Info()
		runs[kind] = x.compact(kind)
		lookedUp[kind] = x.store.Info().PendingReads - before.PendingReads
		x.check()
		x.s.Enter()
		for n := range 300 {
			round := 9
			if n < 150 {
				round = 10
			}
			wantRead(t, x.s, tsavorite.Key{Namespace: 2, Bytes: x.keys[n].Bytes}, tieredValue(n, round))
		}
		x.s.Leave()
		slices.Sort(released[kind])
	}
	byLookUp, byScan := runs[tsavorite.LookUpCompaction], runs[tsavorite.ScanCompaction]
	if byScan.MovedBytes != byLookUp.MovedBytes || byScan.FreedBytes != byLookUp.FreedBytes || byScan.ReadBytes != byLookUp.ReadBytes || byScan.MovedBytes == 0 || byScan.FreedBytes == 0 {
		t.Errorf("by look-up: %+v\nby scan: %+v", byLookUp, byScan)
	}
	if !slices.Equal(released[0], released[1]) || len(released[0]) != 150 {
		t.Errorf("%d records were released by look-up, %d by scan", len(released[0]), len(released[1]))
	}
	if byLookUp.SweptBytes != 0 || byScan.SweptBytes == 0 || lookedUp[0] < 500 || lookedUp[1] > lookedUp[0]/10 {
		t.Errorf("by look-up %d keys were looked up and %d bytes swept, by scan %d and %d", lookedUp[0], byLookUp.SweptBytes, lookedUp[1], byScan.SweptBytes)
	}
}

// gatedDevice holds back the completion of a read of a whole page at or above an address, until it is let go: in the midst of a sweep.
type gatedDevice struct {
	device.Device
	from          atomic.Uint64 // MaxUint64 for no read
	reached, open chan struct{}
}

func newGate(d device.Device) *gatedDevice {
	g := &gatedDevice{Device: d, reached: make(chan struct{}), open: make(chan struct{})}
	g.from.Store(math.MaxUint64)
	return g
}

func (g *gatedDevice) NewQueue() (device.Queue, error) {
	q, err := g.Device.NewQueue()
	return &gatedQueue{Queue: q, gate: g}, err
}

type gatedQueue struct {
	device.Queue
	gate *gatedDevice
	held bool
}

func (q *gatedQueue) Submit(batch []*device.Request) {
	for _, r := range batch {
		if r.Op == device.OpRead && len(r.Buffer) == 4096 && r.Address >= q.gate.from.Load() {
			q.gate.from.Store(math.MaxUint64)
			q.held = true
			close(q.gate.reached)
		}
	}
	q.Queue.Submit(batch)
}

func (q *gatedQueue) Poll(done []*device.Request, wait bool) int {
	if q.held {
		if !wait {
			return 0
		}
		<-q.gate.open
		q.held = false
	}
	return q.Queue.Poll(done, wait)
}

// duringSweep begins a compaction by scan, calls f in the midst of its first sweep, and lets it end.
func (x *sweepStore) duringSweep(g *gatedDevice, f func()) {
	x.Helper()
	watch(x.T, 2*time.Minute)
	g.from.Store(x.store.Info().HeadAddress - 3*4096) // the questions are of older pages
	done := make(chan error, 1)
	go func() {
		_, err := x.store.CompactBy(tsavorite.ScanCompaction)
		done <- err
	}()
	select {
	case <-g.reached:
	case err := <-done:
		x.Fatalf("compaction ended without a sweep: %v", err)
	}
	f()
	close(g.open)
	if err := <-done; err != nil {
		x.Fatal(err)
	}
}

// TestSweepBesideOthers: what is done while a sweep is under way counts, and no more is lost than what it removes.
func TestSweepBesideOthers(t *testing.T) {
	write := func(x *sweepStore) {
		for n := range x.keys {
			switch n % 14 {
			case 3: // live, on the oldest pages
				x.set(n, 2, 0)
			case 4:
				x.remove(n)
			case 10:
				x.s.Enter()
				if status := x.s.RMW(x.keys[n], appendTo([]byte("more"))); status > tsavorite.Blind {
					x.Fatalf("RMW: %v (%v)", status, x.s.Err())
				}
				x.s.Leave()
				x.want[n] = append(bytes.Clone(x.want[n]), "more"...)
			case 2, 6: // gone
				x.set(n, 3, 0)
			case 7: // on newer pages
				x.remove(n)
			}
		}
	}
	for name, f := range map[string]func(x *sweepStore){
		"reads":              func(x *sweepStore) { x.check() },
		"writes":             func(x *sweepStore) { write(x) },
		"writes that spill":  func(x *sweepStore) { write(x); x.spill(); x.check() },
		"writes and look-up": func(x *sweepStore) { write(x); x.spill(); x.compact(tsavorite.LookUpCompaction) },
		"look-up":            func(x *sweepStore) { x.compact(tsavorite.LookUpCompaction) },
		"another scan":       func(x *sweepStore) { x.compact(tsavorite.ScanCompaction) },
		"expiry": func(x *sweepStore) {
			for n := range x.keys {
				if n%7 == 3 {
					x.set(n, 4, x.clock.Load()+10)
					delete(x.want, n)
				}
			}
			x.clock.Add(1000)
		},
		"truncation": func(x *sweepStore) {
			if err := x.store.Truncate(); err != nil {
				x.Fatal(err)
			}
			x.want, x.filled = map[int][]byte{}, 0
		},
		"truncation and writes": func(x *sweepStore) {
			if err := x.store.Truncate(); err != nil {
				x.Fatal(err)
			}
			x.want, x.filled = map[int][]byte{}, 0
			write2 := func(n int) { x.set(n, 5, 0) }
			for n := range x.keys {
				if n%3 == 0 {
					write2(n)
				}
			}
			x.spill()
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := tieredOptions(t)
			g := newGate(o.Device)
			o.Device = g
			x := newSweepStore(t, o, shortCrowded())
			x.mixed()
			x.duringSweep(g, func() { f(x) })
			x.check()
			x.compact(tsavorite.ScanCompaction)
			x.check()
			x.spill()
			x.compact(tsavorite.LookUpCompaction)
			x.check()
		})
	}
}

// TestSweepBesideACheckpoint: a checkpoint that is taken in the midst of a sweep brings back what was there then, one that is taken after the run what is there now.
func TestSweepBesideACheckpoint(t *testing.T) {
	for _, after := range []bool{false, true} {
		l := newLasting(t, storeCase{device: "file", options: tsavorite.Options{PageBytes: 4096, MemoryBytes: 8 * 4096, IndexBytes: 512, CompactionMaxDeadPercent: 100}})
		g := newGate(l.device)
		o := l.settings.options
		o.Device = g
		clock := newTestClock()
		o.Clock, l.settings.options.Clock = clock.Load, clock.Load
		store, err := tsavorite.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		x := &sweepStore{T: t, store: store, s: openSession(t, store), clock: clock, want: map[int][]byte{}}
		for _, key := range shortCrowded() {
			x.keys = append(x.keys, tsavorite.Key{Bytes: key})
		}
		x.mixed()
		var want contents
		x.duringSweep(g, func() {
			x.set(3, 7, 0)
			x.remove(4)
			want = allOf(t, store)
			l.checkpoint(t, store)
		})
		x.check()
		x.set(5, 8, 0)
		if after {
			want = allOf(t, store)
			l.checkpoint(t, store)
		}
		x.s.Close()
		closeStore(t, store)
		store, _ = l.recover(t)
		wantSameContents(t, allOf(t, store), want)
		for range 2 {
			if _, err := store.CompactBy(tsavorite.ScanCompaction); err != nil {
				t.Fatal(err)
			}
			wantSameContents(t, allOf(t, store), want)
		}
		closeStore(t, store)
	}
}

// TestSweepOfMoreThanThereIsRoomFor: of pages of the smallest records not all can be asked about; the rest is looked up.
func TestSweepOfMoreThanThereIsRoomFor(t *testing.T) {
	x := newSweepStore(t, tieredOptions(t), shortCrowded())
	for range 2 { // in the first round all are dead: those of the second are newer
		for n := range x.keys {
			x.s.Enter()
			x.s.Upsert(x.keys[n], nil, tsavorite.Metadata{})
			x.s.Leave()
			x.want[n] = []byte{}
		}
		x.spill()
	}
	for n := range x.keys {
		if n%4 == 0 {
			x.remove(n)
		}
	}
	x.spill()
	before := x.store.Info()
	run := x.compact(tsavorite.ScanCompaction)
	if lookedUp := x.store.Info().PendingReads - before.PendingReads; run.SweptBytes == 0 || lookedUp < 100 || lookedUp > uint64(len(x.keys)) {
		t.Errorf("%d keys were looked up, and %+v", lookedUp, run)
	}
	x.check()
}

// TestSweepInManyChunks: a page is read in several pieces, and a record that lies across their border is looked up.
func TestSweepInManyChunks(t *testing.T) {
	o := tieredOptionsOf(t, 4<<20)
	o.PageBytes, o.MemoryBytes = 2<<20, 6<<20
	x := newSweepStore(t, o, crowdedKeys(2400, func(b []byte, n int) []byte {
		return append(fmt.Appendf(b, "%08d", n), bytes.Repeat([]byte{'k'}, 1000-8)...)
	}))
	for round := range 2 {
		for n := range x.keys {
			x.set(n, round, 0)
		}
		x.spill() // nothing is changed in place: what lies where is the same every time
	}
	before := x.store.Info()
	run := x.compact(tsavorite.ScanCompaction)
	if lookedUp := x.store.Info().PendingReads - before.PendingReads; run.SweptBytes < 2<<20 || lookedUp == 0 || lookedUp > 1000 {
		t.Errorf("%d keys were looked up, and %+v", lookedUp, run)
	}
	x.check()
}

// TestSweepLeavesThinChunksOut: where few keys are in doubt they are looked up.
func TestSweepLeavesThinChunksOut(t *testing.T) {
	o := tieredOptionsOf(t, 4<<20)
	o.PageBytes, o.MemoryBytes, o.IndexBytes = 1<<20, 3<<20, 1<<20
	x := newSweepStore(t, o, nil)
	for n := range 6000 {
		x.keys = append(x.keys, key("thin %d", n))
		x.set(n, 0, 0)
		if n%1000 == 999 { // 6 old ones
			x.spillPages(3)
			x.set(n-900, 1, 0)
		}
	}
	x.spillPages(4)
	before := x.store.Info()
	run := x.compact(tsavorite.ScanCompaction)
	asked := run.ReadBytes // the records of each page are read once to be asked about
	if lookedUp := x.store.Info().PendingReads - before.PendingReads; run.SweptBytes > asked || lookedUp < 6 {
		t.Errorf("%d keys were looked up, and %+v", lookedUp, run)
	}
	x.check()
}

// TestSweepSurvivesFaults: whichever read of the device fails, nothing is lost; one that a look-up can do without does not even end the run.
func TestSweepSurvivesFaults(t *testing.T) {
	step, failures, struck := 1, 0, true
	if testing.Short() {
		step = 5
	}
	n := 1
	for ; struck; n += step {
		o := tieredOptions(t)
		failing := o.Device.(*faultdev.Device)
		x := newSweepStore(t, o, shortCrowded()[:400])
		x.mixed()
		before, _, _ := failing.Counts()
		failing.FailNth(device.OpRead, n, nil)
		_, err := x.store.CompactBy(tsavorite.ScanCompaction)
		if err != nil && (!errors.Is(err, faultdev.ErrInjected) || !strings.Contains(err.Error(), "injected")) {
			t.Fatalf("read %d: %v", n, err)
		}
		if err != nil {
			failures++
		}
		after, _, _ := failing.Counts()
		struck = after-before >= n
		failing.Disarm()
		x.check()
		x.compact(tsavorite.ScanCompaction)
		x.check()
	}
	if n < 30 || failures == 0 || failures*step > n*3/4 {
		t.Errorf("of %d reads that failed %d ended the run", n/step, failures)
	}
}

// TestSweepsOfOneRunAreFew: questions are asked of many pages at once, so that the log is not read for each.
func TestSweepsOfOneRunAreFew(t *testing.T) {
	x := newSweepStore(t, tieredOptionsOf(t, 1<<20), shortCrowded())
	x.mixed()
	info := x.store.Info()
	run := x.compact(tsavorite.ScanCompaction)
	pages := run.ReadBytes / info.PageBytes
	if passes := run.SweptBytes / info.DeviceBytes; pages < 50 || passes > pages/3 {
		t.Errorf("%d pages cost %d passes: %+v", pages, passes, run)
	}
}

// TestCompactionReadsAPageOnce, by look-up, however many records there are; by scan a second time, to ask about them.
func TestCompactionReadsAPageOnce(t *testing.T) {
	for kind := range tsavorite.CompactionKind(2) {
		o := tieredOptionsOf(t, 256<<10)
		o.PageBytes, o.MemoryBytes, o.IndexBytes = 64<<10, 256<<10, 1<<20
		x := newSweepStore(t, o, nil)
		for n := range 20_000 {
			x.keys = append(x.keys, key("%08d", n))
			x.set(n, 0, 0)
		}
		x.spill()
		before := x.store.Info()
		run := x.compact(kind)
		after := x.store.Info()
		pages := run.ReadBytes / o.PageBytes
		reads := after.DeviceReads - before.DeviceReads - (after.PendingReads - before.PendingReads)
		if pages < 30 || reads < pages || reads > pages*uint64(kind+1)+2 {
			t.Errorf("by %v: %d pages of 64 KiB took %d reads", kind, pages, reads)
		}
	}
}
