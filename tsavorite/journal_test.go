package tsavorite_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/tsavorite"
)

// memoryJournal keeps copies of its entries. With a limit it has room for so many bytes that nobody has drained.
type memoryJournal struct {
	mu       sync.Mutex
	room     sync.Cond
	entries  []tsavorite.Entry // guarded by mu, like all that follows
	reserved int               // bytes set aside and not used
	pending  int               // bytes entered since the last drain
	limit    int               // 0 is none
	broken   error             // there will be no room
	refused  int               // reservations that found none
}

func newMemoryJournal(limit int) *memoryJournal {
	j := &memoryJournal{limit: limit}
	j.room.L = &j.mu
	return j
}

func (j *memoryJournal) Reserve(bytes int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken != nil || j.limit > 0 && j.pending+j.reserved+bytes+1 > j.limit {
		j.refused++
		return false
	}
	j.reserved += bytes + 1
	return true
}

func (j *memoryJournal) Cancel(bytes int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reserved -= bytes + 1
	j.room.Broadcast()
}

func (j *memoryJournal) Append(e *tsavorite.Entry, reserved int) uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(e.Key.Bytes)+len(e.Value) != reserved {
		panic(fmt.Sprintf("an entry of %d bytes where %d were reserved", len(e.Key.Bytes)+len(e.Value), reserved))
	}
	j.reserved -= reserved + 1
	j.pending += reserved + 1
	kept := *e
	kept.Key.Bytes, kept.Value = bytes.Clone(e.Key.Bytes), bytes.Clone(e.Value)
	j.entries = append(j.entries, kept)
	return uint64(len(j.entries))
}

func (j *memoryJournal) AwaitRoom(bytes int) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.broken == nil && j.pending+j.reserved+bytes+1 > j.limit {
		j.room.Wait()
	}
	return j.broken
}

// drain makes room.
func (j *memoryJournal) drain() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pending = 0
	j.room.Broadcast()
}

func (j *memoryJournal) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.broken = err
	j.room.Broadcast()
}

// position is behind the last entry.
func (j *memoryJournal) position() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return uint64(len(j.entries))
}

// since returns the entries from a position on.
func (j *memoryJournal) since(position uint64) []tsavorite.Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.entries[position:])
}

// replay applies entries of versions above this one to a store, those of units where the unit ends.
func replay(t *testing.T, store *tsavorite.Store, entries []tsavorite.Entry, above uint64) {
	t.Helper()
	s, err := store.NewReplaySession()
	if err != nil {
		t.Fatalf("cannot make a replay session: %v", err)
	}
	s.Enter()
	units := map[uint64][]tsavorite.Entry{}
	apply := func(e *tsavorite.Entry) {
		if e.Effect == tsavorite.EffectOpaque {
			return
		}
		if _, err := s.Apply(e); err != nil {
			t.Fatalf("cannot apply %+v: %v", *e, err)
		}
	}
	for i := range entries {
		e := &entries[i]
		switch {
		case e.Version <= above:
		case e.Effect == tsavorite.EffectUnitEnd:
			for i := range units[e.Unit] {
				apply(&units[e.Unit][i])
			}
			delete(units, e.Unit)
		case e.Unit != 0:
			units[e.Unit] = append(units[e.Unit], *e)
		default:
			apply(e)
		}
	}
	s.Leave()
	s.Close()
}

// contents is everything live in a namespace, as text.
type contents map[string]string

func (c contents) Visit(key []byte, r tsavorite.Record) bool {
	c[string(key)] = fmt.Sprintf("%q %+v", r.Value, r.Metadata)
	return true
}

// contentsOf scans the store and reads every key back: both must agree.
func contentsOf(t *testing.T, s *tsavorite.Session, namespace uint32) contents {
	t.Helper()
	c := contents{}
	if _, err := s.Scan(namespace, 0, 0, c); err != nil {
		t.Fatalf("cannot scan: %v", err)
	}
	r := &lastRead{}
	for k, want := range c {
		if status := s.Read(tsavorite.Key{Namespace: namespace, Bytes: []byte(k)}, 0, r); status != tsavorite.Found {
			t.Fatalf("the scan showed %q, the read says %v", k, status)
		}
		if got := fmt.Sprintf("%q %+v", r.record.Value, r.record.Metadata); got != want {
			t.Fatalf("the scan showed %q = %s, the read %s", k, want, got)
		}
	}
	return c
}

