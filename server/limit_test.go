package server_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/servertest"
)

// raw connects without a client around it. The connection ends with the test.
func raw(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// ends waits for the server to close a connection that sends nothing more.
func ends(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := io.Copy(io.Discard, conn); err != nil && strings.Contains(err.Error(), "timeout") {
		t.Error("the server does not close the connection")
	}
}

func TestIdleTimeout(t *testing.T) {
	s := start(t, small())
	begin := time.Now()
	idle, sleeper, c := raw(t, s.Addr().String()), dial(t, s), dial(t, s)
	embedded, err := s.Client()
	if err != nil {
		t.Fatal(err)
	}
	check(t, c, "CONFIG SET timeout 1", "+OK")
	if err := sleeper.Send(append(servertest.AppendCommand(nil, "DEBUG", "SLEEP", "2.5"), servertest.AppendCommand(nil, "PING")...)); err != nil {
		t.Fatal(err)
	}
	ends(t, idle)
	if took := time.Since(begin); took < time.Second || took > 30*time.Second {
		t.Errorf("an idle connection is closed after %v, want 1 to 2 s", took)
	}
	for _, want := range []string{"+OK", "+PONG"} {
		if reply, _, err := sleeper.Receive(); err != nil || servertest.Notation(reply) != want {
			t.Errorf("a connection whose command takes long gets %s, %v; want %s", servertest.Notation(reply), err, want)
		}
	}
	check(t, embedded, "PING", "+PONG")
}

// TestStalledPeersMakeRoom: while connections hold more than their part of memory, one whose peer does not send the rest of its request
// goes. One that a command keeps waiting does not, whatever it holds.
func TestStalledPeersMakeRoom(t *testing.T) {
	s := start(t, small())
	const held, rest = 1_200_000, 200_000
	begin := fmt.Sprintf("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n%s", held+rest, strings.Repeat("x", held))
	stalled, paused := raw(t, s.Addr().String()), raw(t, s.Addr().String())
	for _, conn := range []net.Conn{stalled, paused} {
		if _, err := io.WriteString(conn, begin); err != nil {
			t.Fatal(err)
		}
	}
	admin := dial(t, s)
	eventually(t, "the server holds both requests", func() bool {
		reply, err := admin.Do("CLIENT", "LIST")
		return err == nil && strings.Count(string(reply.Text), fmt.Sprintf(" qbuf=%d ", len(begin))) == 2
	})
	check(t, admin, "CLIENT PAUSE 60000 WRITE", "+OK")
	if _, err := io.WriteString(paused, strings.Repeat("x", rest)+"\r\n"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pause to hold the request", func() bool { return s.KeptWaiting() == 1 })
	now := time.Now()
	for later := time.Duration(0); later < 100*time.Second; later += 20 * time.Second {
		s.DropStalled(now.Add(later), now.Add(later+15*time.Second))
	}
	ends(t, stalled)
	check(t, admin, "CLIENT UNPAUSE", "+OK")
	reply := make([]byte, 5)
	if _, err := io.ReadFull(paused, reply); err != nil || string(reply) != "+OK\r\n" {
		t.Errorf("one that was kept waiting gets %q, %v", reply, err)
	}
}

// TestLaggardsMakeRoom: one whose peer has begun a request and sends the rest a byte at a time is closed when others need the room, and they are
// served. INFO tells of those who wait, and an idle timeout does not end them.
func TestLaggardsMakeRoom(t *testing.T) {
	s := start(t, small())
	const size = 2_000_000
	begin := fmt.Sprintf("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n%s", size, strings.Repeat("x", size/2))
	admin := dial(t, s)
	check(t, admin, "CONFIG SET timeout 2", "+OK")
	trickles := raw(t, s.Addr().String())
	if _, err := io.WriteString(trickles, begin); err != nil {
		t.Fatal(err)
	}
	trickle := func() bool {
		_, err := io.WriteString(trickles, "x")
		return err == nil
	}
	eventually(t, "the server holds the first request", func() bool {
		held, err := strconv.Atoi(info(t, admin, "memory")["mem_clients_normal"])
		return err == nil && held >= size/2
	})
	waits := raw(t, s.Addr().String())
	if _, err := io.WriteString(waits, begin[:len(begin)-size/2+100_000]); err != nil {
		t.Fatal(err)
	}
	waiting := func() bool { return info(t, admin, "clients")["input_waiting_clients"] == "1" }
	eventually(t, "the second to wait", waiting)
	for begun := time.Now(); time.Since(begun) < 3500*time.Millisecond; time.Sleep(100 * time.Millisecond) {
		if !trickle() || !waiting() {
			t.Fatal("the second does not wait for the first")
		}
	}
	check(t, admin, "CONFIG SET timeout 0", "+OK") // once it has room, it is the peer of the second that has sent nothing for long
	now := time.Now()
	s.DropLaggards(now, now.Add(11*time.Second))
	ends(t, trickles)
	if _, err := io.WriteString(waits, strings.Repeat("x", size-100_000)+"\r\n"); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, 5)
	if _, err := io.ReadFull(waits, reply); err != nil || string(reply) != "+OK\r\n" {
		t.Errorf("one that waited gets %q, %v", reply, err)
	}
	check(t, dial(t, s), "STRLEN k", fmt.Sprint(":", size))
}

// TestOutputLimits has peers that read nothing, with both kinds of limit, with and without TLS.
func TestOutputLimits(t *testing.T) {
	for _, limits := range []string{"normal 256kb 0 0", "normal 0 256kb 1"} {
		plain := start(t, small())
		secured := startSecured(t, noClientCertificates)
		for _, s := range []*server.Server{plain, secured.Server} {
			admin, err := s.Client()
			if err != nil {
				t.Fatal(err)
			}
			check(t, admin, "CONFIG SET client-output-buffer-limit "+strings.ReplaceAll(limits, " ", "_"),
				"-ERR CONFIG SET failed (possibly related to argument 'client-output-buffer-limit') - Wrong number of arguments in buffer limit configuration.")
			if reply, err := admin.Do("CONFIG", "SET", "client-output-buffer-limit", limits); err != nil || string(reply.Text) != "OK" {
				t.Fatalf("CONFIG SET: %v, %v", reply, err)
			}
			if _, err := admin.Do("SET", "big", strings.Repeat("x", 500_000)); err != nil {
				t.Fatal(err)
			}
			var c *servertest.Client
			if s == plain {
				c = dial(t, s)
			} else if c, err = secured.client(t); err != nil {
				t.Fatal(err)
			}
			// The peer sends and does not read; what the kernel buffers is not the server's.
			if err := c.Send(bytes.Repeat([]byte("GET big\r\n"), 100)); err != nil {
				t.Fatal(err)
			}
			eventually(t, limits+": the connection to be closed", func() bool {
				return info(t, admin, "stats")["client_output_buffer_limit_disconnections"] == "1"
			})
			check(t, admin, "PING", "+PONG")
		}
	}
}

// TestSubscriberThatDoesNotRead is dropped at the hard limit of its class, and its publisher is served.
func TestSubscriberThatDoesNotRead(t *testing.T) {
	s := start(t, small())
	c := dial(t, s)
	if reply, err := c.Do("CONFIG", "SET", "client-output-buffer-limit", "pubsub 1mb 0 0", "timeout", "1"); err != nil || string(reply.Text) != "OK" {
		t.Fatalf("CONFIG SET: %v, %v", reply, err)
	}
	frozen, patient := dial(t, s), dial(t, s)
	check(t, frozen, "SUBSCRIBE a", `["subscribe" "a" :1]`)
	check(t, patient, "SUBSCRIBE b", `["subscribe" "b" :1]`)
	message := strings.Repeat("x", 100_000)
	eventually(t, "the subscriber to be dropped", func() bool {
		reply, err := c.Do("PUBLISH", "a", message)
		return err == nil && servertest.Notation(reply) == ":0"
	})
	time.Sleep(2500 * time.Millisecond) // longer than an idle connection may be, which a subscriber is not
	check(t, dial(t, s), "PUBLISH b x", ":1")
}

func TestQueryBufferLimit(t *testing.T) {
	s := start(t, small())
	c := dial(t, s)
	check(t, c, "CONFIG SET client-query-buffer-limit 1mb", "+OK")
	check(t, c, "CONFIG GET client-query-buffer-limit", `["client-query-buffer-limit" "1048576"]`)
	conn := raw(t, s.Addr().String())
	fmt.Fprintf(conn, "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$3000000\r\n%s", strings.Repeat("x", 2_000_000))
	ends(t, conn)
	if got := info(t, c, "stats")["client_query_buffer_limit_disconnections"]; got != "1" {
		t.Errorf("%s connections are counted", got)
	}
}

func TestMaxBulk(t *testing.T) {
	s := start(t, small())
	c := dial(t, s)
	check(t, c, "CONFIG SET proto-max-bulk-len 1mb", "+OK")
	conn := raw(t, s.Addr().String())
	fmt.Fprint(conn, "*2\r\n$4\r\nECHO\r\n$1048577\r\n")
	if reply, _ := io.ReadAll(conn); string(reply) != "-ERR Protocol error: invalid bulk length\r\n" {
		t.Errorf("reply %q", reply)
	}
	check(t, c, "CONFIG SET proto-max-bulk-len 2mb", "+OK")
	if reply, err := c.Do("ECHO", strings.Repeat("x", 2<<20)); err != nil || len(reply.Text) != 2<<20 {
		t.Errorf("ECHO of 2 MB: %d bytes, %v", len(reply.Text), err)
	}
}

// elsewhere is an address of this machine that is not loopback, or empty.
func elsewhere() string {
	addresses, _ := net.InterfaceAddrs()
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && network.IP.To4() != nil && !network.IP.IsLoopback() {
			return network.IP.String()
		}
	}
	return ""
}

