package network_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server/network"
)

func TestEcho(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		a, b := dial(t, s), dial(t, s)
		a.ask("echo one", "one")
		b.ask("echo two", "two")
		a.ask("echo three", "three")
		if s.Connections() != 2 {
			t.Errorf("%d connections, want 2", s.Connections())
		}
	})
}

// TestRandomChunks sends long pipelines in random pieces from several clients at once.
func TestRandomChunks(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		var group sync.WaitGroup
		for i := range 6 {
			c, random := dial(t, s), rand.New(rand.NewPCG(uint64(i), 7))
			var wire strings.Builder
			var want []string
			for range shorter(400, 100) {
				switch random.IntN(12) {
				case 0:
					wire.WriteString("sleep\n")
					want = append(want, "slept")
				case 1:
					text := strings.Repeat("long", random.IntN(20_000))
					wire.WriteString("echo " + text + "\n")
					want = append(want, text)
				case 2:
					length := 10 + random.IntN(40_000)
					head := fmt.Sprintf("@%d\n", length)
					wire.WriteString(head + strings.Repeat("\n", length-len(head)))
					want = append(want, fmt.Sprint(length))
				case 3:
					wire.WriteString("hand x\n")
					want = append(want, "x")
				default:
					text := fmt.Sprint(random.Uint64())
					wire.WriteString("echo " + text + "\n")
					want = append(want, text)
				}
			}
			group.Go(func() {
				for rest := wire.String(); len(rest) > 0; {
					n := min(1+random.IntN(1+random.IntN(30_000)), len(rest))
					c.send(rest[:n])
					rest = rest[n:]
				}
			})
			group.Go(func() {
				for i, text := range want {
					got, err := c.reader.ReadString('\n')
					if err != nil || got != text+"\n" {
						t.Errorf("reply %d: got %.60q, %v; want %.60q", i, got, err, text)
						return
					}
				}
			})
		}
		group.Wait()
	})
}

// TestLittleIsLeftOfALongBatch sends a long line and the first bytes of the next one with it: what is kept of so much is little, and
// the connection is read on.
func TestLittleIsLeftOfALongBatch(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		c := dial(t, s)
		const next = "echo next\n"
		for n := range 40 {
			text, cut := strings.Repeat("l", 60_000+n*4000), 1+n%4
			c.send("echo " + text + "\n" + next[:cut])
			c.expect(text)
			c.send(next[cut:])
			c.expect("next")
		}
	})
}

func TestPipelineOf10000(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		c := dial(t, s)
		var wire strings.Builder
		for i := range 10_000 {
			fmt.Fprintf(&wire, "echo %d\n", i)
		}
		go c.send(wire.String())
		for i := range 10_000 {
			c.expect(fmt.Sprint(i))
		}
		// A batch is what the socket has delivered, not a request.
		if served := h.served.Load(); served > 2_000 {
			t.Errorf("10,000 requests took %d calls of Serve", served)
		}
	})
}

func TestCounters(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		c := dial(t, s)
		c.ask("echo 12345", "12345")
		c.send("echo incomp")
		conn := h.only(t)
		eventually(t, "the incomplete request", func() bool { return conn.InputBytes() == len("echo incomp") })
		if conn.BytesIn() != uint64(len("echo 12345\necho incomp")) || conn.BytesOut() != uint64(len("12345\n")) ||
			conn.InputCapacity() < conn.InputBytes() || conn.OutputBytes() != 0 {
			t.Errorf("in %d, out %d, capacity %d, output %d", conn.BytesIn(), conn.BytesOut(), conn.InputCapacity(), conn.OutputBytes())
		}
		if age := time.Since(conn.LastInteraction()); age < 0 || age > 20*time.Second || conn.LastInteraction().Before(conn.Created()) {
			t.Errorf("created %v, last interaction %v", conn.Created(), conn.LastInteraction())
		}
		remote, local := c.LocalAddr().String(), c.RemoteAddr().String()
		if c.RemoteAddr().Network() == "unix" {
			remote, local = local+":0", local+":0"
		}
		if conn.RemoteAddress() != remote || conn.LocalAddress() != local {
			t.Errorf("addresses %s and %s, want %s and %s", conn.RemoteAddress(), conn.LocalAddress(), remote, local)
		}
		c.ask("lete", "incomplete")
		eventually(t, "the counters", func() bool { return conn.InputBytes() == 0 })
	})
}

