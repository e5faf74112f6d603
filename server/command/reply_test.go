package command_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/server/command"
	"github.com/pyropedb/pyrope/server/servertest"
	"github.com/pyropedb/pyrope/tsavorite"
)

// TestEveryCallHasItsReply calls every command with up to eight arguments that make no sense. Each
// call must get exactly one reply, in either protocol, or one for each name it subscribes to, and the connection must go on: a PING behind
// it is answered.
func TestEveryCallHasItsReply(t *testing.T) {
	handler := servertest.NewHandler(t, tsavorite.Options{})
	junk := [][]string{
		{"a", "b", "c", "d", "e", "f", "g", "h"},
		{"0", "-1", "9223372036854775807", "1", "x", "0", "1", "2"},
		{"\r\n-injected", "a\r\n+b", "\r", "\n", "\x00", "\r\n\r\n", "*", ""},
		{"", "", "", "", "", "", "", ""},
		{"*", "nx", "ex", "1", "GET", "MATCH", "count", "0"},
	}
	for i, d := range slices.Repeat(command.AllCommands(), 2) {
		protocol := "2"
		if i >= len(command.AllCommands()) {
			protocol = "3"
		}
		if d.Name == "shutdown" || d.Name == "sleep" {
			continue // they do what they are told
		}
		for _, arguments := range junk {
			for count := range len(arguments) + 1 {
				words := append(strings.Split(d.FullName(), "|"), arguments[:count]...)
				if err := handler.Reconnect(); err != nil {
					t.Fatal(err)
				}
				if reply, err := handler.Do("HELLO", protocol); err != nil || reply.IsError() {
					t.Fatalf("HELLO %s: %v, %v", protocol, reply, err)
				}
				replies, err := handler.DoAll(words...)
				want := 1
				if strings.HasSuffix(d.Name, "subscribe") {
					want = max(count, 1) // one for each name
				}
				if err != nil || len(replies) != want {
					t.Errorf("RESP%s: %q: %d replies, %v; want %d", protocol, words, len(replies), err, want)
					continue
				}
				reply := replies[0]
				if strings.ContainsAny(string(reply.Text), "\r\n") && reply.IsError() {
					t.Errorf("%q: the error has a line end: %q", words, reply.Text)
				}
				if d.Name == "quit" || d.Name == "monitor" { // which has more to say of a PING
					continue
				}
				pong, err := handler.Do("PING")
				if text := servertest.Notation(pong); err != nil || text != "+PONG" && text != `["pong" ""]` {
					t.Errorf("%q: PING is answered by %s, error %v", words, servertest.Notation(pong), err)
				}
			}
		}
	}
}
