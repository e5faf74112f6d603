// Package segment keeps a linear address space in files of equal size:
//
//	address    0 .......... S .......... 2S .......... 3S ...      S = segment size, a power of two
//	file       name.0       name.1       name.2                    written from the front, never preallocated
//
// A request holds a reference on the file it goes to, so that truncation can unlink a file at once
// while reads in flight still get its bytes (D6): the descriptor closes with the last reference.
//
//	S1  begin only grows. No address below it is acquired once it has passed, and no byte at or above it is given back.
//	S2  A file is in the table or about to go; it is closed with its last reference, of which the table has one.
//	S3  Segments go lowest first, so that a crash leaves no hole.
//	S4  A write has marked its file before it counts as complete, and Sync takes the mark before it syncs. After a
//	    failed sync none succeeds (D8).
//	S5  A directory belongs to one open device. Names that it would not give itself are never touched.
package segment

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pyropedb/pyrope/device"
)

// Files is the set of segment files of one device. All methods may be called from any goroutine.
type Files struct {
	lock      *os.File // held while the device is open; immutable
	directory string
	name      string
	shift     uint // log2 of the segment size
	flags     int  // how files are opened, without O_CREATE

	mutex   sync.RWMutex
	begin   uint64           // guarded by mutex; addresses below are truncated; only grows
	punched uint64           // guarded by mutex; blocks below are given back
	table   map[uint64]*File // guarded by mutex; by segment index; nil once closed
	failed  error            // guarded by syncMutex; a failed sync is never forgotten

	syncMutex      sync.Mutex  // one Sync at a time, so that none returns before another's work is done
	directoryDirty atomic.Bool // a file was made since the directory was synced
}

// File is one segment file.
type File struct {
	index uint64 // immutable, as is path
	path  string
	// handle is nil until the first use; set with Files.mutex held, read with it shared or by a
	// holder of a reference.
	handle     *os.File
	descriptor int
	references atomic.Int64 // holders, of which the table is one
	dirty      atomic.Bool  // written to since the last sync
	doomed     atomic.Bool  // to be removed with the last reference
}

// Open returns the segment files of o's directory and name. extraFlags is added when files are
// opened (O_DIRECT). Of existing files the lowest is where the addresses begin; with o.Fresh they
// are removed. The directory belongs to one open device: a second one is refused, in this process or another.
func Open(o device.Options, extraFlags int) (*Files, error) {
	o = o.WithDefaults()
	f := &Files{
		directory: o.Directory,
		name:      o.FileName,
		shift:     uint(bits.TrailingZeros64(o.SegmentSizeBytes)),
		flags:     os.O_RDWR | extraFlags,
		table:     make(map[uint64]*File),
	}
	if err := os.MkdirAll(f.directory, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the device's directory: %w", err)
	}
	lock, err := lockDirectory(f.directory)
	if err != nil {
		return nil, fmt.Errorf("cannot lock the device's directory %s: another server has it open, or it cannot be opened: %w", f.directory, err)
	}
	f.lock = lock
	if err := f.adopt(o.Fresh); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return f, nil
}

// adopt finds the segment files that exist and takes them into the table, or removes them.
func (f *Files) adopt(remove bool) error {
	entries, err := os.ReadDir(f.directory)
	if err != nil {
		return fmt.Errorf("cannot list the device's directory: %w", err)
	}
	lowest := uint64(0)
	for _, entry := range entries {
		index, ok := f.indexOf(entry.Name())
		if !ok {
			continue
		}
		if remove {
			if err := os.Remove(f.path(index)); err != nil {
				return fmt.Errorf("cannot remove an old segment: %w", err)
			}
			continue
		}
		if len(f.table) == 0 || index < lowest {
			lowest = index
		}
		f.table[index] = f.newFile(index)
	}
	f.begin = lowest << f.shift
	return nil
}

// indexOf returns the segment index that a file name stands for; names that only look alike
// (hlog.01, hlog.1.bak) are not ours.
func (f *Files) indexOf(name string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, f.name+".")
	if !ok {
		return 0, false
	}
	index, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || strconv.FormatUint(index, 10) != digits || index > (^uint64(0))>>f.shift {
		return 0, false
	}
	return index, true
}

func (f *Files) path(index uint64) string {
	return filepath.Join(f.directory, f.name+"."+strconv.FormatUint(index, 10))
}

func (f *Files) newFile(index uint64) *File {
	file := &File{index: index, path: f.path(index)}
	file.references.Store(1)
	return file
}

// Split returns where address lies within its segment, and how many of length bytes fit in there.
func (f *Files) Split(address uint64, length int) (offset int64, fit int) {
	within := address & (1<<f.shift - 1)
	return int64(within), int(min(uint64(length), 1<<f.shift-within))
}

// Acquire returns the file that holds address, with a reference that the caller must Release. For
// a read of a segment that was never written it returns nil without an error.
func (f *Files) Acquire(address uint64, op device.Op) (*File, error) {
	index := address >> f.shift
	f.mutex.RLock()
	file, begin, closed := f.table[index], f.begin, f.table == nil
	if file != nil && file.handle != nil && address >= begin {
		file.references.Add(1)
		f.mutex.RUnlock()
		return file, nil
	}
	f.mutex.RUnlock()
	switch {
	case closed:
		return nil, device.ErrClosed
	case address < begin:
		return nil, device.ErrTruncated
	case file == nil && op == device.OpRead:
		return nil, nil
	}
	return f.acquireNew(index, address, op)
}

