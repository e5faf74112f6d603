package tsavorite_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/faultdev"
	"github.com/pyropedb/pyrope/tsavorite"
	"github.com/pyropedb/pyrope/tsavorite/internal/checkpoint"
)

// crashFiles is a file system in memory whose power fails at an operation that is counted down to: from then on every operation fails, and
// afterCrash is what a disk may hold. Bytes of a file last once it was synced, names once their directory was: of what came since, any
// part of a file and any first changes of a directory may have reached the disk.
type crashFiles struct {
	mu      sync.Mutex
	random  *rand.Rand
	root    *crashNode
	left    int // operations until the power fails; less than 0 is never
	crashed bool
}

// crashNode is a file or a directory.
type crashNode struct {
	isDirectory     bool
	written, synced []byte                  // of a file
	names, durable  map[string]*crashNode   // of a directory
	changes         []map[string]*crashNode // since the last sync, each all at once; nil is a name that went
}

var errPower = errors.New("the power has failed")

func newCrashFiles(random *rand.Rand) *crashFiles {
	return &crashFiles{random: random, root: newCrashDirectory(), left: -1}
}

func newCrashDirectory() *crashNode {
	return &crashNode{isDirectory: true, names: map[string]*crashNode{}, durable: map[string]*crashNode{}}
}

// begin counts an operation; the lock is held when it returns nil.
func (f *crashFiles) begin() error {
	f.mu.Lock()
	if f.left > 0 {
		f.left--
	}
	if f.crashed = f.crashed || f.left == 0; f.crashed {
		f.mu.Unlock()
		return errPower
	}
	return nil
}

// at returns what lies at a path.
func (f *crashFiles) at(path string) *crashNode {
	node := f.root
	for _, name := range namesOf(path) {
		if node == nil || !node.isDirectory {
			return nil
		}
		node = node.names[name]
	}
	return node
}

func namesOf(path string) []string {
	return strings.FieldsFunc(filepath.ToSlash(path), func(r rune) bool { return r == '/' })
}

// change changes names of a directory.
func (n *crashNode) change(names map[string]*crashNode) {
	n.changes = append(n.changes, names)
	applyChange(n.names, names)
}

func applyChange(to, names map[string]*crashNode) {
	for name, node := range names {
		if node == nil {
			delete(to, name)
		} else {
			to[name] = node
		}
	}
}

// establish makes a directory that no crash takes away.
func (f *crashFiles) establish(t *testing.T, directory string) {
	t.Helper()
	if err := f.MakeDirectory(directory); err != nil {
		t.Fatal(err)
	}
	for ; directory != filepath.Dir(directory); directory = filepath.Dir(directory) {
		if err := f.SyncDirectory(filepath.Dir(directory)); err != nil {
			t.Fatal(err)
		}
	}
}

func (f *crashFiles) Create(path string) (checkpoint.File, error) {
	if err := f.begin(); err != nil {
		return nil, err
	}
	defer f.mu.Unlock()
	parent := f.at(filepath.Dir(path))
	if parent == nil {
		return nil, fs.ErrNotExist
	}
	node := &crashNode{}
	parent.change(map[string]*crashNode{filepath.Base(path): node})
	return crashFile{f, node}, nil
}

func (f *crashFiles) Open(path string) (io.ReadCloser, error) {
	if err := f.begin(); err != nil {
		return nil, err
	}
	defer f.mu.Unlock()
	node := f.at(path)
	if node == nil {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(node.written)), nil
}

func (f *crashFiles) List(directory string) (names []string, err error) {
	if err := f.begin(); err != nil {
		return nil, err
	}
	defer f.mu.Unlock()
	if node := f.at(directory); node != nil {
		for name := range node.names {
			names = append(names, name)
		}
	}
	return names, nil
}

func (f *crashFiles) MakeDirectory(path string) error {
	if err := f.begin(); err != nil {
		return err
	}
	defer f.mu.Unlock()
	node := f.root
	for _, name := range namesOf(path) {
		if node.names[name] == nil {
			node.change(map[string]*crashNode{name: newCrashDirectory()})
		}
		node = node.names[name]
	}
	return nil
}

func (f *crashFiles) SyncDirectory(path string) error {
	if err := f.begin(); err != nil {
		return err
	}
	defer f.mu.Unlock()
	node := f.at(path)
	if node == nil {
		return fs.ErrNotExist
	}
	node.durable, node.changes = maps.Clone(node.names), nil
	return nil
}

func (f *crashFiles) Rename(from, to string) error {
	if err := f.begin(); err != nil {
		return err
	}
	defer f.mu.Unlock()
	parent := f.at(filepath.Dir(from))
	parent.change(map[string]*crashNode{filepath.Base(from): nil, filepath.Base(to): f.at(from)})
	return nil
}

