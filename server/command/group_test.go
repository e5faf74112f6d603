package command

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/localmemory"
	"github.com/pyropedb/pyrope/tsavorite"
)

const oom = "-OOM command not allowed when used memory > 'maxmemory'.\r\n"

// TestGroupsAreWholeInFullMemory writes groups of keys into memory that is about to be full: a command on several keys is done as a whole or
// refused as a whole, and room that a refused one was looking for is there for the next.
func TestGroupsAreWholeInFullMemory(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{MemoryBytes: 64 << 10, PageBytes: 4 << 10})
	client := &Client{}
	filled := 0
	for ; one(t, c, client, "SET", fmt.Sprint("fill", filled), strings.Repeat("x", 100)) != oom; filled++ {
	}
	for i := range 30 {
		one(t, c, client, "DEL", fmt.Sprint("fill", i*(filled/30)))
	}
	size := func() string { return one(t, c, client, "DBSIZE") }
	done, refused := map[string]int{}, map[string]int{}
	for round := range 600 {
		name := []string{"MSET", "MSETNX", "RENAME", "COPY"}[round%4]
		words := []string{name}
		if name == "RENAME" || name == "COPY" {
			one(t, c, client, "SETRANGE", "source", fmt.Sprint(rand.IntN(900)), "x")
			words = append(words, "source", "target")
		} else {
			for i := range 2 + rand.IntN(20) {
				words = append(words, fmt.Sprint("member", i), strings.Repeat("v", rand.IntN(900)))
			}
		}
		before, existed := size(), one(t, c, client, "EXISTS", "source")
		reply := one(t, c, client, words...)
		if strings.HasPrefix(reply, "-ERR no such key") {
			continue
		}
		there := 0
		for i := range (len(words) - 1) / 2 {
			if one(t, c, client, "STRLEN", fmt.Sprint("member", i)) != ":0\r\n" || one(t, c, client, "EXISTS", fmt.Sprint("member", i)) == ":1\r\n" {
				there++
			}
		}
		switch {
		case reply == oom:
			refused[name]++
			if after := size(); after != before || strings.HasPrefix(name, "MSET") && there > 0 || one(t, c, client, "EXISTS", "source") != existed {
				t.Fatalf("%s was refused: %q keys before, %q after, %d members are there", name, before, after, there)
			}
		case strings.HasPrefix(name, "MSET"):
			done[name]++
			if there != (len(words)-1)/2 {
				t.Fatalf("%s answers %q, %d members of %d are there", name, reply, there, (len(words)-1)/2)
			}
		default:
			done[name]++
		}
		for i := range 25 {
			one(t, c, client, "DEL", fmt.Sprint("member", i))
		}
		one(t, c, client, "DEL", "target", "source")
	}
	if done["MSET"] == 0 || refused["MSET"] == 0 || done["MSETNX"] == 0 || refused["MSETNX"] == 0 || done["RENAME"] == 0 {
		t.Errorf("done: %v, refused: %v", done, refused)
	}
}

// TestDeletionIsOneStep has workers set and delete groups of keys, in memory and over a device, while others look at them: all are there, or none.
func TestDeletionIsOneStep(t *testing.T) {
	d, err := localmemory.Open(device.Options{SegmentSizeBytes: 64 << 10, CompletionThreads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	for name, o := range map[string]tsavorite.Options{"memory": {}, "device": {Device: d, PageBytes: 4 << 10, MemoryBytes: 16 << 10}} {
		t.Run(name, func(t *testing.T) {
			c := newTestContext(t, o)
			const groups, rounds = 20, 400
			together(t, c, 4, func(worker int, c *Context) {
				client := &Client{}
				for range rounds {
					group := rand.IntN(groups)
					keys := []string{fmt.Sprint("a", group), fmt.Sprint("b", group), fmt.Sprint("c", group)}
					value := strings.Repeat("v", 100+rand.IntN(300))
					reply := ""
					switch c.Out = c.Out[:0]; {
					case worker < 2 && rand.IntN(2) == 0:
						c.Serve(client, []byte(request("MSET", keys[0], value, keys[1], value, keys[2], value)))
						continue
					case worker < 2:
						c.Serve(client, []byte(request("DEL", keys[0], keys[1], keys[2])))
						reply = string(c.Out)
					case worker == 2:
						c.Serve(client, []byte(request("EXISTS", keys[0], keys[1], keys[2])))
						reply = string(c.Out)
					default:
						c.Serve(client, []byte(request("MGET", keys[0], keys[1], keys[2])))
						parts := strings.SplitAfter(string(c.Out)[len("*3\r\n"):], "\r\n")
						if nulls := strings.Count(string(c.Out), "$-1\r\n"); nulls != 0 && nulls != 3 || nulls == 0 && (parts[1] != parts[3] || parts[3] != parts[5]) {
							t.Errorf("MGET shows %.80q", c.Out)
						}
						continue
					}
					if reply != ":0\r\n" && reply != ":3\r\n" {
						t.Errorf("of a group of 3 there are %q", reply)
					}
				}
			})
			client := &Client{}
			if size := one(t, c, client, "DBSIZE"); size[0] != ':' {
				t.Errorf("DBSIZE: %q", size)
			}
			for group := range groups {
				one(t, c, client, "UNLINK", fmt.Sprint("a", group), fmt.Sprint("missing", group), fmt.Sprint("b", group), fmt.Sprint("a", group), fmt.Sprint("c", group))
			}
			if size := one(t, c, client, "DBSIZE"); size != ":0\r\n" {
				t.Errorf("DBSIZE is %q after all keys are deleted", size)
			}
		})
	}
}

// TestKeysDeletedTwiceCountOnce names keys twice, small ones and large ones, in memory and on the device.
func TestKeysDeletedTwiceCountOnce(t *testing.T) {
	d, err := localmemory.Open(device.Options{SegmentSizeBytes: 64 << 10, CompletionThreads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	c := newTestContext(t, tsavorite.Options{Device: d, PageBytes: 4 << 10, MemoryBytes: 16 << 10})
	client := &Client{}
	one(t, c, client, "SET", "cold", "v")
	one(t, c, client, "SET", "large", strings.Repeat("l", 20_000))
	for i := range 100 {
		one(t, c, client, "SET", fmt.Sprint("fill", i), strings.Repeat("f", 400))
	}
	one(t, c, client, "SET", "hot", "v")
	one(t, c, client, "SET", "largehot", strings.Repeat("l", 3000))
	if got := one(t, c, client, "DEL", "cold", "hot", "large", "missing", "cold", "largehot", "hot", "large", "largehot"); got != ":4\r\n" {
		t.Errorf("DEL: %q", got)
	}
	c.State.reaped(t)
	if chunks := c.chunkRecords(t, 0); chunks != 0 {
		t.Errorf("%d chunks are left", chunks)
	}
	if size := one(t, c, client, "DBSIZE"); size != ":100\r\n" {
		t.Errorf("DBSIZE: %q", size)
	}
}