func TestProtectedMode(t *testing.T) {
	host := elsewhere()
	if host == "" {
		t.Log("this machine has no address but loopback: nobody can come from elsewhere")
		return
	}
	options := small()
	options.Bind = "* -203.0.113.7"
	s := start(t, options)
	_, port, _ := net.SplitHostPort(s.Addr().String())
	c := servertest.Dial(t, net.JoinHostPort("127.0.0.1", port))
	ask := func() string {
		conn := raw(t, net.JoinHostPort(host, port))
		fmt.Fprint(conn, "PING\r\nQUIT\r\n")
		reply, _ := io.ReadAll(conn)
		return string(reply)
	}
	const denied = "-DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user. "
	if got := ask(); !strings.HasPrefix(got, denied) || !strings.HasSuffix(got, "accepting connections from the outside.\r\n") {
		t.Errorf("a peer from elsewhere is told %q", got)
	}
	check(t, c, "CONFIG SET protected-mode no", "+OK")
	if got := ask(); got != "+PONG\r\n+OK\r\n" {
		t.Errorf("without protected mode it is told %q", got)
	}
	check(t, c, "CONFIG SET protected-mode yes requirepass secret", "+OK")
	if got := ask(); !strings.HasPrefix(got, "-NOAUTH") {
		t.Errorf("with a password it is told %q", got)
	}
}

