package micro

import (
	"encoding/binary"
	"testing"

	"github.com/pyropedb/pyrope/benchmark/usage"
	"github.com/pyropedb/pyrope/benchmark/workload"
	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/localmemory"
	"github.com/pyropedb/pyrope/tsavorite"
)

const (
	keyCount   = 2_000_000
	roundSize  = 64 // operations in one visit to the epoch
	indexBytes = 32 << 20
)

// worker is one session and what its rounds need.
type worker struct {
	session *tsavorite.Session
	random  workload.Random
	keys    []tsavorite.Key
	value   []byte
	sum     uint64 // keeps what was read
	found   uint64
	failed  uint64
}

// newWorker opens a session of a store. It is closed when the benchmark ends, before the store.
func newWorker(b *testing.B, store *tsavorite.Store, valueBytes int, stream uint64) *worker {
	b.Helper()
	session, err := store.NewSession()
	if err != nil {
		b.Fatalf("cannot make a session: %v", err)
	}
	b.Cleanup(session.Close)
	w := &worker{session: session, random: workload.NewRandom(1, stream), keys: make([]tsavorite.Key, roundSize), value: make([]byte, valueBytes)}
	for i := range w.keys {
		w.keys[i].Bytes = make([]byte, 8)
	}
	return w
}

// Read makes worker a Reader that looks at the value.
func (w *worker) Read(_ uint64, status tsavorite.Status, record tsavorite.Record) {
	if status != tsavorite.Found {
		w.failed++
		return
	}
	w.found++
	w.sum += uint64(record.Value[0])
}

// draw gives the round's keys new random numbers.
func (w *worker) draw() {
	for i := range w.keys {
		binary.LittleEndian.PutUint64(w.keys[i].Bytes, w.random.Below(keyCount))
	}
}

func (w *worker) readBatch() {
	w.draw()
	w.session.Enter()
	w.session.ReadBatch(w.keys, w)
	w.session.Leave()
}

func (w *worker) readAsync() {
	w.draw()
	w.session.Enter()
	for _, key := range w.keys {
		w.session.ReadAsync(key, 0, w)
	}
	w.session.CompletePending(true)
	w.session.Leave()
}

// upsert writes the round's keys as they are.
func (w *worker) upsert(prefetch bool) {
	w.session.Enter()
	if prefetch {
		w.session.Prefetch(w.keys)
	}
	for _, key := range w.keys {
		if status := w.session.Upsert(key, w.value, tsavorite.Metadata{}); status > tsavorite.Blind {
			w.failed++
		}
	}
	w.session.Leave()
}

// load fills the store with all keys.
func (w *worker) load() {
	for n := uint64(0); n < keyCount; n += roundSize {
		for i := range w.keys {
			binary.LittleEndian.PutUint64(w.keys[i].Bytes, n+uint64(i))
		}
		w.upsert(false)
	}
}

// openStore returns a store that is closed when the benchmark ends.
func openStore(b *testing.B, o tsavorite.Options) *tsavorite.Store {
	b.Helper()
	o.IndexBytes = indexBytes
	store, err := tsavorite.Open(o)
	if err != nil {
		b.Fatalf("cannot open the store: %v", err)
	}
	b.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.Errorf("cannot close the store: %v", err)
		}
	})
	return store
}

// inMemory are the options of a store whose records all stay in memory.
func inMemory() tsavorite.Options {
	return tsavorite.Options{MemoryBytes: 1 << 30, PageBytes: 4 << 20}
}

// openDevice returns a device in RAM that completes within Submit: an infinitely fast disk.
func openDevice(b *testing.B) device.Device {
	b.Helper()
	d, err := localmemory.Open(device.Options{SegmentSizeBytes: 64 << 20, InlineCompletion: true})
	if err != nil {
		b.Fatalf("cannot open the device: %v", err)
	}
	b.Cleanup(func() {
		if err := d.Close(); err != nil {
			b.Errorf("cannot close the device: %v", err)
		}
	})
	return d
}

// meter measures one benchmark from its start on.
type meter struct {
	b     *testing.B
	start usage.Usage
}

func startMeter(b *testing.B) meter {
	b.Helper()
	b.ReportAllocs()
	m := meter{b, usage.Now()}
	b.ResetTimer()
	return m
}

// report reports the rate of so many operations and the processor time of each, and fails the benchmark
// if one of them failed.
func (m meter) report(operations uint64, workers ...*worker) {
	processor := usage.Now().Since(m.start).CPU()
	m.b.Helper()
	for i, w := range workers {
		if w.failed > 0 {
			m.b.Errorf("session %d: %d operations failed; the last error is %v", i, w.failed, w.session.Err())
		}
	}
	m.b.ReportMetric(float64(operations)/m.b.Elapsed().Seconds()/1e6, "Mops/s")
	m.b.ReportMetric(m.b.Elapsed().Seconds()*1e9/float64(operations), "ns/op")
	m.b.ReportMetric(float64(processor)/float64(operations), "cpu-ns/op")
}
