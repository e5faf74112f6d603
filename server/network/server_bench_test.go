package network_test

import (
	"net"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server/network"
)

// BenchmarkRoundTrip is one request at a time on one connection, client included: served by the
// loop, handed off without a wait, handed off and blocked on another goroutine, and asleep.
func BenchmarkRoundTrip(b *testing.B) {
	for _, c := range []struct{ name, request string }{
		{"loop", "echo x\n"}, {"handoff", "hand x\n"}, {"handoff-park", "wait x\n"},
	} {
		b.Run(c.name, func(b *testing.B) {
			h := newLines()
			stop := make(chan struct{})
			go func() {
				for {
					select {
					case h.gate <- struct{}{}:
					case <-stop:
						return
					}
				}
			}()
			s, err := network.Listen(h, network.Options{Addresses: []string{"127.0.0.1:0"}, Loops: 1})
			if err != nil {
				b.Fatal(err)
			}
			conn, err := net.Dial("tcp", s.Addresses()[0].String())
			if err != nil {
				b.Fatal(err)
			}
			if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
				b.Fatal(err)
			}
			request, reply := []byte(c.request), make([]byte, 16)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := conn.Write(request); err != nil {
					b.Fatal(err)
				}
				if n, err := conn.Read(reply); err != nil || n != 2 {
					b.Fatalf("got %q, %v", reply[:n], err)
				}
			}
			_ = conn.Close()
			if err := s.Close(); err != nil {
				b.Error(err)
			}
			close(stop)
		})
	}
}
