package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/server/aof"
	"github.com/pyropedb/pyrope/server/command"
	"github.com/pyropedb/pyrope/tsavorite"
)

// newAppendOnly returns the append-only file that the options ask for; it is not open yet.
func (s *Server) newAppendOnly() *aof.File {
	o := s.options
	return aof.New(aof.Options{
		Directory:      o.CheckpointDir,
		PageBytes:      int(o.CommitPage),
		MemoryBytes:    int(o.CommitMemory),
		CommitInterval: o.CommitFrequency.Interval(),
		SizeLimit:      uint64(o.CommitLimit),
		OverLimit:      s.saver.shorten,
		Log:            s.log,
	})
}

// progressInterval is the time between two lines about a checkpoint that is loaded.
const progressInterval = 5 * time.Second

// loading is what the server loads before it carries out commands.
type loading struct {
	recovery    *tsavorite.Recovery // nil without a checkpoint, and once it is loaded
	read, total atomic.Uint64       // of the checkpoint, in bytes
	file        uint64              // size of the append-only file; immutable
	told        time.Time           // when the log had a line about it; load's alone
}

// openStore opens the store: the one that the checkpoint holds, if there is one, which load fills, else an empty one.
func (s *Server) openStore(journal tsavorite.Journal) (err error) {
	o := s.options
	options := tsavorite.Options{
		Journal:        journal,
		Device:         s.device,
		EvictOldest:    o.Policy.EvictsAny(),
		EvictExpiring:  o.Policy.EvictsExpiring(),
		IndexBytes:     uint64(o.Index),
		IndexMaxBytes:  uint64(o.IndexMax),
		MemoryBytes:    logMemory(&o),
		PageBytes:      uint64(o.Page),
		MutablePercent: o.MutablePercent,

		MemoryCeilingBytes: ceiling(o.Memory),

		CopyReadsToTail: o.CopyReads.IsOn(),

		CompactionMaxDeadPercent: o.MaxDeadPercent,
		CompactionKind:           o.CompactionKind.Engine(),
		MaxDeviceBytes:           uint64(o.MaxDisk),
	}
	if s.found.Number == 0 {
		if s.store, err = tsavorite.Open(options); err != nil {
			return fmt.Errorf("cannot open the store: %w", err)
		}
		return nil
	}
	l := &s.loading
	recovery, err := tsavorite.BeginRecovery(options, tsavorite.RecoverOptions{
		Directory: o.CheckpointDir, Verify: o.RecoverVerify.IsOn(), Progress: s.noteProgress, Damaged: s.noteDamaged,
	})
	if err != nil {
		return s.cannotLoad(err)
	}
	l.total.Store(recovery.TotalBytes())
	l.recovery, s.store, s.found = recovery, recovery.Store(), recovery.Info()
	return nil
}

// cannotLoad says that the checkpoint cannot be loaded.
func (s *Server) cannotLoad(err error) error {
	return fmt.Errorf("cannot load the checkpoint in %s, and nothing was changed: %w", s.options.CheckpointDir, err)
}

// noteProgress notes how far the loading of the checkpoint has come.
func (s *Server) noteProgress(done, total uint64) {
	l := &s.loading
	l.read.Store(done)
	if time.Since(l.told) > progressInterval {
		l.told = time.Now()
		s.log.Info("loading the checkpoint", "bytes", done, "of", total)
	}
}

// progress is how many bytes of checkpoint and append-only file have been read, and of how many.
func (s *Server) progress() (read, total uint64) {
	l := &s.loading
	read, total = l.read.Load(), l.total.Load()
	if s.aof == nil {
		return read, total
	}
	fileRead, fileTotal := s.aof.Progress()
	return read + fileRead, total + max(l.file, fileTotal)
}

// beginLoad loads the data in the background, if there is any to load: the server listens and says so meanwhile.
func (s *Server) beginLoad(hook func()) {
	if s.aof != nil {
		s.loading.file = aof.Size(s.options.CheckpointDir)
	} else if _, err := os.Stat(filepath.Join(s.options.CheckpointDir, aof.DirectoryName)); err == nil {
		s.log.Warn("there is an append-only file, which is not loaded: --aof is off", "directory", s.options.CheckpointDir)
	}
	if s.aof == nil && s.loading.recovery == nil {
		close(s.loaded)
		return
	}
	s.state.LoadProgress = s.progress
	s.state.Loading.Store(time.Now().Unix())
	s.sampler.Go(func() {
		if hook != nil {
			hook()
		}
		s.loadErr = s.load()
		if s.loadErr == nil {
			s.state.Loading.Store(0)
		} else if !errors.Is(s.loadErr, errClosing) {
			s.log.Error("cannot load the data; it is left as it is, and nothing is served", "cause", s.loadErr)
		}
		close(s.loaded)
		if s.loadErr == nil {
			s.verifyCold()
		}
	})
}

