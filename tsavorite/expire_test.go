package tsavorite_test

import (
	"fmt"
	"testing"

	"github.com/pyropedb/pyrope/tsavorite"
)

// expireAll calls Expire to the end of a round, a few records at a time, and returns the keys it removed.
func expireAll(session *tsavorite.Session, limit int) (removed map[string]int, e tsavorite.Expiry) {
	removed = map[string]int{}
	for cursor := uint64(0); ; {
		var step tsavorite.Expiry
		cursor, step = session.Expire(cursor, limit, func(key tsavorite.Key) { removed[fmt.Sprint(key.Namespace, string(key.Bytes))]++ })
		e.Looked += step.Looked
		e.Removed += step.Removed
		e.WithDeadline += step.WithDeadline
		if step.NextDeadline != 0 && (e.NextDeadline == 0 || step.NextDeadline < e.NextDeadline) {
			e.NextDeadline = step.NextDeadline
		}
		e.ReachedDevice = e.ReachedDevice || step.ReachedDevice
		if cursor == 0 {
			return removed, e
		}
	}
}

// TestExpireRemovesEachKeyOnce has keys of all kinds: without a deadline, with one that passes, with one that does
// not, replaced, deleted and brought back.
func TestExpireRemovesEachKeyOnce(t *testing.T) {
	clock := newTestClock()
	_, session := openStore(t, tsavorite.Options{Clock: clock.Load, MemoryBytes: 4 << 20, PageBytes: 1 << 20})
	now := clock.Load()
	const count = 2000
	deadlines := []int64{0, now + 100, now + 5000}
	want := 0
	for i := range count {
		key := tsavorite.Key{Namespace: uint32(i % 2), Bytes: fmt.Appendf(nil, "key:%d", i)}
		session.Upsert(key, []byte("value"), tsavorite.Metadata{Deadline: deadlines[i%3]})
		switch {
		case i%3 == 1 && i%5 == 0:
			session.Delete(key)
		case i%3 == 1 && i%7 == 0:
			session.Upsert(key, []byte("a longer value than there was"), tsavorite.Metadata{})
		case i%3 == 1:
			want++
		}
	}
	session.Leave()
	session.Enter()
	if removed, e := expireAll(session, 100); len(removed) != 0 || e.NextDeadline != now+100 || e.ReachedDevice {
		t.Fatalf("before any deadline: %d removed, %+v", len(removed), e)
	}
	clock.Add(101)
	session.Leave()
	session.Enter()
	removed, e := expireAll(session, 100)
	if len(removed) != want || e.Removed != want || e.NextDeadline != now+5000 {
		t.Fatalf("%d keys removed, want %d; %+v", len(removed), want, e)
	}
	for key, times := range removed {
		if times != 1 {
			t.Errorf("%s was removed %d times", key, times)
		}
	}
	if again, _ := expireAll(session, 1000); len(again) != 0 {
		t.Errorf("a second round removed %v", again)
	}
}

// TestExpireWithADevice expires what is in memory, also where it is read-only, and leaves the device alone.
func TestExpireWithADevice(t *testing.T) {
	clock := newTestClock()
	store, session := openStore(t, tsavorite.Options{Clock: clock.Load, MemoryBytes: 64 << 10, PageBytes: 4 << 10,
		MutablePercent: 20, Device: openDevice(t, "localmemory")})
	deadline := clock.Load() + 100
	const count = 1500
	for i := range count {
		session.Upsert(tsavorite.Key{Bytes: fmt.Appendf(nil, "key:%05d", i)}, make([]byte, 64), tsavorite.Metadata{Deadline: deadline})
	}
	clock.Add(101)
	session.Leave()
	session.Enter()
	removed, e := expireAll(session, 50)
	info := store.Info()
	if len(removed) == 0 || len(removed) >= count || !e.ReachedDevice {
		t.Errorf("%d of %d keys removed, %+v, %+v", len(removed), count, e, info)
	}
	for key, times := range removed {
		if times != 1 {
			t.Errorf("%s was removed %d times", key, times)
		}
	}
}

// TestMetExpired writes on keys that are missing, deleted, live, and past their deadline.
func TestMetExpired(t *testing.T) {
	clock := newTestClock()
	_, session := openStore(t, tsavorite.Options{Clock: clock.Load})
	key := tsavorite.Key{Bytes: []byte("key")}
	set := func(deadline int64) tsavorite.Status {
		return session.Upsert(key, []byte("v"), tsavorite.Metadata{Deadline: deadline})
	}
	check := func(what string, status, wantStatus tsavorite.Status, want bool) {
		t.Helper()
		if status != wantStatus || session.MetExpired() != want {
			t.Errorf("%s: %v, met an expired record: %v; want %v, %v", what, status, session.MetExpired(), wantStatus, want)
		}
	}
	check("a missing key", set(clock.Load()+100), tsavorite.Created, false)
	check("a live key", set(clock.Load()+100), tsavorite.Found, false)
	session.Delete(key)
	check("a deleted key", set(clock.Load()+100), tsavorite.Created, false)
	clock.Add(101)
	session.Leave()
	session.Enter()
	check("a key past its deadline", set(0), tsavorite.Created, true)
	check("the key again", set(0), tsavorite.Found, false)
}
