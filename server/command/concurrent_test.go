package command

import (
	"fmt"
	"sync"
	"testing"

	"github.com/pyropedb/pyrope/tsavorite"
)

// together runs work on several contexts of one store at once.
func together(t *testing.T, first *Context, workers int, work func(worker int, c *Context)) {
	t.Helper()
	var group sync.WaitGroup
	for worker := range workers {
		c, err := first.State.NewContext(nil)
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			work(worker, c)
			c.Close()
		})
	}
	group.Wait()
}

func TestConcurrentCounters(t *testing.T) {
	const workers, rounds = 4, 2000
	c := newTestContext(t, tsavorite.Options{})
	together(t, c, workers, func(worker int, c *Context) {
		client := &Client{}
		for i := range rounds {
			c.Out = c.Out[:0]
			c.Serve(client, []byte(requests("INCR n", "APPEND a x", "INCRBYFLOAT f 0.5", fmt.Sprintf("SETNX once:%d %d", i, worker))))
		}
	})
	client := &Client{}
	for line, want := range map[string]string{
		"GET n": fmt.Sprint(workers * rounds), "GET f": fmt.Sprint(workers * rounds / 2),
	} {
		if got := serve(t, c, client, requests(line)); got != fmt.Sprintf("$%d\r\n%s\r\n", len(want), want) {
			t.Errorf("%s: %q, want %s", line, got, want)
		}
	}
	if got := serve(t, c, client, requests("STRLEN a", "DBSIZE")); got != fmt.Sprintf(":%d\r\n:%d\r\n", workers*rounds, rounds+3) {
		t.Errorf("STRLEN and DBSIZE: %q", got)
	}
}

// TestMsetIsOneStep has workers write the same pairs of keys. Both keys of a pair must always have
// the value of one worker, and exactly one MSETNX of a pair may win.
func TestMsetIsOneStep(t *testing.T) {
	const workers, rounds = 4, 500
	c := newTestContext(t, tsavorite.Options{})
	var wins [workers]int
	together(t, c, workers, func(worker int, c *Context) {
		client := &Client{}
		for i := range rounds {
			c.Out = c.Out[:0]
			c.Serve(client, []byte(requests(fmt.Sprintf("MSETNX a:%d %d b:%d %d", i, worker, i, worker))))
			if string(c.Out) == ":1\r\n" {
				wins[worker]++
			}
			c.Serve(client, []byte(requests(fmt.Sprintf("MSET y:%d %d x:%d %d", i%10, worker, i%10, worker))))
		}
	})
	client := &Client{}
	for i := range rounds {
		a, b := call(t, c, client, "GET", fmt.Sprintf("a:%d", i)), call(t, c, client, "GET", fmt.Sprintf("b:%d", i))
		if string(a.Text) != string(b.Text) || a.Missing {
			t.Errorf("pair %d has %v and %v", i, a, b)
		}
	}
	for i := range 10 {
		x, y := call(t, c, client, "GET", fmt.Sprintf("x:%d", i)), call(t, c, client, "GET", fmt.Sprintf("y:%d", i))
		if string(x.Text) != string(y.Text) || x.Missing {
			t.Errorf("x and y %d are %v and %v", i, x, y)
		}
	}
	sum := 0
	for _, n := range wins {
		sum += n
	}
	if sum != rounds {
		t.Errorf("%d MSETNX won, want %d", sum, rounds)
	}
	if got := serve(t, c, client, requests("DBSIZE")); got != fmt.Sprintf(":%d\r\n", 2*rounds+20) {
		t.Errorf("DBSIZE: %q", got)
	}
}

// TestFlushBesideWriters flushes while workers write; the count must be that of the keys in the end.
func TestFlushBesideWriters(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	together(t, c, 4, func(worker int, c *Context) {
		client := &Client{}
		for i := range 1000 {
			c.Out = c.Out[:0]
			line := fmt.Sprintf("SET key:%d:%d v", worker, i)
			if worker == 0 && i%100 == 0 {
				line = []string{"FLUSHALL", "FLUSHDB"}[i/100%2]
			}
			c.Serve(client, []byte(requests(line, "GET key:1:1", "DBSIZE")))
		}
	})
	client := &Client{}
	size := call(t, c, client, "DBSIZE").Integer
	if keys := call(t, c, client, "KEYS", "*"); int64(len(keys.Elements)) != size {
		t.Errorf("DBSIZE is %d, there are %d keys", size, len(keys.Elements))
	}
}
