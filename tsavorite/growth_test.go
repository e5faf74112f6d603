package tsavorite_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/tsavorite"
)

// growthKey is the key of writer w's n-th record; its value is its number twice over.
func growthKey(w, n int) tsavorite.Key {
	return tsavorite.Key{Namespace: uint32(w), Bytes: binary.LittleEndian.AppendUint32(nil, uint32(n))}
}

func growthValue(w, n int) []byte {
	value := binary.LittleEndian.AppendUint64(nil, uint64(n)<<8|uint64(w))
	return append(value, value...)
}

// growthWriter inserts its share of the keys and reads older ones in between.
func growthWriter(t *testing.T, s *tsavorite.Session, w, count int) {
	random := rand.New(rand.NewPCG(uint64(w), 3))
	for n := range count {
		s.Enter()
		if status := s.Upsert(growthKey(w, n), growthValue(w, n), tsavorite.Metadata{}); status != tsavorite.Created && status != tsavorite.Blind {
			t.Errorf("writer %d: Upsert of record %d says %v: %v", w, n, status, s.Err())
		}
		if n%8 == 0 {
			checkGrown(t, s, w, random.IntN(n+1))
		}
		if n%64 == 0 {
			checkGrownBatch(t, s, w, random, n)
		}
		s.Leave()
		if t.Failed() {
			return
		}
	}
}

func checkGrown(t *testing.T, s *tsavorite.Session, w, n int) {
	t.Helper()
	r := &lastRead{}
	if status := s.Read(growthKey(w, n), 0, r); status != tsavorite.Found {
		t.Errorf("writer %d: read of record %d says %v: %v", w, n, status, s.Err())
	} else if want := growthValue(w, n); string(r.record.Value) != string(want) {
		t.Errorf("writer %d: record %d is %x, want %x", w, n, r.record.Value, want)
	}
}

// grownBatch checks the results of a ReadBatch.
type grownBatch struct {
	t       *testing.T
	w       int
	numbers []int
}

func (b grownBatch) Read(token uint64, status tsavorite.Status, record tsavorite.Record) {
	n := b.numbers[token]
	if status != tsavorite.Found || string(record.Value) != string(growthValue(b.w, n)) {
		b.t.Errorf("writer %d: a batch read record %d with %v as %x", b.w, n, status, record.Value)
	}
}

func checkGrownBatch(t *testing.T, s *tsavorite.Session, w int, random *rand.Rand, n int) {
	var keys []tsavorite.Key
	var numbers []int
	for range 40 {
		number := n - random.IntN(min(n, 100)+1)
		if random.IntN(4) == 0 {
			number = random.IntN(n + 1)
		}
		keys, numbers = append(keys, growthKey(w, number)), append(numbers, number)
	}
	s.ReadBatch(keys, grownBatch{t, w, numbers})
}

// TestScanWhileKeysMove: what is live during a whole scan is visited, whether its record stays
// where it is or moves to the tail all the time; what is never there is not. Count counts it once.
func TestScanWhileKeysMove(t *testing.T) {
	lasting := 400 * time.Millisecond
	if testing.Short() {
		lasting = 80 * time.Millisecond
	}
	for _, settings := range append(concurrentStores(), compactedStore) {
		t.Run(settings.name, func(t *testing.T) {
			watch(t, 2*time.Minute)
			store := settings.open(t)
			s := openSession(t, store)
			defer s.Close()
			const count = 300
			s.Enter()
			for n := range count {
				s.Upsert(growthKey(1, n), growthValue(1, n), tsavorite.Metadata{})
				s.Upsert(growthKey(1, n+1000), nil, tsavorite.Metadata{})
				s.Delete(growthKey(1, n+1000))
			}
			s.Leave()
			var stop atomic.Bool
			var group sync.WaitGroup
			for mover := range 2 {
				session := openSession(t, store)
				group.Go(func() {
					defer session.Close()
					for n := mover; !stop.Load(); n = (n + 2) % (count / 2) { // the other half stays where it is
						session.Enter()
						value := append(growthValue(1, n), make([]byte, n%50)...)
						if status := session.Upsert(growthKey(1, n), value, tsavorite.Metadata{}); status != tsavorite.Found && status != tsavorite.Blind {
							t.Errorf("Upsert says %v: %v", status, session.Err())
						}
						session.Leave()
					}
				})
			}
			group.Go(func() { churn(t, store, &stop) })
			started := time.Now()
			for i := 0; i < 6 || time.Since(started) < lasting && !t.Failed(); i++ {
				checkScan(t, s, count, [...]int{0, 7, 100}[i%3])
				s.Enter()
				if counted, err := s.Count(1); counted != count || err != nil {
					t.Errorf("%d records are there, Count finds %d: %v", count, counted, err)
				}
				s.Leave()
			}
			stop.Store(true)
			group.Wait()
		})
	}
}

