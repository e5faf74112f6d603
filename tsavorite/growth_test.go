package tsavorite_test

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"testing"

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
