package servertest_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/servertest"
)

var (
	seed     = flag.Uint64("seed", 1, "of the random commands; 0 takes a new one")
	commands = flag.Int("commands", 3000, "random commands for each configuration; a sixth of them in short mode")
)

// TestSameRepliesAsRedis runs random commands on Pyrope and on redis-server. The tiered
// configuration writes ballast between them, so that most keys lie on the device when they are used.
func TestSameRepliesAsRedis(t *testing.T) { compareFamily(t, servertest.NewGenerator) }

// TestSameBitmapsAsRedis is the same for the commands on bitmaps.
func TestSameBitmapsAsRedis(t *testing.T) { compareFamily(t, servertest.NewBitmapGenerator) }

// TestSameHyperLogLogsAsRedis is the same for HyperLogLogs, whose bytes are compared too.
func TestSameHyperLogLogsAsRedis(t *testing.T) {
	compareFamily(t, servertest.NewHyperLogLogGenerator)
}

// TestSameServerAsRedis is the same for the commands about the connection and the server.
func TestSameServerAsRedis(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	// What takes long depends on the machine.
	prepare := []string{"CONFIG", "SET", "slowlog-log-slower-than", "-1"}
	compare(t, config.Options{Memory: 16 << 20, Page: 1 << 20}, servertest.NewServerGenerator(*seed), "2", false, prepare)
}

func compareFamily(t *testing.T, newGenerator func(seed uint64) *servertest.Generator) {
	t.Helper()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	inMemory := config.Options{Memory: 16 << 20, Page: 1 << 20}
	tiered := config.Options{Memory: 4 << 20, Page: 1 << 20, Segment: 16 << 20, StorageTier: config.On, DeviceType: device.RandomAccess}
	// Pages so small that strings of a thousand bytes are kept in chunks.
	chunked := config.Options{Memory: 16 << 20, Page: 4 << 10}
	chunkedTiered := config.Options{Memory: 1 << 20, Page: 4 << 10, Segment: 16 << 20, StorageTier: config.On, DeviceType: device.RandomAccess}
	t.Run("chunked", func(t *testing.T) {
		compare(t, chunked, newGenerator(*seed), "2", false)
	})
	t.Run("chunked/tiered", func(t *testing.T) {
		options := chunkedTiered
		options.LogDir = t.TempDir()
		compare(t, options, newGenerator(*seed), "3", true)
	})
	for _, protocol := range []string{"2", "3"} {
		t.Run("memory/resp"+protocol, func(t *testing.T) {
			compare(t, inMemory, newGenerator(*seed), protocol, false)
		})
		t.Run("tiered/resp"+protocol, func(t *testing.T) {
			options := tiered
			options.LogDir = t.TempDir()
			compare(t, options, newGenerator(*seed), protocol, true)
		})
	}
}

// Ballast is more than there is memory, so by the time it is written again it is cold, and all of
// it goes to the end of the log once more: the log grows, the live data do not.
const (
	ballastPortions   = 5
	ballastKeys       = 256 // of a portion
	ballastValueBytes = 4096
	ballastEvery      = 1000 // commands
)

func compare(t *testing.T, options config.Options, generator *servertest.Generator, protocol string, ballast bool, prepare ...[]string) {
	t.Helper()
	tested := servertest.StartServer(t, server.Options{Options: options})
	c := &servertest.Comparison{
		Tested:    servertest.Dial(t, tested.Addr().String()),
		Reference: servertest.Dial(t, servertest.StartRedis(t)),
		Seed:      *seed,
		Generator: generator,
	}
	for _, client := range []*servertest.Client{c.Tested, c.Reference} {
		if reply, err := client.Do("HELLO", protocol); err != nil || reply.IsError() {
			t.Fatalf("HELLO %s: %s, error %v", protocol, servertest.Notation(reply), err)
		}
	}
	c.Both(t, prepare)
	count := *commands
	if testing.Short() {
		count /= 6
	}
	if !ballast {
		c.Run(t, count)
		return
	}
	for done := 0; done < count; {
		loadBallast(t, c)
		done = min(done+ballastEvery, count)
		c.Run(t, done)
	}
	if info := tested.Info(); info.PendingReads == 0 {
		t.Errorf("no read went to the device: %+v", info)
	}
}

// loadBallast gives the cold keys that are gone a value again, and makes them cold.
func loadBallast(t *testing.T, c *servertest.Comparison) {
	t.Helper()
	var load [][]string
	for i := range servertest.ColdKeys {
		load = append(load, []string{"SETNX", servertest.ColdKey(i), strings.Repeat("c", i)})
	}
	c.Both(t, load)
	for portion := range ballastPortions {
		load = load[:0]
		for i := range ballastKeys {
			key := fmt.Sprintf("ballast:%d:%d", portion, i)
			load = append(load, []string{"SET", key, strings.Repeat("b", ballastValueBytes)})
		}
		c.Both(t, load)
	}
}
