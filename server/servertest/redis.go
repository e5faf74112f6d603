package servertest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// startTimeout is how long redis-server may take to answer.
const startTimeout = time.Minute

// StartRedis starts a redis-server, without persistence and with its files in a directory of the
// test's, and returns its address. It ends with the test. If there is no redis-server the test is
// skipped and says how to install it; with CI=true in the environment it fails instead.
func StartRedis(tb testing.TB) (address string) {
	tb.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		const advice = "redis-server is not installed; replies cannot be compared with it (Debian: apt-get install redis-server)"
		if os.Getenv("CI") == "true" {
			tb.Fatal(advice)
		}
		tb.Skip(advice)
	}
	directory := tb.TempDir()
	for range 5 { // another process may take the free port first
		port := freePort(tb)
		address = net.JoinHostPort("127.0.0.1", fmt.Sprint(port))
		log := filepath.Join(directory, "redis.log")
		process := exec.Command(path, "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--enable-debug-command", "yes",
			"--dir", directory, "--logfile", log)
		if err := process.Start(); err != nil {
			tb.Fatalf("cannot start redis-server: %v", err)
		}
		ended := make(chan struct{})
		go func() {
			process.Wait()
			close(ended)
		}()
		if waitForPing(address, ended) {
			tb.Cleanup(func() {
				process.Process.Kill()
				<-ended
			})
			return address
		}
		process.Process.Kill()
		<-ended
	}
	text, _ := os.ReadFile(filepath.Join(directory, "redis.log"))
	tb.Fatalf("cannot start redis-server: it does not answer. Its log says:\n%s", text)
	return ""
}

// waitForPing reports whether the server answers a PING before it ends or the time is up.
func waitForPing(address string, ended <-chan struct{}) bool {
	for began := time.Now(); time.Since(began) < startTimeout; {
		client := &Client{network: "tcp", address: address}
		if client.Reconnect() == nil {
			reply, err := client.Do("PING")
			client.connection.Close()
			if err == nil && string(reply.Text) == "PONG" {
				return true
			}
		}
		select {
		case <-ended:
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
	return false
}

// freePort returns a TCP port that nothing listens on at the moment.
func freePort(tb testing.TB) int {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("cannot find a free port: %v", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
