package command

// meter counts a run of calls of one command, and the time they take. Only when the command
// changes from one to the next, and at the end of a batch, does it read the clock and write to
// the counters that others read: a pipeline of equal commands pays for it once.
type meter struct {
	command *Command // nil at the start of a batch
	calls   uint64   // of command, not yet counted
	began   int64    // when the run began, see monotonic
}

// charge counts calls of d that are about to be executed.
func (c *Context) charge(d *Command, calls uint64) {
	if c.meter.command != d {
		c.settle(d)
	}
	c.meter.calls += calls
}

// settle moves what the meter has to the counters of the command, the context and the client, and
// begins a run of next.
func (c *Context) settle(next *Command) {
	now := monotonic()
	if m := &c.meter; m.command != nil {
		stats := &c.Stats.Commands[m.command.index]
		stats.Calls.add(m.calls)
		stats.Nanoseconds.add(uint64(now - m.began))
		c.Client.count(m.calls)
	}
	c.meter = meter{command: next, began: now}
	if next != nil {
		c.Client.noteCommand(next)
	}
}
