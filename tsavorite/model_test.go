package tsavorite_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/faultdev"
	"github.com/pyropedb/pyrope/device/file"
	"github.com/pyropedb/pyrope/device/localmemory"
	"github.com/pyropedb/pyrope/tsavorite"
	"pgregory.net/rapid"
)

// testClock is a clock that tests move.
type testClock struct{ atomic.Int64 }

func newTestClock() *testClock {
	c := &testClock{}
	c.Store(1_000_000_000_000)
	return c
}

// openStore opens a store and a session that is between Enter and Leave for the rest of the test.
func openStore(t testing.TB, o tsavorite.Options) (*tsavorite.Store, *tsavorite.Session) {
	t.Helper()
	store, err := tsavorite.Open(o)
	if err != nil {
		t.Fatalf("cannot open the store: %v", err)
	}
	session := openSession(t, store)
	session.Enter()
	t.Cleanup(func() {
		session.Leave()
		session.Close()
		if err := store.Close(); err != nil {
			t.Errorf("cannot close the store: %v", err)
		}
	})
	return store, session
}

// watch ends the process with every goroutine's stack if the test is still running after limit.
func watch(t *testing.T, limit time.Duration) {
	name := t.Name()
	timer := time.AfterFunc(limit, func() {
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 2)
		panic(name + " is still running after " + limit.String())
	})
	t.Cleanup(func() { timer.Stop() })
}

func openSession(t testing.TB, store *tsavorite.Store) *tsavorite.Session {
	t.Helper()
	session, err := store.NewSession()
	if err != nil {
		t.Fatalf("cannot make a session: %v", err)
	}
	return session
}

// storeCase is a store that a test runs on.
type storeCase struct {
	name    string
	options tsavorite.Options
	device  string // "" is none
}

// open opens the store; it is closed, and its device after it, when the test ends.
func (c storeCase) open(t *testing.T) *tsavorite.Store {
	t.Helper()
	o := c.options
	if c.device != "" {
		o.Device = openDevice(t, c.device)
	}
	store, err := tsavorite.Open(o)
	if err != nil {
		t.Fatalf("cannot open the store: %v", err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("cannot close the store: %v", err)
		}
	})
	return store
}

// openDevice opens a device with small segments, so that every run crosses many.
func openDevice(t *testing.T, kind string) device.Device {
	t.Helper()
	o := device.Options{Directory: t.TempDir(), SegmentSizeBytes: 64 << 10}
	var d device.Device
	var err error
	switch kind {
	case "localmemory":
		d, err = localmemory.Open(o)
	case "slow": // no read is over when it has been submitted
		if d, err = localmemory.Open(o); err == nil {
			d = faultdev.Wrap(d, faultdev.Options{Delay: time.Millisecond})
		}
	case "file":
		d, err = file.Open(o)
	default:
		t.Fatalf("no device is called %q", kind)
	}
	if err != nil {
		t.Fatalf("cannot open the device: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("cannot close the device: %v", err)
		}
	})
	return d
}

func key(format string, arguments ...any) tsavorite.Key {
	return tsavorite.Key{Bytes: fmt.Appendf(nil, format, arguments...)}
}

// lastRead is a Reader that keeps a copy of what it was told last.
type lastRead struct {
	calls  int
	token  uint64
	status tsavorite.Status
	record tsavorite.Record
}

func (r *lastRead) Read(token uint64, status tsavorite.Status, record tsavorite.Record) {
	record.Value = append(r.record.Value[:0], record.Value...)
	*r = lastRead{calls: r.calls + 1, token: token, status: status, record: record}
}

// updateFunc is an Updater made of functions; write may be nil for plans that write nothing.
type updateFunc struct {
	plan  func(current tsavorite.Record, found bool) tsavorite.Plan
	write func(value []byte, current tsavorite.Record)
}

func (u updateFunc) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	return u.plan(current, found)
}
func (u updateFunc) Write(value []byte, current tsavorite.Record) { u.write(value, current) }