// acquireNew opens the file first, creating it for a write.
func (f *Files) acquireNew(index, address uint64, op device.Op) (*File, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.table == nil {
		return nil, device.ErrClosed
	}
	if address < f.begin {
		return nil, device.ErrTruncated
	}
	file := f.table[index]
	if file == nil {
		if op == device.OpRead {
			return nil, nil
		}
		file = f.newFile(index)
	}
	if file.handle == nil {
		if err := f.openLocked(file, op); err != nil {
			return nil, err
		}
		f.table[index] = file
	}
	file.references.Add(1)
	return file, nil
}

func (f *Files) openLocked(file *File, op device.Op) error {
	flags := f.flags
	if op == device.OpWrite {
		flags |= os.O_CREATE
		f.directoryDirty.Store(true)
	}
	handle, err := os.OpenFile(file.path, flags|noAccessTime, 0o644)
	if noAccessTime != 0 && errors.Is(err, os.ErrPermission) { // the file is another user's
		handle, err = os.OpenFile(file.path, flags, 0o644)
	}
	if err != nil {
		return fmt.Errorf("cannot open segment: %w", err)
	}
	file.handle, file.descriptor = handle, int(handle.Fd())
	return nil
}

// Handle is the open file.
func (f *File) Handle() *os.File { return f.handle }

// Descriptor is the open file's descriptor, valid while a reference is held.
func (f *File) Descriptor() int { return f.descriptor }

// MarkDirty notes that bytes were written. It must come before the write is reported as complete.
func (f *File) MarkDirty() { f.dirty.Store(true) }

// Release gives a reference back.
func (f *File) Release() {
	if f.references.Add(-1) > 0 {
		return
	}
	if f.handle != nil {
		_ = f.handle.Close()
	}
	if f.doomed.Load() {
		_ = os.Remove(f.path)
	}
}

// canRemoveOpenFiles is false where a file stays undeletable until its last handle is closed.
const canRemoveOpenFiles = runtime.GOOS != "windows"

// Truncate removes the segments that lie wholly below begin, and makes Acquire refuse addresses
// below begin. Reads in flight keep the bytes. Files are removed without the lock: to free the
// blocks of a large one takes a while.
func (f *Files) Truncate(begin uint64) error {
	dropped, err := f.drop(begin)
	if err != nil {
		return err
	}
	var failures []error
	for _, file := range dropped {
		if canRemoveOpenFiles {
			if err := os.Remove(file.path); err != nil && !errors.Is(err, os.ErrNotExist) {
				failures = append(failures, fmt.Errorf("cannot remove segment: %w", err))
			}
		} else {
			file.doomed.Store(true)
		}
		file.Release()
	}
	f.punch()
	return errors.Join(failures...)
}

// punch gives back the blocks of the first segment that lie below begin, where the system can. Who reads there took a reference
// before begin rose (D6): with one in the way it is left to the next truncation. A failure leaves the blocks allocated, no more.
func (f *Files) punch() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	file := f.table[f.begin>>f.shift]
	if file == nil || file.handle == nil || file.references.Load() != 1 {
		return
	}
	start := f.begin >> f.shift << f.shift
	from := max(f.punched, start)
	if until := f.begin &^ (punchBytes - 1); until > from && punchHole(file.descriptor, int64(from-start), int64(until-from)) == nil {
		f.punched = until
	}
}

// punchBytes is the granularity at which blocks are given back, a multiple of what file systems use.
const punchBytes = 64 << 10

// drop takes the segments wholly below begin out of the table, with the table's references.
func (f *Files) drop(begin uint64) ([]*File, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.table == nil {
		return nil, device.ErrClosed
	}
	f.begin = max(f.begin, begin)
	var dropped []*File
	for index, file := range f.table {
		if index < f.begin>>f.shift {
			delete(f.table, index)
			dropped = append(dropped, file)
		}
	}
	// The lowest first: what a crash leaves has no hole in it.
	slices.SortFunc(dropped, func(a, b *File) int { return cmp.Compare(a.index, b.index) })
	return dropped, nil
}

// Sync makes durable what was marked dirty before the call (D8). After a failure every later Sync
// fails too: the system may have dropped the pages that it could not write.
func (f *Files) Sync() error {
	f.syncMutex.Lock()
	defer f.syncMutex.Unlock()
	if f.failed != nil {
		return f.failed
	}
	files, err := f.acquireDirty()
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := syncFile(file.handle); err != nil && f.failed == nil {
			f.failed = fmt.Errorf("cannot sync segment %s: %w", file.path, err)
		}
		file.Release()
	}
	if f.failed == nil && f.directoryDirty.Swap(false) {
		if err := syncDirectory(f.directory); err != nil {
			f.failed = fmt.Errorf("cannot sync the device's directory: %w", err)
		}
	}
	return f.failed
}

func (f *Files) acquireDirty() ([]*File, error) {
	f.mutex.RLock()
	defer f.mutex.RUnlock()
	if f.table == nil {
		return nil, device.ErrClosed
	}
	var files []*File
	for _, file := range f.table {
		if file.dirty.Swap(false) {
			file.references.Add(1)
			files = append(files, file)
		}
	}
	return files, nil
}

// Close closes all files, those in use with their last reference. Later calls answer ErrClosed.
func (f *Files) Close() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, file := range f.table {
		file.Release()
	}
	if f.table != nil {
		_ = f.lock.Close() // which unlocks it
	}
	f.table = nil
}

// Begin is the address below which everything is truncated.
func (f *Files) Begin() uint64 {
	f.mutex.RLock()
	defer f.mutex.RUnlock()
	return f.begin
}
