package command

import (
	"time"

	"github.com/pyropedb/pyrope/tsavorite"
)

// Metrics are the figures of a server at one moment. Counters are since the start or the last CONFIG RESETSTAT.
type Metrics struct {
	Uptime        time.Duration
	Clients       int
	MaxClients    int
	Traffic       Traffic
	Commands      []CommandMetrics // of commands that were called or rejected
	Hits, Misses  uint64
	ErrorReplies  uint64
	Evicted       uint64 // keys dropped to make room
	Refused       uint64 // writes for which there was no memory
	LogBytes      uint64 // in memory
	IndexBytes    uint64
	HeapBytes     uint64
	RuntimeBytes  uint64
	ResidentBytes uint64 // of the process; 0 where it is not known
	SystemTime    time.Duration
	UserTime      time.Duration
	Store         tsavorite.Info
}

// CommandMetrics are the counters of one command.
type CommandMetrics struct {
	Name                    string
	Calls, Failed, Rejected uint64
	Time                    time.Duration
}

// Metrics reads all figures.
func (s *State) Metrics() Metrics {
	totals, memory := s.Totals(), s.usedMemory()
	m := Metrics{
		Uptime: time.Since(s.Server.Started), Clients: s.Server.Clients.Count(), MaxClients: s.Server.MaxClients(),
		Traffic: s.Server.traffic(), Hits: totals.Hits.Load(), Misses: totals.Misses.Load(), ErrorReplies: totals.ErrorReplies.Load(), Evicted: s.evictedKeys(),
		Refused: s.Server.errors.count("OOM"), LogBytes: memory.log, IndexBytes: memory.index, HeapBytes: memory.heap,
		RuntimeBytes: memory.runtime, ResidentBytes: residentBytes(), Store: s.Store.Info(),
	}
	m.SystemTime, m.UserTime = processorTime()
	for i, d := range commandsByIndex {
		stats := &totals.Commands[i]
		calls, rejected := stats.Calls.Load(), stats.Rejected.Load()
		if calls > 0 || rejected > 0 {
			m.Commands = append(m.Commands, CommandMetrics{d.fullName, calls, stats.Failed.Load(), rejected, time.Duration(stats.Nanoseconds.Load())})
		}
	}
	return m
}
