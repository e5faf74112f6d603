package network_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/server/network"
)

// TestStagedSendsThatAreShort has the peer's window fill up under replies that are sent through the ring, and pushes
// behind them: what the kernel has not taken comes before what is behind it.
func TestStagedSendsThatAreShort(t *testing.T) {
	if !rings(t) {
		return
	}
	h := newLines()
	s, err := network.Listen(h, network.Options{UnixSocket: filepath.Join(t.TempDir(), "s"), Loops: 1, Rings: true})
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, s)
	c.ask("echo here", "here")
	conn := h.only(t)
	total := len("here\n")
	for round := range 3 {
		asked := 0
		for begin := h.served.Load(); conn.OutputBytes() == 0; {
			c.send("big 1002\n")
			asked++
			eventually(t, "the request to be served", func() bool { return h.served.Load() == begin+int64(asked) })
		}
		if !conn.Push(fmt.Appendf(nil, "push %d\n", round), 0) {
			t.Fatal("a push is refused")
		}
		c.send("echo behind\n")
		for range asked {
			c.expect(strings.Repeat("x", 1002))
		}
		c.expect(fmt.Sprintf("push %d", round))
		c.expect("behind")
		total += asked*1003 + len("push 0\nbehind\n")
	}
	if got := conn.BytesOut(); got != uint64(total) {
		t.Errorf("%d bytes are counted, %d came", got, total)
	}
	_ = c.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestPushBehindAStagedSend pushes to a connection whose reply waits for those of its turn: the reply comes first.
func TestPushBehindAStagedSend(t *testing.T) {
	if !rings(t) {
		return
	}
	h := newLines()
	s, err := network.Listen(h, network.Options{Addresses: []string{"127.0.0.1:0"}, Loops: 1, Rings: true})
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, s)
	c.ask("echo here", "here")
	conn := h.only(t)
	first, last := dial(t, s), dial(t, s)
	first.ask("echo here", "here")
	last.ask("echo here", "here")
	for round := range 5 {
		begin := h.served.Load()
		first.send("stall over\n") // the other two are ready when it is over, and so served in one turn
		eventually(t, "the loop to stall", func() bool { return h.served.Load() > begin })
		c.send(fmt.Sprintf("echo %d\n", round))
		last.send("stall over\n")
		eventually(t, "the loop to stall again", func() bool { return h.served.Load() == begin+3 })
		conn.Push([]byte("push\n"), 0)
		c.expect(fmt.Sprint(round))
		c.expect("push")
		first.expect("over")
		last.expect("over")
	}
	for _, c := range []*client{c, first, last} {
		_ = c.Close()
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestParkedBehindAStagedSend parks a connection behind a reply that is longer than its peer's window, and answers it in the same
// turn: what is left of the reply comes first.
func TestParkedBehindAStagedSend(t *testing.T) {
	if !rings(t) {
		return
	}
	h := newLines()
	s, err := network.Listen(h, network.Options{UnixSocket: filepath.Join(t.TempDir(), "s"), Loops: 1, Rings: true})
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, s)
	c.ask("echo here", "here")
	conn := h.only(t)
	parked, stalling := dial(t, s), dial(t, s)
	for _, c := range []*client{parked, stalling} {
		c.ask("echo here", "here")
	}
	served := func(request string) {
		begin := h.served.Load()
		c.send(request)
		eventually(t, "the request to be served", func() bool { return h.served.Load() > begin })
	}
	fits := 0 // replies within the window
	for ; conn.OutputBytes() == 0; fits++ {
		served("big 1002\n")
	}
	for range fits {
		c.expect(strings.Repeat("x", 1002))
	}
	for range 5 {
		for range fits - 1 {
			served("big 1002\n")
		}
		begin := h.served.Load()
		parked.send("park 1 first\n") // its answer is there when the stall is over, and has the loop look at the parker in that turn
		eventually(t, "the loop to park", func() bool { return h.served.Load() > begin })
		stalling.send("stall over\n")
		eventually(t, "the loop to stall", func() bool { return h.served.Load() > begin+1 })
		c.send("big 1002\npark 0 second\necho third\n")
		stalling.expect("over")
		eventually(t, "the request to be served", func() bool { return h.served.Load() > begin+2 })
		for range fits {
			c.expect(strings.Repeat("x", 1002))
		}
		c.expect("second")
		c.expect("third")
		parked.expect("first")
	}
	for _, c := range []*client{c, parked, stalling} {
		_ = c.Close()
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestMoreInputThanBuffers has more connections send while the loop does something else than the ring has buffers, of
// small and of large requests.
func TestMoreInputThanBuffers(t *testing.T) {
	if !rings(t) {
		return
	}
	s := listen(t, network.Options{Addresses: []string{"127.0.0.1:0"}, Loops: 1, Rings: true})
	stalling := dial(t, s)
	others := make([]*client, 300)
	for i := range others {
		others[i] = dial(t, s)
		others[i].ask("echo here", "here")
	}
	for _, size := range []int{1, 20_000} {
		stalling.send("stall over\n")
		for i, c := range others {
			c.send(fmt.Sprintf("echo %s %d\n", strings.Repeat("y", size), i))
		}
		stalling.expect("over")
		for i, c := range others {
			c.expect(fmt.Sprintf("%s %d", strings.Repeat("y", size), i))
		}
	}
}
