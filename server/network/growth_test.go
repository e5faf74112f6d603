package network_test

import (
	"bytes"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server/network"
)

// parts is a Handler of one long request that announces no more than the next sixteen bytes of it, as a
// command with many small arguments does.
type parts struct {
	size  int
	calls atomic.Int64
}

func (p *parts) NewWorker(func()) network.Worker { return p }

func (*parts) NewParker() network.Parker { return nil }
func (p *parts) Open(*network.Conn)      {}
func (p *parts) Closed(*network.Conn)    {}
func (p *parts) Close()                  {}

func (p *parts) Serve(c *network.Conn, input []byte) int {
	p.calls.Add(1)
	if len(input) < p.size {
		c.NeedBytes = len(input) + 16
		return 0
	}
	c.Out = append(c.Out, "done"...)
	return p.size
}

// TestLongRequestOfSmallParts counts how often a request of 8 MiB is looked at: buffers that grow by what is
// announced make it hundreds of thousands of times, and copy all of it each time.
func TestLongRequestOfSmallParts(t *testing.T) {
	for name, options := range paths(t) {
		p := &parts{size: 8 << 20}
		options.Addresses = []string{"127.0.0.1:0"}
		s, err := network.Listen(p, options)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", s.Addresses()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
		if _, err := conn.Write(bytes.Repeat([]byte("x"), p.size)); err != nil {
			t.Fatal(err)
		}
		var reply [4]byte
		if _, err := io.ReadFull(conn, reply[:]); err != nil || string(reply[:]) != "done" {
			t.Fatalf("%s: reply %q, error %v", name, reply, err)
		}
		if calls := p.calls.Load(); calls > 10_000 {
			t.Errorf("%s: served %d times", name, calls)
		}
		_ = conn.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
