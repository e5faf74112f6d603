package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/benchmark/program"
	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
)

// runProgram runs the program and returns its exit code, output and error output.
func runProgram(flags, input string) (code int, out, failures string) {
	var stdout, stderr bytes.Buffer
	code = run(strings.Fields(flags), strings.NewReader(input), &stdout, &stderr, new(atomic.Bool))
	return code, stdout.String(), stderr.String()
}

// startServer starts a Pyrope server that ends with the test, and returns its port.
func startServer(t *testing.T) string {
	t.Helper()
	s, err := server.New(server.Options{Options: config.Options{Memory: 64 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return strconv.Itoa(s.Addr().(*net.TCPAddr).Port)
}

// dbSize counts the keys of a server.
func dbSize(t *testing.T, port string) string {
	t.Helper()
	conn, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "DBSIZE\r\n")
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func TestPyropeIsBenchmarked(t *testing.T) {
	port := startServer(t)
	for _, c := range []struct{ flags, want string }{
		{"-t ping,set,get,incr,mset -n 3000 -q", `^ \rPING_INLINE: [0-9.]+ requests per second, p50=[0-9.]+ msec\n \rPING_MBULK: .*\n \rSET: .*\n \rGET: .*\n \rINCR: .*\n \rMSET \(10 keys\): .*\n\n$`},
		{"-t set -n 5000 -P 16 -c 7 --threads 3", `  5[0-9]{3} requests completed in [0-9.]+ seconds\n  7 parallel clients\n(.*\n)*  multi-thread: yes\n  threads: 3\n`},
		{"-t get -n 40 -c 4 -k 0 --csv", `^"test",.*\n"GET","[0-9.]+",("[0-9.]+",?){6}\n$`},
		{"-t get,set -n 300 -3 --dbnum 0 -d 100000 -c 3 -P 8 -q", `SET: .*\n \rGET: `},
		{"-n 30 -q -- 2 set foo __data__ ; get foo", ` \r2 set foo __data__ ; get foo: `},
	} {
		code, out, failures := runProgram("-p "+port+" "+c.flags, "")
		if code != 0 || !regexp.MustCompile(c.want).MatchString(out) {
			t.Errorf("%s: exit %d: %q %s, want it to match %q", c.flags, code, out, failures, c.want)
		}
	}
	if got := dbSize(t, port); got != ":3" {
		t.Errorf("the server holds %s keys, want one of SET and MSET, the counter and foo", got)
	}
	if code, _, failures := runProgram("-p "+port+" -t set -n 3000 -r 100 -q", ""); code != 0 || dbSize(t, port) != ":103" {
		t.Errorf("random keys: exit %d %s, %s keys", code, failures, dbSize(t, port))
	}
}

func TestErrorsEndTheProgram(t *testing.T) {
	port := startServer(t)
	for flags, want := range map[string]string{
		"-n 100 nosuch a":           "Error from server: ERR unknown command 'nosuch'",
		"-n 100 -t get -a secret":   "replied with error:\nERR AUTH",
		"-n 100 -t get --dbnum 999": "Error from server: ERR DB index is out of range",
		"-p 1 -n 100":               "cannot connect to the server at 127.0.0.1:1: ",
		"-s /nowhere/x":             "cannot connect to the server at /nowhere/x: ",
	} {
		if code, out, failures := runProgram("-p "+port+" "+flags, ""); code != program.Failure || !strings.Contains(failures, want) {
			t.Errorf("%s: exit %d: %s%s, want %q", flags, code, out, failures, want)
		}
	}
	if code, _, failures := runProgram("-c 0", ""); code != program.Usage || failures != "ERROR: -c must be from 1 to 1048576 (got 0)\n" {
		t.Errorf("exit %d: %s", code, failures)
	}
}

// recorder is a server that keeps what each connection sends and answers every command alike.
type recorder struct {
	port        string
	guard       sync.Mutex
	connections []string
}

// startRecorder starts one that ends with the test.
func startRecorder(t *testing.T, answer string) *recorder {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{port: strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			r.guard.Lock()
			index := len(r.connections)
			r.connections = append(r.connections, "")
			r.guard.Unlock()
			group.Go(func() { r.serve(conn, index, answer) })
		}
	})
	t.Cleanup(func() { listener.Close(); group.Wait() })
	return r
}

// serve keeps and answers what one connection sends, a command at a time.
func (r *recorder) serve(conn net.Conn, index int, answer string) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		text := line
		if line[0] == '*' {
			count, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
			for range 2 * count {
				line, _ = in.ReadString('\n')
				text += line
			}
		}
		r.guard.Lock()
		r.connections[index] += text
		r.guard.Unlock()
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
}

// sent is what the connections have sent.
func (r *recorder) sent() []string {
	r.guard.Lock()
	defer r.guard.Unlock()
	return slices.Clone(r.connections)
}

