package command

import (
	"strconv"
	"time"

	"github.com/pyropedb/pyrope/server/config"
)

func init() { register(appendOnlyCommands) }

var appendOnlyCommands = []Command{
	{Name: "commitaof", Arity: -1, Flags: Admin | NoScript, Categories: inAdmin, Handler: commitaof,
		Group: "garnet", Since: "1.0.0", Complexity: "O(N) where N is what was written since the last commit",
		Summary: "Make everything written so far durable"},
	{Name: "waitaof", Arity: 4, Flags: NoScript, Categories: inSlowClient, Handler: waitaof,
		Group: "generic", Since: "7.2.0", Complexity: "O(1)",
		Summary: "Wait until this connection's writes are durable here and on replicas"},
}

// commitaof is COMMITAOF [ASYNC].
func commitaof(c *Context) {
	file := c.State.AppendOnly
	async := len(c.Args) == 2 && equalFold(c.Args[1], "async")
	switch {
	case len(c.Args) > 2 || len(c.Args) == 2 && !async:
		c.error(errSyntax)
	case file == nil:
		c.error(errNoAppendOnly)
	case async:
		go func() { _ = file.Commit() }() // a failure is seen by who writes next, by INFO and in the log
		c.simple("AOF commit started")
	default:
		var err error
		c.Wait(func() { err = file.Commit() })
		if err != nil {
			c.errorf(errAppendOnly, err.Error())
			return
		}
		c.simple("AOF file committed")
	}
}

// waitaof is WAITAOF numlocal numreplicas timeout. It commits instead of waiting for the next commit. There are no
// replicas to wait for.
func waitaof(c *Context) {
	file := c.State.AppendOnly
	local, ok := c.integerArgument(c.Args[1])
	if !ok {
		return
	}
	replicas, ok := c.integerArgument(c.Args[2])
	if !ok {
		return
	}
	timeout, ok := parseInteger(c.Args[3])
	switch {
	case local < 0 || local > 1 || replicas < 0:
		c.error(errOutOfRange)
	case !ok:
		c.error(errTimeout)
	case timeout < 0:
		c.error(errTimeoutNegative)
	case local > 0 && file == nil:
		c.error(errWaitAppendOnly)
	default:
		durable := false
		if file != nil {
			position := max(c.Client.Journaled, c.Session.Journaled()) // the batch's own writes are not noted yet
			c.Wait(func() { durable = file.WaitCommit(position) == nil })
		}
		c.array(2)
		c.flag(durable)
		c.integer(0)
	}
}

// appendFsync is the commit frequency by the nearest of Redis's names.
func appendFsync(s *State) string { return s.commitFrequency().AppendFsync() }

// commitFrequency is how often the append-only file is committed now.
func (s *State) commitFrequency() config.CommitFrequency {
	if s.AppendOnly == nil {
		return s.Server.Options.CommitFrequency
	}
	interval := s.AppendOnly.CommitInterval()
	if interval < 0 {
		return config.CommitManually
	}
	return config.CommitFrequency(strconv.FormatInt(int64(interval/time.Millisecond), 10))
}

// setCommitFrequency changes when the append-only file is committed.
func setCommitFrequency(s *State, value string) (func(), string) {
	var frequency config.CommitFrequency
	if err := frequency.UnmarshalText([]byte(value)); err != nil {
		return nil, oneOf("everysec", "always", "no")
	}
	if s.AppendOnly == nil {
		if frequency == s.Server.Options.CommitFrequency {
			return func() {}, ""
		}
		return nil, immutable
	}
	return func() { s.AppendOnly.SetCommitInterval(frequency.Interval()) }, ""
}