func wantSameContents(t *testing.T, got, want contents) {
	t.Helper()
	for k, v := range want {
		if got[k] != v {
			t.Fatalf("key %q is %s, want %s", k, got[k], v)
		}
	}
	for k := range got {
		if _, known := want[k]; !known {
			t.Fatalf("key %q is there and should not be", k)
		}
	}
}

// patch is an Updater that changes bytes in the middle and says so, or grows the value.
func patch(from int, more []byte) tsavorite.Updater {
	return updateFunc{
		plan: func(current tsavorite.Record, _ bool) tsavorite.Plan {
			from := min(from, len(current.Value))
			return tsavorite.Plan{
				Action: tsavorite.Write, Preserve: true, Length: max(len(current.Value), from+len(more)), Metadata: current.Metadata,
				Confined: true, From: uint32(from), Until: uint32(from + len(more)),
			}
		},
		write: func(value []byte, current tsavorite.Record) { copy(value[min(from, len(current.Value)):], more) },
	}
}

// journaledStep does something at random to one of a few keys.
func journaledStep(s *tsavorite.Session, random *rand.Rand, prefix string) tsavorite.Status {
	k := key("%s%d", prefix, random.IntN(40))
	value := bytes.Repeat([]byte{byte('a' + random.IntN(26))}, random.IntN(60))
	m := tsavorite.Metadata{Kind: tsavorite.Kind(random.IntN(3)), Etag: uint64(random.IntN(2))}
	switch random.IntN(10) {
	case 0, 1, 2:
		return s.Upsert(k, value, m)
	case 3:
		return s.Delete(k)
	case 4:
		return s.RMW(k, act(tsavorite.Remove, m))
	case 5:
		m.Deadline = s.Now() + int64(random.IntN(100000)) + 100000
		return s.RMW(k, act(tsavorite.SetMetadata, m))
	case 6:
		return s.RMW(k, setTo(value, m))
	case 7:
		return s.RMW(k, appendTo(value))
	}
	return s.RMW(k, patch(random.IntN(80), value))
}

// TestJournalReplaysToTheSameState: many sessions write, alone and in latched groups; what the journal took, applied to an
// empty store, gives the same contents. It holds where records go to a device and where the journal runs out of room.
func TestJournalReplaysToTheSameState(t *testing.T) {
	for _, settings := range concurrentStores() {
		if settings.options.EvictOldest {
			continue
		}
		t.Run(settings.name, func(t *testing.T) {
			watch(t, 2*time.Minute)
			journal := newMemoryJournal(4000)
			clock := newTestClock()
			settings.options.Journal, settings.options.Clock = journal, clock.Load
			store := settings.open(t)
			stop, drained := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(drained)
				for {
					journal.drain()
					select {
					case <-stop:
						return
					case <-time.After(100 * time.Microsecond):
					}
				}
			}()
			var writers sync.WaitGroup
			for w := range 4 {
				writers.Go(func() { writeJournaled(t, store, uint64(w), 1500) })
			}
			writers.Wait()
			close(stop)
			<-drained
			s := openSession(t, store)
			s.Enter()
			want := contentsOf(t, s, 0)
			s.Leave()
			s.Close()
			if journal.reserved != 0 || journal.refused == 0 || len(want) == 0 {
				t.Fatalf("%d bytes are still reserved, %d reservations were refused, %d keys", journal.reserved, journal.refused, len(want))
			}
			other, r := openStore(t, tsavorite.Options{Clock: clock.Load})
			replay(t, other, journal.since(0), 0)
			wantSameContents(t, contentsOf(t, r, 0), want)
		})
	}
}

func writeJournaled(t *testing.T, store *tsavorite.Store, seed uint64, steps int) {
	random := rand.New(rand.NewPCG(seed, 9))
	s := openSession(t, store)
	defer s.Close()
	for range steps {
		s.Enter()
		if random.IntN(8) == 0 {
			keys := []tsavorite.Key{key("p%d", random.IntN(40)), key("p%d", random.IntN(40))}
			s.Latch(keys)
			for _, k := range keys {
				s.RMW(k, appendTo(fmt.Appendf(nil, "%d", seed)))
			}
			s.Upsert(keys[0], []byte("both"), tsavorite.Metadata{})
			s.Unlatch()
		} else if status := journaledStep(s, random, "p"); status == tsavorite.StatusError || status == tsavorite.OutOfMemory {
			t.Errorf("a write says %v: %v", status, s.Err())
		}
		s.Leave()
	}
}

