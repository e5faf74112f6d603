package certificate

import (
	"crypto/tls"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Keeper has the configuration that holds now, and replaces it as a whole: what cannot be read leaves the
// former one in force.
type Keeper struct {
	current atomic.Pointer[tls.Config]

	mu      sync.Mutex
	options Options          // guarded by mu
	stamps  map[string]stamp // guarded by mu; of the files that were looked at last, read or not
}

// stamp tells one state of a file from another. The zero value is a file that is not there.
type stamp struct {
	size     int64
	modified time.Time
	inode    os.FileInfo // for os.SameFile: a file that was replaced within the clock's step
}

func (s stamp) is(other stamp) bool {
	switch {
	case s.inode == nil || other.inode == nil:
		return s.inode == other.inode
	default:
		return s.size == other.size && s.modified.Equal(other.modified) && os.SameFile(s.inode, other.inode)
	}
}

// NewKeeper reads the files for the first time.
func NewKeeper(o Options) (*Keeper, error) {
	k := &Keeper{}
	if err := k.Set(o); err != nil {
		return nil, err
	}
	return k, nil
}

// Config is the configuration for the next handshake; nobody may change it. Any goroutine.
func (k *Keeper) Config() *tls.Config { return k.current.Load() }

// Set reads the files of other options; if that fails, nothing changes. Any goroutine.
func (k *Keeper) Set(o Options) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.setLocked(o, stampsOf(o))
}

// Reload reads the same files again. Any goroutine.
func (k *Keeper) Reload() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.setLocked(k.options, stampsOf(k.options))
}

// Refresh is Reload when a file has changed since it was looked at, and tells whether that was so. A file that is bad
// is reported once, until it changes again. Any goroutine.
func (k *Keeper) Refresh() (changed bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	stamps := stampsOf(k.options)
	same := len(stamps) == len(k.stamps)
	for file, now := range stamps {
		before, known := k.stamps[file]
		same = same && known && now.is(before)
	}
	if same {
		return false, nil
	}
	k.stamps = stamps
	return true, k.setLocked(k.options, stamps)
}

// setLocked reads files. The stamps are from before, so that a change meanwhile is seen by the next Refresh.
func (k *Keeper) setLocked(o Options, stamps map[string]stamp) error {
	config, err := Load(o)
	if err != nil {
		return err
	}
	k.options, k.stamps = o, stamps
	k.current.Store(config)
	return nil
}

// stampsOf looks at the files that options name.
func stampsOf(o Options) map[string]stamp {
	files, _ := authorityFiles(o) // what is wrong with the directory, Load reports
	files = append(files, o.CertFile, o.KeyFile, o.CADir)
	stamps := make(map[string]stamp, len(files))
	for _, file := range files {
		if info, err := os.Stat(file); file != "" && err == nil {
			stamps[file] = stamp{info.Size(), info.ModTime(), info}
		} else if file != "" {
			stamps[file] = stamp{}
		}
	}
	return stamps
}
