package server_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/certtest"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/servertest"
)

// logText collects a server's log.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *logText) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

// secured is a server that speaks TLS on its only port.
type secured struct {
	*server.Server
	authority *certtest.Authority
	directory string
	log       *logText
}

// startSecured starts such a server; adjust changes its options.
func startSecured(t *testing.T, adjust func(*config.Options)) *secured {
	t.Helper()
	s := &secured{authority: certtest.NewAuthority(t, "authority"), directory: t.TempDir(), log: &logText{}}
	options := small()
	options.TLS = config.On
	options.CAFile = certtest.Write(t, s.directory, "ca.crt", s.authority.PEM())
	options.CertFile, options.KeyFile = s.write(t, "first")
	adjust(&options)
	var err error
	s.Server, err = server.New(server.Options{Options: options, Log: slog.New(slog.NewTextHandler(s.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("cannot close the server: %v", err)
		}
	})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// write issues a certificate for a name and stores it where the server looks.
func (s *secured) write(t *testing.T, name string) (cert, key string) {
	t.Helper()
	pair := s.authority.Issue(t, name)
	return certtest.Write(t, s.directory, "server.crt", pair.Certificate), certtest.Write(t, s.directory, "server.key", pair.Key)
}

// shown is the name in the certificate that a new connection is shown.
func (s *secured) shown(t *testing.T) string {
	t.Helper()
	conn, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{RootCAs: s.authority.Pool()})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
}

// client connects with the certificates given.
func (s *secured) client(t *testing.T, pairs ...tls.Certificate) (*servertest.Client, error) {
	t.Helper()
	return servertest.DialTLS(t, s.Addr().String(), &tls.Config{RootCAs: s.authority.Pool(), Certificates: pairs})
}

func noClientCertificates(o *config.Options) { o.AuthClients = config.AuthNo }

func TestTLS(t *testing.T) {
	s := startSecured(t, noClientCertificates)
	c, err := s.client(t)
	if err != nil {
		t.Fatal(err)
	}
	check(t, c, "SET a 1", "+OK")
	check(t, c, "GET a", `"1"`)
	if s.Addr() != s.TLSAddr() {
		t.Errorf("TLS on %v, addresses begin with %v", s.TLSAddr(), s.Addr())
	}
	if info(t, c, "server")["tcp_port"] == "0" {
		t.Error("INFO has no port")
	}
	value := strings.Repeat("x", 1<<20-100)
	if reply, err := c.Do("SET", "big", value); err != nil || string(reply.Text) != "OK" {
		t.Errorf("SET of %d bytes: %v, %v", len(value), reply, err)
	}
	if reply, err := c.Do("GET", "big"); err != nil || string(reply.Text) != value {
		t.Errorf("GET returns %d bytes, %v", len(reply.Text), err)
	}
	if _, err := servertest.DialTLS(t, s.Addr().String(), &tls.Config{RootCAs: certtest.NewAuthority(t, "other").Pool()}); err == nil {
		t.Error("a client that does not trust the authority gets through")
	}
}

// TestPlainPortBesideTLS has both, and data in common.
func TestPlainPortBesideTLS(t *testing.T) {
	s := startSecured(t, func(o *config.Options) {
		probe, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer probe.Close()
		o.TLS, o.AuthClients = config.Off, config.AuthNo
		o.TLSPort = probe.Addr().(*net.TCPAddr).Port
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer free.Close()
		o.Port = free.Addr().(*net.TCPAddr).Port
	})
	check(t, servertest.Dial(t, s.Addr().String()), "SET a 1", "+OK")
	c, err := servertest.DialTLS(t, s.TLSAddr().String(), &tls.Config{RootCAs: s.authority.Pool()})
	if err != nil {
		t.Fatal(err)
	}
	check(t, c, "GET a", `"1"`)
}

// TestClientCertificates is mutual TLS: who gets in, with what.
func TestClientCertificates(t *testing.T) {
	stranger := certtest.NewAuthority(t, "authority")
	for demand, want := range map[config.ClientAuth]map[string]bool{
		config.AuthYes:      {"good": true, "none": false, "expired": false, "stranger's": false},
		config.AuthOptional: {"good": true, "none": true, "expired": false, "stranger's": false},
		config.AuthNo:       {"good": true, "none": true, "expired": true, "stranger's": true},
	} {
		s := startSecured(t, func(o *config.Options) { o.AuthClients = demand })
		pairs := map[string][]tls.Certificate{
			"good": {s.authority.Issue(t, "client").TLS(t)}, "none": nil,
			"expired":    {s.authority.Issue(t, "client", certtest.Expired).TLS(t)},
			"stranger's": {stranger.Issue(t, "client").TLS(t)},
		}
		for name, pair := range pairs {
			c, err := s.client(t, pair...)
			if err == nil { // with TLS 1.3 a client learns of its refusal from its first read
				_, err = c.Do("PING")
			}
			if (err == nil) != want[name] {
				t.Errorf("clients' certificates: %s; with %s certificate: %v", demand, name, err)
			}
		}
		if demand != config.AuthNo && !s.log.has("a TLS handshake failed") {
			t.Errorf("%s: refusals are not logged", demand)
		}
	}
}

// TestCertificatesAreReadAgain renews them by each way there is.
func TestCertificatesAreReadAgain(t *testing.T) {
	s := startSecured(t, func(o *config.Options) { o.AuthClients, o.CertRefresh = config.AuthNo, config.Given(0) })
	old, err := s.client(t)
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "by reload")
	if got := s.shown(t); got != "first" {
		t.Errorf("before it is told to reload the server shows %s", got)
	}
	if err := s.Reload(); err != nil || s.shown(t) != "by reload" {
		t.Errorf("after Reload the server shows %s, %v", s.shown(t), err)
	}

	other := t.TempDir()
	pair := s.authority.Issue(t, "by CONFIG SET")
	cert, key := certtest.Write(t, other, "c", pair.Certificate), certtest.Write(t, other, "k", pair.Key)
	const refused = "-ERR CONFIG SET failed (possibly related to argument 'tls-cert-file') - Unable to update TLS configuration. Check server logs."
	check(t, old, "CONFIG SET tls-cert-file "+cert, refused) // its key is another
	check(t, old, "CONFIG SET tls-cert-file /nowhere tls-key-file "+key, refused)
	if got := s.shown(t); got != "by reload" || !s.log.has("TLS options are refused") {
		t.Errorf("after refusals the server shows %s", got)
	}
	check(t, old, "CONFIG SET tls-cert-file "+cert+" tls-key-file "+key, "+OK")
	if got := s.shown(t); got != "by CONFIG SET" {
		t.Errorf("after CONFIG SET the server shows %s", got)
	}
	check(t, old, "CONFIG GET tls-cert-file", `["tls-cert-file" "`+cert+`"]`)

	check(t, old, "CONFIG SET cert-refresh-freq 1", "+OK")
	pair = s.authority.Issue(t, "by a change of files")
	certtest.Write(t, other, "c", pair.Certificate)
	certtest.Write(t, other, "k", pair.Key)
	eventually(t, "the changed files to be read", func() bool { return s.shown(t) == "by a change of files" })

	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the lost key to be logged", func() bool { return s.log.has("cannot be used; the former certificate stays") })
	if err := s.Reload(); err == nil || s.shown(t) != "by a change of files" {
		t.Errorf("without its key the server shows %s, %v", s.shown(t), err)
	}
	check(t, old, "CONFIG SET tls-auth-clients optional tls-ca-cert-file "+os.DevNull, strings.ReplaceAll(refused, "tls-cert-file", "tls-auth-clients"))
	check(t, old, "PING", "+PONG")
}

