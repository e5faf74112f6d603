package tsavorite_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/tsavorite"
)

// evictions counts how often each key was told by OnEvict.
type evictions struct {
	mu   sync.Mutex
	keys map[string]int
}

func listenTo(store *tsavorite.Store) *evictions {
	e := &evictions{keys: map[string]int{}}
	store.OnEvict(func(key tsavorite.Key, _ uint64) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.keys[string(key.Bytes)]++
	})
	return e
}

// count returns how many keys were told.
func (e *evictions) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.keys)
}

// of returns how often a key was told.
func (e *evictions) of(key tsavorite.Key) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.keys[string(key.Bytes)]
}

// volatileStore is a store of sixteen pages that drops records with a deadline.
func volatileStore(t *testing.T) (*tsavorite.Store, *tsavorite.Session, *evictions) {
	store, session := openMemory(t, func(o *tsavorite.Options) { o.EvictExpiring = true })
	return store, session, listenTo(store)
}

const farDeadline = 1 << 60

// TestRecordsWithDeadlinesGiveWay writes far more records with a deadline than memory holds: none is refused, the oldest go, each is
// told once, and the records without a deadline stay. Then it writes such ones until they are refused: all of those with a deadline are gone by then.
func TestRecordsWithDeadlinesGiveWay(t *testing.T) {
	store, session, told := volatileStore(t)
	const lasting, count = 30, 1500
	write := func(n int, m tsavorite.Metadata) tsavorite.Status {
		session.Enter()
		defer session.Leave()
		return session.Upsert(compactKey(n), memoryValue(n), m)
	}
	isThere := func(n int) bool {
		session.Enter()
		defer session.Leave()
		r := &lastRead{}
		status := session.Read(compactKey(n), 0, r)
		if status == tsavorite.Found && !bytes.Equal(r.record.Value, memoryValue(n)) {
			t.Fatalf("record %d is not what was written", n)
		}
		return status == tsavorite.Found
	}
	for n := range lasting {
		wantStatus(t, "Upsert", write(n, tsavorite.Metadata{}), tsavorite.Created)
	}
	for n := lasting; n < lasting+count; n++ {
		wantStatus(t, "Upsert", write(n, tsavorite.Metadata{Deadline: farDeadline}), tsavorite.Created)
	}
	kept := 0
	for n := range lasting + count {
		there := isThere(n)
		switch {
		case n < lasting && !there:
			t.Fatalf("record %d, which has no deadline, is gone", n)
		case n >= lasting && there:
			kept++
		case n >= lasting && kept > 0:
			t.Fatalf("record %d is gone, older ones are there", n)
		}
		want := 1
		if there {
			want = 0
		}
		if told.of(compactKey(n)) != want {
			t.Fatalf("record %d (there: %v) was told %d times", n, there, told.of(compactKey(n)))
		}
	}
	if kept < 9*7 || kept > 16*7 {
		t.Errorf("%d records with a deadline are left in 16 pages of seven", kept)
	}
	last := lasting + count
	for ; last < 3*count; last++ {
		if write(last, tsavorite.Metadata{}) == tsavorite.OutOfMemory {
			break
		}
	}
	for n := range last {
		if expires := n >= lasting && n < lasting+count; isThere(n) == expires {
			t.Fatalf("record %d (with a deadline: %v) is there: %v, in the store that refuses record %d", n, expires, !expires, last)
		}
	}
	if told.count() != count || store.HasEvicted() {
		t.Errorf("%d keys were told, not %d; HasEvicted says %v", told.count(), count, store.HasEvicted())
	}
}

// TestDeadRecordsGoBeforeLiveOnes overwrites records that have no deadline, so that half of the memory is dead when it is full:
// no record with a deadline is dropped.
func TestDeadRecordsGoBeforeLiveOnes(t *testing.T) {
	_, session, told := volatileStore(t)
	long := bytes.Repeat([]byte("x"), 600)
	for n := range 200 {
		session.Enter()
		if n < 40 {
			wantStatus(t, "Upsert", session.Upsert(compactKey(n), memoryValue(n), tsavorite.Metadata{Deadline: farDeadline}), tsavorite.Created)
		}
		if status := session.Upsert(key("often"), long[:100+n*2], tsavorite.Metadata{}); status == tsavorite.OutOfMemory {
			t.Fatal("a write is refused")
		}
		wantStatus(t, "Delete", session.Delete(key("often")), tsavorite.Deleted)
		session.Leave()
	}
	if told.count() != 0 {
		t.Errorf("%d records were dropped", told.count())
	}
}

// TestDeadlinesTakenAwayAreHeeded: sessions take the deadlines of records away and give records without one, while another fills the store.
// A record that has lost its deadline is never dropped afterwards.
func TestDeadlinesTakenAwayAreHeeded(t *testing.T) {
	store, writer, _ := volatileStore(t)
	count := 20_000
	if testing.Short() {
		count = 4000
	}
	var written atomic.Int64
	var group sync.WaitGroup
	for w := range 2 {
		session := openSession(t, store)
		group.Go(func() {
			defer session.Close()
			kept := map[int]bool{}
			for int(written.Load()) < count && !t.Failed() {
				n := max(int(written.Load())-40-rand.IntN(70), 0)*2 + w // among the next to be dropped
				session.Enter()
				if session.RMW(compactKey(n), act(tsavorite.SetMetadata, tsavorite.Metadata{})) == tsavorite.Found {
					kept[n] = true
				}
				if len(kept) > 10 {
					for n := range kept {
						if status := session.Delete(compactKey(n)); status != tsavorite.Deleted {
							t.Errorf("Delete of record %d: %v", n, status)
						}
						delete(kept, n)
						break
					}
				}
				for n := range kept {
					if status := session.Read(compactKey(n), 0, &lastRead{}); status != tsavorite.Found {
						t.Errorf("record %d has lost its deadline and is read with %v", n, status)
					}
				}
				session.Leave()
				time.Sleep(50 * time.Microsecond)
			}
		})
	}
	for n := 0; n < count && !t.Failed(); n++ {
		writer.Enter()
		for w := range 2 {
			if status := writer.Upsert(compactKey(2*n+w), memoryValue(n)[:200], tsavorite.Metadata{Deadline: farDeadline}); status == tsavorite.StatusError {
				t.Errorf("Upsert of record %d: %v", n, writer.Err())
			}
		}
		writer.Leave()
		written.Store(int64(n + 1))
	}
	group.Wait()
}

