package logging_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/logging"
)

func TestFormats(t *testing.T) {
	var text bytes.Buffer
	logging.New(&text, config.LogText, slog.LevelInfo).Warn("something", "key", "a b")
	if got := text.String(); !strings.Contains(got, `level=Warning msg=something key="a b"`) {
		t.Errorf("text %q", got)
	}
	text.Reset()
	log := logging.New(&text, config.LogJSON, slog.LevelInfo)
	log.Debug("unseen")
	log.Error("something", "key", 5)
	var line struct {
		Level, Msg string
		Key        int
	}
	if err := json.Unmarshal(text.Bytes(), &line); err != nil || line.Level != "Error" || line.Msg != "something" || line.Key != 5 {
		t.Errorf("JSON %q, %v", text.String(), err)
	}
}

// TestRepetitions repeats errors over three intervals of a made-up clock.
func TestRepetitions(t *testing.T) {
	var text bytes.Buffer
	handler := logging.Bound(slog.NewTextHandler(&text, nil), 3, time.Minute)
	now := time.Now()
	write := func(level slog.Level, message string, at time.Duration) {
		t.Helper()
		if err := handler.WithAttrs(nil).Handle(context.Background(), slog.NewRecord(now.Add(at), level, message, 0)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		write(slog.LevelError, "disk", time.Duration(i)*time.Millisecond)
		write(slog.LevelInfo, "calm", 0)
	}
	write(slog.LevelError, "other", 0)
	write(slog.LevelError, "disk", time.Minute)
	write(slog.LevelError, "disk", time.Minute)
	got := text.String()
	if strings.Count(got, "msg=disk") != 5 || strings.Count(got, "msg=calm") != 100 || strings.Count(got, "msg=other") != 1 || strings.Count(got, "omitted=97") != 1 {
		t.Errorf("log\n%s", got)
	}
}

func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	file, err := logging.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	write := func(text string) {
		if _, err := file.Write([]byte(text)); err != nil {
			t.Error(err)
		}
	}
	write("one\n")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write("two\n")
	if err := file.Reopen(); err != nil {
		t.Fatal(err)
	}
	write("three\n")
	for name, want := range map[string]string{path + ".1": "one\ntwo\n", path: "three\n"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v; want %q", name, got, err, want)
		}
	}
	if _, err := logging.Open(filepath.Join(path, "none")); err == nil {
		t.Error("a file below a file is opened")
	}
}
