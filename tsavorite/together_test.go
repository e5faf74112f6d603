package tsavorite_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/localmemory"
	"github.com/pyropedb/pyrope/tsavorite"
)

// lateDevice is a device that holds the next read back, once it is told to, until it is released.
type lateDevice struct {
	device.Device
	armed    atomic.Bool
	held     chan struct{} // closed when a read is held
	released chan struct{}
}

type lateQueue struct {
	device.Queue
	device *lateDevice
	late   []*device.Request
}

func openLateDevice(t *testing.T) *lateDevice {
	t.Helper()
	inner, err := localmemory.Open(device.Options{SegmentSizeBytes: 64 << 10, InlineCompletion: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inner.Close() })
	return &lateDevice{Device: inner, held: make(chan struct{}), released: make(chan struct{})}
}

func (d *lateDevice) NewQueue() (device.Queue, error) {
	queue, err := d.Device.NewQueue()
	return &lateQueue{Queue: queue, device: d}, err
}

func (q *lateQueue) Submit(batch []*device.Request) {
	for _, r := range batch {
		if r.Op == device.OpRead && q.device.armed.CompareAndSwap(true, false) {
			q.late = append(q.late, r)
			close(q.device.held)
			continue
		}
		q.Queue.Submit([]*device.Request{r})
	}
}

// Poll never gives the held read to a call that does not wait, so that a session that waits for it has always left its epoch.
func (q *lateQueue) Poll(done []*device.Request, wait bool) int {
	if n := q.Queue.Poll(done, false); n > 0 {
		return n
	}
	if len(q.late) > 0 && wait {
		<-q.device.released
	}
	select {
	case <-q.device.released:
		late := q.late
		q.late = nil
		q.Queue.Submit(late)
	default:
	}
	if !wait {
		return 0
	}
	return q.Queue.Poll(done, true)
}

func (q *lateQueue) InFlight() int { return q.Queue.InFlight() + len(q.late) }

// lateStore opens a store over a late device in which the record of key k is on the device.
func lateStore(t *testing.T) (d *lateDevice, store *tsavorite.Store, session *tsavorite.Session) {
	t.Helper()
	d = openLateDevice(t)
	store, session = openOutside(t, tsavorite.Options{Device: d, PageBytes: 4096, MemoryBytes: 32 << 10, IndexBytes: 512})
	session.Enter()
	session.Upsert(key("k"), []byte("old"), tsavorite.Metadata{})
	for n := range 200 {
		session.Upsert(key("filler:%d", n), bytes.Repeat([]byte("f"), 300), tsavorite.Metadata{})
	}
	session.Leave()
	return d, store, session
}

// valuesRead keeps what a batch was shown.
type valuesRead struct{ values []string }

func (r *valuesRead) Read(_ uint64, status tsavorite.Status, record tsavorite.Record) {
	if status != tsavorite.Found {
		record.Value = []byte(status.String())
	}
	r.values = append(r.values, string(record.Value))
}

// soon fails the test if something does not happen within half a minute.
func soon(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("in vain awaited: ", what)
	}
}

