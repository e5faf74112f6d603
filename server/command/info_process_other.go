//go:build !linux

package command

import (
	"runtime/metrics"
	"time"
)

// residentBytes is the memory of the process that is in RAM; 0, for it is not known here.
func residentBytes() uint64 { return 0 }

// processorTime is the processor time of Go code, as the runtime estimates it.
func processorTime() (system, user time.Duration) {
	samples := []metrics.Sample{{Name: "/cpu/classes/user:cpu-seconds"}}
	metrics.Read(samples)
	return 0, time.Duration(samples[0].Value.Float64() * float64(time.Second))
}
