package tsavorite_test

import (
	"encoding/binary"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/localmemory"
	"github.com/pyropedb/pyrope/tsavorite"
)

// allocReader counts what it is told; it keeps nothing, so that only the engine could allocate.
type allocReader struct{ found, missing, failed int }

func (r *allocReader) Read(_ uint64, status tsavorite.Status, _ tsavorite.Record) {
	switch status {
	case tsavorite.Found:
		r.found++
	case tsavorite.NotFound:
		r.missing++
	default:
		r.failed++
	}
}

// allocUpdater carries out a fixed plan.
type allocUpdater struct {
	plan     tsavorite.Plan
	finished int
}

func (u *allocUpdater) Plan(tsavorite.Record, bool) tsavorite.Plan { return u.plan }

func (u *allocUpdater) Write(value []byte, _ tsavorite.Record) {
	if len(value) > 0 {
		value[0]++
	}
}

func (u *allocUpdater) Finish(uint64, tsavorite.Status) { u.finished++ }

// allocKeys returns count keys of eight bytes.
func allocKeys(count int) []tsavorite.Key {
	area := make([]byte, 8*count)
	keys := make([]tsavorite.Key, count)
	for i := range keys {
		bytes := area[8*i : 8*i+8 : 8*i+8]
		binary.LittleEndian.PutUint64(bytes, uint64(i))
		keys[i].Bytes = bytes
	}
	return keys
}

// allocSession opens a store and a session inside its epoch.
func allocSession(t *testing.T, o tsavorite.Options) *tsavorite.Session {
	t.Helper()
	_, session := allocStore(t, o)
	return session
}

