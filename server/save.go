package server

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/pyropedb/pyrope/server/command"
	"github.com/pyropedb/pyrope/tsavorite"
)

// saver takes the server's checkpoints: when a client asks, at save points, when the append-only file is too long, and when
// the log's device could give much back. One is under way at a time.
type saver struct {
	server *Server

	background sync.WaitGroup // its Add is guarded by mu
	mu         sync.Mutex
	status     command.SaveStatus       // guarded by mu, as is all below; Changes is filled in by SaveStatus
	saved      uint64                   // writes of the store when the last checkpoint was begun
	newest     tsavorite.CheckpointInfo // of the last checkpoint; Number 0 is none
	closed     bool
	hurry      chan struct{} // of the one under way: closed when somebody waits for its end
	hurries    bool          // it is closed
}

// retryAfter is how long save points wait after a checkpoint that failed.
const retryAfter = 5 * time.Second

var errVolatile = errors.New("no checkpoint can be taken: the device of the storage tier keeps nothing for the next start")

// start makes the saver know the checkpoint that the server comes from; Number 0 is none.
func (s *saver) start(newest tsavorite.CheckpointInfo) {
	s.newest = newest
	s.status = command.SaveStatus{LastSave: time.Now(), LastDuration: -1, LastShortening: -1}
	if newest.Number != 0 {
		s.status.LastSave = newest.Created
	}
}

// Save is part of command.Saver.
func (s *saver) Save() error {
	if err := s.begin(false); err != nil {
		s.hurryUp()
		return err
	}
	defer s.background.Done()
	return s.run(false, 0)
}

// Begin is part of command.Saver.
func (s *saver) Begin(shorten bool) error {
	if err := s.begin(shorten); err != nil {
		return err
	}
	go func() {
		defer s.background.Done()
		_ = s.run(shorten, s.server.state.Server.Current().CheckpointRate.Value) // it is logged, and in the status
	}()
	return nil
}

// hurryUp lets the checkpoint under way, if there is one, go as fast as it can.
func (s *saver) hurryUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status.Running && !s.hurries {
		close(s.hurry)
		s.hurries = true
	}
}

// begin makes a checkpoint the one under way. run must follow, and background.Done.
func (s *saver) begin(shorten bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errors.New("no checkpoint can be taken: the server is closed")
	case s.status.Running:
		return command.ErrSaving
	case !s.server.options.CanSave():
		return errVolatile
	}
	s.status.Running, s.status.Shortening, s.status.Started = true, shorten, time.Now()
	s.hurry, s.hurries = make(chan struct{}), false
	if shorten {
		s.status.ShorteningWait = false
	} else {
		s.status.SaveWaits = false
	}
	s.background.Add(1)
	return nil
}

// Schedule is part of command.Saver.
func (s *saver) Schedule(shorten bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if shorten {
		s.status.ShorteningWait = true
	} else {
		s.status.SaveWaits = true
	}
}

// SaveStatus is part of command.Saver.
func (s *saver) SaveStatus() command.SaveStatus {
	writes := s.server.store.Info().Writes
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.status
	status.Changes = writes - min(writes, s.saved)
	return status
}

// run takes the checkpoint that begin has announced, at so many megabytes a second or, for 0, as fast as can be.
func (s *saver) run(shorten bool, rate int) error {
	server := s.server
	options := server.state.Server.Current()
	writes := server.store.Info().Writes
	s.mu.Lock()
	hurry := s.hurry
	s.mu.Unlock()
	started := time.Now()
	s.leaveDeadOut()
	info, err := server.state.Save(tsavorite.CheckpointOptions{
		Directory: options.CheckpointDir, Keep: options.KeepCheckpoints, BytesPerSecond: uint64(rate) << 20, Hurry: hurry,
	})
	duration := time.Since(started)
	if err != nil {
		server.log.Error("a checkpoint failed; what was saved before stays", "cause", err)
	} else {
		server.log.Info("a checkpoint is taken", "number", info.Number, "bytes", info.Bytes, "duration", duration.String())
		s.server.claimSegments()
		s.shortenFile()
	}
	s.mu.Lock()
	s.status.Running, s.status.LastError, s.status.LastDuration = false, err, duration
	if shorten {
		s.status.ShorteningErr, s.status.LastShortening = err, duration
	}
	if err == nil {
		s.newest, s.saved, s.status.LastSave = info, writes, info.Created
		s.status.Saves++
		if shorten {
			s.status.Shortenings++
		}
	}
	s.mu.Unlock()
	s.refuseWrites()
	return err
}

// leaveDeadOut compacts the log before it is copied, if more of it is dead than alive: dead records would be copied too, and loaded. Where there is
// a device compaction does so by itself.
func (s *saver) leaveDeadOut() {
	store := s.server.store
	if info := store.Info(); s.server.device != nil || info.DeadBytes <= info.LiveBytes {
		return
	}
	if run, err := store.Compact(); err != nil {
		s.server.log.Info("a checkpoint holds dead records: they cannot be left out now", "freed", run.FreedBytes, "cause", err)
	}
}

