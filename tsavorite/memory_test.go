package tsavorite_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/localmemory"
	"github.com/pyropedb/pyrope/tsavorite"
)

// memoryPage is the page of the tests of SetMemory.
const memoryPage = 4 << 10

// openMemory opens a store of 16 pages that may become 64.
func openMemory(t *testing.T, change func(*tsavorite.Options)) (*tsavorite.Store, *tsavorite.Session) {
	t.Helper()
	o := tsavorite.Options{MemoryBytes: 16 * memoryPage, MemoryCeilingBytes: 64 * memoryPage, PageBytes: memoryPage, IndexBytes: 4096}
	change(&o)
	return openOutside(t, o)
}

// memoryValue is a value of which seven fill a page.
func memoryValue(n int) []byte { return bytes.Repeat([]byte{byte(n), byte(n >> 8)}, 256) }

// fillMemory writes records from first on until count are written or one is refused, and returns the number of the next.
func fillMemory(t *testing.T, session *tsavorite.Session, first, count int) int {
	t.Helper()
	for n := first; n < first+count; n++ {
		session.Enter()
		status := session.Upsert(compactKey(n), memoryValue(n), tsavorite.Metadata{})
		session.Leave()
		switch status {
		case tsavorite.OutOfMemory:
			return n
		case tsavorite.Found, tsavorite.Created, tsavorite.Blind:
		default:
			t.Fatalf("Upsert of record %d: %v, %v", n, status, session.Err())
		}
	}
	return first + count
}

// checkMemory reads records and returns how many are there; each of them must be as it was written.
func checkMemory(t *testing.T, session *tsavorite.Session, until int) (there int) {
	t.Helper()
	r := &lastRead{}
	for n := range until {
		session.Enter()
		status := session.Read(compactKey(n), 0, r)
		session.Leave()
		switch {
		case status == tsavorite.NotFound:
		case status != tsavorite.Found || !bytes.Equal(r.record.Value, memoryValue(n)):
			t.Fatalf("record %d is read with %v and %d bytes", n, status, len(r.record.Value))
		default:
			there++
		}
	}
	return there
}

// residentWithin waits until the log has at most so many pages in memory.
func residentWithin(t *testing.T, store *tsavorite.Store, pages uint64) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); store.Info().ResidentBytes > pages*memoryPage; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes stay in memory, more than %d pages: %+v", store.Info().ResidentBytes, pages, store.Info())
		}
	}
}

