package command

import (
	"testing"

	"github.com/pyropedb/pyrope/tsavorite"
)

func TestKeyspaceCount(t *testing.T) {
	k, session := newKeyspace(7), newTestContext(t, tsavorite.Options{}).Session
	check := func(now, want int64, wantExact bool) {
		t.Helper()
		if count, exact := k.Count(now); count != want || exact != wantExact {
			t.Errorf("Count(%d) = %d, %v; want %d, %v", now, count, exact, want, wantExact)
		}
	}
	check(100, 0, true)
	k.note(tsavorite.Created, session)
	k.note(tsavorite.Created, session)
	k.note(tsavorite.Deleted, session)
	k.note(tsavorite.Found, session)
	k.note(tsavorite.NotFound, session)
	check(100, 1, true)
	k.noteDeadline(0)
	k.noteDeadline(300)
	k.noteDeadline(200)
	k.noteDeadline(400)
	check(199, 1, true)
	check(200, 1, false)
	if !k.HasDeadlines() {
		t.Error("HasDeadlines is false after three")
	}
	k.note(tsavorite.Blind, session)
	check(100, 1, false)
}

func TestKeyspaceCountIsNeverNegative(t *testing.T) {
	k, session := newKeyspace(0), newTestContext(t, tsavorite.Options{}).Session
	k.note(tsavorite.Deleted, session)
	if count, _ := k.Count(0); count != 0 {
		t.Errorf("Count = %d", count)
	}
}

func TestFlushTakesNewNamespaces(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	state := c.State
	c.enter()
	defer c.leave()
	used := make(map[uint32]bool)
	take := func() {
		t.Helper()
		for i := range state.Databases() {
			namespace := state.Databases()[i].Keyspace().Namespace
			if used[namespace] {
				t.Errorf("namespace %d is used a second time", namespace)
			}
			used[namespace] = true
		}
	}
	take()
	for range 3 {
		for i := range state.Databases() {
			if !c.flush(i) {
				t.Errorf("database %d is not flushed: %q", i, c.Out)
			}
		}
		take()
	}
}

func TestNewStateChecksTheNumberOfDatabases(t *testing.T) {
	for _, count := range []int{-1, 1<<16 + 1} {
		if _, err := NewState(nil, count); err == nil {
			t.Errorf("NewState makes %d databases", count)
		}
	}
	state, err := NewState(newTestContext(t, tsavorite.Options{}).State.Store, 0)
	if err != nil || len(state.Databases()) != DefaultDatabases {
		t.Errorf("NewState makes %d databases by default, error %v", len(state.Databases()), err)
	}
}

func TestStatsAddUp(t *testing.T) {
	state, err := NewState(newTestContext(t, tsavorite.Options{}).State.Store, 1)
	if err != nil {
		t.Fatal(err)
	}
	c := &Context{State: state, Stats: newStats()}
	state.mu.contexts[c] = struct{}{}
	c.Stats.Hits.add(3)
	c.Stats.Commands[getCommand.index].Calls.add(5)
	if sum := state.Totals(); sum.Hits.Load() != 3 || sum.Processed() != 5 {
		t.Errorf("totals: %d hits, %d commands", sum.Hits.Load(), sum.Processed())
	}
	state.ResetTotals()
	if sum := state.Totals(); sum.Hits.Load() != 0 || sum.Processed() != 0 {
		t.Errorf("totals after reset: %d hits, %d commands", sum.Hits.Load(), sum.Processed())
	}
	c.Stats.Hits.add(2)
	if sum := state.Totals(); sum.Hits.Load() != 2 {
		t.Errorf("totals after reset and 2 hits: %d", sum.Hits.Load())
	}
}
