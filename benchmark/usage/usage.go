// Package usage says what the process has used up, so that a benchmark can tell what an operation
// cost beside how fast it was.
package usage

import (
	"runtime"
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
