package network_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server/network"
)

// disk is what replies are held for: it makes durable what the test tells it to.
type disk struct {
	mu              sync.Mutex
	changed         sync.Cond
	durable, broken uint64 // positions up to which all is durable, and is known never to be
	syncing         int    // calls of release that wait
}

// newDisk has the handler's replies wait for a disk.
func newDisk(h *lines) *disk {
	d := &disk{}
	d.changed.L = &d.mu
	release := d.release
	h.hold.Store(&release)
	return d
}

func (d *disk) release(position uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncing++
	for d.durable < position && d.broken < position {
		d.changed.Wait()
	}
	d.syncing--
	return d.durable >= position
}

func (d *disk) commit(until uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.durable = max(d.durable, until)
	d.changed.Broadcast()
}

func (d *disk) fail(until uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = until
	d.changed.Broadcast()
}

func (d *disk) isDurable(position uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return position <= d.durable
}

// waits tells whether somebody waits for the disk.
func (d *disk) waits() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.syncing > 0
}

// find returns the server's side of a client's connection, by its number among those that were opened.
func (h *lines) find(t *testing.T, id uint64) *network.Conn {
	t.Helper()
	c, ok := h.open.Load(id)
	if !ok {
		t.Fatalf("connection %d is not open", id)
	}
	return c.(*network.Conn)
}

// dialAll opens connections one after the other, so that their numbers are 1, 2 …
func dialAll(t *testing.T, s *network.Server, count int) []*client {
	t.Helper()
	clients := make([]*client, count)
	for i := range clients {
		clients[i] = dial(t, s)
		clients[i].ask("echo here", "here")
	}
	return clients
}

// keep sends a request whose reply is held, and waits until it is served.
func (c *client) keep(h *lines, request string) (position uint64) {
	c.t.Helper()
	begin := h.kept.Load()
	c.send(request)
	eventually(c.t, "the request to be served", func() bool { return h.kept.Load() > begin })
	return begin + 1
}

// TestOthersAreServedWhileRepliesAreHeld has writes wait for a commit while reads of others are answered, and pushes to who waits come
// behind the replies (N13).
func TestOthersAreServedWhileRepliesAreHeld(t *testing.T) {
	inSteadyModes(t, func(t *testing.T, h *lines, s *network.Server) {
		d := newDisk(h)
		clients := dialAll(t, s, 3)
		a, b, other := clients[0], clients[1], clients[2]
		conn := h.find(t, 1)
		a.keep(h, "echo zero\nkeep one\necho two\n")
		eventually(t, "a commit", d.waits)
		b.keep(h, "keep by b\n")
		a.send("echo three\nkeep four\n") // is not served yet
		for i := range 100 {
			other.ask(fmt.Sprintf("echo %d", i), fmt.Sprint(i))
			conn.Push(fmt.Appendf(nil, "push %d\n", i), 0)
		}
		if pushed := conn.OutputBytes(); pushed != 100*len("push 00\n")-10 {
			t.Errorf("%d bytes of pushes count as output", pushed)
		}
		if sent, kept := conn.BytesOut(), h.kept.Load(); sent != uint64(len("here\n")) || kept != 2 {
			t.Errorf("%d bytes were sent before the commit, and %d writes served; want 5 and 2", sent, kept)
		}
		d.commit(1)
		for _, want := range []string{"zero", "one", "two"} {
			a.expect(want)
		}
		for i := range 100 {
			a.expect(fmt.Sprintf("push %d", i))
		}
		eventually(t, "the next write to be served", func() bool { return h.kept.Load() == 3 })
		other.ask("echo again", "again")
		d.commit(3)
		b.expect("by b")
		a.expect("three")
		a.expect("four")
		a.ask("echo five", "five")
	})
}

// TestAFailedCommitEndsWhoWaitsForIt: who waits for a commit that fails ends without replies, and nobody else.
func TestAFailedCommitEndsWhoWaitsForIt(t *testing.T) {
	inSteadyModes(t, func(t *testing.T, h *lines, s *network.Server) {
		d := newDisk(h)
		clients := dialAll(t, s, 3)
		a, b, other := clients[0], clients[1], clients[2]
		first := a.keep(h, "echo zero\nkeep one\n")
		eventually(t, "a commit", d.waits)
		second := b.keep(h, "keep two\n")
		other.ask("echo meanwhile", "meanwhile")
		d.fail(first)
		a.expectEnd()
		other.ask("echo afterwards", "afterwards")
		d.commit(second)
		b.expect("two")
		b.ask("echo three", "three")
	})
}

