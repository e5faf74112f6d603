package network_test

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server/network"
)

func listen(t *testing.T, options network.Options) *network.Server {
	t.Helper()
	s, err := network.Listen(newLines(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestSeveralAddresses listens on IPv4, IPv6 where there is any, and a unix socket at once.
func TestSeveralAddresses(t *testing.T) {
	options := network.Options{Addresses: []string{"127.0.0.1:0"}, UnixSocket: filepath.Join(t.TempDir(), "s"), UnixSocketMode: 0o640}
	if probe, err := net.Listen("tcp6", "[::1]:0"); err == nil {
		_ = probe.Close()
		options.Addresses = append(options.Addresses, "[::1]:0")
	}
	for _, path := range paths(t) {
		options.Rings, options.Goroutines = path.Rings, path.Goroutines
		s := listen(t, options)
		if len(s.Addresses()) != len(options.Addresses)+1 {
			t.Fatalf("listens on %v", s.Addresses())
		}
		for _, address := range s.Addresses() {
			conn, err := net.Dial(address.Network(), address.String())
			if err != nil {
				t.Fatal(err)
			}
			reply := make([]byte, 5)
			if _, err := conn.Write([]byte("echo here\n")); err != nil {
				t.Error(err)
			}
			if n, err := conn.Read(reply); err != nil || string(reply[:n]) != "here\n" {
				t.Errorf("%s: got %q, %v", address, reply[:n], err)
			}
			_ = conn.Close()
		}
		info, err := os.Stat(options.UnixSocket)
		if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
			t.Errorf("the socket file: %v, %v", info, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(options.UnixSocket); !os.IsNotExist(err) {
			t.Errorf("the socket file stays behind: %v", err)
		}
	}
}

// TestBothWildcards listens on 0.0.0.0 and :: with one port.
func TestBothWildcards(t *testing.T) {
	for attempt := 1; ; attempt++ {
		probe, err := net.Listen("tcp6", "[::]:0")
		if err != nil {
			t.Logf("only IPv4 here: %v", err)
			listen(t, network.Options{Addresses: []string{"0.0.0.0:0"}})
			return
		}
		_, port, _ := net.SplitHostPort(probe.Addr().String())
		_ = probe.Close()
		s, err := network.Listen(newLines(), network.Options{Addresses: []string{"0.0.0.0:" + port, "[::]:" + port}})
		if err == nil {
			_ = s.Close()
			return
		}
		if attempt == 10 { // somebody else may take the port now and then
			t.Fatal(err)
		}
	}
}

func TestListenErrors(t *testing.T) {
	s := listen(t, network.Options{Addresses: []string{"127.0.0.1:0"}, UnixSocket: filepath.Join(t.TempDir(), "s")})
	file := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(file, nil, fs.ModePerm); err != nil {
		t.Fatal(err)
	}
	for name, options := range map[string]network.Options{
		"cannot listen on 127.0.0.1:":           {Addresses: []string{s.Addresses()[0].String()}},
		"another process listens":               {UnixSocket: s.Addresses()[1].String()},
		"cannot listen on unix socket":          {UnixSocket: file},
		"want host:port":                        {Addresses: []string{"nonsense"}},
		"cannot run -1 event loops":             {Loops: -1},
		"cannot use a read buffer of 100":       {ReadBufferBytes: 100},
		"cannot bound buffers by -5, 0, 0 and ": {OutputSoftBytes: -5},
	} {
		failed, err := network.Listen(newLines(), options)
		if err == nil {
			_ = failed.Close()
			t.Errorf("%s: no error", name)
		} else if !strings.Contains(err.Error(), name) {
			t.Errorf("got %q, want it to say %q", err, name)
		}
	}
}

// TestStaleUnixSocket replaces the socket file of a process that died.
func TestStaleUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	dial(t, listen(t, network.Options{UnixSocket: path})).ask("echo new", "new")
}

// TestNoAddress serves nothing but numbers, for an in-process client.
func TestNoAddress(t *testing.T) {
	s := listen(t, network.Options{})
	if first, second := s.NextID(), s.NextID(); first != 1 || second != 2 {
		t.Errorf("numbers %d and %d", first, second)
	}
	if len(s.Addresses()) != 0 {
		t.Errorf("listens on %v", s.Addresses())
	}
}

// paths are options for each way to serve, by name.
func paths(t *testing.T) map[string]network.Options {
	t.Helper()
	list := map[string]network.Options{"loops": {}, "goroutines": {Goroutines: true}}
	if rings(t) {
		list["rings"] = network.Options{Rings: true}
	}
	return list
}

// TestRequestsDoNotAllocate bounds what a round trip allocates, on both paths, client included.
func TestRequestsDoNotAllocate(t *testing.T) {
	for name, options := range paths(t) {
		h := &pong{}
		options.Addresses, options.Loops = []string{"127.0.0.1:0"}, 1
		s, err := network.Listen(h, options)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", s.Addresses()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		request, reply := []byte("PING\r\n"), make([]byte, 64)
		trip := func() {
			if _, err := conn.Write(request); err != nil {
				t.Error(err)
			}
			if n, err := conn.Read(reply); err != nil || n != 7 {
				t.Errorf("got %q, %v", reply[:n], err)
			}
		}
		trip()
		if n := testing.AllocsPerRun(500, trip); n > 0 {
			t.Errorf("%s: %v allocations a request", name, n)
		}
		_ = conn.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestIdleConnectionsHoldNothing bounds the heap of connections that have been served (N6). The
// clients' ends are on the same heap and included.
func TestIdleConnectionsHoldNothing(t *testing.T) {
	for name, options := range paths(t) {
		if options.Goroutines {
			continue
		}
		options.Addresses = []string{"127.0.0.1:0"}
		t.Run(name, func(t *testing.T) { idleConnectionsHoldNothing(t, options) })
	}
}

func idleConnectionsHoldNothing(t *testing.T, options network.Options) {
	const count, boundBytes = 1000, 3 << 10
	s := listen(t, options)
	clients := make([]net.Conn, count)
	before := heapBytes()
	for i := range clients {
		conn, err := net.Dial("tcp", s.Addresses()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		clients[i] = conn
		if _, err := conn.Write([]byte("echo " + strings.Repeat("x", 2000))); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(10 * time.Millisecond)
	reply := make([]byte, 2001)
	for _, conn := range clients {
		if _, err := conn.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
		for filled := 0; filled < len(reply); {
			n, err := conn.Read(reply[filled:])
			if err != nil {
				t.Fatal(err)
			}
			filled += n
		}
	}
	if each := (heapBytes() - before) / count; each > boundBytes {
		t.Errorf("an idle connection holds %d bytes, want at most %d", each, boundBytes)
	}
}

func heapBytes() int {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// pong answers each line with +PONG.
type pong struct{}

func (*pong) NewWorker(func()) network.Worker { return &pong{} }

func (*pong) NewParker() network.Parker { return nil }
func (*pong) Open(*network.Conn)        {}
func (*pong) Closed(*network.Conn)      {}
func (*pong) Close()                    {}

func (*pong) Serve(c *network.Conn, input []byte) (consumed int) {
	for i, b := range input {
		if b == '\n' {
			c.Out = append(c.Out, "+PONG\r\n"...)
			consumed = i + 1
		}
	}
	return consumed
}

// TestOptionalAddress listens where it can and leaves out an optional address that the machine does not have.
func TestOptionalAddress(t *testing.T) {
	const missing = "203.0.113.7:0" // of a net for documentation
	s := listen(t, network.Options{Addresses: []string{"127.0.0.1:0", "-" + missing}, Backlog: 7})
	if len(s.Addresses()) != 1 {
		t.Errorf("listens on %v", s.Addresses())
	}
	for _, addresses := range [][]string{{"127.0.0.1:0", missing}, {"-" + missing}} {
		if s, err := network.Listen(newLines(), network.Options{Addresses: addresses}); err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("%v: %v, %v", addresses, s, err)
		}
	}
	if _, err := network.Listen(newLines(), network.Options{TLSAddresses: []string{"127.0.0.1:0"}}); err == nil || !strings.Contains(err.Error(), "without a certificate") {
		t.Errorf("TLS without a certificate: %v", err)
	}
}