// churn creates keys of namespace 2 and deletes them soon after, so that bytes die everywhere.
func churn(t *testing.T, store *tsavorite.Store, stop *atomic.Bool) {
	session := openSession(t, store)
	defer session.Close()
	value := make([]byte, 300)
	for n := 0; !stop.Load(); n++ {
		session.Enter()
		status := session.Upsert(growthKey(2, n), value, tsavorite.Metadata{})
		if status > tsavorite.Blind && status != tsavorite.OutOfMemory { // full until compaction has caught up
			t.Errorf("churn: Upsert says %v: %v", status, session.Err())
		}
		session.Delete(growthKey(2, n-20))
		session.Leave()
	}
}

// TestAnyCursorIsSafe: cursors come from clients. Whatever they are, a scan shows records that are
// there, or none, and ends.
func TestAnyCursorIsSafe(t *testing.T) {
	for _, settings := range concurrentStores() {
		t.Run(settings.name, func(t *testing.T) {
			watch(t, 4*time.Minute)
			s := openSession(t, settings.open(t))
			defer s.Close()
			s.Enter()
			defer s.Leave()
			for n := range 2000 {
				s.Upsert(growthKey(1, n), growthValue(1, n), tsavorite.Metadata{})
				s.Upsert(growthKey(2, n%20), make([]byte, n), tsavorite.Metadata{})
			}
			seed := testSeed()
			random := rand.New(rand.NewPCG(seed, 1))
			issued := []uint64{1, 64, 1<<64 - 1, 1 << 63, 1<<41 - 1, 1 << 41}
			for range 400 {
				cursor := random.Uint64() >> random.IntN(64)
				if from := issued[random.IntN(len(issued))]; random.IntN(3) > 0 {
					cursor = from + random.Uint64N(5) - 2 + random.Uint64N(2)<<random.IntN(64)
				}
				c := &checkedVisits{}
				next, err := s.Scan(1, cursor, 1+random.IntN(50), c)
				if err != nil || c.problem != "" {
					t.Fatalf("seed %d: a scan from %#x says %v, %s", seed, cursor, err, c.problem)
				}
				if next != 0 {
					issued = append(issued, next)
				}
			}
		})
	}
}

// checkedVisits notes a visit of a record of namespace 1 that growthWriter would not have written.
type checkedVisits struct{ problem string }

func (c *checkedVisits) Visit(key []byte, record tsavorite.Record) bool {
	if len(key) != 4 || string(record.Value) != string(growthValue(1, int(binary.LittleEndian.Uint32(key)))) {
		c.problem = fmt.Sprintf("key %x was visited with %x", key, record.Value)
	}
	return c.problem == ""
}

