package main

import (
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// bareConnection is a connection without a socket, of a run of so many requests.
func bareConnection(requests int64, flags string) *connection {
	o, err := parseOptions(strings.Fields(flags), nil)
	if err != nil {
		panic(err)
	}
	o.Requests = requests
	var t template
	t.append([]string{"GET", "key:" + randomPlaceholder}, "", o.Keyspace >= 0)
	m := &measuring{options: &o, setup: o.setup()}
	l := &lane{run: m, histogram: hdrhistogram.New(lowestLatency, highestLatency, 3)}
	return &connection{lane: l, batch: t.repeat(int(o.Pipeline)), fresh: true}
}

func TestPushesAreNoReplies(t *testing.T) {
	const push = ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n"
	c := bareConnection(2, "-P 2")
	if !c.next() {
		t.Fatal("there is no first batch")
	}
	for _, piece := range []struct {
		text     string
		complete bool
	}{{push, false}, {"$-1\r\n" + push, false}, {"_\r\n", true}, {push, false}} {
		if complete, err := c.received([]byte(piece.text)); err != nil || complete != piece.complete {
			t.Errorf("%q: complete is %t, %v", piece.text, complete, err)
		}
	}
	if c.next() || c.lane.finished.Load() != 2 || c.lane.histogram.TotalCount() != 2 {
		t.Errorf("%d requests are finished, want 2", c.lane.finished.Load())
	}
}

func TestBudgetIsTakenByTheBatch(t *testing.T) {
	c := bareConnection(5, "-P 3")
	for range 2 {
		if !c.next() {
			t.Fatal("five requests are less than two batches of three")
		}
		if _, err := c.received([]byte("+a\r\n+b\r\n+c\r\n")); err != nil {
			t.Fatal(err)
		}
	}
	if c.next() || c.lane.finished.Load() != 6 {
		t.Errorf("%d requests are finished, want 6", c.lane.finished.Load())
	}
}

func TestSetupComesOnce(t *testing.T) {
	c := bareConnection(9, "-a pw")
	const auth, get = "*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n", "*2\r\n$3\r\nGET\r\n$16\r\nkey:__rand_int__\r\n"
	if c.next(); string(c.unsent) != auth+get {
		t.Errorf("it begins with %q", c.unsent)
	}
	if complete, err := c.received([]byte("+OK\r\n")); complete || err != nil {
		t.Errorf("the answer to AUTH completes the batch: %v", err)
	}
	if complete, err := c.received([]byte("$1\r\nv\r\n")); !complete || err != nil {
		t.Errorf("the batch is not complete: %v", err)
	}
	if c.next(); string(c.unsent) != get {
		t.Errorf("it goes on with %q", c.unsent)
	}
}

func TestErrorRepliesAreErrors(t *testing.T) {
	c := bareConnection(9, "")
	c.next()
	if _, err := c.received([]byte("-ERR no such thing\r\n")); err == nil || err.Error() != "Error from server: ERR no such thing" {
		t.Error(err)
	}
}

func TestBatchesAllocateNothing(t *testing.T) {
	c := bareConnection(1<<40, "-P 16 -r 100")
	answer := []byte(strings.Repeat("$3\r\nVXK\r\n", 16))
	if n := testing.AllocsPerRun(100, func() {
		c.next()
		if complete, err := c.received(answer); !complete || err != nil {
			t.Fatal(complete, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a batch, want none", n)
	}
}
