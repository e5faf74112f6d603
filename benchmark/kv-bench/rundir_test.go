package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// makeRun makes a run directory that looks like one of the process.
func makeRun(t *testing.T, parent, name, owner string) string {
	t.Helper()
	directory := filepath.Join(parent, name)
	if err := os.MkdirAll(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	if owner != "" {
		if err := os.WriteFile(filepath.Join(directory, ownerFile), []byte(owner), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestRunDirectoryIsMarkedAndDeadOnesAreSwept(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "deep", "path")
	const nobody = "2000000000" // above any pid
	dead := makeRun(t, parent, "kv-run-dead", nobody)
	alive := makeRun(t, parent, "kv-run-alive", strconv.Itoa(os.Getpid()))
	unmarked := makeRun(t, parent, "kv-run-unmarked", "")
	garbled := makeRun(t, parent, "kv-run-garbled", "someone")
	foreign := makeRun(t, parent, "precious", nobody)

	directory, err := makeRunDirectory(parent)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := os.ReadFile(filepath.Join(directory, ownerFile))
	if err != nil || string(owner) != strconv.Itoa(os.Getpid()) {
		t.Errorf("the mark is %q, %v", owner, err)
	}
	if exists(dead) {
		t.Error("the directory of a dead process is still there")
	}
	for _, kept := range []string{alive, unmarked, garbled, foreign, directory} {
		if !exists(kept) {
			t.Errorf("%s was removed", kept)
		}
	}
}

func TestRunDirectoryFailsClearly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := makeRunDirectory(filepath.Join(file, "below")); err == nil {
		t.Error("a directory below a file can be made")
	}
}
