package aof

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/file"
	"github.com/pyropedb/pyrope/tsavorite"
	"github.com/pyropedb/pyrope/tsavorite/log"
)

const (
	// DirectoryName is the directory of the log's files, within the one that Options name.
	DirectoryName = "aof"
	fileName      = "aof"
	// segmentBytes is the size of a file: what a truncation leaves may be as long as that.
	segmentBytes = 64 << 20
	// quietInterval is how often what was not committed is looked after when no interval asks for it.
	quietInterval = time.Second
)

// Manual is the commit interval of a file that is committed on demand alone.
const Manual = time.Duration(-1)

// Options says where the append-only file lies and when it is committed.
type Options struct {
	// Directory holds the directory of the log's files.
	Directory string
	// PageBytes and MemoryBytes are those of the log; 0 is its default.
	PageBytes, MemoryBytes int
	// CommitInterval is how often what was entered is made durable. 0 makes every reply wait for its commit. Manual
	// leaves it to Commit: what was entered is given to the system each second.
	CommitInterval time.Duration
	// SizeLimit is the size in bytes above which OverLimit is called, once a second. 0 is no limit.
	SizeLimit uint64
	OverLimit func()
	// Log takes the lines about the file. nil discards them.
	Log *slog.Logger
}

// File is an append-only file. It is the journal of one store. All methods may be called from any goroutine.
type File struct {
	options  Options
	device   device.Device // set by Load, as is log; immutable from then on
	log      *log.Log
	interval atomic.Int64 // time.Duration

	read, total atomic.Uint64 // of the log, in bytes, while Load is under way
	loaded      atomic.Bool

	changed    chan struct{} // capacity 1: the interval is another
	stop       chan struct{}
	background sync.WaitGroup
}

// New returns a file that is not open yet: Load must come before the first write to its store.
func New(o Options) *File {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	f := &File{options: o, changed: make(chan struct{}, 1), stop: make(chan struct{})}
	f.interval.Store(int64(o.CommitInterval))
	return f
}

// RefusedError says that the log takes no entries, so that writes are refused.
type RefusedError struct{ Cause error }

func (e *RefusedError) Error() string { return "aof: writes are refused: " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Cause }

// Reserve is part of tsavorite.Journal.
func (f *File) Reserve(bytes int) bool {
	ok, err := f.log.TryReserve(bytes + maxHeaderBytes)
	return ok && err == nil
}

// Cancel is part of tsavorite.Journal.
func (f *File) Cancel(bytes int) { f.log.Unreserve(bytes + maxHeaderBytes) }

// AwaitRoom is part of tsavorite.Journal. Its error is a RefusedError.
func (f *File) AwaitRoom(bytes int) error {
	if err := f.log.WaitRoom(bytes + maxHeaderBytes); err != nil {
		return &RefusedError{err}
	}
	return nil
}

// Append is part of tsavorite.Journal.
func (f *File) Append(e *tsavorite.Entry, reserved int) (position uint64) {
	var header [maxHeaderBytes]byte
	_, end := f.log.AppendReserved(reserved+maxHeaderBytes, appendHeader(header[:0], e), e.Key.Bytes, e.Value)
	return uint64(end)
}

