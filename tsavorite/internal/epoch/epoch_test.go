package epoch_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/tsavorite/internal/epoch"
)

// counted is an action that counts its runs.
type counted struct{ runs int }

func (c *counted) run() { c.runs++ }

func wantRuns(t *testing.T, when string, c *counted, want int) {
	t.Helper()
	if c.runs != want {
		t.Errorf("%s: the action ran %d times, want %d (E1)", when, c.runs, want)
	}
}

// TestActionWithoutSessions: with nobody inside an action runs before Bump returns.
func TestActionWithoutSessions(t *testing.T) {
	table := epoch.New()
	table.Register() // registered but outside
	var c counted
	table.Bump(c.run)
	wantRuns(t, "nobody inside", &c, 1)
	table.Drain()
	wantRuns(t, "drained again", &c, 1)
}

// TestActionWaitsForThoseInside: everyone who was inside at Bump must leave; who enters later does not count.
func TestActionWaitsForThoseInside(t *testing.T) {
	table := epoch.New()
	a, b, late := table.Register(), table.Register(), table.Register()
	a.Enter()
	b.Enter()
	var c counted
	table.Bump(c.run)
	wantRuns(t, "two inside", &c, 0)
	late.Enter()
	a.Leave()
	wantRuns(t, "one inside", &c, 0)
	late.Leave()
	table.Drain()
	wantRuns(t, "one inside, drained", &c, 0)
	late.Enter()
	b.Leave()
	wantRuns(t, "both left, a later one inside", &c, 1)
	late.Leave()
	wantRuns(t, "all left", &c, 1)
}

// TestBumpFromInside: a session that bumps holds its own action up.
func TestBumpFromInside(t *testing.T) {
	table := epoch.New()
	e := table.Register()
	e.Enter()
	var c counted
	table.Bump(c.run)
	wantRuns(t, "inside", &c, 0)
	if !e.Inside() {
		t.Error("Inside is false between Enter and Leave")
	}
	e.Leave()
	wantRuns(t, "left", &c, 1)
	if e.Inside() {
		t.Error("Inside is true after Leave")
	}
}

// TestEnterAnewRefreshes: a session that enters again without leaving no longer holds up what came before.
func TestEnterAnewRefreshes(t *testing.T) {
	table := epoch.New()
	e := table.Register()
	e.Enter()
	var first, second counted
	table.Bump(first.run)
	e.Enter()
	table.Bump(second.run) // drains what has become safe
	wantRuns(t, "refreshed: the first", &first, 1)
	wantRuns(t, "refreshed: the second", &second, 0)
	e.Leave()
	wantRuns(t, "left: the second", &second, 1)
}

// TestActionsOfSeveralEpochs: each waits for its own epoch, in the order of the epochs.
func TestActionsOfSeveralEpochs(t *testing.T) {
	table := epoch.New()
	var order []int
	var entries []*epoch.Entry
	for i := range 5 {
		e := table.Register()
		e.Enter()
		entries = append(entries, e)
		table.Bump(func() { order = append(order, i) })
	}
	for i := len(entries) - 1; i >= 1; i-- { // the newest leave first: the oldest still holds all up
		entries[i].Leave()
		if len(order) != 0 {
			t.Fatalf("actions %v ran while the oldest session was inside (E1)", order)
		}
	}
	entries[0].Leave()
	if want := []int{0, 1, 2, 3, 4}; !slices.Equal(order, want) {
		t.Errorf("actions ran in the order %v, want %v", order, want)
	}
}

// TestOldestLeavesFirst: every Leave frees exactly the actions up to the next oldest session.
func TestOldestLeavesFirst(t *testing.T) {
	table := epoch.New()
	var actions [5]counted
	var entries [5]*epoch.Entry
	for i := range entries {
		entries[i] = table.Register()
		entries[i].Enter()
		table.Bump(actions[i].run)
	}
	for i := range entries {
		entries[i].Leave()
		for j := range actions {
			want := 0
			if j <= i {
				want = 1
			}
			wantRuns(t, "in the middle", &actions[j], want)
		}
	}
}

// TestActionMayBump: an action that registers another, as the pager's and the index's do in turn.
func TestActionMayBump(t *testing.T) {
	table := epoch.New()
	e := table.Register()
	e.Enter()
	var inner counted
	table.Bump(func() { table.Bump(inner.run) })
	wantRuns(t, "inside", &inner, 0)
	e.Leave()
	wantRuns(t, "left", &inner, 1)
}

