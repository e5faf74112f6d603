package tsavorite_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device/aligned"
	"github.com/pyropedb/pyrope/tsavorite"
)

// The benchmarks run on benchKeys keys of eight bytes, uniformly drawn, benchRound of them in one visit to
// the epoch. An index of benchIndexBytes holds them without doubling: 3.8 entries a bucket.
const (
	benchKeys       = 2_000_000
	benchRound      = 64
	benchIndexBytes = 32 << 20
	benchOverlap    = 16 // keys whose cache misses overlap, as in ReadBatch
)

// benchRandom is a xorshift64* generator: a few cycles a draw.
type benchRandom uint64

func (r *benchRandom) below(n uint64) uint64 {
	x := uint64(*r)
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	*r = benchRandom(x)
	return (x * 0x2545F4914F6CDD1D >> 32) * n >> 32
}

// benchEngine is a store full of keys, and what a round needs.
type benchEngine struct {
	session  *tsavorite.Session
	random   benchRandom
	keys     []tsavorite.Key
	value    []byte
	received []byte // where reads copy values to
	misses   int
}

// Read makes benchEngine a Reader that copies the value, as a caller would.
func (e *benchEngine) Read(_ uint64, status tsavorite.Status, record tsavorite.Record) {
	if status != tsavorite.Found {
		e.misses++
		return
	}
	copy(e.received, record.Value)
}

// Plan and Write make it an Updater that adds one to the first word of the value.
func (e *benchEngine) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	if !found {
		e.misses++
	}
	return tsavorite.Plan{Action: tsavorite.Write, Length: len(e.value), Preserve: true}
}

func (e *benchEngine) Write(value []byte, _ tsavorite.Record) {
	binary.LittleEndian.PutUint64(value, binary.LittleEndian.Uint64(value)+1)
}

func openBenchEngine(b *testing.B, valueBytes int) *benchEngine {
	b.Helper()
	store, err := tsavorite.Open(tsavorite.Options{IndexBytes: benchIndexBytes, MemoryBytes: 1 << 30, PageBytes: 4 << 20})
	if err != nil {
		b.Fatalf("cannot open the store: %v", err)
	}
	e := &benchEngine{random: 1, keys: allocKeys(benchRound), value: make([]byte, valueBytes), received: make([]byte, valueBytes)}
	if e.session, err = store.NewSession(); err != nil {
		b.Fatalf("cannot make a session: %v", err)
	}
	b.Cleanup(func() {
		e.session.Close()
		if err := store.Close(); err != nil {
			b.Errorf("cannot close the store: %v", err)
		}
	})
	for n := uint64(0); n < benchKeys; n += benchRound {
		for i := range e.keys {
			binary.LittleEndian.PutUint64(e.keys[i].Bytes, n+uint64(i))
		}
		e.upsertRound()
	}
	return e
}

// draw gives the round's keys new random numbers.
func (e *benchEngine) draw() {
	for i := range e.keys {
		binary.LittleEndian.PutUint64(e.keys[i].Bytes, e.random.below(benchKeys))
	}
}

func (e *benchEngine) readBatchRound() {
	e.session.Enter()
	e.session.ReadBatch(e.keys, e)
	e.session.Leave()
}

func (e *benchEngine) readRound() {
	e.session.Enter()
	for i := range e.keys {
		e.session.Read(e.keys[i], 0, e)
	}
	e.session.Leave()
}

func (e *benchEngine) upsertRound() {
	e.session.Enter()
	for i := range e.keys {
		if status := e.session.Upsert(e.keys[i], e.value, tsavorite.Metadata{}); status > tsavorite.Created {
			e.misses++
		}
	}
	e.session.Leave()
}

func (e *benchEngine) rmwRound() {
	e.session.Enter()
	for i := range e.keys {
		e.session.RMW(e.keys[i], e)
	}
	e.session.Leave()
}

// benchFloor is memory of the engine's shape: a line of the index says where its record lies.
type benchFloor struct {
	index, records []byte
	recordBytes    uint64
	random         benchRandom
	sum            uint64
}

// recordBytes is what a record takes in the log: header, key, padded value.
func recordBytes(valueBytes int) int { return 24 + 8 + aligned.RoundUp(valueBytes, 8) }

