package server_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
)

// tiered is a server of 1 MB of memory over a device in RAM.
func tiered(maxDisk config.Size, policy config.Policy) config.Options {
	o := small()
	o.Memory, o.Page, o.Index = 1<<20, 64<<10, 64<<10
	o.StorageTier, o.DeviceType, o.Segment = config.On, device.LocalMemory, 256<<10
	o.MaxDisk, o.Policy, o.MaxDeadPercent = maxDisk, policy, 100
	return o
}

// fillRound writes count values of 1,000 bytes and returns how many writes were refused for lack of room.
func fillRound(t *testing.T, c *server.Client, prefix string, count int) (refused int) {
	t.Helper()
	value := strings.Repeat("x", 1000)
	for i := range count {
		reply, err := c.Do("SET", fmt.Sprintf("%s-%d", prefix, i), value)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case reply.Kind == '-' && strings.HasPrefix(string(reply.Text), "OOM "):
			refused++
		case reply.Kind == '-':
			t.Fatalf("SET %s-%d: %s", prefix, i, reply.Text)
		}
	}
	return refused
}

func tieredClient(t *testing.T, o config.Options) *server.Client {
	t.Helper()
	s := newServer(t, o)
	c, err := s.Client()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func number(t *testing.T, c *server.Client, section, field string) int {
	t.Helper()
	n, err := strconv.Atoi(info(t, c, section)[field])
	if err != nil {
		t.Fatalf("%s: %v", field, err)
	}
	return n
}

// TestCompactGivesDiskBack: what was overwritten leaves the device, and INFO says what was done, and how.
func TestCompactGivesDiskBack(t *testing.T) {
	for _, kind := range []config.CompactionKind{config.CompactionLookUp, config.CompactionScan} {
		t.Run(string(kind), func(t *testing.T) {
			o := tiered(0, config.NoEviction)
			o.CompactionKind = kind
			c := tieredClient(t, o)
			check(t, c, "CONFIG GET compaction-kind", `["compaction-kind" "`+string(kind)+`"]`)
			compactGivesDiskBack(t, c)
			if got := info(t, c, "store")["compaction_last_kind"]; got != string(kind) {
				t.Errorf("the last compaction was of kind %s", got)
			}
			if took := number(t, c, "store", "compaction_last_milliseconds"); took < 0 || took > 600_000 {
				t.Errorf("the last compaction took %d ms", took)
			}
			if swept := number(t, c, "store", "compaction_last_swept_bytes"); swept != 0 != (kind == config.CompactionScan) {
				t.Errorf("%d bytes were swept", swept)
			}
			do(t, c, "COMPACT lookup")
			if got := info(t, c, "store")["compaction_last_kind"]; got != "lookup" {
				t.Errorf("after COMPACT lookup the last compaction was of kind %s", got)
			}
			check(t, c, "COMPACT shift", "-ERR syntax error")
			check(t, c, "COMPACT scan scan", "-ERR syntax error")
		})
	}
}

func compactGivesDiskBack(t *testing.T, c *server.Client) {
	t.Helper()
	for range 5 {
		fillRound(t, c, "key", 3000)
	}
	before := number(t, c, "store", "log_device_bytes")
	for range 2 {
		if reply := do(t, c, "COMPACT"); !strings.Contains(reply, "freed") {
			t.Fatalf("COMPACT: %s", reply)
		}
	}
	after := number(t, c, "store", "log_device_bytes")
	if before < 12<<20 || after > 5<<20 {
		t.Errorf("the device held %d bytes and holds %d", before, after)
	}
	if number(t, c, "store", "compactions") != 2 || number(t, c, "store", "compaction_freed_bytes") < 8<<20 {
		t.Errorf("INFO store: %v", info(t, c, "store"))
	}
	for i := range 3000 {
		check(t, c, fmt.Sprintf("STRLEN key-%d", i), ":1000")
	}
}

// TestMaxDisk: the three ways of a tier. Without a bound everything goes down; with one and noeviction writes are refused once
// memory and disk are full of live records; with allkeys-lru the oldest go.
func TestMaxDisk(t *testing.T) {
	if refused := fillRound(t, tieredClient(t, tiered(0, config.NoEviction)), "key", 6000); refused != 0 {
		t.Errorf("without a bound: %d writes refused", refused)
	}

	c := tieredClient(t, tiered(2<<20, config.NoEviction))
	if refused := fillRound(t, c, "key", 6000); refused < 2000 || refused > 4500 {
		t.Errorf("noeviction: %d of 6000 writes refused", refused)
	}
	check(t, c, "STRLEN key-0", ":1000")
	check(t, c, "CONFIG GET maxdisk", `["maxdisk" "2097152"]`)
	check(t, c, "CONFIG SET maxdisk 16mb", "+OK")
	if refused := fillRound(t, c, "more", 1000); refused != 0 {
		t.Errorf("with a higher bound: %d writes refused", refused)
	}

	c = tieredClient(t, tiered(2<<20, config.AllKeysLRU))
	if refused := fillRound(t, c, "key", 6000); refused != 0 {
		t.Errorf("allkeys-lru: %d writes refused", refused)
	}
	check(t, c, "STRLEN key-0", ":0")
	check(t, c, "STRLEN key-5999", ":1000")
	if number(t, c, "store", "log_evicted_bytes") == 0 {
		t.Error("nothing was dropped")
	}
}