// setTo is an Updater that gives the key a value.
func setTo(value []byte, metadata tsavorite.Metadata) tsavorite.Updater {
	return updateFunc{
		plan: func(tsavorite.Record, bool) tsavorite.Plan {
			return tsavorite.Plan{Action: tsavorite.Write, Length: len(value), Metadata: metadata}
		},
		write: func(to []byte, _ tsavorite.Record) { copy(to, value) },
	}
}

// appendTo is an Updater that adds to the value and keeps the metadata.
func appendTo(more []byte) tsavorite.Updater {
	return updateFunc{
		plan: func(current tsavorite.Record, _ bool) tsavorite.Plan {
			return tsavorite.Plan{Action: tsavorite.Write, Preserve: true, Length: len(current.Value) + len(more), Metadata: current.Metadata}
		},
		write: func(value []byte, _ tsavorite.Record) { copy(value[len(value)-len(more):], more) },
	}
}

// act is an Updater whose plan writes no value.
func act(action tsavorite.Action, metadata tsavorite.Metadata) tsavorite.Updater {
	return updateFunc{plan: func(tsavorite.Record, bool) tsavorite.Plan {
		return tsavorite.Plan{Action: action, Metadata: metadata}
	}}
}

func wantStatus(t testing.TB, what string, got, want tsavorite.Status) {
	t.Helper()
	if got != want {
		t.Fatalf("%s says %v, want %v", what, got, want)
	}
}

// wantRead reads a key and compares; want nil is NotFound.
func wantRead(t testing.TB, s *tsavorite.Session, k tsavorite.Key, want []byte) tsavorite.Metadata {
	t.Helper()
	r := &lastRead{}
	status := s.Read(k, 7, r)
	expected := tsavorite.Found
	if want == nil {
		expected = tsavorite.NotFound
	}
	if status != expected || r.status != status || r.calls != 1 || r.token != 7 {
		t.Fatalf("read of %q says %v, the reader was told %v (%d calls, token %d), want %v", k.Bytes, status, r.status, r.calls, r.token, expected)
	}
	if !bytes.Equal(r.record.Value, want) {
		t.Fatalf("read of %q shows %q, want %q", k.Bytes, r.record.Value, want)
	}
	return r.record.Metadata
}

func TestVerbStatuses(t *testing.T) {
	clock := newTestClock()
	_, s := openStore(t, tsavorite.Options{Clock: clock.Load})
	k := key("k")
	none := tsavorite.Metadata{}

	wantRead(t, s, k, nil)
	wantStatus(t, "Delete of nothing", s.Delete(k), tsavorite.NotFound)
	wantStatus(t, "Keep of nothing", s.RMW(k, act(tsavorite.Keep, none)), tsavorite.NotFound)
	wantStatus(t, "Remove of nothing", s.RMW(k, act(tsavorite.Remove, none)), tsavorite.NotFound)
	wantStatus(t, "Upsert of a new key", s.Upsert(k, []byte("one"), none), tsavorite.Created)
	wantRead(t, s, k, []byte("one"))
	wantStatus(t, "Upsert of a key", s.Upsert(k, []byte("two"), none), tsavorite.Found)
	wantStatus(t, "Keep", s.RMW(k, act(tsavorite.Keep, none)), tsavorite.Found)
	wantStatus(t, "Write", s.RMW(k, setTo([]byte("three"), none)), tsavorite.Found)
	wantRead(t, s, k, []byte("three"))
	wantStatus(t, "append", s.RMW(k, appendTo([]byte("+four"))), tsavorite.Found)
	wantRead(t, s, k, []byte("three+four"))
	wantStatus(t, "Remove", s.RMW(k, act(tsavorite.Remove, none)), tsavorite.Deleted)
	wantRead(t, s, k, nil)
	wantStatus(t, "Write of a removed key", s.RMW(k, setTo([]byte("five"), none)), tsavorite.Created)
	wantStatus(t, "Delete", s.Delete(k), tsavorite.Deleted)
	wantStatus(t, "second Delete", s.Delete(k), tsavorite.NotFound)
	wantStatus(t, "append to nothing", s.RMW(k, appendTo([]byte("six"))), tsavorite.Created)
	wantRead(t, s, k, []byte("six"))
	wantStatus(t, "empty Upsert", s.Upsert(k, nil, none), tsavorite.Found)
	wantRead(t, s, k, []byte{})
}