// TestSlowReader checks that a peer that does not read is not served beyond the soft bound, and
// gets all its replies once it does read (N7).
func TestSlowReader(t *testing.T) {
	soft := func(o *network.Options) { o.OutputSoftBytes = 256 << 10 }
	inModes(t, soft, func(t *testing.T, h *lines, s *network.Server) {
		c := dial(t, s)
		c.narrow()
		const size = 20_000
		requests := shorter(3000, 500)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			c.send(strings.Repeat(fmt.Sprintf("big %d\n", size), requests))
		}()
		conn := h.only(t)
		last := int64(0)
		eventually(t, "the server to stop serving", func() bool {
			time.Sleep(50 * time.Millisecond)
			before := last
			last = h.served.Load()
			return last == before && last > 0
		})
		if taken := conn.BytesOut(); taken >= uint64(requests*size) {
			t.Fatalf("the kernel buffers %d bytes: the test needs more", taken)
		}
		// One batch of a megabyte may come on top of the bound.
		if unsent := conn.OutputBytes(); unsent > 256<<10+1<<20+size+1 {
			t.Errorf("%d bytes of output are held", unsent)
		}
		other := dial(t, s)
		other.ask("echo meanwhile", "meanwhile")
		want := strings.Repeat("x", size)
		for range requests {
			c.expect(want)
		}
		c.ask("echo alive", "alive")
		<-sent
	})
}

// TestHardBoundDrops checks N7's second half. A connection with a goroutine of its own waits for a peer that takes its
// output, and is dropped when it takes none for a while.
func TestHardBoundDrops(t *testing.T) {
	hard := func(o *network.Options) { o.OutputHardBytes = 2 << 20 }
	large := shorter(60_000_000, 12_000_000)
	inModes(t, hard, func(t *testing.T, h *lines, s *network.Server) {
		if strings.Contains(t.Name(), "goroutines") || strings.Contains(t.Name(), "tls") {
			reader := dial(t, s)
			reader.ask(fmt.Sprint("big ", large), strings.Repeat("x", large))
			_ = reader.Close()
			eventually(t, "the reader to end", func() bool { return h.closed.Load() == 1 })
			h.closed.Store(0)
			defer h.closed.Add(1)
		}
		c := dial(t, s)
		c.narrow()
		c.send(fmt.Sprintf("big %d\n", large))
		eventually(t, "the connection to be dropped", func() bool { return h.closed.Load() == 1 })
	})
}

func TestInputBoundDrops(t *testing.T) {
	bound := func(o *network.Options) { o.InputHardBytes = 1 << 20 }
	inModes(t, bound, func(t *testing.T, h *lines, s *network.Server) {
		c := dial(t, s)
		go func() { _, _ = c.Write(make([]byte, 8<<20)) }()
		eventually(t, "the connection to be dropped", func() bool { return h.closed.Load() == 1 })
	})
}

// TestHalfClosed checks that a peer that has sent its last byte gets all its replies.
func TestHalfClosed(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		c := dial(t, s)
		large := shorter(30_000_000, 3_000_000)
		c.narrow()
		c.send(fmt.Sprintf("echo a\nbig %d\nsleep\necho b\necho incomplete", large))
		if err := c.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		c.expect("a")
		c.expect(strings.Repeat("x", large))
		c.expect("slept")
		c.expect("b")
		c.expectEnd()
	})
}

func TestCloseAfterReply(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		c, large := dial(t, s), shorter(20_000_000, 3_000_000)
		c.narrow()
		c.send(fmt.Sprintf("echo a\nbig %d\nclose\necho never\n", large))
		c.expect("a")
		c.expect(strings.Repeat("x", large))
		c.expect("bye")
		c.expectEnd()
	})
}

func TestOpenMayRefuse(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		first := dial(t, s)
		first.ask("echo in", "in")
		h.refuse.Store(true)
		second := dial(t, s)
		second.expect("full")
		second.expectEnd()
		first.ask("echo still in", "still in")
	})
}

// TestPeerDisappears resets connections at rest, in the middle of a request, and while a batch runs.
func TestPeerDisappears(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		big := fmt.Sprintf("big %d\n", shorter(30_000_000, 10_000_000))
		for _, request := range []string{"", "echo incomp", "wait x\n" + big + "echo y\n", big} {
			c := dial(t, s)
			c.narrow()
			c.ask("echo here", "here")
			c.send(request)
			if strings.HasPrefix(request, "wait") {
				eventually(t, "the wait", func() bool { return h.waiting.Load() == 1 })
			}
			if tcp, ok := c.Conn.(*net.TCPConn); ok {
				if err := tcp.SetLinger(0); err != nil {
					t.Fatal(err)
				}
			}
			_ = c.Close()
		}
		close(h.gate)
		eventually(t, "all connections to end", func() bool { return h.closed.Load() == 4 })
		dial(t, s).ask("echo others are served", "others are served")
	})
}

