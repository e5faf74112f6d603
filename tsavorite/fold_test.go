package tsavorite_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/localmemory"
	"github.com/pyropedb/pyrope/tsavorite"
)

// valuesFolded keeps what a fold was given, by key, and how often it began.
type valuesFolded struct {
	values map[uint64]string
	twice  bool // a key came twice
	begun  int
	onRead func(f *valuesFolded, token uint64)
}

func (f *valuesFolded) Begin() {
	f.values = map[uint64]string{}
	f.begun++
}

func (f *valuesFolded) Read(token uint64, status tsavorite.Status, record tsavorite.Record) {
	if f.onRead != nil {
		f.onRead(f, token)
	}
	_, there := f.values[token]
	f.twice = f.twice || there
	f.values[token] = string(record.Value)
	if status != tsavorite.Found {
		f.values[token] = status.String()
	}
}

// inOrder is what was given for so many keys.
func (f *valuesFolded) inOrder(keys int) (values []string) {
	for i := range keys {
		values = append(values, f.values[uint64(i)])
	}
	return values
}

// TestFoldKeepsNoLatchForTheDevice writes a key that LatchFold waits for: the write goes through, and is what the fold is given.
func TestFoldKeepsNoLatchForTheDevice(t *testing.T) {
	f := &valuesFolded{}
	writeWhileHeld(t, func(reader *tsavorite.Session, keys []tsavorite.Key) { reader.LatchFold(keys, f) })
	if got := f.inOrder(len(heldValues)); fmt.Sprint(got) != fmt.Sprint(heldValues) || f.twice || f.begun < 2 {
		t.Errorf("LatchFold gives %.60q, some twice: %v, and began %d times", got, f.twice, f.begun)
	}
}

// TestFoldSeesDeadlinesPass folds keys one of which expires while another is waited for.
func TestFoldSeesDeadlinesPass(t *testing.T) {
	d := openLateDevice(t)
	clock := newTestClock()
	store, writer := openOutside(t, tsavorite.Options{Device: d, PageBytes: 4096, MemoryBytes: 32 << 10, IndexBytes: 512, Clock: clock.Load})
	writer.Enter()
	writer.Upsert(key("mortal"), []byte("alive"), tsavorite.Metadata{Deadline: clock.Load() + 1000})
	keys := []tsavorite.Key{key("mortal")}
	for n := range 200 {
		keys = append(keys, key("filler:%d", n))
		writer.Upsert(keys[n+1], bytes.Repeat([]byte("f"), 300), tsavorite.Metadata{})
	}
	writer.Leave()
	reader := openSession(t, store)
	defer reader.Close()
	f, done := &valuesFolded{}, make(chan struct{})
	alive := false
	f.onRead = func(f *valuesFolded, token uint64) {
		if token == 40 && f.begun == 1 { // of a later lot of reads
			alive = f.values[0] == "alive"
			d.armed.Store(true)
		}
	}
	go func() {
		defer close(done)
		reader.Enter()
		reader.LatchFold(keys, f)
		reader.Unlatch()
		reader.Leave()
	}()
	soon(t, "a read", d.held)
	clock.Store(clock.Load() + 1001)
	close(d.released)
	soon(t, "the end of LatchFold", done)
	if !alive || f.values[0] != "NotFound" || len(f.values) != len(keys) || f.twice {
		t.Errorf("at first the key was there: %v; then it is %q; %d of %d keys", alive, f.values[0], len(f.values), len(keys))
	}
}

// hookedDevice is a device that runs a hook while somebody waits for a read, before it carries that out.
type hookedDevice struct {
	device.Device
	hook func()
}

type hookedQueue struct {
	device.Queue
	device *hookedDevice
	late   []*device.Request
}

func (d *hookedDevice) NewQueue() (device.Queue, error) {
	queue, err := d.Device.NewQueue()
	return &hookedQueue{Queue: queue, device: d}, err
}

func (q *hookedQueue) Submit(batch []*device.Request) {
	for _, r := range batch {
		if r.Op == device.OpRead {
			q.late = append(q.late, r)
		} else {
			q.Queue.Submit([]*device.Request{r})
		}
	}
}

func (q *hookedQueue) Poll(done []*device.Request, wait bool) int {
	if wait && len(q.late) > 0 {
		q.device.hook()
		q.Queue.Submit(q.late)
		q.late = nil
	}
	return q.Queue.Poll(done, wait)
}

// TestFoldOfWhatAlwaysChanges: a key that gets another value, and goes to the device again, whenever it is read there, is read under its
// latch in the end.
func TestFoldOfWhatAlwaysChanges(t *testing.T) {
	inner, err := localmemory.Open(device.Options{SegmentSizeBytes: 64 << 10, InlineCompletion: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inner.Close() })
	d := &hookedDevice{Device: inner, hook: func() {}}
	store, writer := openOutside(t, tsavorite.Options{Device: d, PageBytes: 4096, MemoryBytes: 16 << 10, IndexBytes: 512})
	reader := openSession(t, store)
	defer reader.Close()
	last := ""
	change := func() {
		last += "x"
		writer.Enter()
		defer writer.Leave()
		writer.Upsert(key("k"), []byte(last), tsavorite.Metadata{})
		for n := range 100 {
			writer.Upsert(key("filler:%d", n), bytes.Repeat([]byte("f"), 300), tsavorite.Metadata{})
		}
	}
	change()
	const rounds = 8
	f := &valuesFolded{}
	d.hook = func() {
		if f.begun <= rounds {
			change()
		}
	}
	reader.Enter()
	reader.LatchFold([]tsavorite.Key{key("k")}, f)
	reader.Unlatch()
	reader.Leave()
	if f.values[0] != last || len(last) != rounds+1 || f.begun != rounds+1 {
		t.Errorf("after %d rounds the fold is given %q, want %q", f.begun, f.values[0], last)
	}
}