// TestJournalEntries: what each verb enters, and what none does.
func TestJournalEntries(t *testing.T) {
	journal := newMemoryJournal(0)
	_, s := openStore(t, tsavorite.Options{Journal: journal})
	k, m := key("k"), tsavorite.Metadata{Etag: 4, Kind: 2}
	seen := uint64(0)
	step := func(what string, status tsavorite.Status, want ...tsavorite.Entry) {
		t.Helper()
		got := journal.since(seen)
		seen += uint64(len(got))
		if len(got) != len(want) || len(want) > 0 && s.Journaled() != seen {
			t.Fatalf("%s (%v) made %d entries, want %d; position %d of %d", what, status, len(got), len(want), s.Journaled(), seen)
		}
		for i := range want {
			want[i].Version, got[i].Unit = 1, 0
			if fmt.Sprintf("%+v", got[i]) != fmt.Sprintf("%+v", want[i]) {
				t.Fatalf("%s entered %+v, want %+v", what, got[i], want[i])
			}
		}
	}
	set := func(value string, m tsavorite.Metadata) tsavorite.Entry {
		return tsavorite.Entry{Effect: tsavorite.EffectSet, Key: k, Metadata: m, Length: len(value), Value: []byte(value)}
	}
	changed := func(offset, length int, value string) tsavorite.Entry {
		return tsavorite.Entry{Effect: tsavorite.EffectPatch, Key: k, Metadata: m, Length: length, Offset: offset, Value: []byte(value)}
	}
	removed := tsavorite.Entry{Effect: tsavorite.EffectDelete, Key: k}
	step("Delete of nothing", s.Delete(k))
	step("patch of nothing", s.RMW(k, patch(1, []byte("new"))), set("new", tsavorite.Metadata{}))
	step("Upsert", s.Upsert(k, []byte("0123456789"), m), set("0123456789", m))
	step("patch", s.RMW(k, patch(3, []byte("xy"))), changed(3, 10, "xy"))
	step("patch that grows", s.RMW(k, patch(8, []byte("abcd"))), changed(8, 12, "abcd"))
	step("append that does not say so", s.RMW(k, appendTo([]byte("!"))), set("012xy567abcd!", m))
	step("Keep", s.RMW(k, act(tsavorite.Keep, m)))
	m.Kind = 3
	step("SetMetadata", s.RMW(k, act(tsavorite.SetMetadata, m)), changed(0, 13, ""))
	step("Remove", s.RMW(k, act(tsavorite.Remove, m)), removed)
	step("Remove of nothing", s.RMW(k, act(tsavorite.Remove, m)))
	step("Upsert", s.Upsert(k, nil, m), set("", m))
	step("Delete", s.Delete(k), removed)
	s.BeginUnit()
	step("opaque", s.AppendOpaque([]byte("SWAPDB")), tsavorite.Entry{Effect: tsavorite.EffectOpaque, Value: []byte("SWAPDB")})
	s.EndUnit()
	step("end of the unit", tsavorite.Found, tsavorite.Entry{Effect: tsavorite.EffectUnitEnd})
	s.Latch([]tsavorite.Key{k})
	s.Unlatch()
	step("a unit that wrote nothing", tsavorite.Found)
}

// TestJournalWithoutRoom: a write that cannot be entered is refused, and nobody sees it.
func TestJournalWithoutRoom(t *testing.T) {
	journal := newMemoryJournal(0)
	_, s := openStore(t, tsavorite.Options{Journal: journal})
	k, none := key("k"), tsavorite.Metadata{}
	wantStatus(t, "Upsert", s.Upsert(k, []byte("old"), none), tsavorite.Created)
	journal.fail(errors.New("the disk is full"))
	refused := func(what string, status tsavorite.Status) {
		t.Helper()
		if status != tsavorite.StatusError || s.Err() == nil || s.Err().Error() != "the disk is full" {
			t.Fatalf("%s says %v, %v", what, status, s.Err())
		}
		wantRead(t, s, k, []byte("old"))
	}
	refused("Upsert in place", s.Upsert(k, []byte("new"), none))
	refused("Upsert to the tail", s.Upsert(k, make([]byte, 100), none))
	refused("append", s.RMW(k, appendTo([]byte("more"))))
	refused("SetMetadata", s.RMW(k, act(tsavorite.SetMetadata, tsavorite.Metadata{Etag: 1})))
	refused("Delete", s.Delete(k))
	refused("Upsert of a new key", s.Upsert(key("other"), nil, none))
	wantRead(t, s, key("other"), nil)
	journal.fail(nil)
	wantStatus(t, "Upsert", s.Upsert(k, []byte("new"), none), tsavorite.Found)
	if journal.reserved != 0 {
		t.Errorf("%d bytes are still reserved", journal.reserved)
	}
}