// TestConfigSetTexts compares the problems with those of Redis.
func TestConfigSetTexts(t *testing.T) {
	c := dial(t, start(t, small()))
	for _, line := range []struct{ name, value, problem string }{
		{"timeout", "x", "argument couldn't be parsed into an integer"},
		{"timeout", "-1", "argument must be between 0 and 2147483647 inclusive"},
		{"tcp-keepalive", "99999999999", "argument must be between 0 and 2147483647 inclusive"},
		{"client-query-buffer-limit", "1", "argument must be between 1048576 and 9223372036854775807 inclusive"},
		{"client-query-buffer-limit", "x", "argument must be a memory value"},
		{"proto-max-bulk-len", "1", "argument must be between 1048576 and 9223372036854775807 inclusive"},
		{"protected-mode", "x", "argument must be 'yes' or 'no'"},
		{"tls-session-caching", "x", "argument must be 'yes' or 'no'"},
		{"tls-auth-clients", "x", "argument(s) must be one of the following: no, yes, optional"},
		{"client-output-buffer-limit", "normal", "Wrong number of arguments in buffer limit configuration."},
		{"client-output-buffer-limit", "foo 1 2 3", "Invalid client class specified in buffer limit configuration."},
		{"client-output-buffer-limit", "normal 1mb 2 -1", "Error in hard, soft or soft_seconds setting in buffer limit configuration."},
		{"tcp-backlog", "5", "can't set immutable config"},
		{"logfile", "x", "can't set immutable config"},
		{"unixsocketperm", "700", "can't set immutable config"},
	} {
		reply, err := c.Do("CONFIG", "SET", line.name, line.value)
		want := fmt.Sprintf("-ERR CONFIG SET failed (possibly related to argument '%s') - %s", line.name, line.problem)
		if got := servertest.Notation(reply); err != nil || got != want {
			t.Errorf("CONFIG SET %s %q: %s, %v\nwant %s", line.name, line.value, got, err, want)
		}
	}
	if reply, err := c.Do("CONFIG", "SET", "timeout", "5", "client-output-buffer-limit", "pubsub 1mb 2 3", "tcp-keepalive", "0"); err != nil || string(reply.Text) != "OK" {
		t.Errorf("%v, %v", reply, err)
	}
	check(t, c, "CONFIG GET client-output-buffer-limit", `["client-output-buffer-limit" "normal 0 0 0 slave 268435456 67108864 60 pubsub 1048576 2 3"]`)
	check(t, c, "CONFIG GET timeout", `["timeout" "5"]`)
	check(t, c, "CONFIG GET tcp-keepalive", `["tcp-keepalive" "0"]`)
	check(t, c, "CONFIG GET proto-max-bulk-len", `["proto-max-bulk-len" "536870912"]`)
}