// shortenFile drops what all checkpoints hold of the append-only file. A failure costs room, and nothing else.
func (s *saver) shortenFile() {
	server := s.server
	if server.aof == nil {
		return
	}
	lowest := ^uint64(0)
	checkpoints, err := tsavorite.Checkpoints(server.options.CheckpointDir)
	for _, checkpoint := range checkpoints {
		position, ok, wrong := command.SavedPosition(checkpoint.Metadata)
		if !ok {
			position = 0
		}
		lowest, err = min(lowest, position), errors.Join(err, wrong)
	}
	if err == nil && len(checkpoints) > 0 {
		err = server.aof.Truncate(lowest)
	}
	if removing := server.store.CheckpointStatus().RemoveError; removing != nil {
		err = errors.Join(err, removing)
	}
	if err != nil {
		server.log.Warn("what checkpoints no longer need cannot be removed", "cause", err)
	}
}

// shorten begins to shorten the append-only file, which is longer than it should be. What the newest checkpoint leaves of it may
// be a file's length too long: another one would not help.
func (s *saver) shorten() {
	server := s.server
	if server.state.Loading.Load() != 0 {
		return
	}
	s.mu.Lock()
	position, _, _ := command.SavedPosition(s.newest.Metadata) // it was read when the checkpoint became the newest
	known, failed := s.newest.Number != 0, s.failedLately()
	s.mu.Unlock()
	if failed || known && server.aof.Tail()-position < uint64(server.options.CommitLimit) {
		return
	}
	if err := s.Begin(true); err != nil && !errors.Is(err, command.ErrSaving) {
		server.log.Warn("cannot shorten the append-only file", "cause", err)
	}
}

// refuseWrites makes writes be refused, or accepted again, as the last checkpoint and the options have it.
func (s *saver) refuseWrites() {
	options := s.server.state.Server.Current()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server.state.Server.RefuseWrites(s.status.LastError != nil && options.SavePoints != "" && options.StopWrites.IsOn())
}

// consider begins a checkpoint if there is a reason for one: it waits its turn, a save point is reached, or the device could
// drop a segment if there were a newer one.
func (s *saver) consider(now time.Time) {
	if s.server.state.Loading.Load() != 0 || !s.server.options.CanSave() {
		return
	}
	status := s.SaveStatus()
	if status.Running {
		return
	}
	shorten := status.ShorteningWait
	if shorten || status.SaveWaits || s.isDue(now, status) || s.holdsSegments() {
		_ = s.Begin(shorten) // it waits for its turn again
	}
}

// failedLately tells whether the last checkpoint failed, not long ago; mu is held.
func (s *saver) failedLately() bool {
	return s.status.LastError != nil && time.Since(s.status.Started) < retryAfter
}

// isDue tells whether a save point is reached.
func (s *saver) isDue(now time.Time, status command.SaveStatus) bool {
	if status.LastError != nil && now.Sub(status.Started) < retryAfter {
		return false
	}
	for _, point := range s.server.state.Server.Current().SavePoints.Points() {
		if status.Changes >= max(point.Writes, 1) && now.Sub(status.LastSave) > point.After {
			return true
		}
	}
	return false
}

// holdsSegments tells whether a whole segment of the device is dead and only there because the checkpoint needs it.
func (s *saver) holdsSegments() bool {
	if s.server.device == nil {
		return false
	}
	begin := s.server.store.Info().BeginAddress
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest.Number != 0 && !s.failedLately() && begin/uint64(s.server.options.Segment) > s.newest.BeginAddress/uint64(s.server.options.Segment)
}

// close waits for the checkpoint under way, takes a last one if the way of the end asks for it, and lets none begin.
func (s *saver) close() (err error) {
	s.hurryUp()
	s.background.Wait()
	wanted := s.server.end.Load()
	points := len(s.server.state.Server.Current().SavePoints.Points()) > 0
	isDue := wanted == int32(command.EndSaving) || wanted == int32(command.EndAsConfigured) && points && s.server.options.CanSave() && s.SaveStatus().Changes > 0
	if isDue && s.server.state.Loading.Load() == 0 { // half of the data must never pass for all of it
		if err = s.Save(); err != nil {
			err = fmt.Errorf("cannot take the last checkpoint: %w", err)
		}
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.background.Wait()
	return err
}

// findCheckpoint looks for the newest checkpoint in a directory; Number 0 is none.
func findCheckpoint(directory string) (tsavorite.CheckpointInfo, error) {
	info, err := tsavorite.LatestCheckpoint(directory)
	switch {
	case errors.Is(err, tsavorite.ErrNoCheckpoint):
		return tsavorite.CheckpointInfo{}, nil
	case err != nil:
		return tsavorite.CheckpointInfo{}, fmt.Errorf("cannot read the newest checkpoint in %s, and nothing was changed: %w", directory, err)
	}
	return info, nil
}

// warnOfUnfinished tells of checkpoints that have no manifest where there is none that has.
func warnOfUnfinished(directory string, log *slog.Logger) {
	unfinished, err := tsavorite.UnfinishedCheckpoints(directory)
	if err == nil && len(unfinished) > 0 {
		log.Warn("there is no checkpoint but such as have no manifest: they were never finished, or have lost it; they are passed over, and the next checkpoint removes them",
			"directory", filepath.Join(directory, tsavorite.CheckpointsDirectory), "numbers", unfinished)
	}
}
