package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/servertest"
)

func TestServesOverTCP(t *testing.T) {
	s := start(t, small())
	if s.Addr().(*net.TCPAddr).Port == 0 || !s.Addr().(*net.TCPAddr).IP.IsLoopback() {
		t.Errorf("the server listens on %s", s.Addr())
	}
	c := dial(t, s)
	check(t, c, "PING", "+PONG")
	check(t, c, "SET a 1", "+OK")
	check(t, c, "INCR a", ":2")
	check(t, c, "GET a", `"2"`)
	if got := info(t, c, "server")["tcp_port"]; got != strconv.Itoa(s.Addr().(*net.TCPAddr).Port) {
		t.Errorf("INFO says the port is %s; it is %s", got, s.Addr())
	}
	check(t, c, "QUIT", "+OK")
	if _, err := c.Do("PING"); err == nil {
		t.Error("a connection answers after QUIT")
	}
}

func TestServersLiveSideBySide(t *testing.T) {
	var clients []*servertest.Client
	for i := range 3 {
		clients = append(clients, dial(t, start(t, small())))
		check(t, clients[i], fmt.Sprintf("SET a %d", i), "+OK")
	}
	for i, c := range clients {
		check(t, c, "GET a", fmt.Sprintf("%q", strconv.Itoa(i)))
	}
}

