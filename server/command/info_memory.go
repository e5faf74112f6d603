package command

import (
	"os"
	"runtime/metrics"

	"github.com/pyropedb/pyrope/server/config"
)

// memoryUse is where memory goes, in bytes.
type memoryUse struct {
	log, index uint64 // of the engine: mapped pages, buckets with overflow
	heap       uint64 // objects on the Go heap
	runtime    uint64 // what the Go runtime keeps beside them: free spans, stacks, its own
}

// total is what INFO calls used_memory.
func (m memoryUse) total() uint64 { return m.log + m.index + m.heap }

// usedMemory adds up where memory goes. It reads counters only.
func (s *State) usedMemory() memoryUse {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(samples)
	heap := samples[0].Value.Uint64()
	store := s.Store.Info()
	return memoryUse{
		log:     store.ResidentBytes,
		index:   store.IndexBytes + store.OverflowBytes,
		heap:    heap,
		runtime: samples[1].Value.Uint64() - samples[2].Value.Uint64() - heap,
	}
}

// RestOfProcess is what the process takes beside the log's pages.
func (s *State) RestOfProcess() uint64 {
	if resident := residentBytes(); resident != 0 {
		return resident - min(resident, s.Store.Info().ResidentBytes)
	}
	use := s.usedMemory()
	return use.index + use.heap + use.runtime
}

// infoMemory writes where memory goes and what it is bounded by.
func infoMemory(s *State, w *infoWriter) {
	use := s.usedMemory()
	used := use.total()
	resident := residentBytes()
	if resident == 0 {
		resident = used + use.runtime
	}
	peak := max(s.Server.rates().peakMemoryBytes, used)
	options := s.Server.Current()
	w.bytes("used_memory", used)
	w.bytes("used_memory_rss", resident)
	w.bytes("used_memory_peak", peak)
	w.line("used_memory_peak_perc", percent(used, peak))
	w.line("used_memory_overhead", use.index+use.heap)
	w.line("used_memory_dataset", use.log)
	w.line("used_memory_dataset_perc", percent(use.log, used))
	w.line("used_memory_log", use.log)
	w.line("used_memory_index", use.index)
	w.line("used_memory_heap", use.heap)
	w.line("used_memory_runtime", use.runtime)
	w.line("mem_clients_normal", s.Server.buffers().Bytes)
	w.bytes("total_system_memory", config.MachineMemory())
	w.bytes("maxmemory", uint64(options.Memory))
	w.line("maxmemory_policy", string(options.Policy))
	w.line("mem_fragmentation_ratio", float64(resident)/float64(max(used, 1)))
	w.line("mem_allocator", "go")
	w.line("system_page_size", os.Getpagesize())
	w.line("active_defrag_running", 0)
	w.line("lazyfree_pending_objects", 0)
}

// percent is a share as INFO shows it.
func percent(part, whole uint64) string {
	return decimal(100*float64(part)/float64(max(whole, 1)), 2) + "%"
}
