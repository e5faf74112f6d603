package main

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/benchmark/reply"
)

// answerEvery starts a server that answers every requestBytes bytes it reads with answer, and that
// does not read while its replies are not taken.
func answerEvery(t *testing.T, requestBytes int, answer []byte) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		in := make([]byte, requestBytes)
		for {
			if _, err := io.ReadFull(conn, in); err != nil {
				return
			}
			if _, err := conn.Write(answer); err != nil {
				return
			}
		}
	}()
	return listener.Addr().String()
}

func TestLargeBatchDoesNotDeadlock(t *testing.T) {
	// Requests and replies of 32 MiB each way are more than the kernel holds.
	const requests, size = 512, 64 << 10
	answer := []byte("$65536\r\n" + strings.Repeat("v", size) + "\r\n")
	l, err := dialLight(answerEvery(t, size, answer), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.interruptBy(time.Now().Add(20 * time.Second))
	var r reply.Scanner
	r.Expect(requests)
	if err := l.exchange(make([]byte, requests*size), &r); err != nil {
		t.Fatal(err)
	}
}

func TestExchangeAllocatesNothing(t *testing.T) {
	for _, size := range []int{1000, 2 * inlineWriteBytes} {
		l, err := dialLight(answerEvery(t, size, []byte(strings.Repeat("$8\r\nabcdefgh\r\n", 100))), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		request := make([]byte, size)
		var r reply.Scanner
		if n := testing.AllocsPerRun(200, func() {
			r.Expect(100)
			if err := l.exchange(request, &r); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("request of %d bytes: %v allocations an exchange, want none", size, n)
		}
		l.Close()
	}
}

func TestBrokenConnectionIsReported(t *testing.T) {
	for _, size := range []int{100, 4 << 20} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			conn, err := listener.Accept()
			if err == nil {
				conn.Close()
			}
		}()
		l, err := dialLight(listener.Addr().String(), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		var r reply.Scanner
		r.Expect(1)
		if err := l.exchange(make([]byte, size), &r); err == nil {
			t.Errorf("a request of %d bytes on a closed connection succeeds", size)
		}
		l.Close()
		listener.Close()
	}
}

func TestInterruptByEndsAnExchange(t *testing.T) {
	l, err := dialLight(answerEvery(t, 100, []byte("+OK\r\n")), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.interruptBy(time.Now().Add(50 * time.Millisecond))
	var r reply.Scanner
	r.Expect(2)
	if err := l.exchange(make([]byte, 100), &r); err == nil {
		t.Error("an exchange whose replies never come succeeds")
	}
}
