package network_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server/network"
)

// intake bounds what incomplete requests take: large ones have three quarters of it.
func intake(size int) func(*network.Options) {
	return func(o *network.Options) { o.IntakeBytes = size }
}

// request is a request of size bytes, whose reply is its size.
func request(size int) string {
	head := fmt.Sprintf("@%d\n", size)
	return head + strings.Repeat("r", size-len(head))
}

// begun is a client that has sent a part of a request, with the server's side of it.
type begun struct {
	*client
	conn *network.Conn
	rest string
	size int
}

// begin sends the first bytes of a request and waits until the server has read them, or the request waits for room. The last byte comes
// by itself: who reads it has room, so that the request has its place in front of those that begin later.
func begin(t *testing.T, h *lines, s *network.Server, size, sent int) *begun {
	t.Helper()
	known := map[any]bool{}
	h.open.Range(func(id, _ any) bool { known[id] = true; return true })
	b, waited := &begun{client: dial(t, s), rest: request(size), size: size}, s.InputWaiting()
	for _, count := range []int{sent - 1, 1} {
		b.more(count)
		eventually(t, "the request to begin", func() bool {
			h.open.Range(func(id, value any) bool {
				if !known[id] {
					b.conn = value.(*network.Conn)
				}
				return true
			})
			return b.conn != nil && (b.conn.InputBytes() == size-len(b.rest) || b.conn.InputBytes() > 0 && s.InputWaiting() > waited)
		})
	}
	return b
}

// more sends more of the request.
func (b *begun) more(count int) {
	b.t.Helper()
	b.send(b.rest[:count])
	b.rest = b.rest[count:]
}

// finish sends the rest and reads the reply.
func (b *begun) finish() {
	b.t.Helper()
	b.more(len(b.rest))
	b.expect(fmt.Sprint(b.size))
}

// waiting waits until so many connections wait for room.
func waiting(t *testing.T, s *network.Server, count int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d connections to wait for room", count), func() bool { return s.InputWaiting() == count })
}

// TestIntakeInOrder has requests that do not fit together: they get room in the order in which they began, and others are served
// meanwhile.
func TestIntakeInOrder(t *testing.T) {
	inModes(t, intake(4<<20), func(t *testing.T, h *lines, s *network.Server) {
		first := begin(t, h, s, 2<<20, 100_000)
		second := begin(t, h, s, 2<<20, 100_000)
		waiting(t, s, 1)
		third := begin(t, h, s, 2<<20, 100_000)
		waiting(t, s, 2)
		fourth := begin(t, h, s, 300_000, 100_000) // it would fit, and must not overtake
		waiting(t, s, 3)
		if held := s.HeldBytes(); held > 2<<20+3*(128<<10) {
			t.Errorf("%d bytes are held", held)
		}
		other := dial(t, s)
		other.ask("echo meanwhile", "meanwhile")
		begin(t, h, s, 100_000, 20_000).finish()
		waiting(t, s, 3)
		if second.conn.BytesIn() > 200_000 || second.conn.WaitsForPeer() {
			t.Errorf("%d bytes were read of a connection that waits", second.conn.BytesIn())
		}
		first.finish()
		waiting(t, s, 2) // the fourth goes with the third
		second.more(1_000_000)
		eventually(t, "the second to be read", func() bool { return second.conn.InputBytes() == 1_100_000 })
		if third.conn.BytesIn() > 200_000 {
			t.Errorf("the third has overtaken the second: %d bytes", third.conn.BytesIn())
		}
		second.finish()
		waiting(t, s, 0)
		fourth.finish()
		third.finish()
		s.SetIntakeBytes(1 << 20)
		first = begin(t, h, s, 2<<20, 100_000)
		second = begin(t, h, s, 400_000, 100_000)
		waiting(t, s, 1)
		s.SetIntakeBytes(8 << 20)
		waiting(t, s, 0)
		second.finish()
		first.finish()
	})
}

// TestIntakeIsNeverStuck has many requests come at once, each longer than all the room there is: one after the other is completed.
func TestIntakeIsNeverStuck(t *testing.T) {
	const room, count, size = 512 << 10, 6, 1 << 20
	inModes(t, intake(room), func(t *testing.T, h *lines, s *network.Server) {
		var group sync.WaitGroup
		for range count {
			c := dial(t, s)
			group.Go(func() {
				c.send(request(size) + request(size)) // the second begins in the buffer of the first
				if got, err := c.reader.ReadString('\n'); err != nil || got != fmt.Sprintln(size) {
					t.Errorf("got %q, %v", got, err)
				}
				if got, err := c.reader.ReadString('\n'); err != nil || got != fmt.Sprintln(size) {
					t.Errorf("got %q, %v", got, err)
				}
			})
		}
		over := make(chan struct{})
		go func() { group.Wait(); close(over) }()
		most, other := int64(0), dial(t, s)
		for running := true; running; {
			select {
			case <-over:
				running = false
			case <-time.After(time.Millisecond):
				other.ask("echo x", "x")
				most = max(most, s.HeldBytes())
			}
		}
		// A request that gets room while the one before is executed may be there beside it; others hold what was read of them at once.
		if limit := int64(room + 2*size + count*2*(128<<10)); most > limit {
			t.Errorf("%d bytes were held, want at most %d", most, limit)
		}
		if s.InputWaiting() != 0 {
			t.Errorf("%d connections wait", s.InputWaiting())
		}
	})
}

