package resp_test

import (
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server/resp"
)

// protocolErrors are streams and the error text of Redis 7.0.15 for each; none means that Redis
// answers PONG to the PING that TestProtocolErrors sends behind it.
var protocolErrors = []struct{ wire, text string }{
	{"*x\r\n", "ERR Protocol error: invalid multibulk length"},
	{"*\r\n", "ERR Protocol error: invalid multibulk length"},
	{"*+1\r\n", "ERR Protocol error: invalid multibulk length"},
	{"*01\r\n", "ERR Protocol error: invalid multibulk length"},
	{"*-0\r\n", "ERR Protocol error: invalid multibulk length"},
	{"*1 \r\n", "ERR Protocol error: invalid multibulk length"},
	{"*2147483648\r\n", "ERR Protocol error: invalid multibulk length"},
	{"*99999999999999999999\r\n", "ERR Protocol error: invalid multibulk length"},
	{"*9223372036854775808\r\n", "ERR Protocol error: invalid multibulk length"},
	{"*" + strings.Repeat("1", 65540), "ERR Protocol error: too big mbulk count string"},
	{"*1\r\nGET\r\n", "ERR Protocol error: expected '$', got 'G'"},
	{"*1\r\n\r\n", "ERR Protocol error: expected '$', got ' '"},
	{"*1\r\n\n\r\n", "ERR Protocol error: expected '$', got ' '"},
	{"*1\r\n'\r\n", "ERR Protocol error: expected '$', got '''"},
	{"*2\r\n$4\r\nPING\r\n:1\r\n", "ERR Protocol error: expected '$', got ':'"},
	{"*1\r\n$x\r\n", "ERR Protocol error: invalid bulk length"},
	{"*1\r\n$\r\n", "ERR Protocol error: invalid bulk length"},
	{"*1\r\n$-1\r\n", "ERR Protocol error: invalid bulk length"},
	{"*1\r\n$00\r\n", "ERR Protocol error: invalid bulk length"},
	{"*1\r\n$536870913\r\n", "ERR Protocol error: invalid bulk length"},
	{"*1\r\n$4\r\nPING\r\n*1\r\n$4x\r\n", "ERR Protocol error: invalid bulk length"},
	{"*1\r\n$" + strings.Repeat("1", 65540), "ERR Protocol error: too big bulk count string"},
	{strings.Repeat("A", 65540), "ERR Protocol error: too big inline request"},
	{"PING \"unbalanced\r\n", "ERR Protocol error: unbalanced quotes in request"},
	{"PING 'unbalanced\r\n", "ERR Protocol error: unbalanced quotes in request"},
	{"PING \"a\"b\r\n", "ERR Protocol error: unbalanced quotes in request"},
	{"PING 'a'b\r\n", "ERR Protocol error: unbalanced quotes in request"},
	{"PING \"a\\\"\r\n", "ERR Protocol error: unbalanced quotes in request"},
	{"PING 'a\\\r\n", "ERR Protocol error: unbalanced quotes in request"},
	{"*0\r\n", ""},
	{"*-1\r\n", ""},
	{"*-5\r\n", ""},
	{"\r\n\n\r\n", ""},
	{"  \t \r\n", ""},
}

// echoes are inline requests that answer with what Redis made of the word.
var echoes = []string{
	`ECHO plain`, `ECHO "a b"`, `ECHO 'a b'`, `ECHO "\x41\x4f\n\r\t\b\a\q\\\""`, `ECHO 'it\'s \n \x41'`, `ECHO ""`, `ECHO ''`,
	`ECHO foo"bar baz"`, `ECHO a'b'`, "ECHO\tx", "ECHO a\vb", "\v\fECHO a", "ECHO \"\\xzz\"", "ECHO 'a\"b'", `ECHO "a'b"`, "ECHO a\\nb",
	`ECHO "x"` + "\t", "ECHO \"\\", `ECHO "\x4"`,
}

// startRedis starts a redis-server on a free port, or returns "" when the machine has none of
// version 7.0.
func startRedis(t *testing.T) (address string) {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		return ""
	}
	if version, err := exec.Command(binary, "--version").Output(); err != nil || !strings.Contains(string(version), "v=7.0.") {
		return ""
	}
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = probe.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	if err := probe.Close(); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(binary, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	for range 200 {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return address
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("redis-server does not answer on " + address)
	return ""
}

// ask sends wire and reads until the peer closes or has answered count times.
func ask(t *testing.T, address, wire string, count int) (replies []resp.Value) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, wire); err != nil {
		t.Fatal(err)
	}
	var input []byte
	buffer := make([]byte, 4096)
	for len(replies) < count {
		n, err := conn.Read(buffer)
		input = append(input, buffer[:n]...)
		for {
			value, consumed, result := resp.ReadReply(input)
			if result != resp.Complete {
				break
			}
			replies, input = append(replies, value), input[consumed:]
		}
		if err != nil {
			break
		}
	}
	return replies
}

// TestProtocolErrors compares with the recorded texts, and the recorded texts with a real server
// where there is one.
func TestProtocolErrors(t *testing.T) {
	address := startRedis(t)
	for _, c := range protocolErrors {
		name := strconv.Quote(c.wire[:min(len(c.wire), 40)])
		var parser resp.Parser
		if _, failure := readAll(t, &parser, []byte(c.wire)); failure != c.text {
			t.Errorf("%s: got %q, want %q", name, failure, c.text)
		}
		if address == "" {
			continue
		}
		if c.text == "" {
			if got := ask(t, address, c.wire+"PING\r\n", 1); len(got) != 1 || got[0].String() != `+"PONG"` {
				t.Errorf("%s: Redis answers %v, recorded is +PONG", name, got)
			}
			continue
		}
		got := ask(t, address, c.wire, 100)
		if len(got) == 0 || got[len(got)-1].String() != "-"+strconv.Quote(c.text) {
			t.Errorf("%s: Redis answers %v, recorded is %q", name, got, c.text)
		}
	}
}

// TestInlineWordsLikeRedis compares the words of inline requests with what Redis echoes.
func TestInlineWordsLikeRedis(t *testing.T) {
	address := startRedis(t)
	if address == "" {
		t.Log("no redis-server 7.0 here: only the words that are written out below are checked")
	}
	for line, want := range map[string]string{
		`ECHO "\x41\n\q\\\""`: "A\nq\\\"", `ECHO 'it\'s \n'`: `it's \n`, `ECHO foo"bar baz"`: "foobar baz", "ECHO a\vb": "a\vb",
	} {
		var parser resp.Parser
		if got, failure := readAll(t, &parser, []byte(line+"\r\n")); failure != "" || len(got) != 1 || got[0][1] != want {
			t.Errorf("%q: got %q, %s; want %q", line, got, failure, want)
		}
	}
	for _, line := range echoes {
		if address == "" {
			break
		}
		var parser resp.Parser
		requests, failure := readAll(t, &parser, []byte(line+"\r\n"))
		got := "-" + strconv.Quote(failure)
		if failure == "" {
			got = "$" + strconv.Quote(requests[0][1])
		}
		if redis := ask(t, address, line+"\r\n", 1); len(redis) != 1 || redis[0].String() != got {
			t.Errorf("%q: got %s, Redis %v", line, got, redis)
		}
	}
}
