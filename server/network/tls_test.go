package network_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server/certtest"
	"github.com/pyropedb/pyrope/server/network"
)

var (
	pairOnce sync.Once
	pair     tls.Certificate
)

// serverTLS is a configuration with a certificate that all tests share.
func serverTLS(t *testing.T) *tls.Config {
	pairOnce.Do(func() { pair = certtest.NewAuthority(t, "authority").Issue(t, "server").TLS(t) })
	return &tls.Config{Certificates: []tls.Certificate{pair}}
}

// listenTLS starts a server that speaks TLS, and collects the causes of failed handshakes.
func listenTLS(t *testing.T, adjust func(*network.Options)) (*lines, *network.Server, <-chan error) {
	t.Helper()
	failures := make(chan error, 100)
	config := serverTLS(t)
	options := network.Options{
		TLSAddresses: []string{"127.0.0.1:0"}, TLS: func() *tls.Config { return config },
		HandshakeFailed: func(_ string, cause error) { failures <- cause },
	}
	if adjust != nil {
		adjust(&options)
	}
	h := newLines()
	s, err := network.Listen(h, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return h, s, failures
}

func expectFailure(t *testing.T, failures <-chan error, want string) {
	t.Helper()
	select {
	case err := <-failures:
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the handshake fails by %q, want %q", err, want)
		}
	case <-time.After(time.Minute):
		t.Fatalf("no handshake fails, want %q", want)
	}
}

func TestPlainTextOnTLSPort(t *testing.T) {
	_, s, failures := listenTLS(t, nil)
	conn, err := net.Dial("tcp", s.TLSAddresses()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "echo one\n")
	if text, _ := io.ReadAll(conn); strings.Contains(string(text), "one") {
		t.Errorf("plain text is answered: %q", text)
	}
	expectFailure(t, failures, "first record does not look like a TLS handshake")
	dial(t, s).ask("echo two", "two")
}

// TestHandshakeThatStalls connects peers that say nothing, or half a hello. They are dropped in time and hold up nobody.
func TestHandshakeThatStalls(t *testing.T) {
	// A slow machine makes its handshakes in that time.
	h, s, failures := listenTLS(t, func(o *network.Options) { o.HandshakeTimeout = 3 * time.Second })
	const stalled = 20
	for i := range stalled {
		conn, err := net.Dial("tcp", s.TLSAddresses()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i%2 == 0 {
			_, _ = conn.Write([]byte{22, 3, 1, 2, 0, 1, 0})
		}
	}
	dial(t, s).ask("echo one", "one")
	for range stalled {
		expectFailure(t, failures, "did not finish its handshake in time")
	}
	eventually(t, "stalled connections to be dropped", func() bool { return h.closed.Load() >= stalled })
}

// TestCloseDuringHandshake expects Close not to wait for the handshake's timeout.
func TestCloseDuringHandshake(t *testing.T) {
	h, s, _ := listenTLS(t, func(o *network.Options) { o.HandshakeTimeout = 10 * time.Minute })
	conn, err := net.Dial("tcp", s.TLSAddresses()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	eventually(t, "the connection", func() bool { return h.opened.Load() == 1 })
	begin := time.Now()
	if err := s.Close(); err != nil || time.Since(begin) > time.Minute {
		t.Errorf("Close takes %v, %v", time.Since(begin), err)
	}
}

// TestRefusedOverTLS expects a refused peer to be told why.
func TestRefusedOverTLS(t *testing.T) {
	h, s, _ := listenTLS(t, nil)
	h.refuse.Store(true)
	c := dial(t, s)
	c.expect("full")
	c.expectEnd()
}

// TestNewCertificateUnderLoad changes the certificate while connections come, go and work: none fails, those that are
// open go on, and new ones see the new certificate.
func TestNewCertificateUnderLoad(t *testing.T) {
	authority := certtest.NewAuthority(t, "authority")
	var current atomic.Pointer[tls.Config]
	renew := func(i int) string {
		name := fmt.Sprintf("server %d", i)
		current.Store(&tls.Config{Certificates: []tls.Certificate{authority.Issue(t, name).TLS(t)}})
		return name
	}
	renew(0)
	_, s, failures := listenTLS(t, func(o *network.Options) { o.TLS = current.Load })
	address := s.TLSAddresses()[0].String()
	old := dial(t, s)
	old.ask("echo old", "old")
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: authority.Pool()})
				if err != nil {
					t.Error(err)
					return
				}
				text := make([]byte, 5)
				fmt.Fprint(conn, "echo 1234\n")
				if _, err := io.ReadFull(conn, text); err != nil || string(text) != "1234\n" {
					t.Errorf("%q, %v", text, err)
				}
				_ = conn.Close()
			}
		})
	}
	for i := range 30 {
		name := renew(i + 1)
		conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: authority.Pool()})
		if err != nil {
			t.Fatal(err)
		}
		if got := conn.ConnectionState().PeerCertificates[0].Subject.CommonName; got != name {
			t.Errorf("certificate of %q, want %q", got, name)
		}
		_ = conn.Close()
		old.ask("echo old", "old")
	}
	close(stop)
	group.Wait()
	select {
	case err := <-failures:
		if !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.EOF) {
			t.Errorf("a handshake fails: %v", err)
		}
	default:
	}
}

// TestKillOfAFrozenPeer kills a TLS connection whose peer takes nothing: the one who kills must not wait for it, as package tls would for five
// seconds. On a crowded machine one may take as long.
func TestKillOfAFrozenPeer(t *testing.T) {
	h, s, _ := listenTLS(t, nil)
	var took time.Duration
	for killed := int64(1); killed <= 3; killed++ {
		c := dial(t, s)
		c.ask("echo one", "one")
		c.send(fmt.Sprintf("big %d\n", 16<<20))
		conn := h.only(t)
		eventually(t, "output that waits", func() bool {
			before := conn.OutputBytes()
			time.Sleep(50 * time.Millisecond)
			return before > 1<<20 && conn.OutputBytes() == before
		})
		begin := time.Now()
		conn.Kill()
		eventually(t, "the connection to end", func() bool { return h.closed.Load() == killed })
		if took = time.Since(begin); took < 4*time.Second {
			return
		}
	}
	t.Errorf("it takes %v", took)
}

// TestEndIsAnnounced expects the alert that tells an end from a cut.
func TestEndIsAnnounced(t *testing.T) {
	_, s, _ := listenTLS(t, nil)
	c := dial(t, s)
	c.ask("close", "bye")
	if _, err := c.reader.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ends with %v, want EOF", err)
	}
}
