package command

// meter measures the time commands take. There is one clock reading between two commands: the end of one is the
// beginning of the next. A run of GETs or SETs that is gathered is one measurement, which all its calls share.
type meter struct {
	began int64 // of what is executed now, see monotonic
}

// start begins a measurement: at the begin of a batch, and where what went before is nobody's time.
func (m *meter) start() { m.began = monotonic() }

// charge adds calls of d, which have just been executed, to the counters of the command and the client, and begins the
// next measurement. slow tells that they took so long that somebody wants to know, see noteSlow.
func (c *Context) charge(d *Command, calls uint64) (took int64, slow bool) {
	now := monotonic()
	took = now - c.meter.began
	c.meter.began = now
	stats := &c.Stats.Commands[d.index]
	stats.Calls.add(calls)
	stats.Nanoseconds.add(uint64(took))
	c.Client.count(calls)
	watch := &c.State.latency
	if !watch.untracked.Load() {
		stats.latencies().add(uint64(took)/max(calls, 1), calls)
	}
	return took, took >= watch.least.Load()
}
