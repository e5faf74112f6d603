package command

import (
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"strings"
)

// memoryMallocStats is MEMORY MALLOC-STATS: what the Go runtime and the engine, which maps its memory beside the Go heap, have.
func memoryMallocStats(c *Context) {
	var text strings.Builder
	text.WriteString("___ Begin memory statistics ___\n")
	writeRuntime(&text)
	c.State.writeMappings(&text)
	text.WriteString("___ End memory statistics ___\n")
	c.verbatim(text.String())
}

// writeRuntime writes the memory classes of the Go runtime, which add up to its total, and the figures of its collector.
func writeRuntime(text *strings.Builder) {
	var samples []metrics.Sample
	for _, d := range metrics.All() {
		if d.Kind == metrics.KindUint64 && (strings.HasPrefix(d.Name, "/memory/classes/") || strings.HasPrefix(d.Name, "/gc/")) {
			samples = append(samples, metrics.Sample{Name: d.Name})
		}
	}
	metrics.Read(samples)
	fmt.Fprintf(text, "Go runtime: %s, %d processors, %d goroutines\n", runtime.Version(), runtime.GOMAXPROCS(0), runtime.NumGoroutine())
	for _, sample := range samples {
		name, unit, _ := strings.Cut(sample.Name[1:], ":")
		if value := sample.Value.Uint64(); value < math.MaxInt64 {
			fmt.Fprintf(text, "  %s: %d %s\n", name, value, unit)
		} else {
			fmt.Fprintf(text, "  %s: none\n", name)
		}
	}
}

// writeMappings writes what the engine has mapped.
func (s *State) writeMappings(text *strings.Builder) {
	store := s.Store.Info()
	text.WriteString("Engine, in mappings beside the Go heap\n")
	for _, line := range []struct {
		name  string
		value uint64
		unit  string
	}{
		{"log/page", store.PageBytes, "bytes"},
		{"log/resident", store.ResidentBytes, "bytes"},
		{"log/limit", store.MemoryBytes, "bytes"},
		{"log/live", store.LiveBytes, "bytes, estimated"},
		{"log/dead", store.DeadBytes, "bytes, estimated"},
		{"index/buckets", store.IndexBytes, "bytes"},
		{"index/overflow", store.OverflowBytes, "bytes"},
		{"index/growths", store.IndexGrowths, "doublings"},
	} {
		fmt.Fprintf(text, "  %s: %d %s\n", line.name, line.value, line.unit)
	}
	if resident := residentBytes(); resident != 0 {
		fmt.Fprintf(text, "Process\n  resident: %d bytes\n", resident)
	}
}
