// Package logging writes the server's log: to a file that can be opened again, in one of two formats, and without
// letting an error that repeats itself fill the disk.
package logging

import (
	"context"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/pyropedb/pyrope/server/config"
)

// New returns a logger that writes lines of the format, from the level on, and bounds repetitions.
func New(to io.Writer, format config.LogFormat, level slog.Leveler) *slog.Logger {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: nameLevels}
	var handler slog.Handler = slog.NewTextHandler(to, options)
	if format == config.LogJSON {
		handler = slog.NewJSONHandler(to, options)
	}
	return slog.New(Bound(handler, Burst, Interval))
}

// nameLevels writes the levels by their names on the command line.
func nameLevels(_ []string, attribute slog.Attr) slog.Attr {
	if level, ok := attribute.Value.Any().(slog.Level); ok && attribute.Key == slog.LevelKey {
		attribute.Value = slog.StringValue(string(config.LevelOf(level)))
	}
	return attribute
}

// File is a file that lines are appended to.
type File struct {
	path string
	mu   sync.Mutex
	file *os.File // guarded by mu
}

// Open opens a file for appending, and creates it if need be.
func Open(path string) (*File, error) {
	f := &File{path: path}
	return f, f.Reopen()
}

// Reopen opens the path anew, as after a rotation; if that fails, lines go on to the file there was. Any goroutine.
func (f *File) Reopen() error {
	file, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	former := f.file
	f.file = file
	if former != nil {
		return former.Close()
	}
	return nil
}

// Write is part of io.Writer.
func (f *File) Write(text []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file.Write(text)
}

// Close closes the file.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file.Close()
}

// Burst warnings and errors of one text are written within Interval; what repeats beyond that is counted, and the
// number is told with the next that is written.
const (
	Burst    = 10
	Interval = 10 * time.Second
)

// maxTexts bounds the texts that are watched. Texts are constants of the program, so it is never reached.
const maxTexts = 1000

// bound is a handler that leaves out repetitions.
type bound struct {
	slog.Handler
	burst    int
	interval time.Duration
	seen     *seen // shared by handlers made with attributes
}

type seen struct {
	mu    sync.Mutex
	texts map[string]*repetition // guarded by mu
}

// repetition is what became of one text since begin.
type repetition struct {
	begin          time.Time
	written, count int // count is of those left out since the last that was written
}

// Bound returns a handler that passes on at most burst warnings or errors of one text within an interval.
func Bound(handler slog.Handler, burst int, interval time.Duration) slog.Handler {
	return &bound{handler, burst, interval, &seen{texts: make(map[string]*repetition)}}
}

// Handle is part of slog.Handler.
func (b *bound) Handle(ctx context.Context, record slog.Record) error {
	if record.Level >= slog.LevelWarn {
		omitted, pass := b.seen.pass(record, b.burst, b.interval)
		if !pass {
			return nil
		}
		if omitted > 0 {
			record.AddAttrs(slog.Int("omitted", omitted))
		}
	}
	return b.Handler.Handle(ctx, record)
}

// pass tells whether a record is written, and how many like it were not since the last.
func (s *seen) pass(record slog.Record, burst int, interval time.Duration) (omitted int, pass bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.texts[record.Message]
	switch {
	case r == nil && len(s.texts) >= maxTexts:
		return 0, true
	case r == nil:
		r = &repetition{begin: record.Time}
		s.texts[record.Message] = r
	case record.Time.Sub(r.begin) >= interval:
		r.begin, r.written = record.Time, 0
	}
	if r.written == burst {
		r.count++
		return 0, false
	}
	omitted, r.count = r.count, 0
	r.written++
	return omitted, true
}

// WithAttrs is part of slog.Handler.
func (b *bound) WithAttrs(attributes []slog.Attr) slog.Handler {
	return &bound{b.Handler.WithAttrs(attributes), b.burst, b.interval, b.seen}
}

// WithGroup is part of slog.Handler.
func (b *bound) WithGroup(name string) slog.Handler {
	return &bound{b.Handler.WithGroup(name), b.burst, b.interval, b.seen}
}