// SetCommitInterval changes when the file is committed, see Options.
func (f *File) SetCommitInterval(interval time.Duration) {
	f.interval.Store(int64(interval))
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// CommitInterval is when the file is committed, see Options.
func (f *File) CommitInterval() time.Duration { return time.Duration(f.interval.Load()) }

// HoldsReplies says whether replies to writes wait for their commit (A4).
func (f *File) HoldsReplies() bool { return f.interval.Load() == 0 }

// Commit makes everything durable that was entered before.
func (f *File) Commit() error { return f.log.Commit() }

// WaitCommit makes everything durable that lies below a position. Who comes while another commits shares the next commit.
func (f *File) WaitCommit(position uint64) error { return f.log.WaitCommit(log.Address(position)) }

// CommittedUntil is the position below which everything is durable.
func (f *File) CommittedUntil() uint64 { return uint64(f.log.CommittedUntil()) }

// Tail is a position that every entry made from now on lies at or above: from here a checkpoint is replayed that is
// taken now.
func (f *File) Tail() uint64 { return uint64(f.log.Tail()) }

// Truncate drops the files that lie wholly below a position, which a checkpoint covers.
func (f *File) Truncate(below uint64) error { return f.log.Truncate(log.Address(below)) }

// IsLoaded says whether Load is over, so that there is something for the other methods.
func (f *File) IsLoaded() bool { return f.loaded.Load() }

// Progress is how many bytes Load has read, and of how many.
func (f *File) Progress() (read, total uint64) { return f.read.Load(), f.total.Load() }

// Info is a snapshot of the log; the zero Info while it is loaded.
func (f *File) Info() log.Info {
	if !f.loaded.Load() {
		return log.Info{}
	}
	return f.log.Info()
}

// Size is how long the append-only file in a directory is, as far as can be seen without opening it.
func Size(directory string) (bytes uint64) {
	entries, err := os.ReadDir(filepath.Join(directory, DirectoryName))
	if err != nil {
		return 0
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && strings.HasPrefix(entry.Name(), fileName+".") {
			bytes += uint64(info.Size())
		}
	}
	return bytes
}

// openDevice opens the files in a directory.
func openDevice(directory string) (device.Device, error) {
	d, err := file.Open(device.Options{
		Directory: filepath.Join(directory, DirectoryName), FileName: fileName, SegmentSizeBytes: segmentBytes,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot open the append-only file: %w", err)
	}
	return d, nil
}

// open opens the log, whose entries go to replay, and starts to commit. The log must have the position from, if that is not 0.
func (f *File) open(from uint64, replay func(at log.Address, entry []byte) error) error {
	d, err := openDevice(f.options.Directory)
	if err != nil {
		return err
	}
	l, err := log.Open(log.Options{
		Device: d, PageBytes: f.options.PageBytes, MemoryBytes: f.options.MemoryBytes, Replay: replay,
		Progress: func(read, total uint64) {
			f.total.Store(total)
			f.read.Store(read)
		},
	})
	if err == nil {
		err = reaches(l, from)
	}
	if err == nil {
		_, _, err = l.Append([]byte{startByte})
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cannot load the append-only file: %w", err), d.Close())
	}
	f.device, f.log = d, l
	f.loaded.Store(true)
	f.background.Go(f.run)
	return nil
}

// reaches says what the log lacks to go on from a position; it is closed then.
func reaches(l *log.Log, from uint64) error {
	begin, end := uint64(l.Found().Begin), uint64(l.Tail())
	var lacks error
	switch {
	case begin > from && from == 0:
		lacks = fmt.Errorf("it begins at address %d, and the checkpoint that holds what came before is not there", begin)
	case begin > from:
		lacks = fmt.Errorf("it begins at address %d, and the checkpoint needs it from %d on", begin, from)
	case end < from:
		lacks = fmt.Errorf("it ends at address %d, and the checkpoint needs it from %d on", end, from)
	default:
		return nil
	}
	return errors.Join(lacks, l.Close())
}

// run commits, and looks after the log's health and size.
func (f *File) run() {
	refused := error(nil)
	for {
		interval := f.CommitInterval()
		wait := interval
		if wait <= 0 {
			wait = quietInterval
		}
		select {
		case <-f.stop:
			return
		case <-f.changed:
		case <-time.After(wait):
		}
		if interval == Manual {
			_ = f.log.Flush() // a failure is seen below
		} else {
			_ = f.log.Commit()
		}
		refused = f.report(refused)
		if limit := f.options.SizeLimit; limit > 0 && f.log.Info().Bytes > limit && f.options.OverLimit != nil {
			f.options.OverLimit()
		}
	}
}

// report says when the log begins to refuse entries, and when it takes them again: one line each, not one a write.
func (f *File) report(refused error) error {
	err := f.log.Err()
	switch {
	case err != nil && refused == nil:
		f.options.Log.Error("the append-only file takes no entries; writes are refused until it does", "cause", err)
	case err == nil && refused != nil:
		f.options.Log.Warn("the append-only file takes entries again")
	}
	return err
}

// Close commits and closes the file. The store must be closed, or write no more.
func (f *File) Close() error {
	if !f.loaded.Load() {
		return nil
	}
	close(f.stop)
	f.background.Wait()
	return errors.Join(f.log.Close(), f.device.Close())
}

// Check verifies the append-only file in a directory without changing anything; each entry goes to visit. With repair
// a torn tail is cut off, as a start would.
func Check(directory string, repair bool, visit func(at log.Address, entry []byte) error) (found log.Found, err error) {
	d, err := openDevice(directory)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if found, err = log.Check(d, visit); err != nil || !repair || found.TornBytes == 0 {
		return found, err
	}
	l, err := log.Open(log.Options{Device: d})
	if err != nil {
		return found, err
	}
	return found, l.Close()
}

var _ tsavorite.Journal = (*File)(nil)
var _ io.Closer = (*File)(nil)
