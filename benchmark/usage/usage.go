// Package usage says what the process has used up, so that a benchmark can tell what an operation
// cost beside how fast it was.
package usage

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"
)

// Usage is what the process had used at a moment, or between two.
type Usage struct {
	User, System   time.Duration // of the processors; 0 where the system does not say
	Allocations    uint64        // on the Go heap
	AllocatedBytes uint64
	Collections    uint32 // of garbage
}

// Now is the usage up to now. It stops the world for some microseconds.
func Now() Usage {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	user, system := processTimes()
	return Usage{user, system, memory.Mallocs, memory.TotalAlloc, memory.NumGC}
}

// Since is what was used after an earlier moment.
func (u Usage) Since(earlier Usage) Usage {
	return Usage{
		u.User - earlier.User, u.System - earlier.System, u.Allocations - earlier.Allocations,
		u.AllocatedBytes - earlier.AllocatedBytes, u.Collections - earlier.Collections,
	}
}

// CPU is the processor time in user and kernel mode.
func (u Usage) CPU() time.Duration { return u.User + u.System }

// pauseMetric is the histogram of the times for which the garbage collector stopped the world.
const pauseMetric = "/sched/pauses/total/gc:seconds"

// Pauses tells the longest pause of the garbage collector in a stretch of time. What it needs is allocated by
// NewPauses, so that nothing is within the stretch.
type Pauses struct {
	before, after [1]metrics.Sample
}

// NewPauses returns a Pauses whose stretch begins now.
func NewPauses() *Pauses {
	p := &Pauses{}
	p.before[0].Name, p.after[0].Name = pauseMetric, pauseMetric
	metrics.Read(p.after[:])
	p.Start()
	return p
}

// Start lets the stretch begin anew.
func (p *Pauses) Start() { metrics.Read(p.before[:]) }

// Longest is the longest pause since Start, rounded up to the bounds of the runtime's histogram; 0 for none.
func (p *Pauses) Longest() time.Duration {
	metrics.Read(p.after[:])
	before, after := p.before[0].Value.Float64Histogram(), p.after[0].Value.Float64Histogram()
	for i := len(after.Counts) - 1; i >= 0; i-- {
		if after.Counts[i] == before.Counts[i] {
			continue
		}
		bound := after.Buckets[i+1]
		if math.IsInf(bound, 1) {
			bound = after.Buckets[i]
		}
		return time.Duration(bound * float64(time.Second))
	}
	return 0
}
