package server_test

// Connections in unusual numbers and of unusual manners, over each way to serve them.

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/servertest"
)

// idleAddress names the variable that makes TestTenThousandIdle the process that has the clients' ends: this one is
// out of descriptors before it has both.
const idleAddress = "PYROPE_TEST_IDLE_ADDRESS"

// idleCount is how many connections are idle, those of the test and of its child alike.
func idleCount() int {
	if testing.Short() {
		return 1000
	}
	return 10_000
}

// idle holds idleCount connections, on which it asks something twice: at first and when it is told to on stdin.
func idle(t *testing.T, address string) {
	conns := make([]*net.TCPConn, idleCount())
	ask := func() {
		for i, conn := range conns {
			reply := make([]byte, len("+PONG\r\n"))
			if _, err := conn.Write([]byte("PING\r\n")); err != nil {
				t.Fatalf("connection %d: %v", i, err)
			}
			if _, err := io.ReadFull(conn, reply); err != nil || string(reply) != "+PONG\r\n" {
				t.Fatalf("connection %d: %q, %v", i, reply, err)
			}
		}
		fmt.Println("asked")
	}
	for i := range conns {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		conns[i] = conn.(*net.TCPConn)
		_ = conns[i].SetLinger(0) // no ports stay behind
	}
	ask()
	if _, err := bufio.NewReader(os.Stdin).ReadByte(); err != nil {
		t.Fatal(err)
	}
	ask()
	for _, conn := range conns {
		_ = conn.Close()
	}
}

// TestTenThousandIdle tells what an idle connection holds in the process: its goroutine, if it has one, included.
func TestTenThousandIdle(t *testing.T) {
	if address := os.Getenv(idleAddress); address != "" {
		idle(t, address)
		return
	}
	limits := map[config.NetworkBackend]int{config.BackendEpoll: 3 << 10, config.BackendUring: 3 << 10, config.BackendNet: 40 << 10}
	onBackends(t, func(t *testing.T, backend config.NetworkBackend) {
		options := small()
		options.NetworkBackend, options.MaxClients = backend, idleCount()+10
		s := start(t, options)
		before := residentBytes()
		clients := exec.Command(os.Args[0], "-test.run=^TestTenThousandIdle$", fmt.Sprint("-test.short=", testing.Short()))
		clients.Env = append(os.Environ(), idleAddress+"="+s.Addr().String())
		tell, err := clients.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		hear, err := clients.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := clients.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(hear)
		expectAsked := func() {
			t.Helper()
			if line, err := lines.ReadString('\n'); line != "asked\n" {
				rest, _ := io.ReadAll(lines)
				t.Errorf("the clients say %q, %v %s", line, err, rest)
			}
		}
		expectAsked()
		each := (residentBytes() - before) / idleCount()
		t.Logf("an idle connection holds %.1f KB", float64(each)/1024)
		if each > limits[backend] {
			t.Errorf("an idle connection holds %d bytes, want at most %d", each, limits[backend])
		}
		c := dial(t, s)
		check(t, c, "PING", "+PONG")
		if got := info(t, c, "clients")["connected_clients"]; got != strconv.Itoa(idleCount()+1) {
			t.Errorf("%s connections", got)
		}
		_, _ = tell.Write([]byte("x")) // a failure shows in what follows
		expectAsked()
		if err := clients.Wait(); err != nil {
			t.Error(err)
		}
		eventually(t, "all connections to be gone", func() bool {
			return info(t, c, "clients")["connected_clients"] == "1"
		})
	})
}

// residentBytes is what is reachable on the heap, and all stacks.
func residentBytes() int {
	runtime.GC()
	runtime.GC() // what pools and finalizers kept
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc + stats.StackInuse)
}

