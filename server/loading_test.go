package server_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
)

// heldServer is a server that listens and does not load its data before it is let.
func heldServer(t *testing.T, options config.Options) (s *server.Server, let func()) {
	t.Helper()
	held := make(chan struct{})
	all := server.Options{Options: options}
	all.Memory, all.EnableDebug = durableMemory, config.DebugYes
	all.BeforeLoad(func() { <-held })
	s, err := server.New(all)
	if err != nil {
		t.Fatal(err)
	}
	isHeld := true
	let = func() {
		if isHeld {
			close(held)
			isHeld = false
		}
	}
	t.Cleanup(func() {
		let()
		s.Close()
	})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	return s, let
}

// TestLoadingOfACheckpoint: the server listens while its checkpoint loads, answers what Redis answers then, refuses all else, and
// says how far it is. Nothing that was told to it meanwhile is lost.
func TestLoadingOfACheckpoint(t *testing.T) {
	for _, c := range saveCases {
		t.Run(c.name, func(t *testing.T) {
			options := c.options(t)
			d := openServer(t, options)
			for i := range 50 {
				d.do("SET", "key"+strconv.Itoa(i), strings.Repeat("v", 50_000))
			}
			d.expect("SET gone 1 PX 1", "+OK")
			d.expect("SAVE", "+OK")
			if c.file.IsOn() {
				d.expect("SET late 1", "+OK")
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			s, let := heldServer(t, options)
			client := dial(t, s)
			for _, line := range []string{"GET key1", "SET key1 1", "DBSIZE", "KEYS *", "SAVE", "BGSAVE", "BGREWRITEAOF", "FLUSHALL", "COMPACT", "DEBUG OBJECT key1", "DEBUG POPULATE 10"} {
				check(t, client, line, "-LOADING Redis is loading the dataset in memory")
			}
			check(t, client, "PING", "+PONG")
			check(t, client, "SELECT 1", "+OK")
			check(t, client, "CLIENT SETNAME loader", "+OK")
			check(t, client, "CONFIG SET maxmemory 24mb", "+OK")
			fields := info(t, client, "persistence")
			total, err := strconv.Atoi(fields["loading_total_bytes"])
			if fields["loading"] != "1" || fields["loading_loaded_bytes"] != "0" || err != nil || total < 50*50_000 {
				t.Errorf("while it loads INFO says %v", fields)
			}
			let()
			if err := s.LoadError(); err != nil {
				t.Fatal(err)
			}
			check(t, client, "CLIENT GETNAME", `"loader"`)
			check(t, client, "SELECT 0", "+OK")
			check(t, client, "STRLEN key49", ":50000")
			check(t, client, "GET gone", "nil")
			check(t, client, "CONFIG GET maxmemory", `["maxmemory" "25165824"]`)
			want := ":50"
			if c.file.IsOn() {
				want = ":51"
			}
			eventually(t, "DBSIZE is "+want, func() bool { return do(t, client, "DBSIZE") == want })
			if fields := info(t, client, "persistence"); fields["loading"] != "0" || fields["loading_total_bytes"] != "" {
				t.Errorf("once it is loaded INFO says %v", fields)
			}
			check(t, client, "SET key1 1", "+OK")
		})
	}
}

// TestEndWhileACheckpointLoads closes a server that loads: it gives up, takes no checkpoint of the half that it has, whatever it
// was told, and the next start finds all.
func TestEndWhileACheckpointLoads(t *testing.T) {
	options := config.Options{CheckpointDir: t.TempDir(), SavePoints: "3600 1"}
	d := openServer(t, options)
	d.expect("SET a 1", "+OK")
	d.expect("SAVE", "+OK")
	d.Close()
	for _, line := range []string{"", "SHUTDOWN SAVE", "SHUTDOWN"} {
		s, let := heldServer(t, options)
		if line != "" {
			if _, err := dial(t, s).Do(strings.Fields(line)...); err == nil {
				t.Errorf("%s has a reply", line)
			}
			<-s.ShutdownRequested()
		}
		closed := make(chan error)
		go func() { closed <- s.Close() }()
		eventually(t, "the server is closing", func() bool { return s.Start() != nil })
		let()
		if err := <-closed; err != nil {
			t.Errorf("Close while it loads: %v", err)
		}
		found, err := os.ReadDir(filepath.Join(options.CheckpointDir, "checkpoints"))
		if err != nil || len(found) != 1 || found[0].Name() != "1" {
			t.Errorf("after %q there are the checkpoints %v, %v", line, found, err)
		}
	}
	d = openServer(t, options)
	d.expect("GET a", "$1\r\n1")
}