// TestRepeatedKeysNeverGoBack reads a cold key twice in a batch. While the first read is on its way the key gets a new value, and the old
// one is compacted away, so that the first read starts over and finds the new one: the second must not show the old one.
func TestRepeatedKeysNeverGoBack(t *testing.T) {
	ways := map[string]func(*tsavorite.Session, []tsavorite.Key, *valuesRead){
		"ReadBatch": func(s *tsavorite.Session, keys []tsavorite.Key, r *valuesRead) {
			s.Enter()
			s.ReadBatch(keys, r)
			s.Leave()
		},
		"StartBatch": func(s *tsavorite.Session, keys []tsavorite.Key, r *valuesRead) {
			var b tsavorite.BatchRead
			s.Enter()
			s.StartBatch(&b, keys)
			s.Leave()
			for done := false; !done; {
				s.Enter()
				if len(s.ReadyBatches(nil)) > 0 {
					done = s.DeliverBatch(&b, r)
				}
				s.Leave()
				time.Sleep(time.Millisecond)
			}
		},
	}
	for name, read := range ways {
		t.Run(name, func(t *testing.T) {
			d, store, writer := lateStore(t)
			reader := openSession(t, store)
			defer reader.Close()
			r, done := &valuesRead{}, make(chan struct{})
			d.armed.Store(true)
			go func() {
				defer close(done)
				read(reader, []tsavorite.Key{key("k"), key("k"), key("filler:0"), key("k")}, r)
			}()
			soon(t, "the read", d.held)
			time.Sleep(20 * time.Millisecond) // the others may be done by now
			writer.Enter()
			writer.Upsert(key("k"), []byte("new"), tsavorite.Metadata{})
			writer.Leave()
			if _, err := store.Compact(); err != nil {
				t.Fatal(err)
			}
			close(d.released)
			soon(t, "the end of the batch", done)
			seen := r.values[0]
			for _, i := range []int{1, 3} {
				if seen == "new" && r.values[i] != "new" {
					t.Errorf("the batch shows %q", r.values[:4])
				}
				seen = r.values[i]
			}
		})
	}
}

// heldValues are those that writeWhileHeld expects, by key.
var heldValues = []string{"new", "NotFound", strings.Repeat("f", 300), strings.Repeat("f", 300), "new"}

// writeWhileHeld has read latch keys and read them, and writes the first one while its record on the device is waited for: the write goes through.
func writeWhileHeld(t *testing.T, read func(reader *tsavorite.Session, keys []tsavorite.Key)) {
	t.Helper()
	d, store, writer := lateStore(t)
	reader := openSession(t, store)
	defer reader.Close()
	done, written := make(chan struct{}), make(chan struct{})
	d.armed.Store(true)
	go func() {
		defer close(done)
		reader.Enter()
		read(reader, []tsavorite.Key{key("k"), key("missing"), key("filler:0"), key("filler:199"), key("k")})
		reader.Unlatch()
		reader.Leave()
	}()
	soon(t, "the read", d.held)
	go func() {
		defer close(written)
		writer.Enter()
		writer.Upsert(key("k"), []byte("new"), tsavorite.Metadata{})
		writer.Leave()
	}()
	soon(t, "the write", written)
	close(d.released)
	soon(t, "the end of the read", done)
}

// TestNoLatchIsKeptForTheDevice writes a key that LatchRead waits for: the write goes through, and LatchRead shows it.
func TestNoLatchIsKeptForTheDevice(t *testing.T) {
	r := &valuesRead{}
	writeWhileHeld(t, func(reader *tsavorite.Session, keys []tsavorite.Key) { reader.LatchRead(keys, r) })
	if fmt.Sprint(r.values) != fmt.Sprint(heldValues) {
		t.Errorf("LatchRead shows %.60q", r.values)
	}
}

