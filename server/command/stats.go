package command

import "sync/atomic"

// counter is a number that one goroutine writes and any may read: an ordinary load and store,
// since a locked addition would cost more than the rest of the bookkeeping.
type counter struct{ n atomic.Uint64 }

func (c *counter) add(n uint64) {
	if n != 0 {
		c.n.Store(c.n.Load() + n)
	}
}

// Load returns the counter's value.
func (c *counter) Load() uint64 { return c.n.Load() }

// CommandStats counts the calls of one command, as INFO commandstats shows them.
type CommandStats struct {
	Calls       counter // executions, failed ones included
	Nanoseconds counter // time spent in them
	Rejected    counter // calls refused before execution: arity, authentication
	Failed      counter // executions that replied with an error

	histogram atomic.Pointer[latencyHistogram] // nil until a call is counted in it
}

// Stats are the counters of one Context; Totals adds them up.
type Stats struct {
	Commands      []CommandStats // by Command.Index
	Hits          counter        // reading commands that found their key
	Misses        counter        // and those that did not
	Batches       counter        // calls of Serve
	GatheredReads counter        // keys read by scatter-gather
	ErrorReplies  counter
}

func newStats() *Stats { return &Stats{Commands: make([]CommandStats, len(commandsByIndex))} }

// Processed is the number of commands executed.
func (s *Stats) Processed() uint64 {
	var sum uint64
	for i := range s.Commands {
		sum += s.Commands[i].Calls.Load()
	}
	return sum
}

// addTo adds the counters of s, factor times, to sum, which no other goroutine writes at the
// time. The factor is 1, or minusOne to subtract.
func (s *Stats) addTo(sum *Stats, factor uint64) {
	for i := range s.Commands {
		from, to := &s.Commands[i], &sum.Commands[i]
		to.Calls.add(factor * from.Calls.Load())
		to.Nanoseconds.add(factor * from.Nanoseconds.Load())
		to.Rejected.add(factor * from.Rejected.Load())
		to.Failed.add(factor * from.Failed.Load())
		from.histogram.Load().addTo(to, factor)
	}
	sum.Hits.add(factor * s.Hits.Load())
	sum.Misses.add(factor * s.Misses.Load())
	sum.Batches.add(factor * s.Batches.Load())
	sum.GatheredReads.add(factor * s.GatheredReads.Load())
	sum.ErrorReplies.add(factor * s.ErrorReplies.Load())
}

const minusOne = ^uint64(0)

// Totals returns the sum of all contexts' counters since the last ResetTotals.
func (s *State) Totals() *Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.sumLocked()
	s.mu.baseline.addTo(sum, minusOne)
	return sum
}

// ResetTotals makes Totals count from now on, as CONFIG RESETSTAT does. The counters themselves
// go on: each belongs to its worker.
func (s *State) ResetTotals() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.baseline = s.sumLocked()
}

func (s *State) sumLocked() *Stats {
	sum := newStats()
	s.mu.retired.addTo(sum, 1)
	for c := range s.mu.contexts {
		c.Stats.addTo(sum, 1)
	}
	return sum
}
