package command

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/tsavorite"
)

// shortWhile is long enough for a goroutine that could go on to do so.
const shortWhile = 20 * time.Millisecond

// TestSwapWaitsForCommands holds a context in the middle of a command: a swap waits for it, and
// whoever comes after the swap waits too.
func TestSwapWaitsForCommands(t *testing.T) {
	busy := newTestContext(t, tsavorite.Options{})
	state := busy.State
	before := [2]*Keyspace{state.databases[0].Keyspace(), state.databases[1].Keyspace()}
	busy.enter()
	session, err := state.Store.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()

	swapped, entered := make(chan struct{}), make(chan struct{})
	go func() {
		state.swapDatabases(session, 0, 1)
		close(swapped)
	}()
	for !state.gate.shut.Load() {
		time.Sleep(time.Millisecond)
	}
	late, err := state.NewContext(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	var seen *Keyspace
	go func() {
		late.enter()
		seen = state.databases[0].Keyspace()
		late.leave()
		close(entered)
	}()
	select {
	case <-swapped:
		t.Error("the swap did not wait for the command under way")
	case <-entered:
		t.Error("a command began while a swap waited")
	case <-time.After(shortWhile):
	}
	if state.databases[0].Keyspace() != before[0] {
		t.Error("the databases were swapped under a command")
	}
	busy.leave()
	<-swapped
	<-entered
	if seen != before[1] || state.databases[0].Keyspace() != before[1] || state.databases[1].Keyspace() != before[0] {
		t.Error("the databases were not swapped")
	}
}

// TestAloneIsAlone has many contexts enter and leave while others want to be alone.
func TestAloneIsAlone(t *testing.T) {
	const rounds = 200
	first := newTestContext(t, tsavorite.Options{})
	state := first.State
	var inside, turns atomic.Int64
	var stop atomic.Bool
	var entering, alone sync.WaitGroup
	for range 3 {
		c, err := state.NewContext(nil)
		if err != nil {
			t.Fatal(err)
		}
		entering.Go(func() {
			defer c.Close()
			for !stop.Load() {
				c.enter()
				inside.Add(1)
				inside.Add(-1)
				c.leave()
				turns.Add(1)
			}
		})
	}
	for range 2 {
		alone.Go(func() {
			for range rounds {
				state.alone(func() {
					if n := inside.Add(1); n != 1 {
						t.Errorf("%d are inside", n)
					}
					inside.Add(-1)
				})
			}
		})
	}
	alone.Wait()
	stop.Store(true)
	entering.Wait()
	if turns.Load() == 0 {
		t.Error("nobody came in")
	}
}
