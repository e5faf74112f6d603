package command

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// latencyMonitor keeps what took long: the calls of the slow log, and the samples of LATENCY by cause. The zero value
// watches nothing.
type latencyMonitor struct {
	// least is the time in nanoseconds from which somebody wants to know of a command: the one word that is looked at
	// when nothing is slow. It follows slowlog-log-slower-than and latency-monitor-threshold.
	least       atomic.Int64
	untracked   atomic.Bool               // latency-tracking no
	percentiles atomic.Pointer[[]float64] // latency-tracking-info-percentiles; immutable

	mu sync.Mutex // guards the rest
	// slowMicroseconds is slowlog-log-slower-than, negative for off; slowLimit is slowlog-max-len.
	slowMicroseconds, slowLimit int64
	slow                        []slowEntry // oldest first
	nextSlowID                  int64
	thresholdMilliseconds       int64 // latency-monitor-threshold; 0 for off
	events                      map[string]*latencyEvent
}

// Causes of latency that are no commands.
const (
	// CauseExpiry is a step of active expiry.
	CauseExpiry = "expire-cycle"
	// CauseCommit is a reply that waited for the append-only file.
	CauseCommit = "aof-fsync-always"
)

// latencySamples is how many samples of a cause are kept.
const latencySamples = 160

// latencyEvent are the samples of a cause, at most one a second.
type latencyEvent struct {
	samples []latencySample // oldest first
	longest int64           // milliseconds, also of samples that are forgotten
}

// latencySample is the longest time of one second.
type latencySample struct{ at, milliseconds int64 } // at in Unix seconds

// init sets Redis's defaults.
func (m *latencyMonitor) init() {
	m.slowMicroseconds, m.slowLimit = 10_000, 128
	m.percentiles.Store(&[]float64{50, 99, 99.9})
	m.reviewLocked()
}

// reviewLocked finds out what least is.
func (m *latencyMonitor) reviewLocked() {
	least := int64(math.MaxInt64)
	if m.slowMicroseconds >= 0 && m.slowMicroseconds < math.MaxInt64/1000 && m.slowLimit > 0 {
		least = m.slowMicroseconds * 1000
	}
	if m.thresholdMilliseconds > 0 && m.thresholdMilliseconds < math.MaxInt64/1_000_000 {
		least = min(least, m.thresholdMilliseconds*1_000_000)
	}
	m.least.Store(least)
}

// set changes parameters under the lock.
func (m *latencyMonitor) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
	if excess := int64(len(m.slow)) - m.slowLimit; excess > 0 {
		m.slow = slices.Delete(m.slow, 0, int(excess))
	}
	m.reviewLocked()
}

// get reads a parameter under the lock.
func (m *latencyMonitor) get(parameter *int64) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return decimalNumber(*parameter)
}

// noteSlow notes a call, or a run of calls, that took long.
func (c *Context) noteSlow(d *Command, nanoseconds int64, arguments [][]byte) {
	cause := "command"
	if d.Flags&Fast != 0 {
		cause = "fast-command"
	}
	m, now := &c.State.latency, time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.noteLocked(cause, nanoseconds, now)
	if m.slowMicroseconds < 0 || nanoseconds/1000 < m.slowMicroseconds {
		return
	}
	if int64(len(m.slow)) >= m.slowLimit {
		m.slow = slices.Delete(m.slow, 0, len(m.slow)-int(m.slowLimit)+1)
	}
	m.slow = append(m.slow, slowEntry{
		id: m.nextSlowID, at: now.Unix(), microseconds: nanoseconds / 1000,
		arguments: slowArguments(d, arguments), address: c.Client.Address, name: c.Client.Name(),
	})
	m.nextSlowID++
}

// NoteLatency tells LATENCY of something that took long enough to be a cause of latency, whatever that means to
// latency-monitor-threshold.
func (s *State) NoteLatency(cause string, took time.Duration) {
	if int64(took) < s.latency.least.Load() {
		return
	}
	s.latency.mu.Lock()
	defer s.latency.mu.Unlock()
	s.latency.noteLocked(cause, int64(took), time.Now())
}

// noteLocked keeps a sample, if it reaches the threshold.
func (m *latencyMonitor) noteLocked(cause string, nanoseconds int64, now time.Time) {
	milliseconds := nanoseconds / 1_000_000
	if m.thresholdMilliseconds == 0 || milliseconds < m.thresholdMilliseconds {
		return
	}
	event := m.events[cause]
	if event == nil {
		if m.events == nil {
			m.events = make(map[string]*latencyEvent)
		}
		event = &latencyEvent{}
		m.events[cause] = event
	}
	event.longest = max(event.longest, milliseconds)
	if last := len(event.samples) - 1; last >= 0 && event.samples[last].at == now.Unix() {
		event.samples[last].milliseconds = max(event.samples[last].milliseconds, milliseconds)
		return
	}
	if len(event.samples) == latencySamples {
		event.samples = slices.Delete(event.samples, 0, 1)
	}
	event.samples = append(event.samples, latencySample{now.Unix(), milliseconds})
}

// latencyOf returns a copy of the samples of a cause; ok is false when there are none.
func (m *latencyMonitor) latencyOf(cause string) (event latencyEvent, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.events[cause]
	if found == nil {
		return latencyEvent{}, false
	}
	return latencyEvent{slices.Clone(found.samples), found.longest}, true
}

// causes are those there are samples of, in the order of their names.
func (m *latencyMonitor) causes() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	causes := make([]string, 0, len(m.events))
	for cause := range m.events {
		causes = append(causes, cause)
	}
	slices.Sort(causes)
	return causes
}
