package micro

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"

	"github.com/pyropedb/pyrope/benchmark/workload"
	"github.com/pyropedb/pyrope/device/aligned"
	"github.com/pyropedb/pyrope/tsavorite"
)

// BenchmarkOverlap reads a random line of a 32 MiB table and then the line of a 128 MiB table that it names,
// with a growing number of such pairs under way at once: what a batch can gain on this machine, and from
// which size on it gains no more.
func BenchmarkOverlap(b *testing.B) {
	const first, second = 32 << 20, 128 << 20
	tables := make([][]byte, 2)
	random := workload.NewRandom(1, 0)
	for i, size := range []int{first, second} {
		memory, err := aligned.Map(size)
		if err != nil {
			b.Fatalf("cannot map %d bytes: %v", size, err)
		}
		b.Cleanup(func() { _ = aligned.Unmap(memory) })
		aligned.AdviseHuge(memory)
		for at := 0; at < size; at += 64 {
			binary.LittleEndian.PutUint64(memory[at:], random.Below(second/64)*64)
		}
		tables[i] = memory
	}
	for _, overlap := range []int{1, 4, 8, 16, 32, 64} {
		b.Run(fmt.Sprintf("pairs=%d", overlap), func(b *testing.B) {
			m := startMeter(b)
			var places [roundSize]uint64
			sum := uint64(0)
			for b.Loop() {
				for from := 0; from < roundSize; from += overlap {
					group := places[from : from+overlap]
					for i := range group {
						// The sum makes each group wait for the one before: only a group overlaps.
						group[i] = binary.LittleEndian.Uint64(tables[0][random.Below(first/64)*64+sum&7:])
					}
					for _, place := range group {
						sum += binary.LittleEndian.Uint64(tables[1][place:])
					}
					sum &^= 7
				}
			}
			m.report(uint64(b.N) * roundSize)
		})
	}
}

// BenchmarkSessions reads batches from one session and from two at once.
func BenchmarkSessions(b *testing.B) {
	for _, valueBytes := range []int{8, 100} {
		b.Run(fmt.Sprintf("value=%d", valueBytes), func(b *testing.B) {
			store := openStore(b, inMemory())
			workers := []*worker{newWorker(b, store, valueBytes, 0), newWorker(b, store, valueBytes, 1)}
			workers[0].load()
			for count := 1; count <= len(workers); count++ {
				b.Run(fmt.Sprintf("sessions=%d", count), func(b *testing.B) {
					m := startMeter(b)
					var group sync.WaitGroup
					for _, w := range workers[:count] {
						group.Go(func() {
							for range b.N {
								w.readBatch()
							}
						})
					}
					group.Wait()
					m.report(uint64(b.N*count)*roundSize, workers...)
				})
			}
		})
	}
}

// BenchmarkPrefetchedWrites is Upsert in place, with and without a look ahead at the round's keys.
func BenchmarkPrefetchedWrites(b *testing.B) {
	for _, valueBytes := range []int{8, 100} {
		b.Run(fmt.Sprintf("value=%d", valueBytes), func(b *testing.B) {
			w := newWorker(b, openStore(b, inMemory()), valueBytes, 0)
			w.load()
			for _, prefetch := range []bool{false, true} {
				b.Run(fmt.Sprintf("prefetch=%v", prefetch), func(b *testing.B) {
					m := startMeter(b)
					for b.Loop() {
						w.draw()
						w.upsert(prefetch)
					}
					m.report(uint64(b.N)*roundSize, w)
				})
			}
		})
	}
}

// BenchmarkColdReads reads records that have left memory, all but one in twenty, from a device that
// completes at once: what the engine itself costs on the way to a device and back.
func BenchmarkColdReads(b *testing.B) {
	for _, valueBytes := range []int{8, 100} {
		b.Run(fmt.Sprintf("value=%d", valueBytes), func(b *testing.B) {
			store := openStore(b, tsavorite.Options{Device: openDevice(b), MemoryBytes: 4 << 20, PageBytes: 256 << 10})
			w := newWorker(b, store, valueBytes, 0)
			w.load()
			for _, part := range []struct {
				name  string
				round func()
			}{{"ReadBatch", w.readBatch}, {"ReadAsync", w.readAsync}} {
				b.Run(part.name, func(b *testing.B) {
					before, m := store.Info(), startMeter(b)
					for b.Loop() {
						part.round()
					}
					after := store.Info()
					cold, all := after.PendingReads-before.PendingReads, after.Reads-before.Reads
					if cold*20 < all*17 {
						b.Errorf("only %d of %d reads asked the device", cold, all)
					}
					m.report(uint64(b.N)*roundSize, w)
				})
			}
		})
	}
}