// TestWaitSafe returns once those inside have left, and not before.
func TestWaitSafe(t *testing.T) {
	table := epoch.New()
	table.WaitSafe() // nobody inside: at once
	e := table.Register()
	e.Enter()
	returned := make(chan struct{})
	go func() {
		table.WaitSafe()
		close(returned)
	}()
	select {
	case <-returned:
		t.Fatal("WaitSafe returned while a session was inside (E1)")
	case <-time.After(20 * time.Millisecond):
	}
	e.Leave()
	select {
	case <-returned:
	case <-time.After(time.Minute):
		t.Fatal("WaitSafe does not return though everyone has left")
	}
}

// TestManyEntries registers more sessions than a chunk holds: they are distinct, all of them count, and
// what is released is handed out again.
func TestManyEntries(t *testing.T) {
	table := epoch.New()
	const count = 200
	seen := map[*epoch.Entry]bool{}
	var entries []*epoch.Entry
	for range count {
		e := table.Register()
		if seen[e] {
			t.Fatal("Register returns an entry that is in use")
		}
		seen[e] = true
		entries = append(entries, e)
	}
	for i := range entries {
		entries[i].Enter()
		var c counted
		table.Bump(c.run)
		wantRuns(t, "one inside", &c, 0)
		entries[i].Leave()
		wantRuns(t, "left", &c, 1)
	}
	for i := 0; i < count; i += 3 {
		entries[i].Release()
	}
	for i := 0; i < count; i += 3 {
		if e := table.Register(); !seen[e] {
			t.Fatal("Register makes a new entry while released ones are there")
		}
	}
	if e := table.Register(); seen[e] {
		t.Fatal("Register returns an entry that is in use")
	}
}

func TestReleaseInside(t *testing.T) {
	e := epoch.New().Register()
	e.Enter()
	defer func() {
		if recover() == nil {
			t.Error("Release inside the epoch does not panic")
		}
	}()
	e.Release()
}

func TestEnterAndLeaveDoNotAllocate(t *testing.T) {
	e := epoch.New().Register()
	if n := testing.AllocsPerRun(100, func() { e.Enter(); e.Leave() }); n != 0 {
		t.Errorf("Enter and Leave allocate %.1f times", n)
	}
}

// cell is memory that is freed by an epoch action; plain words, so that the race detector sees a free
// that comes too early as well as the check does.
type cell struct{ value, twin int }

// TestReclamationUnderLoad swaps cells while readers look at them: an old cell is scribbled over only
// when no reader can see it any more (E1, E2). Readers come and go, so entries are registered and
// released all the while.
func TestReclamationUnderLoad(t *testing.T) {
	table := epoch.New()
	var current atomic.Pointer[cell]
	current.Store(&cell{1, 1})
	rounds, readers := 3000, 4
	if testing.Short() {
		rounds = 500
	}
	var stop atomic.Bool
	var group, writers sync.WaitGroup
	for range readers {
		group.Go(func() {
			for !stop.Load() {
				e := table.Register()
				for range 50 {
					e.Enter()
					if c := current.Load(); c.value <= 0 || c.value != c.twin {
						t.Errorf("a reader sees a freed cell: %+v (E1)", *c)
						stop.Store(true)
					}
					e.Leave()
				}
				e.Release()
			}
		})
	}
	var freed atomic.Int64
	for w := range 2 {
		writers.Go(func() {
			for i := range rounds {
				old := current.Swap(&cell{w*rounds + i + 1, w*rounds + i + 1})
				table.Bump(func() {
					old.value, old.twin = -1, -2
					freed.Add(1)
				})
				if i%64 == 0 {
					table.WaitSafe()
				}
			}
		})
	}
	writers.Wait()
	stop.Store(true)
	group.Wait()
	table.Drain()
	if n := freed.Load(); n != int64(2*rounds) {
		t.Errorf("%d of %d actions ran (E1)", n, 2*rounds)
	}
}

// TestLastLeaveNeverForgetsAnAction: a Bump that races with the last Leave. One of the two must run the
// action: nobody comes afterwards to drain.
func TestLastLeaveNeverForgetsAnAction(t *testing.T) {
	table := epoch.New()
	e := table.Register()
	rounds := 5000
	if testing.Short() {
		rounds = 1000
	}
	start := make(chan struct{})
	left := make(chan struct{})
	go func() {
		for range start {
			e.Leave()
			left <- struct{}{}
		}
	}()
	defer close(start)
	for i := range rounds {
		e.Enter()
		var ran atomic.Bool
		start <- struct{}{}
		table.Bump(func() { ran.Store(true) })
		<-left
		for deadline := time.Now().Add(time.Minute); !ran.Load(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("round %d: the action is forgotten (E1)", i)
			}
		}
	}
}
