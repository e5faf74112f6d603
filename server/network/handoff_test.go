package network_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server/network"
)

// TestHandOffServesTheOthers blocks one connection's request while a thousand others on the same
// loop are served, and then lets it go on where it was.
func TestHandOffServesTheOthers(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		waiting := dial(t, s)
		waiting.send("echo before\nwait for it\necho after\necho incom")
		waiting.expect0(t)
		eventually(t, "the wait", func() bool { return h.waiting.Load() == 1 })
		others := make([]*client, shorter(1000, 300))
		for i := range others {
			others[i] = dial(t, s)
		}
		for range 3 {
			for i, c := range others {
				c.send(fmt.Sprintf("echo %d\n", i))
			}
			for i, c := range others {
				c.expect(fmt.Sprint(i))
			}
		}
		if h.waiting.Load() != 1 {
			t.Fatal("the wait ended by itself")
		}
		waiting.send("plete\n") // not read before the wait ends (N4)
		close(h.gate)
		for _, want := range []string{"before", "for it", "after", "incomplete"} {
			waiting.expect(want)
		}
		waiting.ask("echo again", "again")
	})
}

// expect0 checks that nothing has come yet: replies of a batch leave together.
func (c *client) expect0(t *testing.T) {
	t.Helper()
	if c.reader.Buffered() != 0 {
		t.Fatal("a reply came early")
	}
}

// TestWaitsForPeer: a peer waits while its request is served elsewhere or bytes of it are not read, and not once the server has read
// what there is of a request.
func TestWaitsForPeer(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		c := dial(t, s)
		c.send("echo before\necho incom")
		c.expect("before")
		conn := h.only(t)
		eventually(t, "the rest of a request is up to the peer", conn.WaitsForPeer)
		c.send("plete\nwait for it\n")
		eventually(t, "the wait", func() bool { return h.waiting.Load() == 1 })
		eventually(t, "the peer to wait for its reply", func() bool { return !conn.WaitsForPeer() })
		c.send("echo after\n")
		eventually(t, "the peer waits", func() bool { return !conn.WaitsForPeer() })
		close(h.gate)
		for _, want := range []string{"incomplete", "for it", "after"} {
			c.expect(want)
		}
		eventually(t, "nobody waits", conn.WaitsForPeer)
		conn.Kill()
		c.expectEnd()
		eventually(t, "nor does one that is gone", conn.WaitsForPeer)
	})
}

// TestManyHandOffs blocks half of the connections of a loop at once, twice, and sees the workers
// of the first round used again in the second.
func TestManyHandOffs(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		const blocked = 40
		var workers int64
		for round := range 2 {
			clients := make([]*client, 2*blocked)
			for i := range clients {
				clients[i] = dial(t, s)
				if i%2 == 0 {
					clients[i].send("wait over\n")
				}
			}
			eventually(t, "the waits", func() bool { return h.waiting.Load() == blocked })
			for i, c := range clients {
				if i%2 == 1 {
					c.ask("echo free", "free")
				}
			}
			for range blocked {
				h.gate <- struct{}{}
			}
			for i, c := range clients {
				if i%2 == 0 {
					c.expect("over")
				}
				c.ask("hand on", "on")
			}
			if round == 0 {
				workers = h.workers.Load()
			} else if now := h.workers.Load(); now > workers+8 {
				t.Errorf("the second round took %d new workers", now-workers)
			}
		}
	})
}

// TestHandOffStorm hands off in nearly every batch from many connections at once.
func TestHandOffStorm(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		var group sync.WaitGroup
		for i := range 40 {
			c := dial(t, s)
			group.Go(func() {
				for n := range 100 {
					text := fmt.Sprintf("%d-%d", i, n)
					c.send("hand " + text + "\nsleep\necho " + text + "\n")
					for _, want := range []string{text, "slept", text} {
						if got, err := c.reader.ReadString('\n'); err != nil || got != want+"\n" {
							t.Errorf("got %q, %v; want %q", got, err, want)
							return
						}
					}
				}
			})
		}
		group.Wait()
	})
}

// TestRepliesOfOneTurn makes many connections ready in one turn of a loop, whose replies leave
// together, and has one of them wait, one end and one die among the others.
func TestRepliesOfOneTurn(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		stalling, waiting, ending, dying := dial(t, s), dial(t, s), dial(t, s), dial(t, s)
		others := make([]*client, 60)
		for i := range others {
			others[i] = dial(t, s)
			others[i].ask("echo hello", "hello")
		}
		stalling.send("stall over\n")
		for i, c := range others {
			switch i {
			case 20:
				dying.send("echo unread\n")
				_ = dying.Close()
			case 30:
				ending.send("close\n")
			case 40:
				waiting.send("echo early\nwait x\n")
			}
			c.send(fmt.Sprintf("echo %s %d\n", strings.Repeat("r", 800), i)) // 60 of them overflow the buffer
		}
		for i, c := range others {
			c.expect(fmt.Sprintf("%s %d", strings.Repeat("r", 800), i))
		}
		stalling.expect("over")
		ending.expect("bye")
		ending.expectEnd()
		close(h.gate)
		waiting.expect("early")
		waiting.expect("x")
		for i, c := range others {
			c.ask(fmt.Sprintf("echo %d", i), fmt.Sprint(i))
		}
	})
}

// TestHandedOffOutputDrainsInTheLoop gives a connection back with output its peer has not taken.
func TestHandedOffOutputDrainsInTheLoop(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		large := shorter(40_000_000, 15_000_000) // more than the kernel buffers for a peer that reads nothing
		c := dial(t, s)
		c.send(fmt.Sprintf("wait x\nbig %d\nsleep\necho y\n", large))
		eventually(t, "the wait", func() bool { return h.waiting.Load() == 1 })
		close(h.gate)
		time.Sleep(20 * time.Millisecond)
		dial(t, s).ask("echo other", "other")
		c.expect("x")
		c.expect(strings.Repeat("x", large))
		c.expect("slept")
		c.expect("y")
	})
}

// TestCloseWaitsForHandedOff checks that Close lets a request that waits finish, and sends its reply.
func TestCloseWaitsForHandedOff(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		c := dial(t, s)
		c.send("wait x\n")
		eventually(t, "the wait", func() bool { return h.waiting.Load() == 1 })
		done := make(chan error)
		go func() { done <- s.Close() }()
		select {
		case err := <-done:
			t.Fatalf("Close returned %v while a request runs", err)
		case <-time.After(50 * time.Millisecond):
		}
		close(h.gate)
		c.expect("x")
		c.expectEnd()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestWaitingRequestsHoldLittle has a thousand requests wait, handed off, and counts what they hold beside their
// goroutines.
func TestWaitingRequestsHoldLittle(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		const limit = 40 << 10
		count := shorter(1000, 300)
		clients := make([]*client, count)
		for i := range clients {
			clients[i] = dial(t, s)
			clients[i].ask("echo x", "x")
		}
		before := heapBytes()
		for _, c := range clients {
			c.send("wait over\n")
		}
		eventually(t, "the waits", func() bool { return h.waiting.Load() == int32(count) })
		each := (heapBytes() - before) / count
		t.Logf("%d KB each", each>>10)
		if each > limit {
			t.Errorf("a request that waits holds %d bytes, want at most %d", each, limit)
		}
		close(h.gate)
		for _, c := range clients {
			c.expect("over")
			c.ask("echo again", "again")
		}
	})
}