func TestMetadata(t *testing.T) {
	_, s := openStore(t, tsavorite.Options{Clock: newTestClock().Load})
	k := key("k")
	step := func(what string, want tsavorite.Status, got tsavorite.Status, value string, m tsavorite.Metadata) {
		t.Helper()
		wantStatus(t, what, got, want)
		if shown := wantRead(t, s, k, []byte(value)); shown != m {
			t.Fatalf("%s: metadata is %+v, want %+v", what, shown, m)
		}
	}
	full := tsavorite.Metadata{Deadline: s.Now() + 1000, Etag: 1<<63 + 5, Kind: 255}
	step("Upsert with none", tsavorite.Created, s.Upsert(k, []byte("a"), tsavorite.Metadata{}), "a", tsavorite.Metadata{})
	step("SetMetadata to all", tsavorite.Found, s.RMW(k, act(tsavorite.SetMetadata, full)), "a", full)
	step("append keeps it", tsavorite.Found, s.RMW(k, appendTo([]byte("b"))), "ab", full)
	step("Keep keeps it", tsavorite.Found, s.RMW(k, act(tsavorite.Keep, tsavorite.Metadata{})), "ab", full)
	step("SetMetadata to none", tsavorite.Found, s.RMW(k, act(tsavorite.SetMetadata, tsavorite.Metadata{})), "ab", tsavorite.Metadata{})
	etag := tsavorite.Metadata{Etag: 9}
	step("Write replaces it", tsavorite.Found, s.RMW(k, setTo([]byte("c"), etag)), "c", etag)
	step("Upsert replaces it", tsavorite.Found, s.Upsert(k, []byte("d"), full), "d", full)
	step("Upsert clears it", tsavorite.Found, s.Upsert(k, []byte("d"), tsavorite.Metadata{}), "d", tsavorite.Metadata{})
}

// TestDeadline: a record is dead after its deadline, for every verb, and Enter samples the time.
func TestDeadline(t *testing.T) {
	clock := newTestClock()
	store, s := openStore(t, tsavorite.Options{Clock: clock.Load})
	k := key("k")
	deadline := clock.Load() + 10
	set := func() {
		t.Helper()
		if status := s.Upsert(k, []byte("v"), tsavorite.Metadata{Deadline: deadline}); status != tsavorite.Created {
			t.Fatalf("Upsert says %v, want Created", status)
		}
	}
	refresh := func(now int64) {
		s.Leave()
		clock.Store(now)
		s.Enter()
		if s.Now() != now {
			t.Fatalf("Now is %d, want %d", s.Now(), now)
		}
	}
	live := func(now int64) { refresh(now); wantRead(t, s, k, []byte("v")) }
	dead := func(now int64) { refresh(now); wantRead(t, s, k, nil) }

	set()
	live(deadline - 1)
	live(deadline)
	clock.Store(deadline + 1)
	wantRead(t, s, k, []byte("v")) // the session's time stands still between Enter and Leave
	dead(deadline + 1)
	wantStatus(t, "Delete of a dead key", s.Delete(k), tsavorite.NotFound)
	deadline += 100
	set()
	dead(deadline + 1)
	wantStatus(t, "Remove of a dead key", s.RMW(k, act(tsavorite.Remove, tsavorite.Metadata{})), tsavorite.NotFound)
	deadline += 100
	set()
	dead(deadline + 1)
	wantStatus(t, "append to a dead key", s.RMW(k, appendTo([]byte("w"))), tsavorite.Created)
	wantRead(t, s, k, []byte("w"))
	wantStatus(t, "Delete", s.Delete(k), tsavorite.Deleted)
	deadline += 100
	set()
	refresh(deadline + 1)
	wantStatus(t, "RandomKey among the dead", s.RandomKey(0, &collector{}), tsavorite.NotFound)
	deadline += 100
	set()
	if info := store.Info(); info.Reads == 0 || info.Writes == 0 {
		t.Errorf("after reads and writes the counters are %d and %d", info.Reads, info.Writes)
	}
}