// TestMemoryShrinksToTheDevice takes memory away from a store with a device, and gives it back: all stays readable.
func TestMemoryShrinksToTheDevice(t *testing.T) {
	d, err := localmemory.Open(device.Options{SegmentSizeBytes: 1 << 20, InlineCompletion: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	store, session := openMemory(t, func(o *tsavorite.Options) { o.Device = d })
	const count = 700
	next := fillMemory(t, session, 0, count)
	for _, step := range []struct{ set, is uint64 }{{4, 4}, {64, 64}, {1, tsavorite.MinPageCount}, {1000, 64}, {5, 5}} {
		store.SetMemory(step.set*memoryPage + memoryPage/2)
		if got := store.Info().MemoryBytes; got != min(step.is, 64)*memoryPage {
			t.Fatalf("memory is %d after it was set to %d pages", got, step.set)
		}
		residentWithin(t, store, step.is)
		next = fillMemory(t, session, next, 100)
		residentWithin(t, store, step.is)
		if there := checkMemory(t, session, next); there != next {
			t.Fatalf("of %d records %d are there with %d pages of memory", next, there, step.is)
		}
	}
}

// TestMemoryShrinksByDropping takes memory away from a store that drops its oldest pages.
func TestMemoryShrinksByDropping(t *testing.T) {
	store, session := openMemory(t, func(o *tsavorite.Options) { o.EvictOldest = true })
	next := fillMemory(t, session, 0, 90)
	if there := checkMemory(t, session, next); there != next {
		t.Fatalf("%d of %d records are there before memory shrinks", there, next)
	}
	store.SetMemory(6 * memoryPage)
	residentWithin(t, store, 6)
	if there := checkMemory(t, session, next); there < 4*7 || there > 6*7 {
		t.Errorf("%d records are there in 6 pages of seven", there)
	}
	store.SetMemory(40 * memoryPage)
	next = fillMemory(t, session, next, 39*7)
	if there := checkMemory(t, session, next); there < 37*7 || there > 40*7 {
		t.Errorf("%d records are there in 40 pages of seven", there)
	}
}

// TestMemoryShrinksBelowWhatLives takes so much memory away that what lives does not fit, in a store that may drop nothing:
// writes are refused, nothing is lost, deletions make room again, and so does more memory.
func TestMemoryShrinksBelowWhatLives(t *testing.T) {
	store, session := openMemory(t, func(*tsavorite.Options) {})
	next := fillMemory(t, session, 0, 1000)
	if next < 14*7 || next > 16*7 {
		t.Fatalf("16 pages hold %d records", next)
	}
	store.SetMemory(5 * memoryPage)
	if n := fillMemory(t, session, next, 1); n != next {
		t.Error("a write finds room in memory that is over its budget")
	}
	if there := checkMemory(t, session, next); there != next {
		t.Fatalf("%d of %d records are left", there, next)
	}
	session.Enter()
	if status := session.RMW(compactKey(0), act(tsavorite.SetMetadata, tsavorite.Metadata{Deadline: 1 << 60})); status != tsavorite.Found {
		t.Errorf("a record gets no deadline in full memory: %v", status)
	}
	session.Leave()
	for n := 20; n < next; n++ {
		session.Enter()
		if status := session.Delete(compactKey(n)); status != tsavorite.Found && status != tsavorite.Deleted {
			t.Fatalf("Delete of record %d: %v", n, status)
		}
		session.Leave()
	}
	upsertSoon(t, session, compactKey(20), memoryValue(20))
	residentWithin(t, store, 6)
	if there := checkMemory(t, session, next); there != 21 {
		t.Errorf("%d records are left of 21", there)
	}
	store.SetMemory(64 * memoryPage)
	if n := fillMemory(t, session, 21, 300); n != 321 {
		t.Errorf("memory of 64 pages is full at record %d", n)
	}
}

// TestDroppingIsSwitched turns a full store that refuses writes into one that drops its oldest pages, and back.
func TestDroppingIsSwitched(t *testing.T) {
	store, session := openMemory(t, func(*tsavorite.Options) {})
	full := fillMemory(t, session, 0, 1000)
	store.SetEvictOldest(true)
	if n := fillMemory(t, session, full, 300); n != full+300 || !store.HasEvicted() {
		t.Fatalf("record %d is refused though the oldest may be dropped (evicted: %v)", n, store.HasEvicted())
	}
	store.SetEvictOldest(false)
	before := checkMemory(t, session, full+300)
	last := fillMemory(t, session, full+300, 1000)
	if there, want := checkMemory(t, session, last), before+last-full-300; last == full+1300 || there != want {
		t.Errorf("%d records are there, want %d; the first that is refused is %d", there, want, last)
	}
}

// TestFullMemoryTakesDeadlines fills memory with records that have no place for a deadline, and gives each of them one, and another value of metadata: none is
// refused, none is lost, and memory is what it was once the old records are compacted away.
func TestFullMemoryTakesDeadlines(t *testing.T) {
	store, session := openMemory(t, func(*tsavorite.Options) {})
	next := fillMemory(t, session, 0, 1000)
	for round := range 3 {
		for n := range next {
			session.Enter()
			if status := session.RMW(compactKey(n), act(tsavorite.SetMetadata, tsavorite.Metadata{Deadline: 1 << 60, Etag: uint64(round)})); status != tsavorite.Found {
				t.Fatalf("record %d of %d gets no deadline in full memory: %v", n, next, status)
			}
			session.Leave()
		}
	}
	if there := checkMemory(t, session, next); there != next {
		t.Errorf("%d of %d records are left", there, next)
	}
	if n := fillMemory(t, session, next, 100); n == next+100 {
		t.Error("full memory takes new records")
	}
	residentWithin(t, store, 18)
}
