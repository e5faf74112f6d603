package server

// Whose the segments in --logdir are. A start without a checkpoint removes segments: without a tier that outlives the server they are
// nothing but memory. Those that a checkpoint needs must not go that way because somebody gave another --checkpointdir. So the log on the
// device has a name, drawn at random; checkpoints carry it, and from the first one on a file beside the segments says it too.

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/server/command"
)

const (
	ownerFile    = "hlog.owner"
	ownerPattern = "log %s\ncheckpoints in %q\n"
	ownerSum     = "crc32c %08x\n"
)

var segmentName = regexp.MustCompile(`^hlog\.(0|[1-9][0-9]*)$`)

// owner is what the file beside the segments says.
type owner struct {
	id        string // of the log
	directory string // of its checkpoints, when the file was written; absolute
}

func (o owner) text() []byte {
	body := fmt.Appendf(nil, ownerPattern, o.id, o.directory)
	return fmt.Appendf(body, ownerSum, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

// readOwner reads the file beside the segments; the zero owner is none.
func readOwner(directory string) (o owner, err error) {
	path := filepath.Join(directory, ownerFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return owner{}, nil
	}
	if err != nil {
		return owner{}, fmt.Errorf("cannot read whose the segments are: %w", err)
	}
	var sum uint32
	if _, err := fmt.Sscanf(string(text), ownerPattern+ownerSum, &o.id, &o.directory, &sum); err != nil || string(o.text()) != string(text) {
		return owner{}, fmt.Errorf("%s is damaged at or behind offset 0, so that it is not known whose the segments beside it are: remove it if you do", path)
	}
	return o, nil
}

// write writes the file beside the segments and makes it durable.
func (o owner) write(directory string) (err error) {
	path := filepath.Join(directory, ownerFile)
	file, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(o.text())
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".tmp", path); err != nil || runtime.GOOS == "windows" {
		return err
	}
	parent, err := os.Open(directory)
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close())
}

// hasSegments tells whether there are segments in a directory.
func hasSegments(directory string) (bool, error) {
	entries, err := os.ReadDir(directory)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("cannot look for segments: %w", err)
	}
	for _, entry := range entries {
		if segmentName.MatchString(entry.Name()) {
			return true, nil
		}
	}
	return false, nil
}

// identify finds the name of the log on the device, before that is opened, or says why the segments there must be left alone.
func (s *Server) identify() error {
	options := &s.options
	if options.DeviceType == device.LocalMemory || options.DeviceType == device.Null {
		return nil
	}
	known, err := readOwner(options.LogDir)
	if err != nil {
		return err
	}
	present, err := hasSegments(options.LogDir)
	if err != nil {
		return err
	}
	saved := ""
	if s.found.Number != 0 && !s.found.Snapshot {
		if saved, err = command.SavedLog(s.found.Metadata); err != nil {
			return err
		}
	}
	if known.id != "" && present {
		switch {
		case s.found.Number == 0:
			return s.notOurs(known, "there is no checkpoint in "+options.CheckpointDir)
		case s.found.Snapshot:
			return s.notOurs(known, fmt.Sprintf("checkpoint %d in %s has all its records itself", s.found.Number, options.CheckpointDir))
		case saved != "" && saved != known.id:
			return s.notOurs(known, fmt.Sprintf("checkpoint %d in %s is of log %s", s.found.Number, options.CheckpointDir, saved))
		case saved == "":
			saved = known.id
		}
	}
	if saved == "" {
		saved = strconv.FormatUint(rand.Uint64()|1<<63, 16)
	}
	s.logID = saved
	return nil
}

// notOurs refuses segments that checkpoints elsewhere need.
func (s *Server) notOurs(known owner, but string) error {
	directory := s.options.LogDir
	return fmt.Errorf("the segments in --logdir %s are of log %s, whose checkpoints are in %s, and %s; nothing was changed. "+
		"Start with --checkpointdir %s, or with another --logdir, or remove the segments and %s to start without what they hold",
		directory, known.id, known.directory, but, known.directory, filepath.Join(directory, ownerFile))
}

// claimSegments says beside the segments that a checkpoint needs them. Without that nothing is lost but a warning.
func (s *Server) claimSegments() {
	if s.logID == "" || s.claimed {
		return
	}
	directory, err := filepath.Abs(s.options.CheckpointDir)
	if err == nil {
		err = owner{s.logID, directory}.write(s.options.LogDir)
	}
	if err != nil {
		s.log.Warn("cannot note beside the segments that a checkpoint needs them", "directory", s.options.LogDir, "cause", err)
		return
	}
	s.claimed = true
}
