// Package micro holds Go benchmarks of what the tools beside it cannot single out: how far the machine
// overlaps cache misses, how sessions scale, what prefetching is worth to writes, and what a read costs
// that a device in RAM has to answer.
//
//	go test -run '^$' -bench . ./benchmark/micro
//
// Every benchmark reports millions of operations a second, of all its sessions together, and the processor
// time of one (cpu-ns/op), which is the steadier of the two where others use the machine. Compare figures of
// one run only: the absolute ones change by the minute. The verbs one by one, beside
// the engine's floor, are measured next to the engine: BenchmarkEngine of package tsavorite. What these verbs consist of lies
// in internal packages and has its benchmarks there: the epoch (BenchmarkEnterLeave, BenchmarkBump), the hash (BenchmarkHash), the index
// (BenchmarkFind), and the log (BenchmarkAppend, BenchmarkPageTurn).
package micro
