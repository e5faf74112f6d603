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

// TestParkedKeepTheirPlace has replies that come late between others, and input behind them in pieces (N11).
func TestParkedKeepTheirPlace(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		var group sync.WaitGroup
		for i := range 20 {
			c, random := dial(t, s), rand.New(rand.NewPCG(uint64(i), 11))
			var wire strings.Builder
			var want []string
			for n := range 60 {
				text := fmt.Sprintf("%d-%d", i, n)
				switch random.IntN(6) {
				case 0:
					wire.WriteString("hand " + text + "\n")
				case 1:
					text = strings.Repeat(text, random.IntN(3000))
					wire.WriteString("echo " + text + "\n")
				default:
					fmt.Fprintf(&wire, "park %d %s\n", random.IntN(400), text)
				}
				want = append(want, text)
			}
			group.Go(func() {
				for rest := wire.String(); len(rest) > 0; {
					n := min(1+random.IntN(1+random.IntN(20_000)), len(rest))
					c.send(rest[:n])
					rest = rest[n:]
				}
			})
			group.Go(func() {
				for n, text := range want {
					if got, err := c.reader.ReadString('\n'); err != nil || got != text+"\n" {
						t.Errorf("reply %d: got %.60q, %v; want %.60q", n, got, err, text)
						return
					}
				}
			})
		}
		group.Wait()
	})
}

// TestOneParkedManyServed has one connection wait while a thousand others are served.
func TestOneParkedManyServed(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		parked := dial(t, s)
		others := make([]*client, shorter(1000, 300))
		for i := range others {
			others[i] = dial(t, s)
		}
		begin := time.Now()
		const wait = 300 * time.Millisecond
		parked.send(fmt.Sprintf("park %d late\necho behind\n", wait.Microseconds()))
		for i, c := range others {
			c.send(fmt.Sprintf("echo %d\n", i))
		}
		for i, c := range others {
			c.expect(fmt.Sprint(i))
		}
		served := time.Since(begin)
		parked.expect("late")
		parked.expect("behind")
		if took := time.Since(begin); took < wait {
			t.Errorf("the late reply came after %v", took)
		}
		t.Logf("%d requests took %v beside a wait of %v", len(others), served, wait)
	})
}

// TestParkedReplyOverTheSoftBound: input behind a late reply that is over the soft bound, and that the peer takes at
// once, is served (N7, N11).
func TestParkedReplyOverTheSoftBound(t *testing.T) {
	soft := func(o *network.Options) { o.OutputSoftBytes = 64 << 10 }
	inModes(t, soft, func(t *testing.T, h *lines, s *network.Server) {
		c := dial(t, s)
		for size := 60_000; size < 70_000; size += 1000 {
			text := strings.Repeat("x", size)
			c.send("park 500 " + text + "\necho behind\n")
			c.expect(text)
			c.expect("behind")
		}
	})
}

// TestParkedPeersEnd closes, resets, half-closes and kills connections that are parked.
func TestParkedPeersEnd(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		const park = "park 20000 late\necho behind\n"
		gone, reset, half, killed := dial(t, s), dial(t, s), dial(t, s), dial(t, s)
		killed.ask("echo here", "here")
		for _, c := range []*client{gone, reset, half, killed} {
			c.send(park)
		}
		_ = gone.Close()
		if tcp, ok := reset.Conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = reset.Close()
		if err := half.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		h.open.Range(func(_, value any) bool {
			if c := value.(*network.Conn); c.RemoteAddress() == killed.LocalAddr().String() {
				c.Kill()
			}
			return true
		})
		dial(t, s).ask("echo other", "other")
		half.expect("late")
		half.expect("behind")
		half.expectEnd()
		if killed.LocalAddr().Network() == "tcp" {
			killed.expectEndSoon() // on a slow machine it is killed after the reply
		}
	})
}

// TestCloseWithParked closes a server with parked connections: they get what they asked for (N9).
func TestCloseWithParked(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		clients := make([]*client, 10)
		for i := range clients {
			clients[i] = dial(t, s)
			clients[i].ask("echo here", "here")
			clients[i].send("park 50000 late\n")
		}
		eventually(t, "all requests", func() bool { return h.served.Load() >= 20 })
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for _, c := range clients {
			c.expect("late")
			c.expectEnd()
		}
	})
}
