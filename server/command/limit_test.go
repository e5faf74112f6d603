package command_test

import (
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/server/servertest"
)

// TestLengthsAreBoundedAsInRedis lowers proto-max-bulk-len to a megabyte, and raises it again, on Pyrope and on Redis: what would make a
// string longer, or take more memory, is refused by both at the same byte and with the same words.
func TestLengthsAreBoundedAsInRedis(t *testing.T) {
	ours, redis := servertest.Dial(t, startPyrope(t)), servertest.Dial(t, servertest.StartRedis(t))
	half, text := strings.Repeat("h", 1<<19), strings.Repeat("ab", 300)
	steps := [][]string{
		{"CONFIG", "SET", "proto-max-bulk-len", "1mb"},
		{"SET", "s", half}, {"APPEND", "s", half[1:]}, {"APPEND", "s", "xy"}, {"APPEND", "s", "x"}, {"APPEND", "s", "x"}, {"STRLEN", "s"},
		{"APPEND", "s", ""}, {"APPEND", "missing", half}, {"SETRANGE", "s", "1048575", "x"}, {"SETRANGE", "s", "1048575", "xy"},
		{"SETRANGE", "s", "1048576", "x"}, {"SETRANGE", "s", "1048576", ""}, {"SETRANGE", "none", "1048576", "x"}, {"SETRANGE", "small", "1048574", "xy"},
		{"SETRANGE", "s", "9223372036854775807", "x"}, {"SETRANGE", "small", "1048575", "xy"},
		{"SETBIT", "b", "8388607", "1"}, {"SETBIT", "b", "8388608", "1"}, {"GETBIT", "b", "8388607"}, {"GETBIT", "b", "8388608"}, {"STRLEN", "b"},
		{"BITFIELD", "f", "SET", "u8", "8388600", "255"}, {"BITFIELD", "f", "SET", "u8", "8388608", "1"}, {"BITFIELD", "f", "SET", "u8", "#1048575", "7"},
		{"BITFIELD", "f", "SET", "u8", "#1048576", "7"}, {"BITFIELD", "f", "GET", "u8", "8388608"}, {"BITFIELD_RO", "f", "GET", "u8", "8388608"}, {"STRLEN", "f"},
		{"SET", "a", text}, {"LCS", "a", "a", "LEN"}, {"SET", "a", text[:511]}, {"SET", "c", text[:511]}, {"LCS", "a", "c", "LEN"},
		{"CONFIG", "SET", "proto-max-bulk-len", "2mb"},
		{"APPEND", "s", "x"}, {"SETRANGE", "s", "2097151", "x"}, {"SETRANGE", "s", "2097152", "x"}, {"SETBIT", "b", "16777215", "1"}, {"SETBIT", "b", "16777216", "1"},
		{"SET", "a", text}, {"LCS", "a", "a", "LEN"},
		{"CONFIG", "SET", "proto-max-bulk-len", "1mb"}, {"SETRANGE", "s", "3", "x"}, {"APPEND", "s", ""}, {"SETBIT", "b", "5", "1"}, {"STRLEN", "s"},
	}
	for _, words := range steps {
		var got [2]string
		for i, client := range []*servertest.Client{ours, redis} {
			reply, err := client.Do(words...)
			if err != nil {
				t.Fatalf("%.60q: %v", words, err)
			}
			got[i] = servertest.Notation(reply)
		}
		if got[0] != got[1] {
			t.Errorf("%.60q:\n got %.200s\nwant %.200s", words, got[0], got[1])
		}
	}
}
