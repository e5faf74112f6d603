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
	s, err := server.New(server.Options{Options: config.Options{AppendOnly: config.On, CheckpointDir: directory, CommitFrequency: config.CommitAlways}})
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
	expect(t, "--frobnicate "+directory, 2, "unknown flag")
	expect(t, directory, 2, "no such file")
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
