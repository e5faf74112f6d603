package tsavorite

import "sync/atomic"

// counters are a session's own: plain words, added up in published when it leaves its epoch.
type counters struct {
	reads, writes, pendingReads, deviceReads, copiedReads uint64

	deadBytes uint64 // of records that were replaced or removed; goes to the log
}

func (c *counters) add(more counters) {
	c.reads += more.reads
	c.writes += more.writes
	c.pendingReads += more.pendingReads
	c.deviceReads += more.deviceReads
	c.copiedReads += more.copiedReads
}

// publishedCounters are what other goroutines see; written by the session's owner only.
type publishedCounters struct {
	reads, writes, pendingReads, deviceReads, copiedReads atomic.Uint64
}

func (p *publishedCounters) load() counters {
	return counters{p.reads.Load(), p.writes.Load(), p.pendingReads.Load(), p.deviceReads.Load(), p.copiedReads.Load(), 0}
}

// publish moves the session's counters to where others see them, touching only those that changed.
func (p *publishedCounters) publish(c *counters) {
	if c.reads != 0 {
		p.reads.Add(c.reads)
	}
	if c.writes != 0 {
		p.writes.Add(c.writes)
	}
	if c.pendingReads != 0 {
		p.pendingReads.Add(c.pendingReads)
	}
	if c.deviceReads != 0 {
		p.deviceReads.Add(c.deviceReads)
	}
	if c.copiedReads != 0 {
		p.copiedReads.Add(c.copiedReads)
	}
	*c = counters{}
}