// TestReplayKnowsNoTime: what was past its deadline when the log is read back may have been saved by a later entry.
func TestReplayKnowsNoTime(t *testing.T) {
	journal, clock := newMemoryJournal(0), newTestClock()
	_, s := openStore(t, tsavorite.Options{Journal: journal, Clock: clock.Load})
	wantStatus(t, "Upsert", s.Upsert(key("saved"), []byte("abc"), tsavorite.Metadata{Deadline: clock.Load() + 10}), tsavorite.Created)
	wantStatus(t, "Upsert", s.Upsert(key("lost"), []byte("abc"), tsavorite.Metadata{Deadline: clock.Load() + 10}), tsavorite.Created)
	wantStatus(t, "SetMetadata", s.RMW(key("saved"), act(tsavorite.SetMetadata, tsavorite.Metadata{})), tsavorite.Found)
	clock.Add(1000)
	other, r := openStore(t, tsavorite.Options{Clock: clock.Load})
	r.Leave()
	replay(t, other, journal.since(0), 0)
	r.Enter()
	wantRead(t, r, key("saved"), []byte("abc"))
	wantRead(t, r, key("lost"), nil)
}

// TestApplyRefusesWhatDoesNotFit: an entry that cannot have been made is damage.
func TestApplyRefusesWhatDoesNotFit(t *testing.T) {
	store, s := openStore(t, tsavorite.Options{})
	wantStatus(t, "Upsert", s.Upsert(key("k"), []byte("abc"), tsavorite.Metadata{}), tsavorite.Created)
	r, err := store.NewReplaySession()
	if err != nil {
		t.Fatalf("cannot make a replay session: %v", err)
	}
	defer r.Close()
	r.Enter()
	defer r.Leave()
	for _, e := range []tsavorite.Entry{
		{Effect: tsavorite.EffectPatch, Key: key("none"), Length: 1, Value: []byte("a")},
		{Effect: tsavorite.EffectPatch, Key: key("k"), Length: 5, Offset: 4, Value: []byte("a")},
		{Effect: tsavorite.EffectPatch, Key: key("k"), Length: 9, Offset: 3, Value: []byte("a")},
		{Effect: tsavorite.EffectPatch, Key: key("k"), Length: 2, Offset: 2, Value: []byte("a")},
		{Effect: tsavorite.EffectPatch, Key: key("k"), Length: 2, Offset: -1, Value: []byte("a")},
		{Effect: tsavorite.EffectOpaque}, {Effect: 77},
	} {
		if _, err := r.Apply(&e); !errors.Is(err, tsavorite.ErrDamaged) {
			t.Errorf("%+v: %v, want ErrDamaged", e, err)
		}
	}
	wantRead(t, s, key("k"), []byte("abc"))
}

// countingJournal keeps nothing, so that only the engine could allocate.
type countingJournal struct{ entries uint64 }

func (j *countingJournal) Reserve(int) bool { return true }
func (j *countingJournal) Cancel(int)       {}
func (j *countingJournal) Append(*tsavorite.Entry, int) uint64 {
	j.entries++
	return j.entries
}
func (j *countingJournal) AwaitRoom(int) error { return nil }

// TestJournaledWritesDoNotAllocate: neither does a unit.
func TestJournaledWritesDoNotAllocate(t *testing.T) {
	journal := &countingJournal{}
	s := allocSession(t, tsavorite.Options{Journal: journal})
	keys := allocKeys(4)
	value := make([]byte, 64)
	s.Upsert(keys[0], value, tsavorite.Metadata{})
	s.Upsert(keys[1], value, tsavorite.Metadata{})
	write := &allocUpdater{plan: tsavorite.Plan{Action: tsavorite.Write, Length: 64, Preserve: true, Confined: true, Until: 8}}
	wantNoAllocations(t, "Upsert", func() { s.Upsert(keys[0], value, tsavorite.Metadata{}) })
	wantNoAllocations(t, "RMW", func() { s.RMW(keys[0], write) })
	wantNoAllocations(t, "Delete and Upsert", func() { s.Delete(keys[1]); s.Upsert(keys[1], value, tsavorite.Metadata{}) })
	wantNoAllocations(t, "a unit", func() { s.BeginUnit(); s.RMW(keys[0], write); s.EndUnit() })
	if journal.entries < 200*6 {
		t.Errorf("%d entries were made", journal.entries)
	}
}
