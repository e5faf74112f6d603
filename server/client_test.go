package server_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/servertest"
)

// inProcess returns a client of a server without sockets.
func inProcess(t *testing.T, s *server.Server) *server.Client {
	t.Helper()
	c, err := s.Client()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDo(t *testing.T) {
	c := inProcess(t, newServer(t, small()))
	check(t, c, "SET a 1", "+OK")
	check(t, c, "GET a", `"1"`)
	check(t, c, "MGET a b", `["1" nil]`)
	check(t, c, "NOSUCH", "-ERR unknown command 'NOSUCH', with args beginning with: ")
	check(t, c, "HELLO 4", "-NOPROTO unsupported protocol version")
	if got := do(t, c, "HELLO 3"); !strings.Contains(got, `"proto" :3`) {
		t.Errorf("HELLO 3: %s", got)
	}
	check(t, c, "GET b", "null")
	if got := do(t, c, "CLIENT INFO"); !strings.Contains(got, "addr=in-process:0") {
		t.Errorf("CLIENT INFO: %s", got)
	}
}

// TestSendCutAnywhere sends a pipeline in two pieces, cut at every place.
func TestSendCutAnywhere(t *testing.T) {
	c := inProcess(t, newServer(t, small()))
	var requests []byte
	for _, line := range []string{"SET a 1", "GET a", "GET a", "INCR a", "MGET a b", "ECHO x"} {
		requests = servertest.AppendCommand(requests, strings.Fields(line)...)
	}
	requests = append(requests, "PING\r\n"...)
	const want = "+OK\r\n$1\r\n1\r\n$1\r\n1\r\n:2\r\n*2\r\n$1\r\n2\r\n$-1\r\n$1\r\nx\r\n+PONG\r\n"
	for cut := range len(requests) + 1 {
		first, err := c.Send(requests[:cut])
		if err != nil {
			t.Fatal(err)
		}
		got := string(first)
		second, err := c.Send(requests[cut:])
		if err != nil {
			t.Fatal(err)
		}
		if got += string(second); got != want {
			t.Fatalf("cut at %d:\n got %q\nwant %q", cut, got, want)
		}
	}
}

// TestSendLargeReplies has more replies than are flushed at once.
func TestSendLargeReplies(t *testing.T) {
	c := inProcess(t, newServer(t, small()))
	value := strings.Repeat("v", 100_000)
	if _, err := c.Do("SET", "a", value); err != nil {
		t.Fatal(err)
	}
	var requests []byte
	for range 50 {
		requests = servertest.AppendCommand(requests, "GET", "a")
		requests = servertest.AppendCommand(requests, "STRLEN", "a")
	}
	replies, err := c.Send(requests)
	want := strings.Repeat(fmt.Sprintf("$%d\r\n%s\r\n:%d\r\n", len(value), value, len(value)), 50)
	if err != nil || string(replies) != want {
		t.Errorf("%d bytes of replies, %v; want %d", len(replies), err, len(want))
	}
}

func TestSendAfterTheEnd(t *testing.T) {
	s := newServer(t, small())
	for _, last := range []string{"QUIT\r\n", "*x\r\n"} {
		c := inProcess(t, s)
		replies, err := c.Send([]byte("PING\r\n" + last + "PING\r\n"))
		if err != nil || !strings.HasPrefix(string(replies), "+PONG\r\n") || strings.Count(string(replies), "PONG") != 1 {
			t.Errorf("%q: replies %q, %v", last, replies, err)
		}
		if _, err := c.Send([]byte("PING\r\n")); !errors.Is(err, server.ErrClientClosed) {
			t.Errorf("%q: Send afterwards: %v", last, err)
		}
	}
	victim, killer := inProcess(t, s), inProcess(t, s)
	id := do(t, victim, "CLIENT ID")
	check(t, killer, "CLIENT KILL ID "+id[1:], ":1")
	if _, err := victim.Send([]byte("PING\r\n")); !errors.Is(err, server.ErrClientClosed) {
		t.Errorf("a killed client: %v", err)
	}
	check(t, killer, "CLIENT KILL ID "+id[1:], ":0")
}

func TestClientsAtOnce(t *testing.T) {
	s := newServer(t, small())
	var group sync.WaitGroup
	for range 8 {
		c := inProcess(t, s)
		group.Go(func() {
			for range 500 {
				if _, err := c.Do("INCR", "counter"); err != nil {
					t.Error(err)
				}
			}
			c.Close()
		})
	}
	group.Wait()
	check(t, inProcess(t, s), "GET counter", `"4000"`)
}

// TestSendAllocatesNothing is for the commands that memory answers.
func TestSendAllocatesNothing(t *testing.T) {
	c := inProcess(t, newServer(t, small()))
	check(t, c, "SET a 1", "+OK")
	var requests []byte
	for range 8 {
		requests = servertest.AppendCommand(requests, "SET", "a", "1")
		requests = servertest.AppendCommand(requests, "GET", "a")
		requests = servertest.AppendCommand(requests, "PING")
	}
	if allocations := testing.AllocsPerRun(100, func() {
		if _, err := c.Send(requests); err != nil {
			t.Fatal(err)
		}
	}); allocations != 0 {
		t.Errorf("a batch allocates %v times", allocations)
	}
}

func BenchmarkSend(b *testing.B) {
	s, err := server.New(server.Options{Options: small()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	c, err := s.Client()
	if err != nil {
		b.Fatal(err)
	}
	if _, err := c.Do("SET", "a", strings.Repeat("v", 64)); err != nil {
		b.Fatal(err)
	}
	for _, size := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("pipeline=%d", size), func(b *testing.B) {
			var requests []byte
			for range size {
				requests = servertest.AppendCommand(requests, "GET", "a")
			}
			b.ReportAllocs()
			for i := 0; i < b.N; i += size {
				if _, err := c.Send(requests); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
