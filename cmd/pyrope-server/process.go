package main

import (
	"math"
	"os"
	"runtime/debug"
	"strings"

	"github.com/pyropedb/pyrope/server/command"
	"github.com/pyropedb/pyrope/server/config"
)

// programVersion is the version of this build: the release, and the commit of a build that is none.
func programVersion() string {
	switch {
	case version == "":
		return command.Version
	case strings.HasPrefix(version, "v"):
		return version[1:]
	}
	return command.Version + "-" + version
}

const (
	// minHeapBytes is the least limit that is set for the Go heap: below it the collector would
	// run without end for the buffers of many connections.
	minHeapBytes = 256 << 20
	// heapGrowthPercent is how much garbage may gather beside what lives on the Go heap. Keys and
	// values are elsewhere and commands allocate next to nothing, so that the collector seldom
	// runs, and a heap that stays small costs little. With 2 million records behind 64 MB of
	// memory, 25 instead of Go's 100 took the process from 134 to 122 MB.
	heapGrowthPercent = 25
)

// boundHeap keeps the Go heap out of what the log needs: the two share the machine, but the
// collector sees the heap alone. What the environment says (GOGC, GOMEMLIMIT) stands.
func boundHeap(options config.Options) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowthPercent)
	}
	machine := config.MachineMemory()
	if machine == 0 || debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return
	}
	limit := int64(machine/100*90) - int64(options.Memory)
	debug.SetMemoryLimit(max(limit, minHeapBytes))
}
