package server_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
)

// contentOf are the files of a directory and what is in them.
func contentOf(t *testing.T, directory string) (all string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(directory, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all += fmt.Sprintln(entry.Name(), len(text), string(text))
	}
	return all
}

// TestSegmentsOfOthersStay: a start with another checkpoint directory leaves segments alone that a checkpoint needs, says whose they are, and
// goes on when it is told to by removing them. Without a checkpoint nothing was durable, and segments go as they always did.
func TestSegmentsOfOthersStay(t *testing.T) {
	options := config.Options{CheckpointDir: t.TempDir(), LogDir: t.TempDir(), StorageTier: config.On, Page: 64 << 10, Memory: 1 << 20, Segment: 1 << 20}
	fill := func(d *durable, prefix string) {
		for i := range 300 {
			d.do("SET", fmt.Sprint(prefix, i), strings.Repeat("x", 10_000))
		}
	}
	d := openServer(t, options)
	fill(d, "cache")
	d.Close()
	d = openServer(t, options) // what was no more than memory is gone
	d.expect("DBSIZE", ":0")
	fill(d, "key")
	d.expect("SAVE", "+OK")
	d.Close()
	before := contentOf(t, options.LogDir)
	if !strings.Contains(before, "hlog.0 ") || !strings.Contains(before, "hlog.owner ") {
		t.Fatalf("beside the segments there are %.300s", before)
	}

	elsewhere := options
	elsewhere.CheckpointDir = t.TempDir()
	refused := func(o config.Options, want ...string) {
		t.Helper()
		refusedStart(t, o, append(want, o.LogDir, "whose checkpoints are in "+options.CheckpointDir, "nothing was changed")...)
		if contentOf(t, options.LogDir) != before {
			t.Fatal("segments have changed")
		}
	}
	refused(elsewhere, "there is no checkpoint in "+elsewhere.CheckpointDir)
	withFile := elsewhere
	withFile.AppendOnly = config.On
	refused(withFile, "there is no checkpoint in "+elsewhere.CheckpointDir)

	// Another server's checkpoints: of another log, or with their records in themselves.
	other := elsewhere
	other.LogDir = t.TempDir()
	d = openServer(t, other)
	d.expect("SAVE", "+OK")
	d.Close()
	refused(elsewhere, "checkpoint 1 in "+elsewhere.CheckpointDir+" is of log ")
	plain := elsewhere
	plain.CheckpointDir, plain.StorageTier, plain.LogDir = t.TempDir(), config.Off, ""
	d = openServer(t, plain)
	d.expect("SAVE", "+OK")
	d.Close()
	plain.StorageTier, plain.LogDir = config.On, options.LogDir
	refused(plain, "checkpoint 1 in "+plain.CheckpointDir+" has all its records itself")

	// A manifest that is lost makes no empty server.
	manifest := filepath.Join(options.CheckpointDir, "checkpoints", "1", "manifest")
	if err := os.Rename(manifest, manifest+".lost"); err != nil {
		t.Fatal(err)
	}
	refused(options, "there is no checkpoint in "+options.CheckpointDir)
	if err := os.Rename(manifest+".lost", manifest); err != nil {
		t.Fatal(err)
	}

	// The directories may move.
	moved := options
	moved.CheckpointDir = filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(options.CheckpointDir, moved.CheckpointDir); err != nil {
		t.Fatal(err)
	}
	d = openServer(t, moved)
	d.expect("DBSIZE", ":300")
	d.expect("STRLEN key0", ":10000")
	d.Close()
	if after := contentOf(t, options.LogDir); !strings.Contains(after, moved.CheckpointDir) {
		t.Errorf("the checkpoints have moved to %s, and beside the segments there is %.300s", moved.CheckpointDir, after)
	}

	// A damaged note is no permission, a removed one is.
	note := filepath.Join(options.LogDir, "hlog.owner")
	if err := os.WriteFile(note, []byte("log x"), 0o600); err != nil {
		t.Fatal(err)
	}
	fresh := options
	fresh.CheckpointDir = t.TempDir()
	refusedStart(t, fresh, note, "damaged")
	if err := os.Remove(note); err != nil {
		t.Fatal(err)
	}
	d = openServer(t, fresh)
	d.expect("DBSIZE", ":0")
	fill(d, "new")
	d.expect("SAVE", "+OK")
	d.Close()
	refusedStart(t, moved, "checkpoint 1 in "+moved.CheckpointDir+" is of log ")
}

// TestUnfinishedCheckpointsAreTold: a checkpoint without a manifest is passed over, and the log says so.
func TestUnfinishedCheckpointsAreTold(t *testing.T) {
	options := config.Options{CheckpointDir: t.TempDir()}
	d := openServer(t, options)
	d.expect("SET a 1", "+OK")
	d.expect("SAVE", "+OK")
	d.Close()
	if err := os.Remove(filepath.Join(options.CheckpointDir, "checkpoints", "1", "manifest")); err != nil {
		t.Fatal(err)
	}
	var lines logText
	s, err := server.New(server.Options{Options: options, Log: slog.New(slog.NewTextHandler(&lines, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !lines.has("no manifest") || !lines.has("numbers=[1]") {
		t.Errorf("the log says %s", lines.text.String())
	}
}