func TestStartRefuses(t *testing.T) {
	s := start(t, small())
	if err := s.Start(); err == nil {
		t.Error("a running server starts again")
	}
	taken := small()
	taken.Port = s.Addr().(*net.TCPAddr).Port
	second := newServer(t, taken)
	if err := second.Start(); err == nil || !strings.Contains(err.Error(), "cannot listen on 127.0.0.1:"+strconv.Itoa(taken.Port)) {
		t.Errorf("a taken port: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if err := second.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	if err := second.Start(); err == nil {
		t.Error("a closed server starts")
	}
	if addr := second.Addr(); addr != nil {
		t.Errorf("a server that never listened has address %s", addr)
	}
}

func TestNewRefusesOptions(t *testing.T) {
	_, err := server.New(server.Options{Options: config.Options{Memory: 8 << 20, Page: 4 << 20}})
	if err == nil || err.Error() != "--memory 8m is too small for --page 4m: at least 12m (3 pages)" {
		t.Errorf("error %v", err)
	}
	missing := small()
	missing.StorageTier, missing.DeviceType = config.On, device.FileStream
	missing.LogDir = "/dev/null/nowhere"
	if _, err := server.New(server.Options{Options: missing}); err == nil || !strings.Contains(err.Error(), "/dev/null") {
		t.Errorf("a directory that cannot be: %v", err)
	}
}

func TestNotesAreLogged(t *testing.T) {
	var log bytes.Buffer
	options := small()
	options.Index += 1000
	s, err := server.New(server.Options{Options: options, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !strings.Contains(log.String(), "is rounded down to 1m") || s.Options().Index != 1<<20 {
		t.Errorf("index %s, log %s", s.Options().Index, log.String())
	}
}

func TestUnixSocket(t *testing.T) {
	options := small()
	options.UnixSocket = filepath.Join(t.TempDir(), "pyrope.sock")
	options.UnixSocketPerm = 0o700
	s := start(t, options)
	if s.Addr().Network() != "unix" {
		t.Fatalf("the server listens on %s %s", s.Addr().Network(), s.Addr())
	}
	connection, err := net.Dial("unix", options.UnixSocket)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprint(connection, "PING\r\nCLIENT LIST\r\n")
	buffer := make([]byte, 4096)
	eventually(t, "two replies", func() bool {
		n, _ := connection.Read(buffer)
		return strings.Contains(string(buffer[:n]), "flags=U") || n == 0
	})
}

func TestPassword(t *testing.T) {
	options := small()
	options.Password = "secret"
	s := start(t, options)
	c := dial(t, s)
	const needed = "-NOAUTH Authentication required."
	check(t, c, "PING", needed)
	check(t, c, "GET a", needed)
	check(t, c, "NOSUCH", "-ERR unknown command 'NOSUCH', with args beginning with: ")
	check(t, c, "AUTH wrong", "-WRONGPASS invalid username-password pair or user is disabled.")
	check(t, c, "AUTH joe secret", "-WRONGPASS invalid username-password pair or user is disabled.")
	if got := do(t, c, "HELLO 3"); !strings.HasPrefix(got, "-NOAUTH HELLO must be called") {
		t.Errorf("HELLO 3: %s", got)
	}
	if got := do(t, c, "HELLO 3 AUTH default secret"); !strings.HasPrefix(got, "{") {
		t.Errorf("HELLO 3 AUTH: %s", got)
	}
	check(t, c, "GET a", "null")
	check(t, c, "RESET", "+RESET")
	check(t, c, "PING", needed)
	check(t, c, "AUTH secret", "+OK")
	check(t, c, "CONFIG GET requirepass", `["requirepass" "secret"]`)

	check(t, c, "CONFIG SET requirepass other", "+OK")
	check(t, c, "PING", "+PONG")
	second := dial(t, s)
	check(t, second, "PING", needed)
	check(t, second, "AUTH secret", "-WRONGPASS invalid username-password pair or user is disabled.")
	check(t, second, "AUTH default other", "+OK")
	waiting := dial(t, s)
	check(t, waiting, "PING", needed)
	if _, err := c.Do("CONFIG", "SET", "requirepass", ""); err != nil {
		t.Fatal(err)
	}
	check(t, waiting, "PING", "+PONG")
	check(t, dial(t, s), "PING", "+PONG")
}

func TestMaxClients(t *testing.T) {
	options := small()
	options.MaxClients = 2
	s := start(t, options)
	first, second := dial(t, s), dial(t, s)
	check(t, first, "PING", "+PONG")
	check(t, second, "PING", "+PONG")
	third := dial(t, s)
	if reply, _, err := third.Receive(); err != nil || string(reply.Text) != "ERR max number of clients reached" {
		t.Errorf("the third client gets %q, %v", reply.Text, err)
	}
	if got := info(t, first, "stats")["rejected_connections"]; got != "1" {
		t.Errorf("%s rejected connections", got)
	}
	check(t, first, "CONFIG SET maxclients 3", "+OK")
	check(t, dial(t, s), "PING", "+PONG")
	if got := info(t, first, "clients"); got["connected_clients"] != "3" || got["maxclients"] != "3" {
		t.Errorf("clients: %v", got)
	}
}

// TestSleepKeepsNobodyElseWaiting has one event loop, so that the sleeper and the others share it.
func TestSleepKeepsNobodyElseWaiting(t *testing.T) {
	options := small()
	options.NetworkThreads = 1
	s := start(t, options)
	sleeper, other := dial(t, s), dial(t, s)
	for seconds := 1; ; seconds *= 4 { // longer on a slow machine
		sleep := time.Duration(seconds) * time.Second
		begin := time.Now()
		if err := sleeper.Send(servertest.AppendCommand(nil, "DEBUG", "SLEEP", fmt.Sprint(seconds))); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the sleeper is seen", func() bool { return strings.Contains(do(t, other, "CLIENT LIST"), "cmd=debug") })
		for range 100 {
			check(t, other, "PING", "+PONG")
		}
		took := time.Since(begin)
		if reply, _, err := sleeper.Receive(); err != nil || string(reply.Text) != "OK" || time.Since(begin) < sleep {
			t.Errorf("the sleeper got %q, %v after %v", reply.Text, err, time.Since(begin))
		}
		if took < sleep*3/4 {
			break
		}
		if seconds > 10 {
			t.Fatalf("100 commands beside one that sleeps %v took %v", sleep, took)
		}
	}
	check(t, sleeper, "PING", "+PONG")
}

func TestCloseEndsSleep(t *testing.T) {
	s := start(t, small())
	sleeper := dial(t, s)
	if err := sleeper.Send(servertest.AppendCommand(nil, "DEBUG", "SLEEP", "1000")); err != nil {
		t.Fatal(err)
	}
	c := dial(t, s)
	eventually(t, "the sleeper is seen", func() bool { return strings.Contains(do(t, c, "CLIENT LIST"), "cmd=debug") })
	begin := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("Close took %v", took)
	}
}

func TestShutdownIsRequested(t *testing.T) {
	s := start(t, small())
	c := dial(t, s)
	if _, err := c.Do("SHUTDOWN", "NOSAVE"); err == nil {
		t.Error("SHUTDOWN has a reply")
	}
	select {
	case <-s.ShutdownRequested():
	case <-time.After(time.Minute):
		t.Error("SHUTDOWN requests nothing")
	}
	check(t, dial(t, s), "PING", "+PONG") // until the owner calls Close
}

func TestSpillsAndReadsBack(t *testing.T) {
	for _, choice := range []struct {
		kind    device.Kind
		backend device.Backend
	}{
		{device.Default, device.BackendDefault}, {device.FileStream, device.BackendDefault}, {device.LocalMemory, device.BackendDefault},
		{device.Native, device.Libaio}, {device.Native, device.Uring},
	} {
		t.Run(fmt.Sprintf("%s %s", choice.kind, choice.backend), func(t *testing.T) {
			if choice.kind == device.Native && runtime.GOOS != "linux" {
				t.Skip("Native devices are for Linux")
			}
			keys := 20_000
			options := config.Options{
				Memory: 1 << 20, Page: 64 << 10, Segment: 1 << 20, Index: 64 << 10,
				StorageTier: config.On, LogDir: t.TempDir(), DeviceType: choice.kind, DeviceBackend: choice.backend,
			}
			if testing.Short() {
				keys, options.Memory, options.Page, options.Segment = 3_000, 256<<10, 16<<10, 256<<10 // 0.4 MB
			}
			s := start(t, options)
			c := dial(t, s)
			value := func(i int) string { return fmt.Sprintf("value-%d-%s", i, strings.Repeat("x", i%200)) }
			var batch []byte
			for i := range keys {
				batch = servertest.AppendCommand(batch, "SET", fmt.Sprintf("key-%d", i), value(i))
			}
			for i := range keys {
				batch = servertest.AppendCommand(batch, "GET", fmt.Sprintf("key-%d", i))
			}
			errs := make(chan error, 1)
			go func() { errs <- c.Send(batch) }()
			for i := range 2 * keys {
				reply, _, err := c.Receive()
				want := "OK"
				if i >= keys {
					want = value(i - keys)
				}
				if err != nil || string(reply.Text) != want {
					t.Fatalf("reply %d is %q, %v; want %q", i, reply.Text, err, want)
				}
			}
			if err := <-errs; err != nil {
				t.Fatal(err)
			}
			store := info(t, c, "store")
			head, _ := strconv.Atoi(store["log_head_address"])
			reads, _ := strconv.Atoi(store["device_reads"])
			if head == 0 || reads == 0 || store["device_kind"] == "none" || store["storage_tier"] != "yes" {
				t.Errorf("nothing was spilled: %v", store)
			}
			if s.Info().HeadAddress == 0 {
				t.Errorf("Info: %+v", s.Info())
			}
		})
	}
}

func TestMemoryPolicies(t *testing.T) {
	fill := func(policy config.Policy) (c *server.Client, errorReplies int) {
		s := newServer(t, config.Options{Memory: 1 << 20, Page: 64 << 10, Index: 64 << 10, Policy: policy})
		c, err := s.Client()
		if err != nil {
			t.Fatal(err)
		}
		value := strings.Repeat("x", 1000)
		for i := range 3000 {
			reply, err := c.Do("SET", fmt.Sprintf("key-%d", i), value)
			if err != nil {
				t.Fatal(err)
			}
			if reply.Kind == '-' {
				errorReplies++
				if !bytes.HasPrefix(reply.Text, []byte("OOM ")) {
					t.Fatalf("reply %s", reply.Text)
				}
			}
		}
		return c, errorReplies
	}
	c, refused := fill(config.NoEviction)
	if refused == 0 || refused == 3000 {
		t.Errorf("noeviction: %d of 3000 writes refused", refused)
	}
	check(t, c, "STRLEN key-0", ":1000")
	c, refused = fill(config.AllKeysLRU)
	if refused != 0 {
		t.Errorf("allkeys-lru: %d writes refused", refused)
	}
	check(t, c, "STRLEN key-0", ":0")
	check(t, c, "STRLEN key-2999", ":1000")
}

// TestVolatilePolicies fills a server with keys that have a deadline, around some that have none, then with more of the latter.
func TestVolatilePolicies(t *testing.T) {
	for _, policy := range []config.Policy{config.VolatileLRU, config.VolatileLFU, config.VolatileRandom, config.VolatileTTL} {
		s := newServer(t, config.Options{Memory: 1 << 20, Page: 64 << 10, Index: 64 << 10, Policy: policy})
		c, err := s.Client()
		if err != nil {
			t.Fatal(err)
		}
		value := strings.Repeat("x", 1000)
		do := func(words ...string) (refused bool) {
			reply, err := c.Do(words...)
			if err != nil || reply.Kind == '-' && !bytes.HasPrefix(reply.Text, []byte("OOM ")) {
				t.Fatalf("%.50q: %v, %s", words, err, reply.Text)
			}
			return reply.Kind == '-'
		}
		const lasting, expiring = 100, 2000
		for i := range lasting {
			do("SET", fmt.Sprintf("lasting-%d", i), value)
		}
		for i := range expiring {
			if do("SET", fmt.Sprintf("expiring-%d", i), value, "EX", "10000") {
				t.Fatalf("%s: write %d is refused", policy, i)
			}
		}
		check(t, c, "STRLEN expiring-0", ":0")
		check(t, c, fmt.Sprintf("STRLEN expiring-%d", expiring-1), ":1000")
		evicted := number(t, c, "stats", "evicted_keys")
		for before := -1; before != evicted; { // the last round of compaction may be under way
			before = evicted
			time.Sleep(100 * time.Millisecond)
			evicted = number(t, c, "stats", "evicted_keys")
		}
		check(t, c, "DBSIZE", fmt.Sprintf(":%d", lasting+expiring-evicted))
		there := 0
		for i := range expiring {
			if reply, _ := c.Do("EXISTS", fmt.Sprintf("expiring-%d", i)); reply.Integer == 1 {
				there++
			}
		}
		if there != expiring-evicted || evicted < expiring/2 {
			t.Errorf("%s: %d keys with a deadline are there, evicted_keys is %d of %d", policy, there, evicted, expiring)
		}
		more := 0
		for ; more < expiring && !do("SET", fmt.Sprintf("more-%d", more), value); more++ {
		}
		if more == expiring {
			t.Errorf("%s: memory is never full", policy)
		}
		check(t, c, "DBSIZE", fmt.Sprintf(":%d", lasting+more))
		if evicted = number(t, c, "stats", "evicted_keys"); evicted != expiring {
			t.Errorf("%s: evicted_keys is %d of %d when writes are refused", policy, evicted, expiring)
		}
		for i := range lasting {
			check(t, c, fmt.Sprintf("STRLEN lasting-%d", i), ":1000")
		}
		check(t, c, "CONFIG SET maxmemory-policy allkeys-lru", "+OK")
		if do("SET", "again", value) {
			t.Errorf("%s: allkeys-lru refuses", policy)
		}
		check(t, c, "CONFIG RESETSTAT", "+OK")
	}
}

func TestClientsCloseWithTheServer(t *testing.T) {
	s := newServer(t, small())
	c, err := s.Client()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do("PING"); !errors.Is(err, server.ErrClientClosed) {
		t.Errorf("Do after Close: %v", err)
	}
	if _, err := s.Client(); !errors.Is(err, server.ErrClientClosed) {
		t.Errorf("Client after Close: %v", err)
	}
	c.Close()
}
