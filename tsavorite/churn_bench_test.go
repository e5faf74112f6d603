package tsavorite_test

import (
	"math"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/null"
	"github.com/pyropedb/pyrope/tsavorite"
)

// churnKeys are what the workloads below work on: all of it lies in the mutable part of the log.
const churnKeys = 1000

// churnWorkload is something that makes records die, and the bytes of log that one operation of it appends. A revival of
// dead records, in place or from a free list, would save up to these bytes.
type churnWorkload struct {
	name             string
	round            func(s *tsavorite.Session, keys []tsavorite.Key, n int) (operations int)
	spilling, memory float64 // bytes of log an operation, of a store over a device and of one in memory
}

// churnSizes are value lengths that wander, as those of counters and session records do.
func churnSize(n int) int { return 40 + (n*37)%160 }

func churnUpsert(s *tsavorite.Session, key tsavorite.Key, length int) {
	s.Upsert(key, make([]byte, length), tsavorite.Metadata{})
}

var churnWorkloads = []churnWorkload{
	{"delete and insert again, same size", func(s *tsavorite.Session, keys []tsavorite.Key, _ int) int {
		for _, key := range keys {
			s.Delete(key)
			churnUpsert(s, key, 100)
		}
		return 2 * len(keys)
	}, 0, 68},
	{"delete and insert again, sizes wander", func(s *tsavorite.Session, keys []tsavorite.Key, n int) int {
		for i, key := range keys {
			s.Delete(key)
			churnUpsert(s, key, churnSize(i+n))
		}
		return 2 * len(keys)
	}, 2.80, 77.50},
	{"upsert, sizes wander", func(s *tsavorite.Session, keys []tsavorite.Key, n int) int {
		for i, key := range keys {
			churnUpsert(s, key, churnSize(i+n))
		}
		return len(keys)
	}, 5.61, 5.61},
	{"append of 8 bytes", func(s *tsavorite.Session, keys []tsavorite.Key, n int) int {
		for _, key := range keys {
			s.RMW(key, &allocUpdater{plan: tsavorite.Plan{Action: tsavorite.Write, Preserve: true, Length: 8 * (n + 1)}})
		}
		return len(keys)
	}, 38.80, 38.80},
	{"keys that live once", func(s *tsavorite.Session, keys []tsavorite.Key, n int) int {
		for _, key := range keys {
			fresh := tsavorite.Key{Namespace: uint32(n + 1), Bytes: key.Bytes}
			churnUpsert(s, fresh, 100)
			s.Delete(fresh)
		}
		return 2 * len(keys)
	}, 68, 68},
}

// openNull opens a device that takes everything and keeps nothing.
func openNull(tb testing.TB) device.Device {
	tb.Helper()
	d, err := null.Open(device.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Error(err)
		}
	})
	return d
}

// churnBytes runs so many rounds of a workload on a store over a device, or on one in memory, and returns the bytes of log an operation.
func churnBytes(tb testing.TB, w churnWorkload, spills bool, rounds int) float64 {
	tb.Helper()
	o := tsavorite.Options{MemoryBytes: 256 << 20, PageBytes: 4 << 20}
	if spills {
		o.Device = openNull(tb)
	}
	store, s := openStore(tb, o)
	keys := allocKeys(churnKeys)
	w.round(s, keys, 0)
	before, operations := store.Info().TailAddress, 0
	for n := 1; n <= rounds; n++ {
		operations += w.round(s, keys, n)
	}
	return float64(store.Info().TailAddress-before) / float64(operations)
}

// TestLogBytesOfChurn holds the figures of decision 16: bytes of log an operation, exact whatever else the machine does.
func TestLogBytesOfChurn(t *testing.T) {
	for _, w := range churnWorkloads {
		for spills, want := range map[bool]float64{true: w.spilling, false: w.memory} {
			if got := churnBytes(t, w, spills, 100); math.Abs(got-want) > 0.6 { // what pages leave at their ends
				t.Errorf("%s: %.2f bytes of log an operation (over a device: %v), want %v", w.name, got, spills, want)
			}
		}
	}
}

// BenchmarkChurn shows the same figures for so many operations as are asked for.
func BenchmarkChurn(b *testing.B) {
	for _, w := range churnWorkloads {
		b.Run(w.name, func(b *testing.B) {
			rounds := max(b.N/churnKeys, 1)
			b.ReportMetric(churnBytes(b, w, true, rounds), "spilling-log-B/op")
			b.ReportMetric(churnBytes(b, w, false, rounds), "memory-log-B/op")
			b.ReportMetric(0, "ns/op") // it is bytes that are counted
		})
	}
}