// checkScan scans namespace 1 in steps and asks for records 0 to count-1 and no others.
func checkScan(t *testing.T, s *tsavorite.Session, count, limit int) {
	seen := map[uint32]bool{}
	for cursor := uint64(0); ; {
		c := &collector{}
		s.Enter()
		next, err := s.Scan(1, cursor, limit, c)
		s.Leave()
		if err != nil {
			t.Errorf("cannot scan from %d: %v", cursor, err)
			return
		}
		for _, k := range c.keys {
			if len(k) != 4 {
				t.Errorf("key %q was visited; it is not there", k)
				continue
			}
			seen[binary.LittleEndian.Uint32([]byte(k))] = true
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	var missed []uint32
	for n := range uint32(count) {
		if !seen[n] {
			missed = append(missed, n)
		}
		delete(seen, n)
	}
	if len(missed) > 0 {
		t.Errorf("with limit %d %d records were not visited: %d", limit, len(missed), missed)
	}
	if len(seen) > 0 {
		t.Errorf("%d records were visited that are not there", len(seen))
	}
}

// TestIndexGrowsUnderLoad: from eight buckets the index doubles while sessions insert and read, and
// every key stays found, whether its record lies in memory or its chain goes on on the device.
func TestIndexGrowsUnderLoad(t *testing.T) {
	count := 20_000
	if testing.Short() {
		count = 3_000
	}
	const writers = 3
	tiny := tsavorite.Options{PageBytes: 4096, MemoryBytes: 4 * 4096, IndexBytes: 512}
	for _, settings := range []storeCase{
		{"memory", tsavorite.Options{PageBytes: 16 << 10, MemoryBytes: 64 << 20, IndexBytes: 512}, ""},
		{"localmemory", tiny, "localmemory"},
		{"file", tiny, "file"},
	} {
		t.Run(settings.name, func(t *testing.T) {
			store := settings.open(t)
			before := store.Info()
			if before.IndexBuckets != 8 || before.IndexBytes != 512 {
				t.Errorf("the index starts with %d buckets, %d bytes; want 8 and 512", before.IndexBuckets, before.IndexBytes)
			}
			var group sync.WaitGroup
			for w := range writers {
				session := openSession(t, store)
				group.Go(func() {
					defer session.Close()
					growthWriter(t, session, w, count)
				})
			}
			group.Wait()
			session := openSession(t, store)
			session.Enter()
			for w := range writers {
				for n := 0; n < count && !t.Failed(); n++ {
					checkGrown(t, session, w, n)
				}
			}
			wantRead(t, session, tsavorite.Key{Namespace: writers, Bytes: growthKey(0, 0).Bytes}, nil)
			session.Leave()
			session.Close()
			checkGrowthInfo(t, store.Info(), writers*count)
		})
	}
}

// checkGrowthInfo: the index has doubled often enough that few entries sit in overflow buckets.
func checkGrowthInfo(t *testing.T, info tsavorite.Info, keys int) {
	t.Helper()
	buckets := uint64(8) << info.IndexGrowths
	switch {
	case info.IndexBuckets != buckets || info.IndexBytes != buckets*64:
		t.Errorf("after %d growths the index has %d buckets, %d bytes; want %d and %d", info.IndexGrowths, info.IndexBuckets, info.IndexBytes, buckets, buckets*64)
	case info.IndexBuckets*7*2 < uint64(keys):
		t.Errorf("%d keys have %d buckets of seven entries", keys, info.IndexBuckets)
	case info.IndexBuckets > uint64(keys)*2:
		t.Errorf("%d keys have %d buckets of seven entries: the index grows without need", keys, info.IndexBuckets)
	case info.OverflowBytes < info.OverflowBuckets*64:
		t.Errorf("%d overflow buckets take %d bytes", info.OverflowBuckets, info.OverflowBytes)
	case info.Writes < uint64(keys) || info.Reads < uint64(keys):
		t.Errorf("%d keys written and read back count %d writes and %d reads", keys, info.Writes, info.Reads)
	}
}

// TestIndexStopsAtItsBound: buckets overflow, and nothing is lost.
func TestIndexStopsAtItsBound(t *testing.T) {
	store, s := openStore(t, tsavorite.Options{PageBytes: 16 << 10, MemoryBytes: 16 << 20, IndexBytes: 512, IndexMaxBytes: 2048})
	const count = 3000
	for n := range count {
		wantStatus(t, "Upsert", s.Upsert(growthKey(0, n), growthValue(0, n), tsavorite.Metadata{}), tsavorite.Created)
	}
	for n := range count {
		checkGrown(t, s, 0, n)
	}
	if info := store.Info(); info.IndexBytes > 2048 || info.OverflowBuckets == 0 {
		t.Errorf("the index has %d bytes (bound 2048) and %d overflow buckets", info.IndexBytes, info.OverflowBuckets)
	}
	for n := range count {
		wantStatus(t, "Delete", s.Delete(growthKey(0, n)), tsavorite.Deleted)
		wantRead(t, s, growthKey(0, n), nil)
	}
}
