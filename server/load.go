package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// openStore opens the store: the one that the checkpoint holds, if there is one, else an empty one.
func (s *Server) openStore(journal tsavorite.Journal) (err error) {
	o := s.options
	options := tsavorite.Options{
		Journal:        journal,
		Device:         s.device,
		EvictOldest:    o.Policy.Evicts(),
		IndexBytes:     uint64(o.Index),
		IndexMaxBytes:  uint64(o.IndexMax),
		MemoryBytes:    logMemory(&o),
		PageBytes:      uint64(o.Page),
		MutablePercent: o.MutablePercent,

		MemoryCeilingBytes: ceiling(o.Memory),

		CopyReadsToTail: o.CopyReads.IsOn(),

		CompactionMaxDeadPercent: o.MaxDeadPercent,
		MaxDeviceBytes:           uint64(o.MaxDisk),
	}
	if s.found.Number == 0 {
		if s.store, err = tsavorite.Open(options); err != nil {
			return fmt.Errorf("cannot open the store: %w", err)
		}
		return nil
	}
	begun := time.Now()
	s.log.Info("loading a checkpoint", "number", s.found.Number, "created", s.found.Created.Format(time.RFC3339), "directory", o.CheckpointDir)
	told := begun
	s.store, s.found, err = tsavorite.Recover(options, tsavorite.RecoverOptions{Directory: o.CheckpointDir, Verify: o.RecoverVerify.IsOn(), Progress: func(done, total uint64) {
		if time.Since(told) > progressInterval {
			told = time.Now()
			s.log.Info("loading the checkpoint", "bytes", done, "of", total)
		}
	}})
	if err != nil {
		return fmt.Errorf("cannot load the checkpoint in %s, and nothing was changed: %w", o.CheckpointDir, err)
	}
	s.log.Info("the checkpoint is loaded", "number", s.found.Number, "duration", time.Since(begun).String())
	return nil
}

// beginLoad loads the data in the background, if there is any to load: the server listens and says so meanwhile.
func (s *Server) beginLoad() {
	if s.aof == nil {
		if _, err := os.Stat(filepath.Join(s.options.CheckpointDir, aof.DirectoryName)); err == nil {
			s.log.Warn("there is an append-only file, which is not loaded: --aof is off", "directory", s.options.CheckpointDir)
		}
		close(s.loaded)
		return
	}
	s.state.Loading.Store(time.Now().Unix())
	go func() {
		defer close(s.loaded)
		if s.loadErr = s.load(); s.loadErr == nil {
			s.state.Loading.Store(0)
			return
		}
		if !errors.Is(s.loadErr, errClosing) {
			s.log.Error("cannot load the data; it is left as it is, and nothing is served", "cause", s.loadErr)
		}
	}()
}

// errClosing ends the load of a server that is closed.
var errClosing = errors.New("server: it is closed before the data is loaded")

// load does once more what the append-only file says, from the checkpoint on if the store comes from one.
func (s *Server) load() error {
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
// Without an append-only file it is closed from the beginning.
func (s *Server) Loaded() <-chan struct{} { return s.loaded }

// LoadError waits for Loaded and says why the data cannot be loaded, or nil. The server then refuses most commands; its
// owner closes it. The files are left as they are.
func (s *Server) LoadError() error {
	<-s.loaded
	return s.loadErr
}
