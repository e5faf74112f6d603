package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asServer in the environment makes the test binary run the program instead of tests: so tests
// can start it as a process of its own.
const asServer = "PYROPE_TEST_AS_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		main()
	}
	os.Exit(m.Run())
}

// process is the program as a process of its own on a unix socket.
type process struct {
	*exec.Cmd
	socket string
}

// startProcess starts the program with a unix socket and no TCP.
func startProcess(t *testing.T, arguments ...string) *process {
	t.Helper()
	p := &process{socket: filepath.Join(t.TempDir(), "s")}
	p.Cmd = exec.Command(os.Args[0], append([]string{"--port", "0", "--unixsocket", p.socket, "-q"}, arguments...)...)
	p.Env = append(os.Environ(), asServer+"=1")
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Process.Kill()
		p.Wait()
	})
	return p
}

// connect waits until the process takes connections.
func (p *process) connect(t *testing.T) net.Conn {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(200 * time.Microsecond) {
		if connection, err := net.Dial("unix", p.socket); err == nil {
			t.Cleanup(func() { connection.Close() })
			return connection
		}
	}
	t.Fatal("the program does not listen")
	return nil
}

// residentBytes is the memory of a process that is in RAM.
func residentBytes(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		t.Fatalf("no VmRSS in %s", status)
	}
	kilobytes, _ := strconv.Atoi(string(found[1]))
	return kilobytes << 10
}

// TestFreshServerIsSmallAndQuick starts the program with its default sizes. The time is the best of
// several, since other tests may keep the machine busy.
func TestFreshServerIsSmallAndQuick(t *testing.T) {
	const limit = 50 * time.Millisecond
	best, work, resident := time.Hour, time.Hour, 0
	for range 5 {
		begin := time.Now()
		p := startProcess(t)
		connection := p.connect(t)
		fmt.Fprint(connection, "SET a 1\r\nGET a\r\n")
		reader := bufio.NewReader(connection)
		for range 3 {
			if _, err := reader.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		best = min(best, time.Since(begin))
		resident = max(resident, residentBytes(t, p.Process.Pid))
		p.Process.Signal(syscall.SIGTERM)
		if err := p.Wait(); err != nil {
			t.Errorf("after SIGTERM: %v", err)
		}
		work = min(work, p.ProcessState.UserTime()+p.ProcessState.SystemTime())
		if _, err := os.Stat(p.socket); !os.IsNotExist(err) {
			t.Errorf("the socket file is left behind: %v", err)
		}
	}
	t.Logf("first replies after %v, %v of processors for a whole life, %d KB resident", best, work, resident>>10)
	if resident > 40<<20 {
		t.Errorf("a fresh server has %d KB resident; want at most 40 MB", resident>>10)
	}
	if best > limit && (work > 2*limit || best > 20*limit) { // a busy machine takes longer, for no more work
		t.Errorf("the first replies come after %v and %v of work; want at most %v", best, work, limit)
	}
}

// TestSecondProcessOnOneSocket expects the second to leave the first alone.
func TestSecondProcessOnOneSocket(t *testing.T) {
	first := startProcess(t, "--memory", "16m")
	first.connect(t)
	second := exec.Command(os.Args[0], "--port", "0", "--unixsocket", first.socket, "--memory", "16m", "-q", "--logger-level", "none")
	second.Env = append(os.Environ(), asServer+"=1")
	output, err := second.CombinedOutput()
	if err == nil || !strings.Contains(string(output), "another process listens on it") || strings.Count(string(output), "\n") != 1 {
		t.Errorf("the second process: %v, %q", err, output)
	}
	connection := first.connect(t)
	fmt.Fprint(connection, "PING\r\n")
	reply := make([]byte, 7)
	if _, err := connection.Read(reply); err != nil || string(reply) != "+PONG\r\n" {
		t.Errorf("the first process replies %q, %v", reply, err)
	}
}