func (f *crashFiles) Remove(path string) error {
	if err := f.begin(); err != nil {
		return err
	}
	defer f.mu.Unlock()
	parent, node := f.at(filepath.Dir(path)), f.at(path)
	if node == nil {
		return nil
	}
	for name := range maps.Clone(node.names) {
		node.change(map[string]*crashNode{name: nil})
	}
	parent.change(map[string]*crashNode{filepath.Base(path): nil})
	return nil
}

// crashFile is a file that is being written.
type crashFile struct {
	files *crashFiles
	node  *crashNode
}

func (c crashFile) Write(b []byte) (int, error) {
	err := c.files.begin()
	if err != nil {
		return 0, err
	}
	defer c.files.mu.Unlock()
	c.node.written = append(c.node.written, b...)
	return len(b), nil
}

func (c crashFile) Sync() error {
	if err := c.files.begin(); err != nil {
		return err
	}
	defer c.files.mu.Unlock()
	c.node.synced = bytes.Clone(c.node.written)
	return nil
}

func (c crashFile) Close() error {
	if err := c.files.begin(); err != nil {
		return err
	}
	c.files.mu.Unlock()
	return nil
}

// afterCrash returns a file system as the disk may be now.
func (f *crashFiles) afterCrash() *crashFiles {
	f.mu.Lock()
	defer f.mu.Unlock()
	after := newCrashFiles(f.random)
	after.root = f.survivor(f.root)
	return after
}

func (f *crashFiles) survivor(node *crashNode) *crashNode {
	if !node.isDirectory {
		b := f.torn(node)
		return &crashNode{written: b, synced: b}
	}
	names := maps.Clone(node.durable)
	for _, change := range node.changes[:f.random.IntN(len(node.changes)+1)] {
		applyChange(names, change)
	}
	after := newCrashDirectory()
	for name, child := range names {
		after.names[name] = f.survivor(child)
	}
	after.durable = maps.Clone(after.names)
	return after
}

// torn is what a disk may hold of a file: what was synced, and of the rest any bytes up to any length.
func (f *crashFiles) torn(node *crashNode) []byte {
	length := len(node.synced) + f.random.IntN(len(node.written)-len(node.synced)+1)
	b := bytes.Clone(node.written[:length])
	if lost := length - len(node.synced); lost > 0 && f.random.IntN(2) == 0 {
		at := len(node.synced) + f.random.IntN(lost)
		clear(b[at : at+f.random.IntN(length-at)])
	}
	return b
}

// TestPowerFailsInACheckpoint cuts the power at every operation on the files of a checkpoint, and lets disk and device forget or tear what was not synced.
// What comes back is the checkpoint before or the new one, whole; the new one if it was reported to be there.
func TestPowerFailsInACheckpoint(t *testing.T) {
	seed := testSeed()
	t.Logf("seed %d", seed)
	for _, kind := range []string{"", "localmemory"} {
		t.Run("device "+kind, func(t *testing.T) {
			watch(t, 4*time.Minute)
			random := rand.New(rand.NewPCG(seed, 9))
			clock := newTestClock()
			l := newLasting(t, storeCase{device: kind, options: tsavorite.Options{PageBytes: 4096, MemoryBytes: 8 * 4096, IndexBytes: 512, Clock: clock.Load}})
			inner := l.device
			files := newCrashFiles(random)
			files.establish(t, l.directory)
			before, older, newer := contents{}, 0, 0
			for n := 1; ; n++ {
				var faulty *faultdev.Device
				if inner != nil {
					faulty = faultdev.Wrap(inner, faultdev.Options{Volatile: true})
					l.device, l.settings.options.Device = faulty, faulty
				}
				var store *tsavorite.Store
				if n == 1 {
					store = l.open(t)
				} else {
					store = recoverFrom(t, l, files)
					wantSameContents(t, allOf(t, store), before)
				}
				options := tsavorite.CheckpointOptions{Directory: l.directory}.WithFiles(files)
				if _, err := store.Checkpoint(options); err != nil {
					t.Fatal(err)
				}
				options.Keep = 1 + n%2
				fillStore(t, store, uint64(n), 20)
				now := allOf(t, store)
				files.left = n
				_, err := store.Checkpoint(options)
				if !files.crashed {
					closeStore(t, store)
					break
				}
				fillStore(t, store, uint64(n)+1000, 20)
				if faulty != nil {
					if err := faulty.Crash(func(_, length int) int { return random.IntN(length + 1) }); err != nil {
						t.Fatal(err)
					}
				}
				closeStore(t, store)
				if inner == nil {
					for range 4 { // other ways to crash at the same moment
						store := recoverFrom(t, l, files.afterCrash())
						if got := fmt.Sprint(allOf(t, store)); got != fmt.Sprint(now) && (err == nil || got != fmt.Sprint(before)) {
							t.Fatalf("operation %d: neither checkpoint came back; this one reported %v", n, err)
						}
						closeStore(t, store)
					}
				}
				files = files.afterCrash()
				if faulty != nil {
					l.device, l.settings.options.Device = inner, inner
				}
				store = recoverFrom(t, l, files)
				got := allOf(t, store)
				closeStore(t, store)
				switch {
				case fmt.Sprint(got) == fmt.Sprint(now):
					newer++
				case err == nil || fmt.Sprint(got) != fmt.Sprint(before):
					t.Fatalf("operation %d: neither checkpoint came back; this one reported %v", n, err)
				default:
					older++
				}
				before = got
			}
			if t.Logf("the power failed %d times; the older checkpoint came back %d times", older+newer, older); older < 15 || newer < 3 {
				t.Errorf("the power failed too seldom before or after the checkpoint was published: %d and %d times", older, newer)
			}
			l.device = inner
		})
	}
}

