package hlog_test

import (
	"fmt"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/null"
	"github.com/pyropedb/pyrope/tsavorite/internal/epoch"
	"github.com/pyropedb/pyrope/tsavorite/internal/hlog"
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// openBenchLog opens a log of 64 pages over a device that takes everything and keeps nothing.
func openBenchLog(b *testing.B, pageBytes uint64) (*hlog.Log, *epoch.Entry) {
	b.Helper()
	d, err := null.Open(device.Options{})
	if err != nil {
		b.Fatal(err)
	}
	epochs := epoch.New()
	l, err := hlog.New(hlog.Config{PageBytes: pageBytes, MemoryBytes: 64 * pageBytes, MutablePercent: 50, Epochs: epochs, Device: d})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := l.Close(); err != nil {
			b.Error(err)
		}
		if err := d.Close(); err != nil {
			b.Error(err)
		}
	})
	return l, epochs.Register()
}

// appendRecord writes one record, and waits for room where there is none.
func appendRecord(b *testing.B, l *hlog.Log, e *epoch.Entry, layout record.Layout, size int) {
	for {
		e.Enter()
		seen := l.Limit()
		at := l.Allocate(size)
		if at != 0 {
			r := l.Record(at)
			r.Init(layout, layout.Capacity)
			r.Publish(0, false)
		}
		e.Leave()
		if at != 0 {
			return
		}
		if room, err := l.WaitRoom(seen); room != hlog.RoomMade {
			b.Fatal(room, err)
		}
	}
}

// BenchmarkAppend writes records without their values; pages turn as they fill.
func BenchmarkAppend(b *testing.B) {
	for _, valueBytes := range []int{8, 104} {
		b.Run(fmt.Sprintf("value=%d", valueBytes), func(b *testing.B) {
			l, e := openBenchLog(b, 1<<20)
			layout := record.Layout{Key: make([]byte, 8), Capacity: valueBytes}
			size := layout.Size()
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				appendRecord(b, l, e, layout, size)
			}
		})
	}
}

// BenchmarkPageTurn writes records as long as a page: each pays for a page that is closed, given to the device,
// dropped and zeroed for its next use.
func BenchmarkPageTurn(b *testing.B) {
	for _, pageBytes := range []int{4 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("page=%dk", pageBytes>>10), func(b *testing.B) {
			l, e := openBenchLog(b, uint64(pageBytes))
			layout := record.Layout{Key: make([]byte, 8), Capacity: pageBytes - record.HeaderBytes - 8 - 64}
			size := layout.Size()
			b.ReportAllocs()
			for b.Loop() {
				appendRecord(b, l, e, layout, size)
			}
		})
	}
}