// allocStore opens a store and a session inside its epoch.
func allocStore(t *testing.T, o tsavorite.Options) (*tsavorite.Store, *tsavorite.Session) {
	t.Helper()
	store, err := tsavorite.Open(o)
	if err != nil {
		t.Fatalf("cannot open the store: %v", err)
	}
	session, err := store.NewSession()
	if err != nil {
		t.Fatalf("cannot make a session: %v", err)
	}
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

// wantNoAllocations runs f often, and first once to warm up what is kept for the next time.
func wantNoAllocations(t *testing.T, what string, f func()) {
	t.Helper()
	if n := testing.AllocsPerRun(200, f); n != 0 {
		t.Errorf("%s makes %.2f allocations", what, n)
	}
}

func mustBe(t *testing.T, what string, got, want tsavorite.Status) {
	if got != want {
		t.Fatalf("%s says %v, want %v", what, got, want)
	}
}

// TestReadsInMemoryDoNotAllocate: hits, misses and batches.
func TestReadsInMemoryDoNotAllocate(t *testing.T) {
	s := allocSession(t, tsavorite.Options{})
	keys := allocKeys(128)
	for _, key := range keys[:64] {
		mustBe(t, "Upsert", s.Upsert(key, make([]byte, 100), tsavorite.Metadata{Deadline: 1 << 60, Etag: 3}), tsavorite.Created)
	}
	r := &allocReader{}
	wantNoAllocations(t, "Read of a key that is there", func() { mustBe(t, "Read", s.Read(keys[5], 0, r), tsavorite.Found) })
	wantNoAllocations(t, "Read of a key that is not", func() { mustBe(t, "Read", s.Read(keys[100], 0, r), tsavorite.NotFound) })
	wantNoAllocations(t, "ReadAsync in memory", func() { mustBe(t, "ReadAsync", s.ReadAsync(keys[5], 0, r), tsavorite.Found) })
	*r = allocReader{}
	wantNoAllocations(t, "ReadBatch of 64 hits", func() { s.ReadBatch(keys[:64], r) })
	if r.found != 201*64 || r.missing+r.failed != 0 {
		t.Errorf("201 batches of 64 hits gave %+v", *r)
	}
	wantNoAllocations(t, "ReadBatch of hits and misses", func() { s.ReadBatch(keys, r) })
	wantNoAllocations(t, "Leave and Enter", func() { s.Leave(); s.Enter() })
}

// TestWritesInPlaceDoNotAllocate: the records stay where they are.
func TestWritesInPlaceDoNotAllocate(t *testing.T) {
	s := allocSession(t, tsavorite.Options{})
	keys := allocKeys(16)
	value := make([]byte, 64)
	for _, key := range keys {
		mustBe(t, "Upsert", s.Upsert(key, value, tsavorite.Metadata{Deadline: 1 << 60}), tsavorite.Created)
	}
	wantNoAllocations(t, "Upsert in place", func() { mustBe(t, "Upsert", s.Upsert(keys[0], value, tsavorite.Metadata{}), tsavorite.Found) })
	write := &allocUpdater{plan: tsavorite.Plan{Action: tsavorite.Write, Length: 64, Preserve: true}}
	wantNoAllocations(t, "RMW in place", func() { mustBe(t, "RMW", s.RMW(keys[1], write), tsavorite.Found) })
	touch := &allocUpdater{plan: tsavorite.Plan{Action: tsavorite.SetMetadata, Metadata: tsavorite.Metadata{Deadline: 1 << 61}}}
	wantNoAllocations(t, "SetMetadata in place", func() { mustBe(t, "RMW", s.RMW(keys[2], touch), tsavorite.Found) })
	keep := &allocUpdater{}
	wantNoAllocations(t, "RMW that keeps", func() { mustBe(t, "RMW", s.RMW(keys[3], keep), tsavorite.Found) })
	wantNoAllocations(t, "RMWAsync in memory", func() { mustBe(t, "RMWAsync", s.RMWAsync(keys[4], 0, write), tsavorite.Found) })
	if write.finished != 201 {
		t.Errorf("201 updates were finished %d times", write.finished)
	}
	remove := &allocUpdater{plan: tsavorite.Plan{Action: tsavorite.Remove}}
	wantNoAllocations(t, "Delete in place and Upsert", func() {
		mustBe(t, "Delete", s.Delete(keys[5]), tsavorite.Deleted)
		mustBe(t, "Delete again", s.Delete(keys[5]), tsavorite.NotFound)
		mustBe(t, "Upsert", s.Upsert(keys[5], value, tsavorite.Metadata{}), tsavorite.Created)
	})
	wantNoAllocations(t, "Remove in place and Upsert", func() {
		mustBe(t, "RMW", s.RMW(keys[6], remove), tsavorite.Deleted)
		mustBe(t, "Upsert", s.Upsert(keys[6], value, tsavorite.Metadata{}), tsavorite.Created)
	})
}

// TestCopiesDoNotAllocate: each write needs a new record at the tail, since the value outgrows its
// capacity or the metadata finds no place. The page is big enough for all of them.
func TestCopiesDoNotAllocate(t *testing.T) {
	s := allocSession(t, tsavorite.Options{PageBytes: 4 << 20, MemoryBytes: 16 << 20})
	keys := allocKeys(4096)
	values := [][]byte{make([]byte, 8), make([]byte, 104)}
	next := 0
	fresh := func() tsavorite.Key { next++; return keys[next-1] }
	wantNoAllocations(t, "Upsert of a new key and a copy", func() {
		key := fresh()
		mustBe(t, "Upsert", s.Upsert(key, values[0], tsavorite.Metadata{}), tsavorite.Created)
		mustBe(t, "Upsert", s.Upsert(key, values[1], tsavorite.Metadata{}), tsavorite.Found)
	})
	grow := &allocUpdater{plan: tsavorite.Plan{Action: tsavorite.Write, Preserve: true}}
	wantNoAllocations(t, "RMW of a new key and a copy", func() {
		key := fresh()
		grow.plan.Length = 8
		mustBe(t, "RMW", s.RMW(key, grow), tsavorite.Created)
		grow.plan.Length = 104
		mustBe(t, "RMW", s.RMW(key, grow), tsavorite.Found)
	})
	touch := &allocUpdater{plan: tsavorite.Plan{Action: tsavorite.SetMetadata, Metadata: tsavorite.Metadata{Deadline: 1 << 61, Etag: 5}}}
	wantNoAllocations(t, "SetMetadata with a copy", func() {
		key := fresh()
		mustBe(t, "Upsert", s.Upsert(key, values[1], tsavorite.Metadata{}), tsavorite.Created)
		mustBe(t, "RMW", s.RMW(key, touch), tsavorite.Found)
	})
	var pair [4]tsavorite.Key
	wantNoAllocations(t, "Latch and Unlatch", func() {
		copy(pair[:], keys[:4])
		s.Latch(pair[:])
		mustBe(t, "Upsert under Latch", s.Upsert(pair[1], values[0], tsavorite.Metadata{}), tsavorite.Found)
		s.Unlatch()
	})
}

// coldSession returns a session on a store whose device completes within Submit, and keys whose records
// have left memory.
func coldSession(t *testing.T) (*tsavorite.Session, []tsavorite.Key) {
	t.Helper()
	d, err := localmemory.Open(device.Options{SegmentSizeBytes: 1 << 20, InlineCompletion: true})
	if err != nil {
		t.Fatalf("cannot open the device: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("cannot close the device: %v", err)
		}
	})
	s := allocSession(t, tsavorite.Options{Device: d, PageBytes: 16 << 10, MemoryBytes: 64 << 10})
	keys := allocKeys(8192)
	value := make([]byte, 100)
	for _, key := range keys {
		if status := s.Upsert(key, value, tsavorite.Metadata{}); status != tsavorite.Created && status != tsavorite.Blind {
			t.Fatalf("Upsert says %v: %v", status, s.Err())
		}
	}
	return s, keys[:1024]
}