func TestExpiredCertificate(t *testing.T) {
	authority := certtest.NewAuthority(t, "authority")
	s := startSecured(t, func(o *config.Options) {
		pair := authority.Issue(t, "old", certtest.Expired)
		o.AuthClients, o.KeyFile = config.AuthNo, ""
		o.CertFile = certtest.Write(t, t.TempDir(), "both", append(pair.Key, pair.Certificate...))
	})
	if !s.log.has("has expired") {
		t.Error("an expired certificate is not logged")
	}
	_, err := servertest.DialTLS(t, s.Addr().String(), &tls.Config{RootCAs: authority.Pool()})
	if err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("a client of an expired certificate: %v", err)
	}
}

// TestPlainTextIsLogged sends a command in plain text to the TLS port.
func TestPlainTextIsLogged(t *testing.T) {
	s := startSecured(t, noClientCertificates)
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = conn.Write([]byte("PING\r\n"))
	if text, _ := io.ReadAll(conn); bytes.Contains(text, []byte("PONG")) {
		t.Errorf("it is answered: %q", text)
	}
	eventually(t, "a line in the log", func() bool { return s.log.has("first record does not look like a TLS handshake") })
}

func TestNewRefusesCertificates(t *testing.T) {
	options := small()
	options.TLS, options.AuthClients, options.CertFile = config.On, config.AuthNo, "/nowhere/server.crt"
	if _, err := server.New(server.Options{Options: options}); err == nil || !strings.Contains(err.Error(), "/nowhere/server.crt") {
		t.Errorf("a certificate that is not there: %v", err)
	}
}
