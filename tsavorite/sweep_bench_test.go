package tsavorite_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/libaio"
	"github.com/pyropedb/pyrope/tsavorite"
)

// BenchmarkCompaction compacts a log of 256 MB on a device without the system's cache, of which every second record is dead: each second key was written again after
// all had been written once. An operation is a page of 4 MB.
func BenchmarkCompaction(b *testing.B) {
	for _, valueBytes := range []int{100, 1000, 10_000} {
		for kind := range tsavorite.CompactionKind(2) {
			b.Run(fmt.Sprintf("%d bytes by %v", valueBytes, kind), func(b *testing.B) { benchmarkCompaction(b, kind, valueBytes) })
		}
	}
}

func benchmarkCompaction(b *testing.B, kind tsavorite.CompactionKind, valueBytes int) {
	d, err := libaio.Open(device.Options{Directory: b.TempDir(), SegmentSizeBytes: 64 << 20, Fresh: true})
	if err != nil {
		b.Skip(err) // there is no such device here
	}
	defer d.Close()
	store, s := openStore(b, tsavorite.Options{
		Device: d, PageBytes: 4 << 20, MemoryBytes: 32 << 20, IndexBytes: 32 << 20, CompactionMaxDeadPercent: 100,
	})
	keys, value := 256<<20/(valueBytes+40)*2/3, make([]byte, valueBytes)
	var name [8]byte
	for n := range keys * 3 / 2 {
		if n >= keys {
			n = (n - keys) * 2
		}
		binary.LittleEndian.PutUint64(name[:], uint64(n))
		s.Upsert(tsavorite.Key{Bytes: name[:]}, value, tsavorite.Metadata{})
	}
	s.Leave()
	b.ResetTimer()
	pages := uint64(0)
	var total tsavorite.CompactionRun
	before := store.Info()
	for range b.N {
		run, err := store.CompactBy(kind)
		if err != nil {
			b.Fatal(err)
		}
		pages += run.ReadBytes >> 22
		total.SweptBytes += run.SweptBytes
	}
	b.StopTimer()
	s.Enter()
	b.ReportMetric(float64(store.Info().DeviceReads-before.DeviceReads)/float64(pages), "reads/page")
	b.ReportMetric(float64(total.SweptBytes>>20)/float64(pages), "swept-MB/page")
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(pages), "ms/page")
}