// recoverFrom recovers from the checkpoints in a file system of the test's.
func recoverFrom(t *testing.T, l *lasting, files checkpoint.Files) *tsavorite.Store {
	t.Helper()
	store, _, err := l.tryRecover(tsavorite.RecoverOptions{}.WithFiles(files))
	if err != nil {
		t.Fatalf("cannot recover: %v", err)
	}
	return store
}

// TestEveryWriteMayFail makes the Nth write to the device fail or tear, for every N, or the Nth sync, while the log is flushed,
// compacted and saved. A checkpoint ends with the cause or is whole, nothing of the store is lost, the next checkpoint succeeds, and
// comes back.
func TestEveryWriteMayFail(t *testing.T) {
	watch(t, 4*time.Minute)
	clock := newTestClock()
	step := 1
	if testing.Short() {
		step = 4
	}
	for _, c := range []struct {
		name  string
		least int // ways to fail
		fail  func(d *faultdev.Device, n int)
		done  func(d *faultdev.Device) int
	}{
		{"write fails", 15, func(d *faultdev.Device, n int) { d.FailNth(device.OpWrite, n, nil) }, writesOf},
		{"write is torn", 15, func(d *faultdev.Device, n int) { d.TearNthWrite(n, 512) }, writesOf},
		{"sync fails", 2, func(d *faultdev.Device, n int) { d.FailNthSync(n, nil) }, func(d *faultdev.Device) int {
			_, _, syncs := d.Counts()
			return syncs
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			failures, n := 0, 1
			for ; ; n += step {
				l := newLasting(t, storeCase{device: "localmemory", options: tsavorite.Options{PageBytes: 4096, MemoryBytes: 4 * 4096, IndexBytes: 512, Clock: clock.Load}})
				inner := l.device
				faulty := faultdev.Wrap(inner, faultdev.Options{})
				l.device, l.settings.options.Device = faulty, faulty
				c.fail(faulty, n)
				store := l.open(t)
				for round := range uint64(2) {
					fillWherePossible(t, store, round)
					if _, err := store.Checkpoint(tsavorite.CheckpointOptions{Directory: l.directory}); err != nil {
						if failures++; !errors.Is(err, faultdev.ErrInjected) && !errors.Is(err, faultdev.ErrTorn) {
							t.Fatalf("number %d: the checkpoint failed with %v", n, err)
						}
					}
					fillWherePossible(t, store, round+50)
					if _, err := store.CompactBy(tsavorite.CompactionKind((uint64(n) + round) % 2)); err != nil && !errors.Is(err, faultdev.ErrInjected) && !errors.Is(err, faultdev.ErrTorn) {
						t.Fatalf("number %d: compaction failed with %v", n, err)
					}
				}
				reached := c.done(faulty) >= n
				faulty.Disarm()
				awaitFlushed(store)
				want := allOf(t, store)
				l.checkpoint(t, store)
				closeStore(t, store)
				l.device, l.settings.options.Device = inner, inner
				store, _ = l.recover(t)
				wantSameContents(t, allOf(t, store), want)
				closeStore(t, store)
				if !reached {
					break
				}
			}
			if t.Logf("%d ways to fail, %d checkpoints failed", n, failures); n < c.least || failures == 0 && c.name == "sync fails" {
				t.Errorf("only %d ways to fail, with %d checkpoints", n, failures)
			}
		})
	}
}

// fillWherePossible writes 400 times; where one is refused for want of room, because the device takes no pages, another is tried.
func fillWherePossible(t *testing.T, store *tsavorite.Store, seed uint64) {
	t.Helper()
	s := openSession(t, store)
	defer s.Close()
	random := rand.New(rand.NewPCG(seed, 1))
	s.Enter()
	defer s.Leave()
	for n := range 400 {
		for journaledStep(s, random, fmt.Sprint("f", n%10, "-")) >= tsavorite.OutOfMemory {
			if err := s.Err(); !errors.Is(err, faultdev.ErrInjected) && !errors.Is(err, faultdev.ErrTorn) {
				t.Fatalf("a write is refused: %v", err)
			}
			s.Leave()
			time.Sleep(time.Millisecond)
			s.Enter()
		}
	}
}

func writesOf(d *faultdev.Device) int {
	_, writes, _ := d.Counts()
	return writes
}