func TestTooLarge(t *testing.T) {
	_, s := openStore(t, tsavorite.Options{PageBytes: 4096, MemoryBytes: 1 << 20})
	k := key("k")
	wantStatus(t, "Upsert", s.Upsert(k, []byte("small"), tsavorite.Metadata{}), tsavorite.Created)
	fits := 0
	for length := 3900; length <= 4200; length++ {
		big := bytes.Repeat([]byte{'b'}, length)
		status := s.Upsert(key("other"), big, tsavorite.Metadata{})
		if status != tsavorite.TooLarge {
			if fits = length; status != tsavorite.Created && status != tsavorite.Found {
				t.Fatalf("Upsert of %d bytes says %v", length, status)
			}
			continue
		}
		wantStatus(t, "Upsert of too much", s.Upsert(k, big, tsavorite.Metadata{}), tsavorite.TooLarge)
		wantStatus(t, "Write of too much", s.RMW(k, setTo(big, tsavorite.Metadata{})), tsavorite.TooLarge)
		wantStatus(t, "append of too much", s.RMW(k, appendTo(big)), tsavorite.TooLarge)
		wantStatus(t, "Write of too much for a new key", s.RMW(key("new"), setTo(big, tsavorite.Metadata{})), tsavorite.TooLarge)
		wantRead(t, s, key("new"), nil)
		wantRead(t, s, k, []byte("small"))
	}
	if fits < 3900 || fits > 4096 {
		t.Errorf("the longest value that fits a 4096-byte page has %d bytes", fits)
	}
	wantRead(t, s, key("other"), bytes.Repeat([]byte{'b'}, fits))
}

// TestOutOfMemory: a store without a device refuses what does not fit, and loses nothing.
func TestOutOfMemory(t *testing.T) {
	_, s := openStore(t, tsavorite.Options{PageBytes: 4096, MemoryBytes: 8 * 4096, IndexBytes: 512})
	value := bytes.Repeat([]byte{'v'}, 100)
	count := 0
	for s.Upsert(key("key:%d", count), value, tsavorite.Metadata{}) == tsavorite.Created {
		if count++; count > 1000 {
			t.Fatal("8 pages take 1,000 records of 100 bytes and more")
		}
	}
	if count < 120 {
		t.Errorf("8 pages take %d records of 100 bytes", count)
	}
	wantStatus(t, "Upsert", s.Upsert(key("key:%d", count), value, tsavorite.Metadata{}), tsavorite.OutOfMemory)
	wantRead(t, s, key("key:%d", count), nil)
	wantStatus(t, "Write", s.RMW(key("new"), setTo(value, tsavorite.Metadata{})), tsavorite.OutOfMemory)
	wantStatus(t, "append", s.RMW(key("key:0"), appendTo(bytes.Repeat(value, 10))), tsavorite.OutOfMemory)
	wantRead(t, s, key("key:0"), value)
	other := bytes.Repeat([]byte{'w'}, 100)
	for i := range count {
		wantStatus(t, "Upsert in place", s.Upsert(key("key:%d", i), other, tsavorite.Metadata{}), tsavorite.Found)
	}
	for i := range count {
		wantRead(t, s, key("key:%d", i), other)
	}
	wantStatus(t, "Delete", s.Delete(key("key:1")), tsavorite.Deleted)
	wantRead(t, s, key("key:1"), nil)
}

// TestEvictOldest: the oldest go, the newest stay, nothing is refused.
func TestEvictOldest(t *testing.T) {
	_, s := openStore(t, tsavorite.Options{PageBytes: 4096, MemoryBytes: 4 * 4096, IndexBytes: 512, EvictOldest: true})
	value := bytes.Repeat([]byte{'v'}, 100)
	const count = 2000
	for i := range count {
		wantStatus(t, "Upsert", s.Upsert(key("key:%d", i), value, tsavorite.Metadata{}), tsavorite.Created)
		wantRead(t, s, key("key:%d", i), value)
	}
	kept := 0
	for i := range count {
		switch status := s.Read(key("key:%d", i), 0, &lastRead{}); {
		case status == tsavorite.Found:
			kept++
		case kept > 0:
			t.Fatalf("key %d is gone, older ones are there", i)
		}
	}
	if kept < 40 || kept > 140 {
		t.Errorf("four pages keep %d records of 100 bytes", kept)
	}
}

