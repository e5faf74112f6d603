package command

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/tsavorite"
)

// TestSizeAfterEviction writes more than memory holds into a store that drops its oldest page, and compares
// DBSIZE with the keys that answer.
func TestSizeAfterEviction(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{MemoryBytes: 64 << 10, PageBytes: 4 << 10, EvictOldest: true})
	const count = 2000
	client := &Client{}
	run := func(args ...string) string {
		c.Out, c.Args = c.Out[:0], c.Args[:0]
		for _, arg := range args {
			c.Args = append(c.Args, []byte(arg))
		}
		c.Execute(client)
		return string(c.Out)
	}
	client.SetAuthenticated(true)
	evicted := func() string {
		var w infoWriter
		infoStats(c.State, &w)
		_, after, _ := strings.Cut(w.text.String(), "evicted_keys:")
		number, _, _ := strings.Cut(after, "\r\n")
		return number
	}
	for n := range count {
		if reply := run("SET", "key:"+strconv.Itoa(n), "0123456789012345678901234567890123456789"); reply != "+OK\r\n" {
			t.Fatalf("SET %d: %q", n, reply)
		}
	}
	alive := 0
	for head := uint64(0); head == 0 || head != c.State.Store.Info().HeadAddress; { // until nothing is dropped meanwhile
		alive, head = 0, c.State.Store.Info().HeadAddress
		for n := range count {
			if run("EXISTS", "key:"+strconv.Itoa(n)) == ":1\r\n" {
				alive++
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	if alive == 0 || alive == count {
		t.Fatalf("%d of %d keys are alive: nothing was dropped, or everything", alive, count)
	}
	if reply := run("DBSIZE"); reply != ":"+strconv.Itoa(alive)+"\r\n" {
		t.Errorf("DBSIZE says %q, %d keys answer", reply, alive)
	}
	if got := evicted(); got != strconv.Itoa(count-alive) {
		t.Errorf("evicted_keys is %s, %d keys are gone", got, count-alive)
	}
	c.State.resetStatistics()
	if got := evicted(); got != "0" {
		t.Errorf("evicted_keys is %s after CONFIG RESETSTAT", got)
	}
}
