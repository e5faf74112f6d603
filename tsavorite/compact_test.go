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

// memoryStore is a store without a device: sixteen pages of 4 KiB.
func memoryStore(t *testing.T) (*tsavorite.Store, *tsavorite.Session) {
	t.Helper()
	return openOutside(t, tsavorite.Options{MemoryBytes: 64 << 10, PageBytes: 4 << 10, IndexBytes: 4096})
}

func compactKey(n int) tsavorite.Key { return tsavorite.Key{Bytes: fmt.Appendf(nil, "key-%04d", n)} }

// upsertSoon retries a write that finds memory full while compaction is at work.
func upsertSoon(t *testing.T, session *tsavorite.Session, key tsavorite.Key, value []byte) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		session.Enter()
		status := session.Upsert(key, value, tsavorite.Metadata{})
		session.Leave()
		if status == tsavorite.Found || status == tsavorite.Created {
			return
		}
		if status != tsavorite.OutOfMemory || time.Now().After(deadline) {
			t.Fatalf("upsert of %s: %v (%v)", key.Bytes, status, session.Err())
		}
		time.Sleep(time.Millisecond)
	}
}

// TestDeadBytesAreUsedAgain writes new keys and deletes old ones, sixty at a time, for a hundred times
// what memory holds: without compaction it would be full for ever.
func TestDeadBytesAreUsedAgain(t *testing.T) {
	store, session := memoryStore(t)
	const live, count = 60, 20_000
	valueOf := func(n int) []byte { return bytes.Repeat([]byte{byte(n)}, 100+n*37%300) }
	for n := range count {
		upsertSoon(t, session, compactKey(n), valueOf(n))
		if n >= live {
			session.Enter()
			if status := session.Delete(compactKey(n - live)); status != tsavorite.Deleted {
				t.Fatalf("delete %d: %v", n-live, status)
			}
			session.Leave()
		}
	}
	session.Enter()
	for n := count - 2*live; n < count-live; n++ {
		wantRead(t, session, compactKey(n), nil)
	}
	for n := count - live; n < count; n++ {
		wantRead(t, session, compactKey(n), valueOf(n))
	}
	session.Leave()
	if info := store.Info(); info.TailAddress < 50*info.MemoryBytes {
		t.Fatalf("the tail came to %d only: nothing was compacted", info.TailAddress)
	}
}

// TestFullMemoryRefusesAndRecovers fills memory with live records until it is refused, checks that none
// was lost, deletes them and writes again.
func TestFullMemoryRefusesAndRecovers(t *testing.T) {
	_, session := memoryStore(t)
	value := bytes.Repeat([]byte("v"), 200)
	stored := 0
	for ; ; stored++ {
		session.Enter()
		status := session.Upsert(compactKey(stored), value, tsavorite.Metadata{})
		session.Leave()
		if status == tsavorite.OutOfMemory {
			break
		}
		if status != tsavorite.Created || stored > 400 {
			t.Fatalf("upsert %d: %v", stored, status)
		}
	}
	if stored < 200 {
		t.Fatalf("full after %d records of 240 bytes in 64 KiB", stored)
	}
	session.Enter()
	for n := range stored {
		wantRead(t, session, compactKey(n), value)
	}
	for n := range stored {
		if status := session.Delete(compactKey(n)); status != tsavorite.Deleted {
			t.Fatalf("delete %d: %v", n, status)
		}
	}
	session.Leave()
	started := time.Now()
	for n := range stored {
		upsertSoon(t, session, compactKey(1000+n), value)
	}
	if took := time.Since(started); took > 30*time.Second {
		t.Fatalf("writes succeeded only after %v", took)
	}
}

// TestDroppedNamespacesMakeRoom fills memory again and again, each time in a fresh namespace.
func TestDroppedNamespacesMakeRoom(t *testing.T) {
	store, session := memoryStore(t)
	value := bytes.Repeat([]byte("v"), 200)
	for namespace := uint32(1); namespace < 20; namespace++ {
		for n := range 150 {
			upsertSoon(t, session, tsavorite.Key{Namespace: namespace, Bytes: compactKey(n).Bytes}, value)
		}
		session.Enter()
		for n := range 150 {
			wantRead(t, session, tsavorite.Key{Namespace: namespace, Bytes: compactKey(n).Bytes}, value)
		}
		session.Leave()
		store.DropNamespace(namespace)
	}
}

// TestExpiredBytesAreUsedAgain fills memory with records that expire; nobody touches them again.
func TestExpiredBytesAreUsedAgain(t *testing.T) {
	_, session := memoryStore(t)
	value := bytes.Repeat([]byte("v"), 200)
	for n := range 1000 {
		deadline := time.Now().Add(20 * time.Millisecond).UnixMilli()
		for status := tsavorite.OutOfMemory; status == tsavorite.OutOfMemory; {
			session.Enter()
			status = session.Upsert(compactKey(n), value, tsavorite.Metadata{Deadline: deadline})
			session.Leave()
			if status == tsavorite.OutOfMemory {
				time.Sleep(5 * time.Millisecond)
			}
		}
	}
}

// TestFullMemoryOfPoorlyFittingRecords fills pages with records of which three fit and a quarter of the page
// stays empty: moving them gains nothing, and the store must find that out.
func TestFullMemoryOfPoorlyFittingRecords(t *testing.T) {
	_, session := memoryStore(t)
	value := bytes.Repeat([]byte("v"), 1000)
	status, stored := tsavorite.Created, 0
	for ; status == tsavorite.Created && stored < 100; stored++ {
		session.Enter()
		status = session.Upsert(compactKey(stored), value, tsavorite.Metadata{})
		session.Leave()
	}
	if status != tsavorite.OutOfMemory || stored < 40 {
		t.Fatalf("record %d of 1,040 bytes in 64 KiB: %v", stored, status)
	}
}

