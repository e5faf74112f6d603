package main

import "github.com/pyropedb/pyrope/benchmark/report"

// row is the result of one run, as machines read it. Latencies are those of online runs, 0 offline.
type row struct {
	report.Origin
	Mode         string  `json:"mode"`
	Client       string  `json:"client"`
	Operation    string  `json:"op"`
	Percent      string  `json:"op_percent"` // of an online mix
	Threads      int     `json:"threads"`
	BatchSize    int     `json:"batch_size"`
	InFlight     int     `json:"itp"`
	Rate         int     `json:"rate"` // asked for; 0 is none
	DBSize       uint64  `json:"dbsize"`
	KeyLength    int     `json:"key_length"`
	ValueLength  int     `json:"value_length"`
	Zipf         bool    `json:"zipf"`
	Elapsed      float64 `json:"elapsed_sec"`
	Operations   uint64  `json:"ops"`
	OpsPerSecond float64 `json:"ops_per_sec"`
	Misses       uint64  `json:"misses"`
	Min          float64 `json:"min_us"`
	P5           float64 `json:"p5_us"`
	Median       float64 `json:"median_us"`
	Average      float64 `json:"avg_us"`
	P95          float64 `json:"p95_us"`
	P99          float64 `json:"p99_us"`
	P999         float64 `json:"p999_us"`
	Max          float64 `json:"max_us"`
}

// newRow is a row with what all runs of the program have in common.
func (b *bench) newRow() row {
	o := &b.options
	return row{
		Origin: report.NewOrigin(), Mode: o.benchmarkType(), Client: string(o.Client), Operation: o.Op.String(),
		InFlight: o.InFlight, Rate: o.Rate, DBSize: o.DBSize, KeyLength: b.keys.keyLength, ValueLength: o.ValueLength, Zipf: o.Zipf,
	}
}

// offlineRow is the result of a run.
func (b *bench) offlineRow(batchSize, threads int, m *measurement) row {
	r := b.newRow()
	r.BatchSize, r.Threads = batchSize, threads
	r.Operations = m.batches * uint64(batchSize)
	r.Elapsed, r.OpsPerSecond, r.Misses = m.elapsed.Seconds(), perSecond(r.Operations, m.elapsed), m.nils
	return r
}
