package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/aof"
	"github.com/pyropedb/pyrope/server/config"
)

// serve runs a server over a directory that carries out a few commands, and closes it.
func serve(t *testing.T, directory string, commands ...string) {
	t.Helper()
	serveOptions(t, config.Options{AppendOnly: config.On, CheckpointDir: directory, CommitFrequency: config.CommitAlways}, commands...)
}

// serveOptions is serve with any options.
func serveOptions(t *testing.T, options config.Options, commands ...string) {
	t.Helper()
	s, err := server.New(server.Options{Options: options})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.LoadError(); err != nil {
		t.Fatal(err)
	}
	client, err := s.Client()
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range commands {
		if reply, err := client.Do(strings.Fields(command)...); err != nil {
			t.Fatalf("%s: %v, %v", command, reply, err)
		}
	}
}

// expect runs the program and compares exit code and parts of the output.
func expect(t *testing.T, arguments string, code int, parts ...string) {
	t.Helper()
	var stdout, stderr strings.Builder
	got := run(strings.Fields(arguments), &stdout, &stderr)
	output := stdout.String() + stderr.String()
	if got != code {
		t.Errorf("%s: exit code %d, want %d; it says %s", arguments, got, code, output)
	}
	for _, part := range parts {
		if !strings.Contains(output, part) {
			t.Errorf("%s says %s\nwant %q", arguments, output, part)
		}
	}
}

func TestCheck(t *testing.T) {
	directory := t.TempDir()
	expect(t, "", 2, "pyrope-check:")
	expect(t, filepath.Join(directory, "nowhere"), 2, "nowhere: no such file or directory")
	expect(t, "--frobnicate "+directory, 2, "unknown flag")
	expect(t, directory, 2, "neither checkpoints nor an append-only file")
	expect(t, "--logdir /nowhere "+directory, 2, "no such file")
	expect(t, "--help", 0, "--repair")
	serve(t, directory, "SET a 1", "SETBIT a 0 1", "EXPIRE a 1000", "DEL a", "MSET x 1 y 2", "SWAPDB 0 1")
	expect(t, directory, 0, "entries")
	expect(t, "--entries "+directory, 0, "start of the server", `set namespace 0 key "a" value of 1`, `patch namespace 0 key "a" bytes 0 to 1`,
		" until 20", `delete namespace 0 key "a"`, ` set namespace 0 key "x"`, " end\n", "namespaces of the databases")

	name := filepath.Join(directory, aof.DirectoryName, "aof.0")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	write := func(bytes []byte) {
		if err := os.WriteFile(name, bytes, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	end := len(strings.TrimRight(string(whole), "\x00"))

	// Torn: the closing block is cut.
	write(whole[:end-3])
	expect(t, directory, 1, "TORN at address ")
	torn, _ := os.ReadFile(name)
	if len(torn) != end-3 {
		t.Error("a check without --repair changes the file")
	}
	expect(t, "--repair "+directory, 0, "repaired")
	expect(t, directory, 0)

	// Damaged in the middle: not even --repair touches it.
	whole[100] ^= 1
	write(whole)
	expect(t, directory, 1, "DAMAGED", "segment 0, offset")
	expect(t, "--repair "+directory, 1, "DAMAGED")
	after, _ := os.ReadFile(name)
	if string(after) != string(whole) {
		t.Error("--repair changes a damaged file")
	}
}

// TestCheckCheckpoints damages every file of a checkpoint, of a store in memory and of one with segments.
func TestCheckCheckpoints(t *testing.T) {
	for _, tier := range []config.Switch{config.Off, config.On} {
		directory, logs := t.TempDir(), t.TempDir()
		options := config.Options{CheckpointDir: directory, StorageTier: tier, KeepCheckpoints: 2, Segment: 16 << 20, AppendOnly: tier}
		arguments, where := directory, "in its own files"
		if tier.IsOn() {
			options.LogDir = logs
			arguments, where = "--segment 16m --logdir "+logs+" "+directory, "in the log's segments\n"
		}
		serveOptions(t, options, "SET a 1", "SAVE", "SET b 2", "SAVE")
		expect(t, directory, 0, "checkpoint 1: of 20", "checkpoint 2: of 20")
		expect(t, arguments, 0, where)
		files, err := filepath.Glob(filepath.Join(directory, "checkpoints", "2", "*"))
		if err != nil || len(files) != 3 {
			t.Fatalf("files %q, %v", files, err)
		}
		if tier.IsOn() {
			expect(t, arguments, 0, "the append-only file goes on at address ")
			files = append(files, filepath.Join(logs, "hlog.0"))
		}
		for _, path := range files {
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			bad := append([]byte{}, whole...)
			at := len(bad) / 2
			if path == filepath.Join(logs, "hlog.0") {
				at = 100 // the first record
			}
			bad[at]++
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			expect(t, arguments, 1, "checkpoint 2: DAMAGED", "offset")
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		expect(t, arguments, 0)
	}
}
