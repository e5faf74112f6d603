package network_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/pyropedb/pyrope/server/network"
)

// TestPushesReachIdlePeers pushes to connections that have sent nothing lately.
func TestPushesReachIdlePeers(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		c := dial(t, s)
		c.ask("echo hello", "hello")
		conn := h.only(t)
		for i := range 100 {
			if !conn.Push(fmt.Appendf(nil, "push %d\n", i), 0) {
				t.Fatalf("push %d is refused", i)
			}
			c.expect(fmt.Sprintf("push %d", i))
		}
		c.ask("echo again", "again")
	})
}

// TestPushesKeepTheirOrder pushes from several goroutines while the peer is served, by its loop and
// handed off: each goroutine's pushes come whole and in order, and so do the replies.
func TestPushesKeepTheirOrder(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		const pushers, each, requests = 3, 300, 300
		c := dial(t, s)
		c.ask("echo hello", "hello")
		conn := h.only(t)
		var group sync.WaitGroup
		for p := range pushers {
			group.Go(func() {
				for i := range each {
					if !conn.Push(fmt.Appendf(nil, "push %d %d\n", p, i), 0) {
						t.Errorf("push %d of %d is refused", i, p)
					}
				}
			})
		}
		group.Go(func() {
			for i := range requests {
				verb := []string{"echo", "hand"}[i%2]
				c.send(fmt.Sprintf("%s reply -1 %d\n", verb, i))
			}
		})
		next := map[int]int{}
		for range pushers*each + requests {
			line, err := c.reader.ReadString('\n')
			var p, i int
			if _, scanErr := fmt.Sscanf(line[strings.IndexByte(line, ' ')+1:], "%d %d", &p, &i); err != nil || scanErr != nil {
				t.Fatalf("got %q, %v", line, err)
			}
			if next[p] != i {
				t.Fatalf("got %d of %d, want %d", i, p, next[p])
			}
			next[p]++
		}
		group.Wait()
	})
}

// TestAPushComesBeforeTheNextReply checks what Push promises about the order of both.
func TestAPushComesBeforeTheNextReply(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		c := dial(t, s)
		c.ask("echo hello", "hello")
		conn := h.only(t)
		for range 100 {
			conn.Push([]byte("push\n"), 0)
			c.send("echo reply\n")
			c.expect("push")
			c.expect("reply")
		}
	})
}

// TestPushLimits checks that pushes end at the limit and with the connection.
func TestPushLimits(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		c := dial(t, s)
		c.send("wait done\n")
		eventually(t, "the connection to wait", func() bool { return h.waiting.Load() == 1 })
		conn := h.only(t)
		for i := range 4 {
			if got, want := conn.Push([]byte("123456789\n"), 30), i < 3; got != want {
				t.Errorf("push %d of 10 bytes below a limit of 30: %v", i, got)
			}
		}
		if conn.OutputBytes() != 30 {
			t.Errorf("%d bytes of output wait; want 30", conn.OutputBytes())
		}
		close(h.gate)
		c.expect("done")
		for range 3 {
			c.expect("123456789")
		}
		c.ask("close", "bye")
		c.expectEnd()
		eventually(t, "the connection to end", func() bool { return s.Connections() == 0 })
		if conn.Push([]byte("late\n"), 0) {
			t.Error("a closed connection took a push")
		}
	})
}

func TestPushInMemory(t *testing.T) {
	c := network.NewInMemory(1, "here")
	if got := c.AppendPushes([]byte("none")); string(got) != "none" {
		t.Errorf("pushes of nobody: %q", got)
	}
	if !c.Push([]byte("one"), 0) || !c.Push([]byte("two"), 0) {
		t.Error("pushes are refused")
	}
	if got := c.AppendPushes([]byte("some ")); string(got) != "some onetwo" || c.OutputBytes() != 0 {
		t.Errorf("pushes %q, %d bytes wait", got, c.OutputBytes())
	}
}
