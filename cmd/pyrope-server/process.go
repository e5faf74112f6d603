package main

import (
	"log/slog"
	"math"
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

// minHeapBytes is the least limit that is set for the Go heap: below it the collector would run
// without end for the buffers of many connections.
const minHeapBytes = 256 << 20

// boundHeap keeps the Go heap out of what the log needs: the two share the machine, but the
// collector sees the heap alone. A limit from the environment (GOMEMLIMIT) stands.
func boundHeap(options config.Options) {
	machine := config.MachineMemory()
	if machine == 0 || debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return
	}
	limit := int64(machine/100*90) - int64(options.Memory)
	debug.SetMemoryLimit(max(limit, minHeapBytes))
}

// nameLevels writes the levels by their names on the command line.
func nameLevels(_ []string, attribute slog.Attr) slog.Attr {
	if level, ok := attribute.Value.Any().(slog.Level); ok && attribute.Key == slog.LevelKey {
		attribute.Value = slog.StringValue(string(config.LevelOf(level)))
	}
	return attribute
}
