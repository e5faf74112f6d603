package network

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// TestAcceptedSocketsInheritOptions checks that what is set on a listener holds for its connections.
func TestAcceptedSocketsInheritOptions(t *testing.T) {
	opened := make(chan *Conn, 1)
	s, err := Listen(&openHandler{opened}, Options{Addresses: []string{"127.0.0.1:0"}, KeepAlive: 90 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	client, err := net.Dial("tcp", s.Addresses()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	c := <-opened
	for _, o := range []struct{ level, name, want int }{
		{syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1},
		{syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
		{syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, 90},
		{syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, 30},
	} {
		if got, err := syscall.GetsockoptInt(c.socket.descriptor, o.level, o.name); err != nil || got != o.want {
			t.Errorf("option %d/%d: got %d, %v; want %d", o.level, o.name, got, err, o.want)
		}
	}
	for idle, want := range map[time.Duration]int{0: 0, 7 * time.Second: 1} {
		if err := s.SetKeepAlive(idle); err != nil {
			t.Fatal(err)
		}
		later, err := net.Dial("tcp", s.Addresses()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = later.Close() }()
		c := <-opened
		if got, err := syscall.GetsockoptInt(c.socket.descriptor, syscall.SOL_SOCKET, syscall.SO_KEEPALIVE); err != nil || got != want {
			t.Errorf("probes after %v: got %d, %v; want %d", idle, got, err, want)
		}
	}
}

// TestConnectionsAreSpread checks that loops get equal shares.
func TestConnectionsAreSpread(t *testing.T) {
	opened := make(chan *Conn, 1)
	s, err := Listen(&openHandler{opened}, Options{Addresses: []string{"127.0.0.1:0"}, Loops: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for range 40 {
		client, err := net.Dial("tcp", s.Addresses()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		<-opened
	}
	for i, l := range s.loops {
		if n := l.connections.Load(); n != 10 {
			t.Errorf("loop %d has %d connections, want 10", i, n)
		}
	}
}

func TestTable(t *testing.T) {
	var table table
	c := &Conn{}
	last := tableRows*tableColumns - 1
	for _, descriptor := range []int{0, tableColumns, last} {
		if table.load(descriptor) != nil || !table.store(descriptor, c) || table.load(descriptor) != c {
			t.Errorf("descriptor %d is not kept", descriptor)
		}
	}
	count := 0
	table.each(func(*Conn) { count++ })
	if count != 3 || table.store(last+1, c) {
		t.Errorf("%d connections, or one beyond the end", count)
	}
}

// openHandler tells of each connection and serves none.
type openHandler struct{ opened chan *Conn }

func (h *openHandler) NewWorker(func()) Worker                    { return h }
func (h *openHandler) NewParker() Parker                          { return nil }
func (h *openHandler) Open(c *Conn)                               { h.opened <- c }
func (h *openHandler) Closed(*Conn)                               {}
func (h *openHandler) Serve(_ *Conn, input []byte) (consumed int) { return len(input) }
func (h *openHandler) Close()                                     {}