// TestGroupsFindRoomByEviction writes latched groups of records without a deadline into a store full of such that have one.
func TestGroupsFindRoomByEviction(t *testing.T) {
	_, session, told := volatileStore(t)
	for n := range 120 {
		session.Enter()
		wantStatus(t, "Upsert", session.Upsert(compactKey(n), memoryValue(n), tsavorite.Metadata{Deadline: farDeadline}), tsavorite.Created)
		session.Leave()
	}
	before := told.count()
	keys := []tsavorite.Key{}
	for n := range 40 {
		keys = append(keys, key("member:%d", n))
	}
	session.Enter()
	session.Latch(keys)
	for _, k := range keys {
		wantStatus(t, "Upsert", session.Upsert(k, memoryValue(1), tsavorite.Metadata{}), tsavorite.Created)
	}
	session.Unlatch()
	for _, k := range keys {
		wantRead(t, session, k, memoryValue(1))
	}
	session.Leave()
	if told.count() == before {
		t.Error("nothing was dropped for the group")
	}
}

// TestPolicyIsSwitched has a store that is full of records with a deadline drop them, and stop again.
func TestPolicyIsSwitched(t *testing.T) {
	store, session := openMemory(t, func(*tsavorite.Options) {})
	told := listenTo(store)
	write := func(n int) tsavorite.Status {
		session.Enter()
		defer session.Leave()
		return session.Upsert(compactKey(n), memoryValue(n), tsavorite.Metadata{Deadline: farDeadline})
	}
	full := 0
	for ; write(full) != tsavorite.OutOfMemory; full++ {
		if full > 1000 {
			t.Fatal("memory is never full")
		}
	}
	store.SetEvictExpiring(true)
	for n := full; n < full+300; n++ {
		wantStatus(t, "Upsert", write(n), tsavorite.Created)
	}
	if told.count() < 200 {
		t.Errorf("%d keys were told", told.count())
	}
	store.SetEvictExpiring(false)
	before := told.count()
	for n := full + 300; n < full+600; n++ {
		_ = write(n)
	}
	if write(full+600) != tsavorite.OutOfMemory || told.count() != before {
		t.Errorf("%d records were dropped by a store that may drop none", told.count()-before)
	}
}

// TestDroppedPagesAreTold: where whole pages go, exactly the keys are told that are gone.
func TestDroppedPagesAreTold(t *testing.T) {
	clock := newTestClock()
	store, session := openMemory(t, func(o *tsavorite.Options) { o.EvictOldest, o.Clock = true, clock.Load })
	told := listenTo(store)
	const count = 1000
	expired := func(n int) bool { return n%11 == 3 && n < count/2 }
	deleted := func(n int) bool { return n%7 == 2 && n < count-100 }
	for n := range count {
		session.Enter()
		m := tsavorite.Metadata{}
		if expired(n) {
			m.Deadline = clock.Load() + 10
		}
		wantStatus(t, "Upsert", session.Upsert(compactKey(n), memoryValue(n)[:40], m), tsavorite.Created)
		if n%5 == 0 {
			wantStatus(t, "Upsert", session.Upsert(compactKey(n), memoryValue(n), m), tsavorite.Found) // its first record is dead
		}
		if deleted(n) {
			wantStatus(t, "Delete", session.Delete(compactKey(n)), tsavorite.Deleted)
		}
		session.Leave()
		if n%20 == 0 {
			clock.Add(20)
		}
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		problem, gone := "", 0
		for n := range count {
			session.Enter()
			there := session.Read(compactKey(n), 0, &lastRead{}) == tsavorite.Found
			session.Leave()
			want := 1
			if there || expired(n) || deleted(n) {
				want = 0
			}
			gone += want
			if got := told.of(compactKey(n)); got != want {
				problem = fmt.Sprintf("record %d (there: %v) was told %d times", n, there, got)
			}
		}
		if problem == "" && gone > count/4 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d keys are gone; %s", gone, problem)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestReplayPassesOverDroppedRecords: a patch of a record that is not there is damage, unless the store may have dropped it.
func TestReplayPassesOverDroppedRecords(t *testing.T) {
	patch := &tsavorite.Entry{Effect: tsavorite.EffectPatch, Key: key("gone"), Length: 8, Offset: 4, Value: []byte("tail")}
	for name, o := range map[string]tsavorite.Options{"plain": {}, "volatile": {EvictExpiring: true}, "oldest": {EvictOldest: true}} {
		store, err := tsavorite.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		session, err := store.NewReplaySession()
		if err != nil {
			t.Fatal(err)
		}
		session.Enter()
		status, err := session.Apply(patch)
		session.Leave()
		session.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if mayMiss := name != "plain"; mayMiss != (err == nil) || mayMiss && status != tsavorite.NotFound {
			t.Errorf("%s: %v, %v", name, status, err)
		}
	}
}