// unsentTo is the output that CLIENT LIST shows for the connection whose last command this was.
func unsentTo(t *testing.T, to target, command string) (unsent int) {
	t.Helper()
	reply, err := to.Do("CLIENT", "LIST")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(reply.Text)) {
		if _, text, ok := strings.Cut(line, " omem="); ok && strings.Contains(line, "cmd="+command+" ") {
			fmt.Sscan(text, &unsent)
		}
	}
	return unsent
}

// TestUnreadRepliesAreBounded has a client ask for a gigabyte and read nothing: the server stops to serve it (N3 of the
// users' wishes: at most 64 MB).
func TestUnreadRepliesAreBounded(t *testing.T) {
	onBackends(t, func(t *testing.T, backend config.NetworkBackend) {
		s := start(t, config.Options{Memory: 64 << 20, Page: 4 << 20, NetworkBackend: backend})
		c := dial(t, s)
		if _, err := c.Do("SET", "big", strings.Repeat("x", 1<<20)); err != nil {
			t.Fatal(err)
		}
		conn := raw(t, s.Addr().String())
		if _, err := conn.Write(bytes.Repeat([]byte("GET big\r\n"), 1000)); err != nil {
			t.Fatal(err)
		}
		held := 0
		eventually(t, "the server to stop serving", func() bool {
			time.Sleep(100 * time.Millisecond)
			before := held
			held = unsentTo(t, c, "get")
			return held == before && held > 0
		})
		if held > 64<<20 {
			t.Errorf("%d bytes are held for a client that reads nothing", held)
		}
	})
}
