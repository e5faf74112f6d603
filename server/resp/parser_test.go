package resp_test

import (
	"testing"

	"github.com/pyropedb/pyrope/server/resp"
)

func TestParserReadsACommand(t *testing.T) {
	var parser resp.Parser
	args, consumed, result := parser.Next([]byte("*2\r\n$3\r\nGET\r\n$1\r\nk\r\nPING"), nil)
	if result != resp.Complete || consumed != 20 || len(args) != 2 || string(args[0]) != "GET" || string(args[1]) != "k" {
		t.Fatalf("got %q, %d, %v", args, consumed, result)
	}
}
