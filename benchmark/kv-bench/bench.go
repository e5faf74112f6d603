package main

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/benchmark/numa"
	"github.com/pyropedb/pyrope/benchmark/report"
	"github.com/pyropedb/pyrope/benchmark/workload"
)

// bench is one invocation of the program.
type bench struct {
	options     options
	output      io.Writer
	interrupted *atomic.Bool
	results     []result    // in the order they were found
	aggregates  []aggregate // one a thread count
	copied      uint64      // records copied to the tail up to the last result
}

// runAll opens the store, loads it, measures or validates, and writes the results.
func (b *bench) runAll() (err error) {
	t, err := openTarget(&b.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	p, err := b.newPlan()
	if err != nil {
		return err
	}
	b.printConfig(t, p)
	if err := b.load(t, p); err != nil {
		return err
	}
	b.chooseReadMode(t, p)
	b.printMemory(t, p)
	b.printDistribution(t)
	if b.options.Warm {
		if err := b.warm(t); err != nil {
			return err
		}
	}
	if b.options.Validate {
		return b.validate(t, p)
	}
	if err := b.sweep(t, p); err != nil {
		return err
	}
	b.printSummary()
	return report.Write(b.options.Files, b.output, "KV-RESULT-JSON", b.rows(t, p))
}

// newPlan makes the plan of the options.
func (b *bench) newPlan() (*plan, error) {
	o := &b.options
	p := &plan{
		keys: o.Keys, sizes: o.sizes(), batch: o.Batch, mix: o.Mix,
		mode: readMode(o.ReadMode), seed: o.Seed, checks: o.Validate,
	}
	if o.Distribution != uniform {
		zipf, err := workload.NewZipf(o.Keys, o.ZipfTheta)
		if err != nil {
			return nil, err
		}
		p.zipf, p.latest = zipf, o.Distribution == latest
	}
	var err error
	p.processors, err = o.processors()
	return p, err
}

// processors lists those that workers are pinned to, one after another; nil is none.
func (o *options) processors() ([]int, error) {
	if o.NoNumaPin {
		return nil, nil
	}
	topology, err := numa.System()
	if err != nil || topology.NodeCount() <= 1 && o.NumaNode == 0 {
		return nil, err
	}
	return topology.Order(o.NumaNode)
}

// chooseReadMode settles the automatic mode, now that it is known where the records are.
func (b *bench) chooseReadMode(t *target, p *plan) {
	if p.mode == readAuto {
		p.mode = readBatch
		if t.hasLeftMemory() {
			p.mode = readAsync
		}
	}
	b.text("[mode]   reads are %s\n", p.mode)
}

// sweep measures every thread count, iteration by iteration.
func (b *bench) sweep(t *target, p *plan) error {
	warmup, window := seconds(b.options.WarmupSecs), seconds(b.options.RunSeconds)
	for _, threads := range b.options.runThreads() {
		if len(b.options.Sweep) > 0 {
			b.printf("[sweep] starting run phase with threads=%d\n", threads)
		}
		var runs []result
		for i := 1; i <= b.options.Iterations; i++ {
			r, _, err := b.measure(t, p, threads, i, warmup, window)
			if err != nil {
				return err
			}
			if r.whole.misses > 0 && p.mix[mixDelete] == 0 {
				return fmt.Errorf("cannot measure a partial load: %s of %s reads found no record", report.N0(r.whole.misses), report.N0(r.whole.reads))
			}
			b.finishResult(&r, t)
			runs = append(runs, r)
		}
		a := aggregateOf(threads, runs)
		b.aggregates = append(b.aggregates, a)
		b.printAggregate(a)
	}
	return nil
}

// finishResult completes a result with the log's addresses, keeps and prints it.
func (b *bench) finishResult(r *result, t *target) {
	info := t.store.Info()
	r.logBegin, r.logHead, r.logReadOnly, r.logTail = info.BeginAddress, info.HeadAddress, info.ReadOnlyAddress, info.TailAddress
	r.copied = info.CopiedReads - b.copied
	b.copied = info.CopiedReads
	b.results = append(b.results, *r)
	b.printResult(r)
	b.printCost(r)
}

// seconds is a duration.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
