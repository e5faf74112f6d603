package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// output collects what the program prints, for a reader beside it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(text)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// waitFor waits until the program has printed a text.
func (o *output) waitFor(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(o.String(), text); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q is not printed; there is %q", text, o.String())
		}
	}
}

// program is a run of the program in this process.
type program struct {
	stdout, stderr output
	signals        chan os.Signal
	code           chan int
}

func launch(arguments ...string) *program {
	p := &program{signals: make(chan os.Signal, 1), code: make(chan int, 1)}
	go func() { p.code <- run(arguments, &p.stdout, &p.stderr, p.signals) }()
	return p
}

// exits waits for the program and checks its exit code.
func (p *program) exits(t *testing.T, want int) {
	t.Helper()
	select {
	case code := <-p.code:
		if code != want {
			t.Errorf("exit code %d, want %d; it says %q %q", code, want, p.stdout.String(), p.stderr.String())
		}
	case <-time.After(time.Minute):
		t.Fatalf("the program does not end; it says %q %q", p.stdout.String(), p.stderr.String())
	}
}

// address is what the program says it listens on.
func (p *program) address(t *testing.T) string {
	t.Helper()
	p.stdout.waitFor(t, "* Ready to accept connections\n")
	_, behind, found := strings.Cut(p.stderr.String(), "address=")
	if !found {
		t.Fatalf("no address in %q", p.stderr.String())
	}
	return strings.Fields(behind)[0]
}

func TestRunsUntilASignal(t *testing.T) {
	for _, sent := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := launch("--port", "0", "--memory", "16m")
		connection, err := net.Dial("tcp", p.address(t))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(connection, "PING\r\n")
		reply := make([]byte, 7)
		if _, err := connection.Read(reply); err != nil || string(reply) != "+PONG\r\n" {
			t.Errorf("reply %q, %v", reply, err)
		}
		p.signals <- sent
		p.exits(t, 0)
		connection.Close()
		if !strings.HasPrefix(p.stdout.String(), "Pyrope ") {
			t.Errorf("no banner: %q", p.stdout.String())
		}
	}
}

func TestRunsUntilShutdown(t *testing.T) {
	p := launch("--port", "0", "--memory", "16m", "-q")
	connection, err := net.Dial("tcp", p.address(t))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprint(connection, "CONFIG SET loglevel debug\r\nSHUTDOWN\r\n")
	p.exits(t, 0)
	if out := p.stdout.String(); out != "* Ready to accept connections\n" {
		t.Errorf("with -q it prints %q", out)
	}
	if log := p.stderr.String(); !strings.Contains(log, "level=Information") || !strings.Contains(log, "request=SHUTDOWN") {
		t.Errorf("log %q", log)
	}
}

// TestHangUpReloads rotates the log's file under a running program.
func TestHangUpReloads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	p := launch("--port", "0", "--memory", "16m", "-q", "--logfile", path, "--logger-format", "json")
	p.stdout.waitFor(t, "* Ready to accept connections\n")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	p.signals <- syscall.SIGHUP
	for end := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		text, _ := os.ReadFile(path)
		if strings.Contains(string(text), `"msg":"reloaded"`) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the new file has %q", text)
		}
	}
	p.signals <- syscall.SIGTERM
	p.exits(t, 0)
	if text, err := os.ReadFile(path + ".1"); err != nil || !strings.Contains(string(text), `"msg":"listening"`) || p.stderr.String() != "" {
		t.Errorf("the old file has %q, %v; standard error %q", text, err, p.stderr.String())
	}
}

func TestErrorsAreOneLine(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	for _, c := range []struct{ line, want string }{
		{"--memory 8m --page 4m", "pyrope-server: --memory 8m is too small for --page 4m: at least 12m (3 pages)\n"},
		{"--max-databases 999 --mutable-percent 101 -q", "--mutable-percent 101 is out of range: 1 to 99; --max-databases 999 is out of range: 1 to 256\n"},
		{"--memroy 4g", "pyrope-server: unknown flag --memroy, did you mean \"--memory\"?\n"},
		{"--logdir /tmp", "pyrope-server: --logdir /tmp needs --storage-tier\n"},
		{"--logger-level none --memory 16m --port " + port, "pyrope-server: cannot listen on 127.0.0.1:" + port},
	} {
		p := launch(strings.Fields(c.line)...)
		p.exits(t, 1)
		if got := p.stderr.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.line, got, c.want)
		}
	}
}

func TestVersion(t *testing.T) {
	p := launch("--version")
	p.exits(t, 0)
	if got := p.stdout.String(); !strings.HasPrefix(got, "Pyrope ") || !strings.Contains(got, "Redis 7.") || p.stderr.String() != "" {
		t.Errorf("version %q %q", got, p.stderr.String())
	}
}