// TestEvictOldestUnderLoad: a session that looks at what another drops finds it or does not; that
// there is no device to ask is no error.
func TestEvictOldestUnderLoad(t *testing.T) {
	store, writer := openStore(t, tsavorite.Options{PageBytes: 4096, MemoryBytes: 4 * 4096, IndexBytes: 512, EvictOldest: true})
	count := 40_000
	if testing.Short() {
		count = 5_000
	}
	var newest atomic.Int64
	var group sync.WaitGroup
	for range 2 {
		session := openSession(t, store)
		group.Go(func() {
			defer session.Close()
			found := 0
			for newest.Load() < int64(count) && !t.Failed() {
				session.Enter()
				for back := range int64(200) {
					k, r := key("key:%d", max(0, newest.Load()-back)), &lastRead{}
					switch status := session.Read(k, 0, r); {
					case status == tsavorite.Found && bytes.HasPrefix(r.record.Value, k.Bytes):
						found++
					case status != tsavorite.NotFound:
						t.Errorf("read of %s says %v and shows %q: %v", k.Bytes, status, r.record.Value, session.Err())
					}
					if back%16 == 0 {
						if status := session.RMW(k, act(tsavorite.Keep, tsavorite.Metadata{})); status > tsavorite.NotFound {
							t.Errorf("Keep of %s says %v: %v", k.Bytes, status, session.Err())
						}
					}
				}
				session.Leave()
			}
			if found == 0 {
				t.Error("a reader of the newest keys found none")
			}
		})
	}
	for i := range count {
		k := key("key:%d", i)
		wantStatus(t, "Upsert", writer.Upsert(k, append(k.Bytes, make([]byte, 80)...), tsavorite.Metadata{}), tsavorite.Created)
		newest.Store(int64(i))
		if i%32 == 0 {
			writer.Leave()
			writer.Enter()
		}
	}
	newest.Store(int64(count))
	writer.Leave()
	group.Wait()
	writer.Enter()
}

// TestTruncate drops every namespace, and the store goes on.
func TestTruncate(t *testing.T) {
	store, s := openStore(t, tsavorite.Options{PageBytes: 4096, MemoryBytes: 8 * 4096, IndexBytes: 512})
	for round := range 20 { // more than memory would hold without truncation
		for i := range 100 {
			k := key("key:%d", i)
			k.Namespace = uint32(i % 3)
			wantStatus(t, "Upsert", s.Upsert(k, fmt.Appendf(nil, "%d", round), tsavorite.Metadata{}), tsavorite.Created)
		}
		s.Leave()
		if err := store.Truncate(); err != nil {
			t.Fatalf("cannot truncate: %v", err)
		}
		s.Enter()
		for i := range 100 {
			k := key("key:%d", i)
			k.Namespace = uint32(i % 3)
			wantRead(t, s, k, nil)
		}
	}
}

// TestManyPending sends out more asynchronous reads than a session keeps in flight, lets the
// session change goroutines under them, and gets every answer.
func TestManyPending(t *testing.T) {
	settings := storeCase{"", tsavorite.Options{PageBytes: 4096, MemoryBytes: 3 * 4096, IndexBytes: 4096}, "localmemory"}
	store := settings.open(t)
	s := openSession(t, store)
	defer s.Close()
	const count = 10_000
	s.Enter()
	for i := range count {
		k := key("key:%d", i)
		if status := s.Upsert(k, k.Bytes, tsavorite.Metadata{}); status > tsavorite.Blind {
			t.Fatalf("Upsert says %v", status)
		}
	}
	reads := make([]lastRead, count)
	pending := 0
	for i := range reads {
		if s.ReadAsync(key("key:%d", i), uint64(i), &reads[i]) == tsavorite.Pending {
			pending++
		}
	}
	if pending < count/2 {
		t.Errorf("%d of %d reads were pending, with 12 KiB of memory", pending, count)
	}
	s.Leave()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Enter()
		if left := s.CompletePending(true); left != 0 {
			t.Errorf("%d reads are pending after waiting for all", left)
		}
		s.Leave()
	}()
	<-done
	for i := range reads {
		k := key("key:%d", i)
		if r := &reads[i]; r.calls != 1 || r.status != tsavorite.Found || r.token != uint64(i) || !bytes.Equal(r.record.Value, k.Bytes) {
			t.Fatalf("read of %s: %d calls, %v, token %d, %q", k.Bytes, r.calls, r.status, r.token, r.record.Value)
		}
	}
	if info := store.Info(); info.PendingReads < uint64(pending) || info.DeviceReads < info.PendingReads {
		t.Errorf("%d pending reads are counted as %d, with %d device reads", pending, info.PendingReads, info.DeviceReads)
	}
}