// TestAThousandBusy has a thousand connections write, read and count at once.
func TestAThousandBusy(t *testing.T) {
	count, rounds := 1000, 10
	if testing.Short() {
		count, rounds = 200, 5
	}
	onBackends(t, func(t *testing.T, backend config.NetworkBackend) {
		options := besieged(t)["LocalMemory"]
		options.NetworkBackend, options.NetworkThreads = backend, 0
		options.Memory, options.Page = 1<<20, 32<<10
		s := start(t, options)
		clients := make([]*servertest.Client, count)
		for i := range clients {
			clients[i] = dial(t, s)
		}
		together(count, 1, func(number int, random *rand.Rand) {
			key := fmt.Sprint("busy:", number)
			for range rounds {
				value := sealed(random, key, random.IntN(500))
				replies := pipeline(t, clients[number], [][]string{{"SET", key, value}, {"INCR", "count"}, {"GET", key}})
				if len(replies) != 3 || string(replies[2].Text) != value {
					t.Errorf("%s: got %v, want %.60q", key, replies, value)
					return
				}
			}
		})
		check(t, clients[0], "GET count", fmt.Sprintf("%q", strconv.Itoa(count*rounds)))
	})
}

// TestByteByByte has connections whose requests come a byte at a time, and who take their replies so, beside one that
// does not notice.
func TestByteByByte(t *testing.T) {
	pause := 20 * time.Millisecond
	onBackends(t, func(t *testing.T, backend config.NetworkBackend) {
		options := small()
		options.NetworkBackend = backend
		s := start(t, options)
		done := make(chan struct{})
		go func() {
			defer close(done)
			together(50, 1, func(number int, _ *rand.Rand) {
				conn := rawDial(t, s)
				if conn == nil {
					return
				}
				defer func() { _ = conn.Close() }()
				_ = conn.SetDeadline(time.Now().Add(time.Minute))
				request := servertest.AppendCommand(nil, "SET", strconv.Itoa(number), "slowly")
				request = servertest.AppendCommand(request, "GET", strconv.Itoa(number))
				for i := range request {
					if _, err := conn.Write(request[i : i+1]); err != nil {
						t.Error(err)
						return
					}
					time.Sleep(pause) // it is the manner that is tested
				}
				want := []byte("+OK\r\n$6\r\nslowly\r\n")
				got := make([]byte, len(want))
				for i := range got {
					if _, err := io.ReadFull(conn, got[i:i+1]); err != nil {
						t.Error(err)
						return
					}
				}
				if !bytes.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		}()
		c := dial(t, s)
		served := 0
		for waiting := true; waiting; served++ {
			check(t, c, "PING", "+PONG")
			select {
			case <-done:
				waiting = false
			case <-time.After(pause / 20):
			}
		}
		t.Logf("%d requests were served beside 50 that came a byte at a time", served)
		if served < 50 {
			t.Errorf("%d requests were served beside 50 slow ones", served)
		}
	})
}

// TestHalfClosedSockets sends requests and the end of the stream with them, some of them for cold keys: every reply
// comes, and then the end.
func TestHalfClosedSockets(t *testing.T) {
	onBackends(t, func(t *testing.T, backend config.NetworkBackend) {
		options := besieged(t)["LocalMemory"]
		options.NetworkBackend, options.NetworkThreads = backend, 0
		s := start(t, options)
		const keys = 2000
		var fill [][]string
		for i := range keys {
			fill = append(fill, []string{"SET", fmt.Sprint("key:", i), fmt.Sprint("value ", i)})
		}
		c := dial(t, s)
		pipeline(t, c, fill)
		together(200, 1, func(_ int, random *rand.Rand) {
			conn := rawDial(t, s)
			if conn == nil {
				return
			}
			defer func() { _ = conn.Close() }()
			var request []byte
			var want strings.Builder
			for range 1 + random.IntN(50) {
				i := random.IntN(keys)
				name, value := "GET", fmt.Sprint("value ", i)
				if random.IntN(3) == 0 {
					name, value = "STRLEN", strconv.Itoa(len(value))
					fmt.Fprintf(&want, ":%s\r\n", value)
				} else {
					fmt.Fprintf(&want, "$%d\r\n%s\r\n", len(value), value)
				}
				request = servertest.AppendCommand(request, name, fmt.Sprint("key:", i))
			}
			request = append(request, "*2\r\n$3\r\nGET\r\n$9\r\nincomp"...) // never complete
			if _, err := conn.Write(request); err != nil {
				t.Error(err)
			}
			_ = conn.CloseWrite()
			_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
			if got, err := io.ReadAll(conn); err != nil || string(got) != want.String() {
				t.Errorf("got %d bytes, %v; want %d", len(got), err, want.Len())
			}
		})
	})
}
