package server

import (
	"errors"
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
		OverLimit:      s.shorten,
		Log:            s.log,
	})
}

// shorten begins to shorten the append-only file, when there is a way to do so.
func (s *Server) shorten() {
	if rewrite := s.state.Server.Rewrite; rewrite != nil {
		if err := rewrite(); err != nil {
			s.log.Warn("cannot shorten the append-only file", "cause", err)
		}
	}
}

// beginLoad loads the data in the background, if there is any to load: the server listens and says so meanwhile.
func (s *Server) beginLoad() {
	if s.aof == nil {
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

// load does once more what the append-only file says.
func (s *Server) load() error {
	replayer, err := s.state.NewReplayer()
	if err != nil {
		return err
	}
	if err := s.aof.Load(0, 0, s.unlessClosing(replayer)); err != nil {
		replayer.Close()
		return err
	}
	return replayer.Finish()
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