// TestGroupsAreReadAtOneMoment: writers give groups of keys the same number, readers must never see two in a group, by LatchRead or LatchFold,
// while records go to the device and are compacted there.
func TestGroupsAreReadAtOneMoment(t *testing.T) {
	d, err := localmemory.Open(device.Options{SegmentSizeBytes: 64 << 10, CompletionThreads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	store, _ := openOutside(t, tsavorite.Options{Device: d, PageBytes: 4096, MemoryBytes: 16 << 10, IndexBytes: 512})
	const groups, members = 40, 5
	keysOf := func(group int) (keys []tsavorite.Key) {
		for m := range members {
			keys = append(keys, key("%d:%d", group, m))
		}
		return keys
	}
	rounds := 3000
	if testing.Short() {
		rounds = 600
	}
	var workers sync.WaitGroup
	for w := range 4 {
		session := openSession(t, store)
		workers.Go(func() {
			defer session.Close()
			for round := range rounds {
				keys := keysOf(rand.IntN(groups))
				session.Enter()
				if w < 2 {
					session.Latch(keys)
					value := binary.LittleEndian.AppendUint64(make([]byte, 0, 200), uint64(w)<<32|uint64(round))[:64+rand.IntN(100)]
					for _, k := range keys {
						if status := session.Upsert(k, value, tsavorite.Metadata{}); status > tsavorite.Blind {
							t.Errorf("Upsert: %v, %v", status, session.Err())
						}
					}
					session.Unlatch()
				} else {
					r, f := &valuesRead{}, &valuesFolded{}
					if w == 2 {
						session.LatchRead(keys, r)
					} else {
						session.LatchFold(keys, f)
						r.values = f.inOrder(members)
					}
					session.Unlatch()
					for _, value := range r.values {
						if value != r.values[0] || f.twice {
							t.Errorf("a group shows %q", r.values)
							break
						}
					}
				}
				session.Leave()
				if w == 0 && round%200 == 0 {
					if _, err := store.Compact(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	workers.Wait()
}

// TestReservedRoomIsTakenInOrder: records that share a chain lie above those before them (R3 of package record), also those of one
// group. The invariants build looks at each chain.
func TestReservedRoomIsTakenInOrder(t *testing.T) {
	_, session := openMemory(t, func(o *tsavorite.Options) { o.IndexBytes, o.IndexMaxBytes = 512, 512 })
	intents, keys := []tsavorite.Intent{}, []tsavorite.Key{}
	for n := range 1000 {
		keys = append(keys, key("%d", n))
		intents = append(intents, tsavorite.Intent{Key: keys[n], Length: 4})
	}
	session.Enter()
	defer session.Leave()
	session.Latch(keys)
	wantStatus(t, "ReserveRoom", session.ReserveRoom(intents), tsavorite.Found)
	for _, k := range keys {
		wantStatus(t, "Upsert", session.Upsert(k, []byte("1234"), tsavorite.Metadata{}), tsavorite.Created)
	}
	session.Unlatch()
	for _, k := range keys {
		wantStatus(t, "Read", session.Read(k, 0, &lastRead{}), tsavorite.Found)
	}
}

// TestRoomIsForAllOrNone fills memory and asks for room for groups of all sizes: what ReserveRoom grants is found by every write,
// what it refuses leaves nothing behind, and room that is not used is room again.
func TestRoomIsForAllOrNone(t *testing.T) {
	_, session := openMemory(t, func(*tsavorite.Options) {})
	next := fillMemory(t, session, 0, 70)
	granted, refused := 0, 0
	for round := range 400 {
		intents, keys := []tsavorite.Intent{}, []tsavorite.Key{}
		for n := range 1 + rand.IntN(60) {
			keys = append(keys, key("%d:%d", round, n))
			length := 1 + rand.IntN(900)
			if round%4 < 2 { // records of one size, in chains of their own: each must lie above the one before (R3)
				length = 200
			}
			intents = append(intents, tsavorite.Intent{Key: keys[n], Length: length})
		}
		session.Enter()
		session.Latch(keys)
		switch status := session.ReserveRoom(intents); status {
		case tsavorite.Found:
			granted++
			for i, k := range keys {
				if i%3 == round%3 && round%2 == 0 {
					continue // not needed after all
				}
				wantStatus(t, "Upsert", session.Upsert(k, make([]byte, intents[i].Length), tsavorite.Metadata{}), tsavorite.Created)
			}
		case tsavorite.OutOfMemory:
			refused++
		default:
			t.Fatalf("ReserveRoom: %v, %v", status, session.Err())
		}
		session.Unlatch()
		for _, k := range keys {
			session.Delete(k)
		}
		session.Leave()
	}
	if granted < 20 || refused < 20 {
		t.Errorf("room was granted %d times and refused %d times", granted, refused)
	}
	if there := checkMemory(t, session, next); there != next {
		t.Errorf("%d of %d records are left", there, next)
	}
}
