package server_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/resp"
	"github.com/pyropedb/pyrope/server/servertest"
)

// TestMain fails the suite when a closed server has left a goroutine or a file behind.
func TestMain(m *testing.M) {
	// The runtime opens its poller with the first socket, and keeps it.
	if listener, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		listener.Close()
	}
	files := openFiles()
	code := m.Run()
	if code == 0 {
		if leak := leftBehind(files); leak != "" {
			fmt.Fprintln(os.Stderr, leak)
			code = 1
		}
	}
	os.Exit(code)
}

// leftBehind describes what is still there after a grace, or is empty.
func leftBehind(files int) string {
	var stacks string
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		buffer := make([]byte, 1<<20)
		stacks = string(buffer[:runtime.Stack(buffer, true)])
		if !strings.Contains(strings.Join(strings.Split(stacks, "\n\n")[1:], "\n\n"), "pyropedb/pyrope") && openFiles() <= files {
			return ""
		}
	}
	return fmt.Sprintf("%d files open, %d before; goroutines:\n%s", openFiles(), files, stacks)
}

// openFiles is the number of descriptors; 0 where it cannot be known.
func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

// target answers commands: a connection or an in-process client.
type target interface {
	Do(words ...string) (resp.Value, error)
}

// small are options for tests: 16 MB in pages of 1 MB.
func small() config.Options {
	return config.Options{Memory: 16 << 20, Page: 1 << 20, Index: 1 << 20}
}

// start starts a server that ends with the test.
func start(t *testing.T, options config.Options) *server.Server {
	t.Helper()
	s := newServer(t, options)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// newServer makes a server that is closed with the test.
func newServer(t *testing.T, options config.Options) *server.Server {
	t.Helper()
	if options.EnableDebug == "" {
		options.EnableDebug = config.DebugYes
	}
	s, err := server.New(server.Options{Options: options})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("cannot close the server: %v", err)
		}
	})
	if err := s.LoadError(); err != nil {
		t.Fatal(err)
	}
	return s
}

// dial connects to a server.
func dial(t *testing.T, s *server.Server) *servertest.Client {
	t.Helper()
	return servertest.Dial(t, s.Addr().String())
}

// do sends a command, whose words are separated by blanks, and returns the reply in servertest's notation.
func do(t *testing.T, to target, line string) string {
	t.Helper()
	reply, err := to.Do(strings.Fields(line)...)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return servertest.Notation(reply)
}

// check sends a command and compares its reply.
func check(t *testing.T, to target, line, want string) {
	t.Helper()
	if got := do(t, to, line); got != want {
		t.Errorf("%s\n got %s\nwant %s", line, got, want)
	}
}

// info returns the fields of an INFO section.
func info(t *testing.T, to target, section string) map[string]string {
	t.Helper()
	reply, err := to.Do("INFO", section)
	if err != nil {
		t.Fatal(err)
	}
	fields := make(map[string]string)
	for line := range strings.Lines(string(reply.Text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// ringsProblem is why io_uring cannot serve connections here; nil if it can.
var ringsProblem = sync.OnceValue(func() error {
	options := small()
	options.NetworkBackend = config.BackendUring
	s, err := server.New(server.Options{Options: options})
	if err == nil {
		err = errors.Join(s.Start(), s.Close())
	}
	return err
})

// onBackends runs test once for each way to serve connections that the platform has.
func onBackends(t *testing.T, test func(t *testing.T, backend config.NetworkBackend)) {
	backends := []config.NetworkBackend{config.BackendNet}
	if runtime.GOOS == "linux" {
		backends = append(backends, config.BackendEpoll)
		if ringsProblem() == nil {
			backends = append(backends, config.BackendUring)
		}
	}
	for _, backend := range backends {
		t.Run(string(backend), func(t *testing.T) { test(t, backend) })
	}
}
