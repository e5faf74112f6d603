package command

import (
	"errors"
	"strconv"
	"time"
)

func init() { register(serverCommands) }

var serverCommands = []Command{
	{Name: "time", Arity: 1, Flags: Loading | Stale | Fast, Categories: InFast, Handler: timeOfDay,
		Group: "server", Since: "2.6.0", Complexity: "O(1)", Summary: "The server's clock"},
	{Name: "shutdown", Arity: -1, Flags: adminFlags | NoMulti | AllowBusy, Categories: inAdmin, Handler: shutdown,
		Group: "server", Since: "1.0.0", Complexity: "O(1)", Summary: "End the server"},
	{Name: "debug", Arity: -2, Flags: adminFlags, Categories: inAdmin, Handler: debug,
		Group: "server", Since: "1.0.0", Complexity: "Depends on subcommand.", Summary: "Commands for tests of the server"},
	{Name: "swapdb", Arity: 3, Flags: Write | Fast, Categories: keyWrite | InDangerous, Handler: swapdb,
		Group: "server", Since: "4.0.0", Complexity: "O(1)", Summary: "Exchange the contents of two databases"},
	{Name: "role", Arity: 1, Flags: NoScript | Loading | Stale | Fast, Categories: InAdmin | InFast | InDangerous, Handler: role,
		Group: "server", Since: "2.8.12", Complexity: "O(1)", Summary: "The server's part in replication"},
	{Name: "wait", Arity: 3, Flags: NoScript, Categories: inSlowClient, Handler: wait,
		Group: "generic", Since: "3.0.0", Complexity: "O(1)", Summary: "Wait until replicas have this connection's writes"},
}

// timeOfDay is TIME: seconds, and microseconds within the second.
func timeOfDay(c *Context) {
	now := time.Now().UnixMicro()
	c.array(2)
	c.bulkString(strconv.FormatInt(now/1_000_000, 10))
	c.bulkString(strconv.FormatInt(now%1_000_000, 10))
}

// wait is WAIT replicas timeout. There are no replicas to wait for.
func wait(c *Context) {
	if _, ok := c.integerArgument(c.Args[1]); !ok {
		return
	}
	timeout, ok := parseInteger(c.Args[2])
	switch {
	case !ok:
		c.error(errTimeout)
	case timeout < 0:
		c.error(errTimeoutNegative)
	default:
		c.integer(0)
	}
}

// shutdownOptions are the words SHUTDOWN takes.
type shutdownOptions struct{ save, noSave, now, force, abort bool }

// End says whether a server takes a checkpoint at its end.
type End int32

// The ways to end.
const (
	EndAsConfigured End = iota // with save points
	EndSaving                  // SHUTDOWN SAVE
	EndNotSaving               // SHUTDOWN NOSAVE
)

// shutdown is SHUTDOWN [NOSAVE|SAVE] [NOW] [FORCE] [ABORT]. The connection gets no reply: it is
// closed with all others. With SAVE, or save points, a checkpoint is taken now, and another one of what is written until the end: if the first
// fails the server stays, unless FORCE is given too. There are no replicas to wait for, so NOW changes nothing, and there is never anything to abort.
func shutdown(c *Context) {
	options, ok := c.shutdownOptions()
	server := &c.State.Server
	if c.State.Loading.Load() != 0 {
		options.save, options.noSave = false, true // half of the data must never pass for all of it
	}
	saves := ok && !options.abort && server.Shutdown != nil && (options.save || !options.noSave && len(server.Current().SavePoints.Points()) > 0)
	if saves && !c.savesBeforeEnd() {
		if !options.force {
			c.error(errShutdown)
			return
		}
		options.save, options.noSave = false, true // it would fail again
	}
	switch {
	case !ok:
		c.error(errSyntax)
	case options.abort:
		c.error(errNoShutdown)
	case server.Shutdown == nil:
		c.error(errShutdown)
	default:
		server.log().Info("shutting down", "asked by", c.Client.Address)
		c.Client.Closing = true
		server.Shutdown(options.end())
	}
}

// savingInterval is how often SHUTDOWN looks whether the checkpoint under way is over.
const savingInterval = 10 * time.Millisecond

// savesBeforeEnd takes a checkpoint, after the one that is under way, and logs why if it cannot.
func (c *Context) savesBeforeEnd() bool {
	saver, err := c.State.Server.Saver, errNobodySaves
	if saver != nil {
		c.Wait(func() {
			for err = saver.Save(); errors.Is(err, ErrSaving); err = saver.Save() {
				time.Sleep(savingInterval)
			}
		})
	}
	if err != nil {
		c.State.Server.log().Error("cannot save before the shutdown", "cause", err)
	}
	return err == nil
}

var errNobodySaves = errors.New("there is nobody who takes checkpoints")

func (o shutdownOptions) end() End {
	switch {
	case o.save:
		return EndSaving
	case o.noSave:
		return EndNotSaving
	}
	return EndAsConfigured
}

// shutdownOptions reads the words behind SHUTDOWN and tells whether they go together.
func (c *Context) shutdownOptions() (o shutdownOptions, ok bool) {
	for _, word := range c.Args[1:] {
		switch {
		case equalFold(word, "save"):
			o.save = true
		case equalFold(word, "nosave"):
			o.noSave = true
		case equalFold(word, "now"):
			o.now = true
		case equalFold(word, "force"):
			o.force = true
		case equalFold(word, "abort"):
			o.abort = true
		default:
			return o, false
		}
	}
	alone := !o.save && !o.noSave && !o.now && !o.force
	return o, !(o.save && o.noSave) && (!o.abort || alone)
}

const (
	maxSleepSeconds = 1 << 31
	// killedInterval is how often a sleeping command looks whether its connection was killed.
	killedInterval = 20 * time.Millisecond
)

// sleep blocks this connection, and no other, until the time is over, the connection is killed or
// the server ends.
func (c *Context) sleep(d time.Duration) {
	transport := c.Client.Transport
	c.Wait(func() {
		for end := time.Now().Add(d); time.Now().Before(end); {
			if transport != nil && transport.Killed() {
				return
			}
			select {
			case <-c.State.Server.Closing:
				return
			case <-time.After(min(time.Until(end), killedInterval)):
			}
		}
	})
}