// TestIntakeOfSmallParts has requests whose length is not known beforehand grow beyond all the room there is at the same time.
func TestIntakeOfSmallParts(t *testing.T) {
	for name, options := range paths(t) {
		p := &parts{size: 2 << 20}
		options.Addresses, options.IntakeBytes = []string{"127.0.0.1:0"}, 1<<20
		s, err := network.Listen(p, options)
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for range 6 {
			conn, err := net.Dial("tcp", s.Addresses()[0].String())
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
			group.Go(func() {
				defer func() { _ = conn.Close() }()
				if _, err := conn.Write(bytes.Repeat([]byte("x"), p.size)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				var reply [4]byte
				if _, err := io.ReadFull(conn, reply[:]); err != nil || string(reply[:]) != "done" {
					t.Errorf("%s: reply %q, error %v", name, reply, err)
				}
			})
		}
		group.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLaggards has peers that have room and send nothing, or next to nothing: they are named once others have waited for long enough,
// and when they end the others get the room.
func TestLaggards(t *testing.T) {
	const patience = 10 * time.Second
	inModes(t, intake(4<<20), func(t *testing.T, h *lines, s *network.Server) {
		now := time.Now()
		laggards := func() []*network.Conn {
			now = now.Add(patience)
			return s.Laggards(now, patience)
		}
		silent := begin(t, h, s, 1<<20, 100_000)
		trickling := begin(t, h, s, 1<<20, 100_000)
		steady := begin(t, h, s, 1<<20, 100_000)
		if laggards(); len(laggards()) != 0 {
			t.Error("there are laggards though nobody waits")
		}
		patient := begin(t, h, s, 2<<20, 100_000)
		waiting(t, s, 1)
		if len(laggards()) != 0 {
			t.Error("there are laggards as soon as somebody waits")
		}
		trickling.more(1)
		steady.more(40_000)
		eventually(t, "the pieces to be read", func() bool {
			return trickling.conn.InputBytes() == 100_001 && steady.conn.InputBytes() == 140_000
		})
		slow := laggards()
		if len(slow) != 2 || slow[0] != silent.conn || slow[1] != trickling.conn {
			t.Errorf("%d laggards, want the silent one and the trickling one", len(slow))
		}
		for _, c := range slow {
			c.Kill()
		}
		silent.expectEnd()
		trickling.expectEnd()
		waiting(t, s, 0)
		patient.finish()
		steady.finish()
	})
}

// TestIntakeEnds has connections end that wait for room: by their peers, by the server, and by its end.
func TestIntakeEnds(t *testing.T) {
	inModes(t, intake(2<<20), func(t *testing.T, h *lines, s *network.Server) {
		first := begin(t, h, s, 1<<20, 100_000)
		gone, killed, pushed := begin(t, h, s, 1<<20, 100_000), begin(t, h, s, 1<<20, 100_000), begin(t, h, s, 1<<20, 100_000)
		waiting(t, s, 3)
		pushed.conn.Push([]byte("pushed\n"), 0)
		pushed.expect("pushed")
		waiting(t, s, 3)
		killed.conn.Kill()
		killed.expectEnd()
		waiting(t, s, 2)
		_ = gone.Close()
		first.finish()
		eventually(t, "the peer that is gone to be noticed", func() bool { return h.closed.Load() == 2 })
		waiting(t, s, 0)
		pushed.finish()
		first = begin(t, h, s, 1<<20, 100_000)
		_ = begin(t, h, s, 1<<20, 100_000)
		waiting(t, s, 1)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		first.expectEnd()
		if s.InputWaiting() != 0 || s.HeldBytes() != 0 {
			t.Errorf("%d connections wait, %d bytes are held", s.InputWaiting(), s.HeldBytes())
		}
	})
}

// TestIntakeBehindHandOff has peers send a long request behind commands that hand their loop off, or park, and then close their half: the request
// waits for room with the connection back at its loop, and is served.
func TestIntakeBehindHandOff(t *testing.T) {
	inModes(t, intake(2<<20), func(t *testing.T, h *lines, s *network.Server) {
		first := begin(t, h, s, 1<<20, 100_000)
		var group sync.WaitGroup
		others := make([]*client, 8)
		for i := range others {
			c := dial(t, s)
			others[i] = c
			group.Go(func() {
				c.send("sleep\npark 100 x\nhand y\n" + request(1<<20))
				if err := c.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
					t.Error(err)
				}
			})
		}
		for _, c := range others {
			c.expect("slept")
			c.expect("x")
			c.expect("y")
		}
		waiting(t, s, len(others))
		first.finish()
		for _, c := range others {
			c.expect(fmt.Sprint(1 << 20))
			c.expectEnd()
		}
		group.Wait()
	})
}

// TestInputShrinks sends a small part of a request behind a long one: what was needed for the long one is not kept for it.
func TestInputShrinks(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		c := dial(t, s)
		for range 2 {
			c.send(request(1<<20) + "echo ab")
			c.expect(fmt.Sprint(1 << 20))
			conn := h.only(t)
			eventually(t, "the buffer to shrink", func() bool { return conn.InputBytes() == len("echo ab") && conn.InputCapacity() <= 128<<10 })
			c.ask("cd", "abcd")
		}
	})
}