func TestKill(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		idle, waiting, full := dial(t, s), dial(t, s), dial(t, s)
		idle.ask("echo idle", "idle")
		waiting.send("wait x\n")
		full.narrow()
		full.send(fmt.Sprintf("big %d\n", shorter(50_000_000, 10_000_000)))
		eventually(t, "the wait and the output", func() bool {
			count := 0
			h.open.Range(func(_, value any) bool {
				if value.(*network.Conn).BytesIn() > 0 {
					count++
				}
				return true
			})
			return h.waiting.Load() == 1 && count == 3
		})
		h.open.Range(func(_, value any) bool {
			c := value.(*network.Conn)
			c.Kill()
			c.Kill()
			return c.Killed()
		})
		idle.expectEnd()
		eventually(t, "two connections to end", func() bool { return h.closed.Load() == 2 })
		close(h.gate)
		waiting.expectEnd()
		eventually(t, "all connections to end", func() bool { return h.closed.Load() == 3 })
	})
}

// TestCloseUnderLoad closes a server that many clients keep busy: each reads whole, right replies
// and then the end.
func TestCloseUnderLoad(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		var group sync.WaitGroup
		for i := range 20 {
			c := dial(t, s)
			group.Go(func() {
				for n := 0; ; n++ {
					text := fmt.Sprintf("%d-%d", i, n)
					if _, err := c.Write([]byte("echo " + text + "\nsleep\nhand " + text + "\n")); err != nil {
						return
					}
					for _, want := range []string{text, "slept", text} {
						got, err := c.reader.ReadString('\n')
						if err != nil {
							if got != "" {
								t.Errorf("half a reply: %q", got)
							}
							return
						}
						if got != want+"\n" {
							t.Errorf("got %q, want %q", got, want)
							return
						}
					}
				}
			})
		}
		eventually(t, "some load", func() bool { return h.served.Load() > 300 })
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		group.Wait()
	})
}

// TestCloseSendsWhatIsOwed checks that Close serves what was read and waits for a peer that reads late.
func TestCloseSendsWhatIsOwed(t *testing.T) {
	adjust := func(o *network.Options) { o.OutputSoftBytes, o.CloseTimeout = 1<<20, time.Minute }
	inModes(t, adjust, func(t *testing.T, h *lines, s *network.Server) {
		c, large := dial(t, s), shorter(20_000_000, 10_000_000)
		c.narrow()
		c.send(fmt.Sprintf("big %d\necho owed\n", large))
		eventually(t, "the request to be served", func() bool { return h.served.Load() > 0 })
		done := make(chan error)
		go func() { done <- s.Close() }()
		c.expect(strings.Repeat("x", large))
		c.expect("owed")
		c.expectEnd()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestCloseDoesNotWaitForever checks the grace for a peer that never reads.
func TestCloseDoesNotWaitForever(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		c := dial(t, s)
		c.narrow()
		c.send(fmt.Sprintf("big %d\n", shorter(50_000_000, 10_000_000)))
		conn := h.only(t)
		eventually(t, "the request", func() bool { return conn.BytesIn() > 0 })
		begin := time.Now()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("Close took %v", took)
		}
	})
}

// TestCloseDoesNotWaitForTricklingPeers checks the bound on what peers that read a little at a time may ask for.
func TestCloseDoesNotWaitForTricklingPeers(t *testing.T) {
	const timeout = 500 * time.Millisecond
	adjust := func(o *network.Options) { o.CloseTimeout = timeout }
	inModes(t, adjust, func(t *testing.T, h *lines, s *network.Server) {
		conn, err := connect(s)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		narrow(t, conn)
		if _, err := fmt.Fprintf(conn, "big %d\n", shorter(60_000_000, 12_000_000)); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the request to be served", func() bool { return h.served.Load() > 0 })
		reader := make(chan struct{})
		go func() {
			defer close(reader)
			for part := make([]byte, shorter(16<<10, 4<<10)); err == nil; time.Sleep(20 * time.Millisecond) { // for a minute, if it may
				_, err = conn.Read(part)
			}
		}()
		begin := time.Now()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > timeout+10*time.Second {
			t.Errorf("Close took %v", took)
		}
		_ = conn.Close() // what the kernel holds is not read
		<-reader
	})
}
