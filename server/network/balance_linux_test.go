package network_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/pyropedb/pyrope/server/network"
)

// TestCrew feeds measurements and looks at when the number of loops changes.
func TestCrew(t *testing.T) {
	type sample struct{ load, idle float64 }
	for name, c := range map[string]struct {
		active, limit int
		samples       []sample
		want          []int
	}{
		"a busy loop beside an idle processor":     {1, 4, []sample{{0.9, 1}, {0.95, 1}, {1.8, 1}}, []int{1, 2, 2}},
		"a busy loop beside a busy client":         {1, 4, []sample{{0.99, 0.2}, {0.99, 0.2}, {0.99, 0.2}}, []int{1, 1, 1}},
		"a pause between":                          {1, 4, []sample{{0.9, 1}, {0.5, 1}, {0.9, 1}, {0.9, 1}}, []int{1, 1, 1, 2}},
		"many processors":                          {4, 16, []sample{{4, 12}, {4, 12}, {7, 9}, {7, 9}}, []int{4, 8, 8, 16}},
		"no more than there are":                   {4, 5, []sample{{4, 12}, {4, 12}, {5, 11}, {5, 11}}, []int{4, 5, 5, 5}},
		"little to do":                             {3, 4, slices.Repeat([]sample{{1.1, 2}}, 17), append(slices.Repeat([]int{3}, 7), slices.Repeat([]int{2}, 10)...)},
		"loops in the way of clients":              {2, 2, slices.Repeat([]sample{{1.2, 0}}, 8), append(slices.Repeat([]int{2}, 7), 1)},
		"loops that use all processors":            {2, 2, slices.Repeat([]sample{{1.9, 0}}, 20), slices.Repeat([]int{2}, 20)},
		"one loop for clients that have gone idle": {1, 2, slices.Repeat([]sample{{0, 2}}, 20), slices.Repeat([]int{1}, 20)},
	} {
		var crew network.Crew
		active := c.active
		for i, s := range c.samples {
			if active = crew.Next(active, c.limit, s.load, s.idle); active != c.want[i] {
				t.Errorf("%s, sample %d: %d loops, want %d", name, i, active, c.want[i])
				break
			}
		}
	}
}

// inLoops runs test with so many loops of each kind, or for 0 one a processor, two at least, and checks that the server ends well.
func inLoops(t *testing.T, loops int, test func(t *testing.T, h *lines, s *network.Server)) {
	if runtime.GOMAXPROCS(0) < 2 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	}
	for name, options := range paths(t) {
		if options.Goroutines {
			continue
		}
		options.Addresses, options.Loops = []string{"127.0.0.1:0"}, loops
		t.Run(name, func(t *testing.T) {
			h := newLines()
			s, err := network.Listen(h, options)
			if err != nil {
				t.Fatal(err)
			}
			test(t, h, s)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if text := h.failure.Load(); text != nil {
				t.Error(*text)
			}
		})
	}
}

// spreads waits until the first two loops have so many connections.
func spreads(t *testing.T, s *network.Server, first, second int) {
	t.Helper()
	eventually(t, fmt.Sprintf("connections to be spread as %d and %d", first, second), func() bool {
		return slices.Equal(s.LoopConnections()[:2], []int{first, second})
	})
}

// TestConnectionsMove gives half of the connections to another loop and takes them back (N1).
func TestConnectionsMove(t *testing.T) { inLoops(t, 0, connectionsMove) }

func connectionsMove(t *testing.T, _ *lines, s *network.Server) {
	clients := make([]*client, 40)
	for i := range clients {
		clients[i] = dial(t, s)
		clients[i].ask("echo first", "first")
		clients[i].send("echo be")
	}
	spread := func(first, second int) {
		spreads(t, s, first, second)
		for i, c := range clients {
			c.send(fmt.Sprintf("gun\necho %d\necho be", i))
			c.expect("begun")
			c.expect(fmt.Sprint(i))
		}
	}
	spread(40, 0)
	s.Shift(2)
	spread(20, 20)
	s.Shift(1)
	spread(40, 0)
	for _, c := range clients {
		_ = c.Close()
	}
}

// TestConnectionsMoveWhileTheyComeBack moves connections about while others are given back by those who served them
// handed off: one that is on its way into a loop is not yet the loop's to give (N1).
func TestConnectionsMoveWhileTheyComeBack(t *testing.T) {
	inLoops(t, 0, connectionsMoveWhileTheyComeBack)
}

func connectionsMoveWhileTheyComeBack(t *testing.T, _ *lines, s *network.Server) {
	var clients sync.WaitGroup
	for range 8 {
		c := dial(t, s)
		clients.Go(func() {
			for i := range 300 {
				c.ask(fmt.Sprintf("hand %d", i), fmt.Sprint(i))
			}
			_ = c.Close()
		})
	}
	done := make(chan struct{})
	go func() {
		clients.Wait()
		close(done)
	}()
	for count := 1; ; count = 3 - count {
		select {
		case <-done:
			return
		default:
			s.Shift(count)
		}
	}
}