func TestConnectionsBeginWithTheSetup(t *testing.T) {
	r := startRecorder(t, "+OK\r\n")
	if code, out, failures := runProgram("-p "+r.port+" -a pw --user bob --dbnum 3 --enable-tracking -3 -n 4 -c 1 -P 2 -q -d 10 set a __data__", ""); code != 0 ||
		!strings.Contains(failures, "WARNING: Could not fetch server CONFIG") {
		t.Fatalf("exit %d: %s%s", code, out, failures)
	}
	const auth, set = "*3\r\n$4\r\nAUTH\r\n$3\r\nbob\r\n$2\r\npw\r\n", "*3\r\n$3\r\nset\r\n$1\r\na\r\n$10\r\nVXKeHogKgJ\r\n"
	sent := r.sent()
	if want := auth + "*3\r\n$6\r\nCLIENT\r\n$8\r\nTRACKING\r\n$2\r\non\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n" + strings.Repeat(set, 4); len(sent) != 2 || sent[1] != want {
		t.Errorf("it sends %q, want %q last", sent, want)
	}
	if !strings.HasPrefix(sent[0], auth+"*3\r\n$6\r\nCONFIG\r\n$3\r\nGET\r\n$4\r\nsave\r\n") {
		t.Errorf("it begins with %q", sent[0])
	}
}

func TestReconnectingSendsOneBatchAConnection(t *testing.T) {
	r := startRecorder(t, "+OK\r\n")
	if code, _, failures := runProgram("-p "+r.port+" -n 6 -c 2 -k 0 -q get a", ""); code != 0 {
		t.Fatalf("exit %d: %s", code, failures)
	}
	const get = "*2\r\n$3\r\nget\r\n$1\r\na\r\n"
	total := 0
	for _, text := range r.sent()[1:] {
		if text != get && text != "" {
			t.Errorf("a connection sent %q", text)
		}
		total += strings.Count(text, get)
	}
	if total != 6 {
		t.Errorf("%d requests were sent, want 6", total)
	}
}

func TestLastArgumentFromStdin(t *testing.T) {
	r := startRecorder(t, "+OK\r\n")
	if code, out, failures := runProgram("-p "+r.port+" -n 1 -c 1 -q -x set a", "from stdin"); code != 0 || !strings.Contains(out, "set a: ") {
		t.Fatalf("exit %d: %s%s", code, out, failures)
	}
	if sent := r.sent(); !strings.HasPrefix(sent[len(sent)-1], "*3\r\n$3\r\nset\r\n$1\r\na\r\n$10\r\nfrom stdin\r\n") {
		t.Errorf("it sends %q", sent)
	}
}

func TestInterruptEndsLoopsAndIdling(t *testing.T) {
	port := startServer(t)
	for _, c := range []struct{ flags, wanted string }{
		{"-l -q -t ping -n 500", "PING_MBULK: .*PING_MBULK: .*PING_MBULK: "}, // whose second line may be a round under way
		{"-I -c 5", "^Creating 5 idle connections and waiting forever \\(Ctrl\\+C when done\\)\nclients: 5\rclients: 5\r"},
		{"-q -t get -n 1000000000", "GET"},
	} {
		var failures bytes.Buffer
		out := &watcher{wanted: regexp.MustCompile("(?s)" + c.wanted), interrupted: new(atomic.Bool)}
		timer := time.AfterFunc(time.Minute, func() { out.interrupted.Store(true) })
		code := run(strings.Fields("-p "+port+" "+c.flags), nil, out, &failures, out.interrupted)
		timer.Stop()
		if code != program.Interrupted || failures.Len() > 0 || !out.wanted.MatchString(out.String()) {
			t.Errorf("%s: exit %d: %.300q%s; want %q", c.flags, code, out.String(), &failures, c.wanted)
		}
	}
}

// watcher keeps what a program prints, and interrupts it once it has printed what is wanted.
type watcher struct {
	bytes.Buffer
	wanted      *regexp.Regexp
	interrupted *atomic.Bool
}

func (w *watcher) Write(data []byte) (int, error) {
	n, err := w.Buffer.Write(data)
	if w.wanted.Match(w.Bytes()) {
		w.interrupted.Store(true)
	}
	return n, err
}

func TestReadStrings(t *testing.T) {
	for text, want := range map[string][]string{
		"*2\r\n$4\r\nsave\r\n$0\r\n\r\n": {"save", ""}, "+OK\r\n": {"OK"}, ":7\r\n": {"7"}, "$-1\r\n": {""}, "*0\r\n": nil,
	} {
		if got, err := readStrings(bufio.NewReader(strings.NewReader(text))); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q reads as %q, %v", text, got, err)
		}
	}
	var refusal refusedError
	if _, err := readStrings(bufio.NewReader(strings.NewReader("-NOAUTH no\r\n"))); !errors.As(err, &refusal) || refusal != "NOAUTH no" {
		t.Error(err)
	}
	for _, text := range []string{"", "\r\n", "?\r\n", "$x\r\n", "$5\r\nab", "*2\r\n+a\r\n", "$99999999\r\n"} {
		if got, err := readStrings(bufio.NewReader(strings.NewReader(text))); err == nil {
			t.Errorf("%q reads as %q", text, got)
		}
	}
}

// TestSequentialReachesEveryKey: as many requests as keys are one for each, over all connections and threads.
func TestSequentialReachesEveryKey(t *testing.T) {
	port := startServer(t)
	if code, out, failures := runProgram("-p "+port+" -t set -n 5000 -r 5000 -P 8 -c 7 --threads 2 --sequential -q", ""); code != 0 {
		t.Fatalf("exit %d: %s%s", code, out, failures)
	}
	if size := strings.TrimSpace(dbSize(t, port)); size != ":5000" && size != "5000" {
		t.Errorf("%s keys, want 5000", size)
	}
}
