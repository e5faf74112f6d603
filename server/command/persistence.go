package command

import (
	"errors"
	"time"
)

func init() { register(persistenceCommands) }

var persistenceCommands = []Command{
	{Name: "save", Arity: 1, Flags: Admin | NoScript | NoAsyncLoading | NoMulti, Categories: inAdmin, Handler: save,
		Group: "server", Since: "1.0.0", Complexity: "O(N) where N is what is to be written", Summary: "Take a checkpoint and wait for it"},
	{Name: "bgsave", Arity: -1, Flags: Admin | NoScript | NoAsyncLoading, Categories: inAdmin, Handler: bgsave,
		Group: "server", Since: "1.0.0", Complexity: "O(1)", Summary: "Take a checkpoint in the background"},
	{Name: "lastsave", Arity: 1, Flags: Loading | Stale | Fast, Categories: InAdmin | InFast | InDangerous, Handler: lastsave,
		Group: "server", Since: "1.0.0", Complexity: "O(1)", Summary: "When the data set was saved last"},
	{Name: "bgrewriteaof", Arity: 1, Flags: Admin | NoScript | NoAsyncLoading, Categories: inAdmin, Handler: bgrewriteaof,
		Group: "server", Since: "1.0.0", Complexity: "O(1)", Summary: "Shorten the append-only file in the background"},
}

// Saver takes checkpoints. All methods may be called from any goroutine.
type Saver interface {
	// Save takes a checkpoint and returns when it is published, or why it is not; ErrSaving while another is under way, which hurries then.
	Save() error
	// Begin begins one and returns at once; ErrSaving while another is under way. shorten says what it is for.
	Begin(shorten bool) error
	// Schedule has one begin as soon as the one under way is over.
	Schedule(shorten bool)
	// SaveStatus is how checkpoints stand.
	SaveStatus() SaveStatus
}

// ErrSaving refuses a checkpoint while another is taken.
var ErrSaving = errors.New("command: a checkpoint is being taken")

// SaveStatus is how checkpoints stand.
type SaveStatus struct {
	Running        bool
	Shortening     bool // the one that runs was asked for by BGREWRITEAOF, or by the size of the append-only file
	Started        time.Time
	SaveWaits      bool // see Saver.Schedule
	ShorteningWait bool
	LastSave       time.Time     // of the last checkpoint, be it another run's; else the start of the server
	LastDuration   time.Duration // less than 0: none yet
	LastError      error
	Changes        uint64 // writes since the last checkpoint
	Saves          uint64 // checkpoints since the start
	Shortenings    uint64 // of those, the ones that were to shorten the append-only file
	LastShortening time.Duration
	ShorteningErr  error
}

// saver returns who takes checkpoints; nil when there is nobody, and it replied so.
func (c *Context) saver() Saver {
	saver := c.State.Server.Saver
	if saver == nil {
		c.error(errNoSaver)
	}
	return saver
}

// save is SAVE. It holds up its own connection alone.
func save(c *Context) {
	saver := c.saver()
	if saver == nil {
		return
	}
	var err error
	c.Wait(func() { err = saver.Save() })
	switch {
	case errors.Is(err, ErrSaving):
		c.error(errSaving)
	case err != nil:
		c.failedBy(err)
	default:
		c.ok()
	}
}

// bgsave is BGSAVE [SCHEDULE].
func bgsave(c *Context) {
	schedule := len(c.Args) == 2 && equalFold(c.Args[1], "schedule")
	if len(c.Args) > 1 && !schedule {
		c.error(errSyntax)
		return
	}
	saver := c.saver()
	if saver == nil {
		return
	}
	err := saver.Begin(false)
	switch {
	case err == nil:
		c.simple("Background saving started")
	case !errors.Is(err, ErrSaving):
		c.failedBy(err)
	case !saver.SaveStatus().Shortening:
		c.error(errSaving)
	case schedule:
		saver.Schedule(false)
		c.simple("Background saving scheduled")
	default:
		c.error(errOtherSaving)
	}
}

// bgrewriteaof is BGREWRITEAOF: the append-only file is shortened by a checkpoint. Without such a file it is a
// checkpoint all the same, as it is in Redis.
func bgrewriteaof(c *Context) {
	saver := c.saver()
	if saver == nil {
		return
	}
	err := saver.Begin(true)
	switch {
	case err == nil:
		c.simple("Background append only file rewriting started")
	case !errors.Is(err, ErrSaving):
		c.failedBy(err)
	case saver.SaveStatus().Shortening:
		c.error(errShortening)
	default:
		saver.Schedule(true)
		c.simple("Background append only file rewriting scheduled")
	}
}

// lastsave is LASTSAVE: when the data set was saved last, or when the server started, as Unix time in seconds.
func lastsave(c *Context) { c.integer(c.State.saveStatus().LastSave.Unix()) }

// saveStatus is how checkpoints stand.
func (s *State) saveStatus() SaveStatus {
	if s.Server.Saver != nil {
		return s.Server.Saver.SaveStatus()
	}
	started := s.Server.Started
	if started.IsZero() {
		started = time.Unix(0, 0)
	}
	return SaveStatus{LastSave: started, LastDuration: -1, LastShortening: -1}
}
