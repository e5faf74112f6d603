package tsavorite_test

import (
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/localmemory"
	"github.com/pyropedb/pyrope/tsavorite"
)

// TestColdWritesDoNotAllocate: writes of keys whose records lie on the device, each of a key that no write
// has brought back to memory yet. Pages turn, go to the device and are read back meanwhile.
func TestColdWritesDoNotAllocate(t *testing.T) {
	s, keys := coldSession(t)
	value := make([]byte, 100)
	next := 0
	fresh := func() tsavorite.Key { next++; return keys[next-1] }
	wantNoAllocations(t, "Delete of a key on the device", func() { mustBe(t, "Delete", s.Delete(fresh()), tsavorite.Blind) })
	wantNoAllocations(t, "Upsert of a key on the device", func() {
		mustBe(t, "Upsert", s.Upsert(fresh(), value, tsavorite.Metadata{}), tsavorite.Blind)
	})
	write := &allocUpdater{plan: tsavorite.Plan{Action: tsavorite.Write, Length: 100, Preserve: true}}
	wantNoAllocations(t, "RMW of a key on the device", func() { mustBe(t, "RMW", s.RMW(fresh(), write), tsavorite.Found) })
	remove := &allocUpdater{plan: tsavorite.Plan{Action: tsavorite.Remove}}
	wantNoAllocations(t, "RMW that removes a key on the device", func() { mustBe(t, "RMW", s.RMW(fresh(), remove), tsavorite.Deleted) })
}

// TestPendingWritesDoNotAllocate: updates of cold keys, 32 in flight at once, that write and so copy to the tail.
// The keys before them are cold again by the time they are used a second time.
func TestPendingWritesDoNotAllocate(t *testing.T) {
	s, keys := coldSession(t)
	write := &allocUpdater{plan: tsavorite.Plan{Action: tsavorite.Write, Length: 100, Preserve: true}}
	pending, next := 0, 0
	round := func() {
		for range 32 {
			if s.RMWAsync(keys[next%len(keys)], 0, write) == tsavorite.Pending {
				pending++
			}
			next++
		}
		if left := s.CompletePending(true); left != 0 {
			t.Fatalf("%d updates are left", left)
		}
	}
	for range 32 {
		round()
	}
	pending, write.finished = 0, 0
	wantNoAllocations(t, "RMWAsync that writes, and CompletePending", round)
	if write.finished != 201*32 || pending < write.finished*9/10 {
		t.Errorf("201 × 32 updates were finished %d times, %d of them by the device", write.finished, pending)
	}
}

// TestCopiesFromTheReadOnlyPartDoNotAllocate: the records are in memory, and may not be changed there any more.
func TestCopiesFromTheReadOnlyPartDoNotAllocate(t *testing.T) {
	d, err := localmemory.Open(device.Options{SegmentSizeBytes: 1 << 20, InlineCompletion: true})
	if err != nil {
		t.Fatalf("cannot open the device: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("cannot close the device: %v", err)
		}
	})
	store, s := allocStore(t, tsavorite.Options{Device: d, PageBytes: 16 << 10, MemoryBytes: 2 << 20, MutablePercent: 10})
	keys := allocKeys(6000) // of 136 bytes: all of them stay in memory, and the first 4,000 become read-only
	value := make([]byte, 100)
	for _, key := range keys {
		mustBe(t, "Upsert", s.Upsert(key, value, tsavorite.Metadata{}), tsavorite.Created)
	}
	for deadline := time.Now().Add(time.Minute); store.Info().SafeReadOnlyAddress < 4000*136; {
		s.Leave() // so that the address moves
		if time.Now().After(deadline) {
			t.Fatalf("the read-only part ends at %d", store.Info().SafeReadOnlyAddress)
		}
		s.Enter()
	}
	next := 0
	fresh := func() tsavorite.Key { next++; return keys[next-1] }
	write := &allocUpdater{plan: tsavorite.Plan{Action: tsavorite.Write, Length: 100, Preserve: true}}
	touch := &allocUpdater{plan: tsavorite.Plan{Action: tsavorite.SetMetadata, Metadata: tsavorite.Metadata{Kind: 3}}}
	for _, c := range []struct {
		what string
		f    func() tsavorite.Status
		want tsavorite.Status
		size uint64 // of the record that it makes
	}{
		{"Upsert", func() tsavorite.Status { return s.Upsert(fresh(), value, tsavorite.Metadata{}) }, tsavorite.Found, 136},
		{"Delete", func() tsavorite.Status { return s.Delete(fresh()) }, tsavorite.Deleted, 32},
		{"RMW that writes", func() tsavorite.Status { return s.RMW(fresh(), write) }, tsavorite.Found, 136},
		{"RMWAsync that writes", func() tsavorite.Status { return s.RMWAsync(fresh(), 0, write) }, tsavorite.Found, 136},
		{"RMW of metadata", func() tsavorite.Status { return s.RMW(fresh(), touch) }, tsavorite.Found, 136},
	} {
		before := store.Info()
		wantNoAllocations(t, c.what+" of a read-only record", func() { mustBe(t, c.what, c.f(), c.want) })
		after := store.Info()
		if grown := after.TailAddress - before.TailAddress; grown < 201*c.size {
			t.Errorf("%s: 201 copies of %d bytes made the log %d bytes longer: some were in place", c.what, c.size, grown)
		}
		if after.HeadAddress != before.HeadAddress {
			t.Errorf("%s: records have left memory, up to %d", c.what, after.HeadAddress)
		}
	}
}
