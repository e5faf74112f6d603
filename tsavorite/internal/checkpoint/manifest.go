package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DirectoryName is the directory of the checkpoints, within the one that is named.
const DirectoryName = "checkpoints"

const (
	formatVersion = 1
	manifestName  = "manifest"
	temporaryName = "manifest.tmp"

	maxManifest    = 1 << 30
	trailerPattern = "\ncrc32c %08x\n"
	trailerBytes   = len("\ncrc32c 00000000\n")
)

// Manifest says what a checkpoint is made of. It is published last.
type Manifest struct {
	Format   int
	Number   uint64 // of the checkpoint's directory
	ID       uint64 // drawn at random; its files carry it
	Version  uint64 // all writes of versions up to this one are in it
	Snapshot bool   // the pages are in the checkpoint; otherwise on the device
	Created  time.Time

	PageBytes uint64
	Begin     uint64 // of the log
	Scan      uint64 // from here on records may be missing in the index
	Cut       uint64 // from here on records may be of the next version
	Tail      uint64

	BucketBits, BaseBits uint
	OverflowBuckets      uint64

	Dropped  map[uint32]uint64 // namespaces that compaction may still meet, with the tail of that moment
	Metadata []byte            // of the layer above
	Bytes    uint64            // of the checkpoint's files
}

// root is the directory that holds the checkpoints.
func root(directory string) string { return filepath.Join(directory, DirectoryName) }

// Path is where checkpoint number n of a directory lies.
func Path(directory string, n uint64) string {
	return filepath.Join(root(directory), strconv.FormatUint(n, 10))
}

// FilePath is where one of its files lies.
func FilePath(directory string, n uint64, kind FileKind) string {
	return filepath.Join(Path(directory, n), kind.String())
}

// numbers returns the numbers of all directories, finished or not, newest first.
func numbers(files Files, directory string) ([]uint64, error) {
	names, err := files.List(root(directory))
	if err != nil {
		return nil, fmt.Errorf("cannot list the checkpoints: %w", err)
	}
	var list []uint64
	for _, name := range names {
		if n, err := strconv.ParseUint(name, 10, 64); err == nil && strconv.FormatUint(n, 10) == name {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	slices.Reverse(list)
	return list, nil
}

// List returns the numbers of the published checkpoints, newest first, and those of the attempts that were
// never finished.
func List(files Files, directory string) (published, unfinished []uint64, err error) {
	all, err := numbers(files, directory)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range all {
		names, err := files.List(Path(directory, n))
		if err != nil {
			return nil, nil, fmt.Errorf("cannot list checkpoint %d: %w", n, err)
		}
		if slices.Contains(names, manifestName) {
			published = append(published, n)
		} else {
			unfinished = append(unfinished, n)
		}
	}
	return published, unfinished, nil
}

// Begin makes the directory of a new checkpoint, with a number above all others, and removes unfinished attempts.
func Begin(files Files, directory string) (n uint64, err error) {
	published, unfinished, err := List(files, directory)
	if err != nil {
		return 0, err
	}
	n = 1
	for _, other := range slices.Concat(published, unfinished) {
		n = max(n, other+1)
	}
	for _, dead := range unfinished {
		if err := files.Remove(Path(directory, dead)); err != nil {
			return 0, fmt.Errorf("cannot remove the unfinished checkpoint %d: %w", dead, err)
		}
	}
	if err := files.MakeDirectory(Path(directory, n)); err != nil {
		return 0, fmt.Errorf("cannot make the directory of checkpoint %d: %w", n, err)
	}
	return n, nil
}

// Publish makes the checkpoint's names durable and then, in one step, the checkpoint itself.
func Publish(files Files, directory string, m *Manifest) error {
	path := Path(directory, m.Number)
	for _, synced := range []string{path, root(directory), directory} {
		if err := files.SyncDirectory(synced); err != nil {
			return fmt.Errorf("cannot sync the directory %s: %w", synced, err)
		}
	}
	body, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return fmt.Errorf("cannot write the manifest of checkpoint %d: %w", m.Number, err)
	}
	temporary := filepath.Join(path, temporaryName)
	if err := writeFile(files, temporary, fmt.Appendf(body, trailerPattern, Checksum(body))); err != nil {
		return err
	}
	if err := files.Rename(temporary, filepath.Join(path, manifestName)); err != nil {
		return fmt.Errorf("cannot publish checkpoint %d: %w", m.Number, err)
	}
	if err := files.SyncDirectory(path); err != nil {
		return fmt.Errorf("cannot sync the directory %s: %w", path, err)
	}
	return nil
}

func writeFile(files Files, path string, bytes []byte) error {
	file, err := files.Create(path)
	if err != nil {
		return fmt.Errorf("cannot make %s: %w", path, err)
	}
	_, err = file.Write(bytes)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

// Load reads and checks a manifest.
func Load(files Files, directory string, n uint64) (*Manifest, error) {
	path := filepath.Join(Path(directory, n), manifestName)
	file, err := files.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot open %s: %w", ErrDamaged, path, err)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxManifest))
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("%w: cannot read %s: %w", ErrDamaged, path, err)
	}
	body := text[:max(0, len(text)-trailerBytes)]
	if string(text[len(body):]) != fmt.Sprintf(trailerPattern, Checksum(body)) {
		return nil, fmt.Errorf("%w: %s at offset %d: the checksum is wrong", ErrDamaged, path, len(body))
	}
	m := &Manifest{}
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	if err := decoder.Decode(m); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	if m.Format != formatVersion {
		return nil, fmt.Errorf("checkpoint: %s has format %d; this program reads format %d", path, m.Format, formatVersion)
	}
	if m.Number != n || m.Begin > m.Tail || m.Scan > m.Tail || m.Cut > m.Tail {
		return nil, fmt.Errorf("%w: %s contradicts itself: %s", ErrDamaged, path, body)
	}
	return m, nil
}

// New fills in what every manifest has.
func New(number, id uint64) *Manifest {
	return &Manifest{Format: formatVersion, Number: number, ID: id, Created: time.Now().UTC()}
}

// Discard removes a checkpoint: first its manifest, so that half of it is never taken for a damaged one.
func Discard(files Files, directory string, n uint64) error {
	path := Path(directory, n)
	if err := files.Remove(filepath.Join(path, manifestName)); err != nil {
		return fmt.Errorf("cannot remove the manifest of checkpoint %d: %w", n, err)
	}
	if err := files.SyncDirectory(path); err != nil {
		return fmt.Errorf("cannot sync the directory %s: %w", path, err)
	}
	if err := files.Remove(path); err != nil {
		return fmt.Errorf("cannot remove checkpoint %d: %w", n, err)
	}
	return nil
}