// TestHeldBeforeAParkedReply: when replies are lost in front of one that a parker has under way, that is not sent either. When they are
// not, what is behind is parked in its turn.
func TestHeldBeforeAParkedReply(t *testing.T) {
	inSteadyModes(t, func(t *testing.T, h *lines, s *network.Server) {
		d := newDisk(h)
		lose := func() {
			a := dial(t, s)
			position := a.keep(h, "keep one\npark 20000 two\necho three\n")
			eventually(t, "a commit", d.waits)
			d.fail(position)
			eventually(t, "the failure to be seen", func() bool { return !d.waits() })
			d.commit(position) // too late
			a.expectEnd()
			eventually(t, "the connection to end", func() bool { return h.closed.Load() == int64(position) })
		}
		for range 4 { // some are delivered in halves
			lose()
		}
		other := dial(t, s)
		for range 4 {
			lose()
			other.ask("echo afterwards", "afterwards")
		}
		a := dial(t, s)
		d.commit(a.keep(h, "keep one\npark 20000 two\necho three\n"))
		for _, want := range []string{"one", "two", "three"} {
			a.expect(want)
		}
		position := a.keep(h, "keep four\npark 0 five\npark 0 six\n")
		for range 20 {
			other.ask("echo while five is delivered", "while five is delivered")
		}
		d.commit(position)
		for _, want := range []string{"four", "five", "six"} {
			a.expect(want)
		}
	})
}

// TestPeersEndWhileTheirRepliesAreHeld closes, resets, half-closes and kills connections whose replies are held.
func TestPeersEndWhileTheirRepliesAreHeld(t *testing.T) {
	inSteadyModes(t, func(t *testing.T, h *lines, s *network.Server) {
		d := newDisk(h)
		clients := dialAll(t, s, 5)
		gone, reset, half, killed, other := clients[0], clients[1], clients[2], clients[3], clients[4]
		var last uint64
		for _, c := range clients[:4] {
			last = c.keep(h, "keep one\n")
		}
		_ = gone.Close()
		if tcp, ok := reset.Conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = reset.Close()
		half.send("echo behind\n")
		if err := half.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		h.find(t, 4).Kill()
		killed.expectEnd()
		for range 20 {
			other.ask("echo other", "other")
		}
		if closed := h.closed.Load(); closed != 0 {
			t.Errorf("%d connections ended while they were held", closed)
		}
		d.commit(last)
		half.expect("one")
		half.expect("behind")
		half.expectEnd()
		eventually(t, "all but one to end", func() bool { return h.closed.Load() == 4 })
		other.ask("echo other", "other")
	})
}

// TestHandOffWhileRepliesAreHeld hands the loop off between a write and its commit, again and again.
func TestHandOffWhileRepliesAreHeld(t *testing.T) {
	inSteadyModes(t, func(t *testing.T, h *lines, s *network.Server) {
		d := newDisk(h)
		clients := dialAll(t, s, 8)
		held, waiting, other := clients[:3], clients[3:7], clients[7]
		var last uint64
		for i, c := range held {
			last = c.keep(h, "keep held\necho behind\n")
			waiting[i].send("wait x\n")
			eventually(t, "the wait", func() bool { return h.waiting.Load() == int32(i+1) })
		}
		waiting[3].send("wait y\nkeep z\n") // commits on its own
		eventually(t, "the wait", func() bool { return h.waiting.Load() == 4 })
		other.ask("echo other", "other")
		d.commit(last)
		for _, c := range held {
			c.expect("held")
			c.expect("behind")
		}
		close(h.gate)
		for _, c := range waiting[:3] {
			c.expect("x")
		}
		eventually(t, "the last write", func() bool { return h.kept.Load() == last+1 })
		other.ask("echo other", "other")
		d.commit(last + 1)
		waiting[3].expect("y")
		waiting[3].expect("z")
	})
}