// TestColdReadsDoNotAllocate: in the steady state a read from the device uses what earlier ones left.
func TestColdReadsDoNotAllocate(t *testing.T) {
	s, keys := coldSession(t)
	r := &allocReader{}
	async := func() {
		for _, key := range keys[:256] {
			mustBe(t, "ReadAsync", s.ReadAsync(key, 0, r), tsavorite.Pending)
		}
		if left := s.CompletePending(true); left != 0 {
			t.Fatalf("%d reads are left", left)
		}
	}
	async()
	*r = allocReader{}
	wantNoAllocations(t, "ReadAsync and CompletePending", async)
	if r.found != 201*256 || r.missing+r.failed != 0 {
		t.Errorf("201 × 256 cold reads gave %+v", *r)
	}
	wantNoAllocations(t, "Read from the device", func() { mustBe(t, "Read", s.Read(keys[300], 0, r), tsavorite.Found) })
	batch := func() { s.ReadBatch(keys[:64], r) }
	batch()
	*r = allocReader{}
	wantNoAllocations(t, "ReadBatch of 64 cold keys", batch)
	if r.found != 201*64 || r.missing+r.failed != 0 {
		t.Errorf("201 batches of 64 cold keys gave %+v", *r)
	}
}

// TestColdKeepsDoNotAllocate: an update that looks at a cold record and leaves it.
func TestColdKeepsDoNotAllocate(t *testing.T) {
	s, keys := coldSession(t)
	keep := &allocUpdater{}
	async := func() {
		for _, key := range keys[:128] {
			mustBe(t, "RMWAsync", s.RMWAsync(key, 0, keep), tsavorite.Pending)
		}
		s.CompletePending(true)
	}
	async()
	keep.finished = 0
	wantNoAllocations(t, "RMWAsync and CompletePending", async)
	if keep.finished != 201*128 {
		t.Errorf("201 × 128 cold updates were finished %d times", keep.finished)
	}
	wantNoAllocations(t, "RMW from the device", func() { mustBe(t, "RMW", s.RMW(keys[500], keep), tsavorite.Found) })
}