// TestOnBlock: the hook runs before the first wait after each Enter, and not without one.
func TestOnBlock(t *testing.T) {
	settings := storeCase{"", tsavorite.Options{PageBytes: 4096, MemoryBytes: 3 * 4096}, "slow"}
	s := openSession(t, settings.open(t))
	defer s.Close()
	s.Enter()
	for i := range 1000 {
		s.Upsert(key("key:%d", i), make([]byte, 50), tsavorite.Metadata{})
	}
	s.Leave()
	hooks := 0
	s.OnBlock(func() { hooks++ })
	s.Enter()
	wantRead(t, s, key("key:%d", 999), make([]byte, 50))
	if hooks != 0 {
		t.Errorf("a read from memory ran the hook %d times", hooks)
	}
	s.Leave()
	for round := 1; round <= 2; round++ {
		s.Enter()
		for i := range 100 {
			wantRead(t, s, key("key:%d", i), make([]byte, 50))
		}
		s.Leave()
		if hooks != round {
			t.Errorf("after %d batches of cold reads the hook has run %d times", round, hooks)
		}
	}
}

// collector is a Visitor that keeps copies.
type collector struct {
	keys []string
	stop int // end after so many; 0 is never
}

func (c *collector) Visit(key []byte, _ tsavorite.Record) bool {
	c.keys = append(c.keys, string(key))
	return c.stop == 0 || len(c.keys) < c.stop
}

func TestScanAndRandomKey(t *testing.T) {
	_, s := openStore(t, tsavorite.Options{})
	wantStatus(t, "RandomKey of an empty store", s.RandomKey(0, &collector{}), tsavorite.NotFound)
	if cursor, err := s.Scan(0, 0, 0, &collector{}); cursor != 0 || err != nil {
		t.Fatalf("a scan of an empty store says %d, %v", cursor, err)
	}
	var want []string
	for i := range 30 {
		for namespace := range uint32(2) {
			s.Upsert(tsavorite.Key{Namespace: namespace, Bytes: fmt.Appendf(nil, "%d:%d", namespace, i)}, []byte("v"), tsavorite.Metadata{})
		}
		if i%3 == 0 {
			s.Delete(key("0:%d", i))
		} else {
			want = append(want, fmt.Sprintf("0:%d", i))
		}
	}
	slices.Sort(want)
	for _, stop := range []int{0, 1, 7} {
		c := &collector{stop: stop}
		var all []string
		for cursor := uint64(0); ; {
			next, err := s.Scan(0, cursor, 0, c)
			if err != nil {
				t.Fatalf("cannot scan: %v", err)
			}
			all, c.keys = append(all, c.keys...), nil
			if cursor = next; cursor == 0 {
				break
			}
		}
		slices.Sort(all)
		if !slices.Equal(all, want) {
			t.Errorf("a scan in steps of %d shows %v, want %v", stop, all, want)
		}
	}
	drawn := map[string]bool{}
	for range 2000 {
		c := &collector{}
		wantStatus(t, "RandomKey", s.RandomKey(0, c), tsavorite.Found)
		drawn[c.keys[0]] = true
	}
	if got := slices.Sorted(maps.Keys(drawn)); !slices.Equal(got, want) {
		t.Errorf("2,000 random keys were %v, want %v", got, want)
	}
}

