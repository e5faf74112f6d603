package clienttest_test

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/certtest"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/redis/go-redis/v9"
)

// secure is a server with mutual TLS, and what a client of it needs.
type secure struct {
	host, port    string
	authority     *certtest.Authority
	pair          certtest.Pair
	ca, cert, key string // files
}

func startSecure(t *testing.T) secure {
	t.Helper()
	directory := t.TempDir()
	s := secure{authority: certtest.NewAuthority(t, "authority")}
	own := s.authority.Issue(t, "server")
	s.pair = s.authority.Issue(t, "client")
	s.ca = certtest.Write(t, directory, "ca.crt", s.authority.PEM())
	s.cert, s.key = certtest.Write(t, directory, "client.crt", s.pair.Certificate), certtest.Write(t, directory, "client.key", s.pair.Key)
	instance, err := server.New(server.Options{Options: config.Options{
		Memory: 16 << 20, TLS: config.On, CAFile: s.ca,
		CertFile: certtest.Write(t, directory, "server.pem", append(own.Key, own.Certificate...)),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := instance.Close(); err != nil {
			t.Errorf("cannot close the server: %v", err)
		}
	})
	if err := instance.Start(); err != nil {
		t.Fatal(err)
	}
	s.host, s.port, _ = net.SplitHostPort(instance.Addr().String())
	return s
}

func TestGoRedisOverTLS(t *testing.T) {
	s := startSecure(t)
	client := redis.NewClient(&redis.Options{
		Addr: net.JoinHostPort(s.host, s.port), ClientName: "session",
		TLSConfig: &tls.Config{RootCAs: s.authority.Pool(), Certificates: []tls.Certificate{s.pair.TLS(t)}},
	})
	defer client.Close()
	t.Run("strings", func(t *testing.T) { goRedisStrings(t, client) })
	t.Run("keys", func(t *testing.T) { goRedisKeys(t, client) })
	t.Run("server", func(t *testing.T) { goRedisServer(t, client) })
	t.Run("at once", func(t *testing.T) { goRedisAtOnce(t, client) })

	stranger := redis.NewClient(&redis.Options{
		Addr: net.JoinHostPort(s.host, s.port), TLSConfig: &tls.Config{RootCAs: s.authority.Pool()}, MaxRetries: -1,
	})
	defer stranger.Close()
	if err := stranger.Ping(context.Background()).Err(); err == nil {
		t.Error("a client without a certificate is served")
	}
}

func TestRedisToolsOverTLS(t *testing.T) {
	s := startSecure(t)
	arguments := func(more ...string) []string {
		return append([]string{"--tls", "--cacert", s.ca, "--cert", s.cert, "--key", s.key}, more...)
	}
	for _, c := range []struct{ command, want string }{{"SET a 1", "OK"}, {"GET a", "1"}, {"PING", "PONG"}} {
		if got := strings.TrimSpace(tool(t, "redis-cli", s.host, s.port, arguments(strings.Fields(c.command)...)...)); got != c.want {
			t.Errorf("redis-cli --tls %s: %q, want %q", c.command, got, c.want)
		}
	}
	output := tool(t, "redis-benchmark", s.host, s.port, arguments("-t", "set,get", "-P", "16", "-n", "20000", "-q")...)
	if lower := strings.ToLower(output); !strings.Contains(output, "GET: ") || strings.Contains(lower, "error") {
		t.Errorf("redis-benchmark --tls: %s", output)
	}
}
