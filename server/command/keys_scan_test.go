package command

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/localmemory"
	"github.com/pyropedb/pyrope/server/resp"
	"github.com/pyropedb/pyrope/tsavorite"
)

// call executes one command and returns its reply.
func call(t *testing.T, c *Context, client *Client, words ...string) resp.Value {
	t.Helper()
	reply, _, result := resp.ReadReply([]byte(serve(t, c, client, request(words...))))
	if result != resp.Complete {
		t.Fatalf("%q: no whole reply", words)
	}
	return reply
}

// scanStores are the stores that scans are tested on.
func scanStores(t *testing.T, check func(t *testing.T, c *Context)) {
	t.Run("memory", func(t *testing.T) {
		check(t, newTestContext(t, tsavorite.Options{}))
	})
	t.Run("device", func(t *testing.T) {
		d, err := localmemory.Open(device.Options{SegmentSizeBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		check(t, newTestContext(t, tsavorite.Options{Device: d, PageBytes: 16 << 10, MemoryBytes: 64 << 10}))
	})
}

// TestScanFindsEveryKey iterates with small counts over keys that were written, overwritten and
// deleted, in two databases.
func TestScanFindsEveryKey(t *testing.T) {
	keys := 3000
	if testing.Short() {
		keys = 1000
	}
	scanStores(t, func(t *testing.T, c *Context) {
		client, other := &Client{}, &Client{}
		other.SetDatabase(1)
		var want []string
		for i := range keys {
			key := fmt.Sprintf("key:%d", i)
			call(t, c, client, "SET", key, "first")
			call(t, c, other, "SET", "other:"+key, "x")
			switch i % 3 {
			case 0:
				call(t, c, client, "DEL", key)
			case 1:
				call(t, c, client, "SET", key, fmt.Sprintf("a longer value of key %d", i))
				want = append(want, key)
			default:
				want = append(want, key)
			}
		}
		slices.Sort(want)
		for _, count := range []int{1, 10, 777, 1 << 30} {
			var got []string
			calls := 0
			for cursor := "0"; calls == 0 || cursor != "0"; calls++ {
				reply := call(t, c, client, "SCAN", cursor, "COUNT", strconv.Itoa(count))
				cursor = string(reply.Elements[0].Text)
				if len(reply.Elements[1].Elements) > count {
					t.Fatalf("COUNT %d: %d keys in one reply", count, len(reply.Elements[1].Elements))
				}
				for _, key := range reply.Elements[1].Elements {
					got = append(got, string(key.Text))
				}
			}
			slices.Sort(got)
			if !slices.Equal(slices.Compact(got), want) {
				t.Errorf("COUNT %d: %d different keys in %d calls, want %d", count, len(got), calls, len(want))
			}
		}
		if reply := call(t, c, client, "KEYS", "*"); len(reply.Elements) != len(want) {
			t.Errorf("KEYS finds %d keys, want %d", len(reply.Elements), len(want))
		}
		if reply := call(t, c, client, "DBSIZE"); reply.Integer != int64(len(want)) {
			t.Errorf("DBSIZE is %d, want %d", reply.Integer, len(want))
		}
	})
}

// TestScanTakesAnyCursor scans from addresses that no SCAN returned.
func TestScanTakesAnyCursor(t *testing.T) {
	scanStores(t, func(t *testing.T, c *Context) {
		client := &Client{}
		for i := range 3000 {
			call(t, c, client, "SET", fmt.Sprintf("key:%d", i), "some value")
		}
		random := rand.New(rand.NewPCG(7, 8))
		for range 2000 {
			cursor := random.Uint64() >> random.IntN(64)
			reply := call(t, c, client, "SCAN", strconv.FormatUint(cursor, 10), "COUNT", "5")
			if reply.IsError() || len(reply.Elements) != 2 {
				t.Fatalf("SCAN %d: %v", cursor, reply)
			}
			for _, key := range reply.Elements[1].Elements {
				if exists := call(t, c, client, "EXISTS", string(key.Text)); exists.Integer != 1 {
					t.Fatalf("SCAN %d names %q, which does not exist", cursor, key.Text)
				}
			}
		}
	})
}

func TestRandomKeyChoosesAmongAll(t *testing.T) {
	scanStores(t, func(t *testing.T, c *Context) {
		client := &Client{}
		for i := range 20 {
			call(t, c, client, "SET", fmt.Sprintf("key:%d", i), "value")
		}
		chosen := make(map[string]bool)
		for range 2000 {
			chosen[string(call(t, c, client, "RANDOMKEY").Text)] = true
		}
		if len(chosen) < 10 {
			t.Errorf("2000 times RANDOMKEY chose %d of 20 keys", len(chosen))
		}
	})
}