// TestCloseCommitsWhatIsHeld closes a server while replies are held: they are sent once they may, or their connections end without.
func TestCloseCommitsWhatIsHeld(t *testing.T) {
	for _, fails := range []bool{false, true} {
		t.Run(fmt.Sprint("fails=", fails), func(t *testing.T) {
			inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
				d := newDisk(h)
				clients := dialAll(t, s, 8)
				for i, c := range clients {
					if c.send("echo before\nkeep late\n"); i%2 == 0 {
						c.send("park 1000 later\n")
					}
				}
				eventually(t, "a commit", d.waits)
				done := make(chan error)
				go func() { done <- s.Close() }()
				select {
				case err := <-done:
					t.Fatalf("Close returned %v while a commit is under way", err)
				case <-time.After(20 * time.Millisecond):
				}
				if fails {
					d.fail(100)
				} else {
					d.commit(100)
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
				answered := 0
				for _, c := range clients {
					text, _ := c.reader.ReadString('\n') // what was not read in time is not served
					if text == "" {
						continue
					}
					answered++
					if text != "before\n" {
						t.Errorf("got %q, want what came before the write", text)
					}
					c.expect("late")
				}
				if want := uint64(answered); fails && want != 0 || !fails && (want == 0 || want != h.kept.Load()) {
					t.Errorf("%d connections were answered, of %d that wrote", answered, h.kept.Load())
				}
			})
		})
	}
}

// TestLargeHeldReplies has replies held that go out in parts, beside a connection that is served.
func TestLargeHeldReplies(t *testing.T) {
	inSteadyModes(t, func(t *testing.T, h *lines, s *network.Server) {
		d := newDisk(h)
		clients := dialAll(t, s, 2)
		a, other := clients[0], clients[1]
		const large = 3 << 20 // more than goes out at once
		a.keep(h, "keep two\nbig 3145728\nkeep three\nbig 3145728\nkeep four\n")
		eventually(t, "a commit", d.waits)
		other.ask("echo "+strings.Repeat("y", 3000), strings.Repeat("y", 3000))
		if h.find(t, 1).WaitsForPeer() {
			t.Error("a peer is waited for whose replies wait for a commit")
		}
		d.commit(1)
		a.expect("two") // what the peer has no room for waits for the next commit
		other.ask("echo "+strings.Repeat("z", 3000), strings.Repeat("z", 3000))
		d.commit(10)
		a.expect(strings.Repeat("x", large))
		a.expect("three")
		a.expect(strings.Repeat("x", large))
		a.expect("four")
		eventually(t, "the commits to be over", h.find(t, 1).WaitsForPeer)
	})
}

// TestHeldStorm has everything happen at once beside commits that take their time: replies keep their order, and none of a write comes
// before its commit.
func TestHeldStorm(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		d := newDisk(h)
		slow := func(position uint64) bool {
			time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
			d.commit(position)
			return true
		}
		h.hold.Store(&slow)
		var group sync.WaitGroup
		for i := range 16 {
			c, random := dial(t, s), rand.New(rand.NewPCG(uint64(i), 19))
			var wire strings.Builder
			var want []string // "" is a position
			for n := range 60 {
				text := fmt.Sprintf("%d-%d", i, n)
				switch random.IntN(9) {
				case 0:
					wire.WriteString("hand " + text + "\n")
				case 1:
					text = strings.Repeat(text, random.IntN(3000))
					wire.WriteString("echo " + text + "\n")
				case 2:
					wire.WriteString("mute\n")
					continue
				case 3:
					fmt.Fprintf(&wire, "park %d %s\n", random.IntN(400), text)
				case 4, 5:
					wire.WriteString("echo " + text + "\n")
				default:
					wire.WriteString("keep\n")
					text = ""
				}
				want = append(want, text)
			}
			group.Go(func() {
				for rest := wire.String(); len(rest) > 0; {
					n := min(1+random.IntN(1+random.IntN(5_000)), len(rest))
					c.send(rest[:n])
					rest = rest[n:]
				}
			})
			group.Go(func() {
				for n, text := range want {
					got, err := c.reader.ReadString('\n')
					got = strings.TrimSuffix(got, "\n")
					if position, _ := strconv.ParseUint(got, 10, 64); err == nil && text == "" && position > 0 && d.isDurable(position) {
						continue
					}
					if err != nil || got != text || text == "" {
						t.Errorf("reply %d: got %.60q, %v; want %.60q, or what is durable", n, got, err, text)
						return
					}
				}
			})
		}
		group.Wait()
	})
}