// verifyCold verifies the pages of the storage tier that the start has left cold, until the server closes.
func (s *Server) verifyCold() {
	megabytes := s.options.RecoverVerifyRate.Value
	if total := s.store.VerifyStatus().TotalBytes; megabytes == 0 || total == 0 {
		return
	}
	begun := time.Now()
	if err := s.store.VerifyColdPages(uint64(megabytes)<<20, s.state.Server.Closing); err != nil {
		s.log.Error("cannot verify the pages of the storage tier that are cold", "cause", err)
		return
	}
	if status := s.store.VerifyStatus(); status.VerifiedBytes == status.TotalBytes {
		s.log.Info("the pages of the storage tier that were cold are verified", "bytes", status.TotalBytes, "damaged", status.DamagedPages, "duration", time.Since(begun).String())
	}
}

// noteDamaged logs a page of the storage tier that is not what was written.
func (s *Server) noteDamaged(page tsavorite.DamagedPage) {
	file := filepath.Join(s.options.LogDir, fmt.Sprintf("%s.%d", s.device.Info().FileName, page.Segment))
	s.log.Error("a page of the storage tier is damaged; what needs its records is refused", "file", file, "offset", page.Offset,
		"bytes", s.store.PageBytes(), "cause", page.Err)
}

// errClosing ends the load of a server that is closed.
var errClosing = errors.New("server: it is closed before the data is loaded")

// load brings the checkpoint back, and does once more what the append-only file says from there on.
func (s *Server) load() error {
	if s.loading.recovery != nil {
		if err := s.loadCheckpoint(); err != nil {
			return err
		}
	}
	if s.aof == nil {
		return nil
	}
	return s.loadFile()
}

// loadCheckpoint fills the store.
func (s *Server) loadCheckpoint() error {
	begun := time.Now()
	s.loading.told = begun
	s.log.Info("loading a checkpoint", "number", s.found.Number, "created", s.found.Created.Format(time.RFC3339), "directory", s.options.CheckpointDir)
	switch err := s.loading.recovery.Load(s.state.Server.Closing); {
	case errors.Is(err, tsavorite.ErrRecoveryStopped):
		return errClosing
	case err != nil:
		return s.cannotLoad(err)
	}
	s.loading.recovery = nil
	if !s.found.Snapshot {
		s.claimSegments()
	}
	s.loading.read.Store(s.loading.total.Load())
	s.log.Info("the checkpoint is loaded", "number", s.found.Number, "duration", time.Since(begun).String())
	return nil
}

// loadFile does once more what the append-only file says, from the checkpoint on if the store comes from one.
func (s *Server) loadFile() error {
	position, hasPosition := uint64(0), false
	if s.found.Number != 0 {
		var err error
		if position, hasPosition, err = command.SavedPosition(s.found.Metadata); err != nil {
			return err
		}
	}
	replayer, err := s.state.NewReplayer()
	if err != nil {
		return err
	}
	isNew := s.found.Number != 0 && !hasPosition // the checkpoint knows no append-only file
	version, apply := s.found.Version, s.unlessClosing(replayer)
	if isNew {
		version, apply = 0, s.refuseEntries
	}
	if err := s.aof.Load(position, version, apply); err != nil {
		replayer.Close()
		return err
	}
	if err := replayer.Finish(); err != nil || !isNew {
		return err
	}
	return s.saver.Save() // one that says where the file goes on
}

// refuseEntries refuses effects in an append-only file that the checkpoint does not know: which of them it holds cannot be told.
func (s *Server) refuseEntries(e *tsavorite.Entry) error {
	if e.Effect == tsavorite.EffectOpaque {
		return nil
	}
	return fmt.Errorf("checkpoint %d was taken without the append-only file in %s: remove that, or the checkpoint, whichever is older",
		s.found.Number, s.options.CheckpointDir)
}

// unlessClosing applies entries as long as the server is not closed.
func (s *Server) unlessClosing(replayer *command.Replayer) func(*tsavorite.Entry) error {
	return func(e *tsavorite.Entry) error {
		select {
		case <-s.state.Server.Closing:
			return errClosing
		default:
			return replayer.Apply(e)
		}
	}
}

// Loaded is closed when the data is loaded and every command is carried out, or when it cannot be loaded, see LoadError.
// Without a checkpoint and an append-only file it is closed from the beginning.
func (s *Server) Loaded() <-chan struct{} { return s.loaded }

// LoadError waits for Loaded and says why the data cannot be loaded, or nil. The server then refuses most commands; its
// owner closes it. The files are left as they are.
func (s *Server) LoadError() error {
	<-s.loaded
	return s.loadErr
}