// TestLatchOnFullMemory keeps writing under latches while compaction has to make the room: it may be refused,
// it must not hang.
func TestLatchOnFullMemory(t *testing.T) {
	store, err := tsavorite.Open(tsavorite.Options{PageBytes: 4096, MemoryBytes: 4 * 4096, IndexBytes: 512})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		session, err := store.NewSession()
		if err != nil {
			t.Error(err)
			return
		}
		defer session.Close()
		keys := make([]tsavorite.Key, 20)
		for i := range keys {
			keys[i] = compactKey(i)
		}
		for round := range 40 {
			session.Enter()
			session.Latch(keys)
			for _, key := range keys {
				session.Upsert(key, make([]byte, 50+round*8), tsavorite.Metadata{})
			}
			session.Unlatch()
			session.Leave()
		}
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("a latched session and compaction wait for each other")
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFullMemoryRefusesAtOnce lets several sessions write to a store that is full of live records: a refusal must
// not wait for a round of compaction each time.
func TestFullMemoryRefusesAtOnce(t *testing.T) {
	store, err := tsavorite.Open(tsavorite.Options{MemoryBytes: 32 << 20, PageBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	value := bytes.Repeat([]byte("v"), 5000)
	upsert := func(session *tsavorite.Session, namespace, n int) tsavorite.Status {
		session.Enter()
		defer session.Leave()
		return session.Upsert(tsavorite.Key{Namespace: uint32(namespace), Bytes: compactKey(n).Bytes}, value, tsavorite.Metadata{})
	}
	filler, err := store.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; upsert(filler, 9, n) != tsavorite.OutOfMemory; n++ {
	}
	filler.Close()
	var group sync.WaitGroup
	var refused atomic.Int64
	before, began := store.Info().Compactions, time.Now()
	for writer := range 4 {
		session, err := store.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			defer session.Close()
			for n := 0; refused.Load() < 20_000 && time.Since(began) < time.Minute; n++ {
				if upsert(session, writer, n) == tsavorite.OutOfMemory {
					refused.Add(1)
				}
			}
		})
	}
	group.Wait()
	rounds, took := store.Info().Compactions-before, time.Since(began)
	t.Logf("%d refusals and %d rounds of compaction in %v", refused.Load(), rounds, took)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if most := 200 + took/(50*time.Millisecond); refused.Load() < 20_000 || rounds > uint64(most) { // it rests after each
		t.Fatalf("%d writes were refused in %v, and compaction ran %d times, want %d at most", refused.Load(), took, rounds, most)
	}
}

// TestLatchOnMemoryFullOfLiveRecords writes under latches until memory is full of what is live.
func TestLatchOnMemoryFullOfLiveRecords(t *testing.T) {
	_, session := memoryStore(t)
	value := bytes.Repeat([]byte("v"), 100)
	for n := 0; ; n += 2 {
		keys := []tsavorite.Key{compactKey(n), compactKey(n + 1)}
		session.Enter()
		session.Latch(keys)
		first, second := session.Upsert(keys[0], value, tsavorite.Metadata{}), session.Upsert(keys[1], value, tsavorite.Metadata{})
		session.Unlatch()
		session.Leave()
		if first == tsavorite.OutOfMemory || second == tsavorite.OutOfMemory {
			break
		}
		if n > 1000 {
			t.Fatal("a thousand records of 136 bytes in 64 KiB")
		}
	}
}

// TestLatchedWritesFindRoom lets sessions write groups of keys under latches to memory that is full, mostly of what is dead: none may be
// refused for the others' latches, or for what the compactor does meanwhile.
func TestLatchedWritesFindRoom(t *testing.T) {
	for _, sessions := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(sessions), func(t *testing.T) {
			store, _ := memoryStore(t)
			const live = 200 // of up to 180 bytes: under half of memory
			var group sync.WaitGroup
			for n := range sessions {
				session := openSession(t, store)
				random := rand.New(rand.NewPCG(uint64(n), testSeed()))
				group.Go(func() {
					defer session.Close()
					for range 2000 / sessions {
						writeLatched(t, session, random, live)
					}
				})
			}
			group.Wait()
		})
	}
}

// writeLatched writes a few random keys of so many under their latches, every other time with room set aside.
func writeLatched(t *testing.T, session *tsavorite.Session, random *rand.Rand, live int) {
	keys := make([]tsavorite.Key, 1+random.IntN(60))
	intents := make([]tsavorite.Intent, len(keys))
	for i := range keys {
		keys[i] = compactKey(random.IntN(live))
		intents[i] = tsavorite.Intent{Key: keys[i], Length: random.IntN(130), Removal: random.IntN(2) == 0}
	}
	session.Enter()
	defer session.Leave()
	session.Latch(keys)
	defer session.Unlatch()
	if random.IntN(2) == 0 {
		if status := session.ReserveRoom(intents); status != tsavorite.Found {
			t.Errorf("no room is set aside: %v", status)
			return
		}
	}
	for _, intent := range intents {
		var status tsavorite.Status
		if intent.Removal {
			status = session.Delete(intent.Key)
		} else {
			status = session.Upsert(intent.Key, make([]byte, intent.Length), tsavorite.Metadata{})
		}
		if status == tsavorite.OutOfMemory || status == tsavorite.StatusError {
			t.Errorf("a write to a latched key: %v (%v)", status, session.Err())
		}
	}
}