// TestHotPathsDoNotAllocate: what memory can answer leaves the collector alone.
func TestHotPathsDoNotAllocate(t *testing.T) {
	_, s := openStore(t, tsavorite.Options{})
	value := make([]byte, 64)
	keys := make([]tsavorite.Key, 16)
	for i := range keys {
		keys[i] = key("key:%d", i)
		s.Upsert(keys[i], value, tsavorite.Metadata{})
	}
	reader := &lastRead{record: tsavorite.Record{Value: make([]byte, 0, 64)}}
	update := setTo(value, tsavorite.Metadata{})
	check := func(what string, f func()) {
		t.Helper()
		if n := testing.AllocsPerRun(200, f); n != 0 {
			t.Errorf("%s allocates %.1f times", what, n)
		}
	}
	check("Read", func() { s.Read(keys[0], 0, reader) })
	check("ReadBatch", func() { s.ReadBatch(keys, reader) })
	check("Upsert", func() { s.Upsert(keys[1], value, tsavorite.Metadata{}) })
	check("RMW", func() { s.RMW(keys[2], update) })
	check("Latch", func() { s.Latch(keys[:4]); s.Unlatch() })
	check("Delete and Upsert", func() { s.Delete(keys[3]); s.Upsert(keys[3], value, tsavorite.Metadata{}) })
	check("Leave and Enter", func() { s.Leave(); s.Enter() })
}

// TestRandomStrings draws short runs on few keys against a map; what fails is shrunk to its
// essence. Package metamorphic has the long runs.
func TestRandomStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store, err := tsavorite.Open(tsavorite.Options{PageBytes: 4096, MemoryBytes: 1 << 20, IndexBytes: 512})
		if err != nil {
			t.Fatalf("cannot open the store: %v", err)
		}
		defer func() {
			if err := store.Close(); err != nil {
				t.Fatalf("cannot close the store: %v", err)
			}
		}()
		session, err := store.NewSession()
		if err != nil {
			t.Fatalf("cannot make a session: %v", err)
		}
		defer session.Close()
		session.Enter()
		defer session.Leave()
		model := map[string][]byte{}
		drawKey := func(t *rapid.T) tsavorite.Key {
			return tsavorite.Key{Bytes: rapid.SliceOfN(rapid.Byte(), 0, 2).Draw(t, "key")}
		}
		drawValue := func(t *rapid.T) []byte { return rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "value") }
		expect := func(t *rapid.T, what string, got, ifPresent, ifAbsent tsavorite.Status, k tsavorite.Key) {
			want := ifAbsent
			if _, ok := model[string(k.Bytes)]; ok {
				want = ifPresent
			}
			if got != want {
				t.Fatalf("%s of %q says %v, want %v", what, k.Bytes, got, want)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"upsert": func(t *rapid.T) {
				k, v := drawKey(t), drawValue(t)
				expect(t, "Upsert", session.Upsert(k, v, tsavorite.Metadata{}), tsavorite.Found, tsavorite.Created, k)
				model[string(k.Bytes)] = v
			},
			"append": func(t *rapid.T) {
				k, v := drawKey(t), drawValue(t)
				expect(t, "append", session.RMW(k, appendTo(v)), tsavorite.Found, tsavorite.Created, k)
				model[string(k.Bytes)] = slices.Concat(model[string(k.Bytes)], v)
			},
			"delete": func(t *rapid.T) {
				k := drawKey(t)
				expect(t, "Delete", session.Delete(k), tsavorite.Deleted, tsavorite.NotFound, k)
				delete(model, string(k.Bytes))
			},
			"read": func(t *rapid.T) {
				k := drawKey(t)
				r := &lastRead{}
				expect(t, "Read", session.Read(k, 0, r), tsavorite.Found, tsavorite.NotFound, k)
				if !bytes.Equal(r.record.Value, model[string(k.Bytes)]) {
					t.Fatalf("read of %q shows %q, want %q", k.Bytes, r.record.Value, model[string(k.Bytes)])
				}
			},
		})
	})
}