func newBenchFloor(b *testing.B, valueBytes int) *benchFloor {
	b.Helper()
	f := &benchFloor{random: 1, recordBytes: uint64(recordBytes(valueBytes))}
	for _, part := range []struct {
		to   *[]byte
		size int
	}{{&f.index, benchIndexBytes}, {&f.records, benchKeys * recordBytes(valueBytes)}} {
		memory, err := aligned.Map(part.size)
		if err != nil {
			b.Fatalf("cannot map %d bytes: %v", part.size, err)
		}
		b.Cleanup(func() { _ = aligned.Unmap(memory) })
		aligned.AdviseHuge(memory)
		*part.to = memory
	}
	for at := 0; at < len(f.records); at += 4096 {
		f.records[at] = 1
	}
	for at := 0; at < len(f.index); at += 64 {
		place := f.random.below(benchKeys) * uint64(recordBytes(valueBytes))
		binary.LittleEndian.PutUint64(f.index[at:], place)
	}
	return f
}

// round touches benchRound random lines of the index and the lines of the records they name, overlap at a time.
func (f *benchFloor) round(overlap int) {
	var places [benchRound]uint64
	for first := 0; first < benchRound; first += overlap {
		group := places[first : first+overlap]
		for i := range group {
			line := f.random.below(benchIndexBytes/64) * 64
			group[i] = binary.LittleEndian.Uint64(f.index[line:])
		}
		for _, place := range group {
			last := place + f.recordBytes - 8
			for ; place < last; place += 64 {
				f.sum += binary.LittleEndian.Uint64(f.records[place:])
			}
			f.sum += binary.LittleEndian.Uint64(f.records[last:])
		}
	}
}

// reportRounds turns a benchmark's rounds into operations.
func reportRounds(b *testing.B) {
	operations := float64(b.N) * benchRound
	b.ReportMetric(operations/b.Elapsed().Seconds()/1e6, "Mops/s")
	b.ReportMetric(b.Elapsed().Seconds()*1e9/operations, "ns/op")
}

// BenchmarkEngine measures the verbs on keys in memory, one session, beside the engine's floor: a loop that
// only touches one random line of an index and the lines of one random record a read. floor16 overlaps as many reads as
// ReadBatch does, which should come within 1.3 times of it; floor1 takes them one by one.
func BenchmarkEngine(b *testing.B) {
	for _, valueBytes := range []int{8, 100} {
		b.Run(fmt.Sprintf("value=%d", valueBytes), func(b *testing.B) {
			e, f := openBenchEngine(b, valueBytes), newBenchFloor(b, valueBytes)
			for _, part := range []struct {
				name  string
				round func()
			}{
				{"floor16", func() { f.round(benchOverlap) }},
				{"ReadBatch", func() { e.draw(); e.readBatchRound() }},
				{"floor1", func() { f.round(1) }},
				{"Read", func() { e.draw(); e.readRound() }},
				{"Upsert", func() { e.draw(); e.upsertRound() }},
				{"RMW", func() { e.draw(); e.rmwRound() }},
			} {
				b.Run(part.name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						part.round()
					}
					reportRounds(b)
				})
			}
			b.Run("ReadBatchOverFloor", func(b *testing.B) { measureOverFloor(b, e, f) })
			if e.misses > 0 {
				b.Errorf("%d operations did not find their key", e.misses)
			}
		})
	}
}

// measureOverFloor lets batches and the floor take turns of some microseconds and reports how many times as long
// the batches took: whatever else runs on the machine slows both.
func measureOverFloor(b *testing.B, e *benchEngine, f *benchFloor) {
	const turn = 16
	var batches, floor time.Duration
	for b.Loop() {
		start := time.Now()
		for range turn {
			f.round(benchOverlap)
		}
		middle := time.Now()
		for range turn {
			e.draw()
			e.readBatchRound()
		}
		floor += middle.Sub(start)
		batches += time.Since(middle)
	}
	b.ReportMetric(float64(batches)/float64(floor), "times-floor")
}

// BenchmarkEngineInsert measures Upsert of new keys into a store whose index doubles as it fills.
func BenchmarkEngineInsert(b *testing.B) {
	for _, valueBytes := range []int{8, 100} {
		b.Run(fmt.Sprintf("value=%d", valueBytes), func(b *testing.B) {
			store, err := tsavorite.Open(tsavorite.Options{EvictOldest: true, MemoryBytes: 256 << 20})
			if err != nil {
				b.Fatalf("cannot open the store: %v", err)
			}
			e := &benchEngine{keys: allocKeys(benchRound), value: make([]byte, valueBytes)}
			if e.session, err = store.NewSession(); err != nil {
				b.Fatalf("cannot make a session: %v", err)
			}
			next := uint64(0)
			for b.Loop() {
				for i := range e.keys {
					binary.LittleEndian.PutUint64(e.keys[i].Bytes, next)
					next++
				}
				e.upsertRound()
			}
			reportRounds(b)
			e.session.Close()
			if err := store.Close(); err != nil || e.misses > 0 {
				b.Errorf("%d inserts failed; close says %v", e.misses, err)
			}
		})
	}
}
