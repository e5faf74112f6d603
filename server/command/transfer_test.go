package command_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/resp"
	"github.com/pyropedb/pyrope/server/servertest"
)

func startForTransfers(t *testing.T) func() *servertest.Client {
	tested := servertest.StartServer(t, server.Options{Options: config.Options{Memory: 64 << 20, Page: 4 << 20, NetworkThreads: 2}})
	return func() *servertest.Client { return servertest.Dial(t, tested.Addr().String()) }
}

func mustDo(t *testing.T, client servertest.Target, words ...string) resp.Value {
	t.Helper()
	reply, err := client.Do(words...)
	if err != nil || reply.IsError() {
		t.Errorf("%q: %s, error %v", words, servertest.Notation(reply), err)
	}
	return reply
}

// TestRenameIsOneStep has clients rename a key back and forth, over each other's writes. There is one
// value, so that at any moment one of the two keys exists, and none is lost in the end.
func TestRenameIsOneStep(t *testing.T) {
	const renamers, rounds = 4, 300
	dial := startForTransfers(t)
	first := dial()
	mustDo(t, first, "SET", "a", "value")
	var moved atomic.Int64
	var group sync.WaitGroup
	for i := range renamers {
		client := dial()
		group.Go(func() {
			for round := range rounds {
				from, to := "a", "b"
				if (i+round)%2 == 1 {
					from, to = to, from
				}
				reply, err := client.Do("RENAMENX", from, to)
				switch {
				case err != nil:
					t.Error(err)
					return
				case reply.Kind == resp.Integer && reply.Integer == 1:
					moved.Add(1)
				case reply.Kind == resp.Integer:
					t.Errorf("RENAMENX %s %s: both keys exist", from, to)
				}
			}
		})
	}
	group.Wait()
	if got := mustDo(t, first, "EXISTS", "a", "b").Integer; got != 1 || moved.Load() == 0 {
		t.Errorf("%d keys are left after %d renames", got, moved.Load())
	}
	if got := mustDo(t, first, "DBSIZE").Integer; got != 1 {
		t.Errorf("DBSIZE is %d", got)
	}
}

// TestMoveKeepsCount has clients move keys between two databases at once; every key stays in one of them.
func TestMoveKeepsCount(t *testing.T) {
	const movers, keys, rounds = 4, 20, 300
	dial := startForTransfers(t)
	first := dial()
	for key := range keys {
		mustDo(t, first, "SET", fmt.Sprint(key), "value")
	}
	var group sync.WaitGroup
	for i := range movers {
		client := dial()
		mustDo(t, client, "SELECT", fmt.Sprint(i%2))
		group.Go(func() {
			for round := range rounds {
				mustDo(t, client, "MOVE", fmt.Sprint((round*7+i)%keys), fmt.Sprint(1-i%2))
			}
		})
	}
	group.Wait()
	total := mustDo(t, first, "DBSIZE").Integer
	mustDo(t, first, "SELECT", "1")
	if total += mustDo(t, first, "DBSIZE").Integer; total != keys {
		t.Errorf("%d keys are left of %d", total, keys)
	}
}

// TestSwapIsOneStep has clients write to database 0 while it is swapped with database 1. Nobody
// writes to database 1, so that it must not change between two swaps: a change would be a write
// that was under way during the swap and turned up late.
func TestSwapIsOneStep(t *testing.T) {
	const swaps, writers = 500, 3
	dial := startForTransfers(t)
	swapper := dial()
	mustDo(t, swapper, "SELECT", "1")
	var stop atomic.Bool
	var group sync.WaitGroup
	for i := range writers {
		client := dial()
		group.Go(func() {
			for !stop.Load() {
				mustDo(t, client, "INCR", fmt.Sprint("counter:", i))
			}
		})
	}
	look := func() string {
		reply := mustDo(t, swapper, "MGET", "counter:0", "counter:1", "counter:2")
		return servertest.Notation(reply)
	}
	seen := map[string]bool{}
	for range swaps {
		mustDo(t, swapper, "SWAPDB", "0", "1")
		before := look()
		seen[before] = true
		if after := look(); after != before {
			t.Errorf("database 1 changed from %s to %s", before, after)
			break
		}
	}
	stop.Store(true)
	group.Wait()
	if len(seen) < swaps/10 {
		t.Errorf("the writers came to write between %d of %d swaps", len(seen), swaps)
	}
}

// TestSwapWaitsForNoSleeper has a SWAPDB go through while another connection sleeps in a command.
func TestSwapWaitsForNoSleeper(t *testing.T) {
	dial := startForTransfers(t)
	sleeper, swapper := dial(), dial()
	if err := sleeper.Send(servertest.AppendCommand(nil, "DEBUG", "SLEEP", "1000")); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(string(mustDo(t, swapper, "CLIENT", "LIST").Text), "cmd=debug"); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the sleeper is not seen")
		}
	}
	mustDo(t, swapper, "SWAPDB", "0", "1") // the client gives up long before the sleeper wakes
}

// TestTransfersOfLargeValues goes through the paths of DUMP and LCS that leave the engine.
func TestTransfersOfLargeValues(t *testing.T) {
	client := startForTransfers(t)()
	value := strings.Repeat("0123456789abcdef", 1<<16)
	mustDo(t, client, "SET", "a", value)
	dump := mustDo(t, client, "DUMP", "a").Text
	if len(dump) > len(value)/40 {
		t.Errorf("the dump has %d bytes", len(dump))
	}
	mustDo(t, client, "RESTORE", "b", "0", string(dump))
	if got := mustDo(t, client, "GET", "b"); string(got.Text) != value {
		t.Errorf("%d bytes came back", len(got.Text))
	}
	mustDo(t, client, "SET", "a", value[:2000])
	mustDo(t, client, "SET", "b", value[1000:3000])
	if got := mustDo(t, client, "LCS", "a", "b", "LEN"); got.Integer < 1990 {
		t.Errorf("LCS is %d", got.Integer)
	}
	mustDo(t, client, "SETRANGE", "a", "1000000", "x")
	mustDo(t, client, "COPY", "a", "b", "REPLACE")
	if reply, err := client.Do("LCS", "a", "b"); err != nil || !reply.IsError() || !strings.Contains(string(reply.Text), "Insufficient memory") {
		t.Errorf("LCS of a megabyte: %.100s, error %v", servertest.Notation(reply), err)
	}
}
