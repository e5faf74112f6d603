package command

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/faultdev"
	"github.com/pyropedb/pyrope/device/localmemory"
	"github.com/pyropedb/pyrope/tsavorite"
)

// TestFullMemoryRefusesWrites fills memory with values that fill a page well, and with such that
// leave a quarter of it unused.
func TestFullMemoryRefusesWrites(t *testing.T) {
	for _, length := range []int{100, 1000} {
		t.Run(fmt.Sprintf("%d bytes", length), func(t *testing.T) {
			fillMemory(t, strings.Repeat("v", length))
		})
	}
}

func fillMemory(t *testing.T, value string) {
	c := newTestContext(t, tsavorite.Options{MemoryBytes: 64 << 10, PageBytes: 4 << 10})
	client := &Client{}
	stored := 0
	for ; stored < 1000; stored++ {
		if got := serve(t, c, client, request("SET", fmt.Sprintf("key:%d", stored), value)); got != "+OK\r\n" {
			break
		}
	}
	if stored < 10 || stored == 1000 {
		t.Fatalf("a store of 64 KiB took %d values of %d bytes", stored, len(value))
	}
	const oom = "-OOM command not allowed when used memory > 'maxmemory'.\r\n"
	for _, words := range [][]string{
		{"SET", "new", value}, {"SET", "new", value, "NX"}, {"SETEX", "new", "100", value}, {"GETSET", "new", value},
		{"APPEND", "new", value}, {"SETRANGE", "new", "0", value}, {"MSET", "new", value, "newer", value}, {"MSETNX", "new", value, "newer", value},
	} {
		if got := serve(t, c, client, request(words...)); got != oom {
			t.Errorf("%.30q: %.100q", words, got)
		}
	}
	if got := serve(t, c, client, requests("GET key:0", "EXISTS new", "DBSIZE")); got != fmt.Sprintf("$%d\r\n%s\r\n:0\r\n:%d\r\n", len(value), value, stored) {
		t.Errorf("what was stored reads %.100q", got)
	}
	if failed := c.State.Totals().Commands[setCommand.Index()].Failed.Load(); failed != 3 {
		t.Errorf("%d SETs are counted as failed, want 3", failed)
	}
	for i := range stored {
		serve(t, c, client, request("DEL", fmt.Sprintf("key:%d", i)))
	}
	if got := serve(t, c, client, requests("DBSIZE", "FLUSHALL")+request("SET", "new", value)); got != ":0\r\n+OK\r\n+OK\r\n" {
		t.Errorf("after everything was deleted: %.200q", got)
	}
}

// TestDeviceErrorsAreReplies injects a failing read under every command that reads a cold key: it
// must be one error reply, and the connection and the key must live on.
func TestDeviceErrorsAreReplies(t *testing.T) {
	inner, err := localmemory.Open(device.Options{SegmentSizeBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	faulty := faultdev.Wrap(inner, faultdev.Options{})
	t.Cleanup(func() { faulty.Close() })
	c := newTestContext(t, tsavorite.Options{Device: faulty, PageBytes: 4 << 10, MemoryBytes: 16 << 10})
	client := &Client{}
	chill := func() {
		t.Helper()
		for i := range 100 {
			serve(t, c, client, request("SET", fmt.Sprintf("ballast:%d", i), strings.Repeat("b", 900)))
		}
	}
	for _, line := range []string{
		"GET k", "MGET k", "STRLEN k", "GETRANGE k 0 1", "EXISTS k", "TYPE k", "TTL k", "GETEX k EX 10", "GETDEL k", "SET k v NX",
		"GETSET k v", "APPEND k x", "SETRANGE k 1 x", "INCR k", "INCRBYFLOAT k 1", "DEL k", "EXPIRE k 10", "PERSIST k", "MSETNX k 1 l 2",
		"SETBIT k 1 1", "GETBIT k 1", "BITCOUNT k", "BITPOS k 1", "BITOP AND d l k", "BITFIELD k SET u8 0 1", "BITFIELD_RO k GET u8 0",
		"PFADD k a", "PFCOUNT k", "PFCOUNT l k", "PFMERGE d k",
	} {
		serve(t, c, client, request("SET", "k", "1"))
		chill()
		faulty.FailNth(device.OpRead, 1, errors.New("a broken disk\r\n+OK"))
		got := strings.TrimPrefix(serve(t, c, client, requests(line, "PING")), "*1\r\n")
		problem, rest, _ := strings.Cut(got, "\r\n")
		if !strings.HasPrefix(problem, "-ERR ") || !strings.Contains(problem, "a broken disk") || rest != "+PONG\r\n" {
			t.Errorf("%s: %q", line, got)
		}
		if got := serve(t, c, client, request("GET", "k")); got != "$1\r\n1\r\n" {
			t.Errorf("%s left %q", line, got)
		}
	}
}
