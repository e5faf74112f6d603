package main

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"github.com/pyropedb/pyrope/benchmark/report"
	"github.com/pyropedb/pyrope/benchmark/workload"
)

const (
	requestSeed       = 789110123 // of the key choice, so that runs repeat each other
	firstBufferBytes  = 64 << 10  // request buffer a batch is first built in
	batchMemoryBudget = 256 << 20 // bytes of prebuilt requests; enough to outgrow any cache
	zipfTheta         = 0.99
	commandBytes      = 200 // of a command as go-redis takes it, about
)

// batch is one request buffer and what is known about its replies. It is immutable once built:
// all threads of a run share the batches.
type batch struct {
	request []byte
	replies int      // top-level replies the server gives
	numbers []uint64 // the keys, in order; only kept with --verify

	commands [][]any // the request as go-redis takes it; only made for that client
}

// buildBatches prepares as many batches of the given size as make --totalops operations, within
// the memory budget, and prints what it does.
func (b *bench) buildBatches(size int) ([]batch, error) {
	count := int((b.options.Total + uint64(size) - 1) / uint64(size))
	began := time.Now()
	builder, err := newBatchBuilder(&b.options, b.keys, size)
	if err != nil {
		return nil, err
	}
	b.printf("Generating %d %s request batches of size %d each; total %d ops\n", count, b.options.Op, size, uint64(count)*uint64(size))
	var batches []batch
	for used := 0; len(batches) < count; {
		before := cap(builder.buffer)
		next := builder.build()
		if after := cap(builder.buffer); after != before {
			b.printf("Resizing request buffer from %d to %d\n", before, after)
		}
		used += len(next.request) + 8*len(next.numbers) + commandBytes*len(next.commands)
		if used > batchMemoryBudget && len(batches) > 0 {
			b.printf("Restricting #buffers to %d instead of %d\n", len(batches), count)
			break
		}
		batches = append(batches, next)
	}
	b.printf("Request generation complete\n")
	b.printf("maxBytesWritten out of maxBufferSize: %d/%d\n", builder.longest, cap(builder.buffer))
	b.printf("Loading time: %s secs\n", report.N2(time.Since(began).Seconds()))
	return batches, nil
}

// batchBuilder writes batches of one operation and size.
type batchBuilder struct {
	keys    keyspace
	op      operation
	size    int
	keep    bool // keep the key numbers
	split   bool // make the commands
	random  workload.Random
	zipf    *workload.Zipf // nil: uniform
	numbers []uint64       // of the batch being built
	buffer  []byte         // scratch; doubles until a batch fits
	longest int
}

// newBatchBuilder returns a builder for the options' operation.
func newBatchBuilder(o *options, keys keyspace, size int) (*batchBuilder, error) {
	g := &batchBuilder{
		keys: keys, op: o.Op, size: size, keep: o.Verify, split: o.Client == goRedisType,
		random:  workload.NewRandom(requestSeed, 0),
		numbers: make([]uint64, size),
		buffer:  make([]byte, 0, firstBufferBytes),
	}
	if o.Zipf {
		zipf, err := workload.NewZipf(o.DBSize, zipfTheta)
		if err != nil {
			return nil, fmt.Errorf("cannot choose keys: %w", err)
		}
		g.zipf = zipf
	}
	return g, nil
}

// build returns the next batch, in memory of its own.
func (g *batchBuilder) build() batch {
	for i := range g.numbers {
		if g.zipf != nil {
			g.numbers[i] = g.zipf.Key(&g.random)
		} else {
			g.numbers[i] = g.random.Below(g.keys.dbSize)
		}
	}
	written := g.keys.appendBatch(g.buffer[:0], g.op, g.size, func(i int) uint64 { return g.numbers[i] })
	for cap(g.buffer) < len(written) {
		g.buffer = make([]byte, 0, 2*cap(g.buffer))
	}
	g.longest = max(g.longest, len(written))
	result := batch{request: append([]byte(nil), written...), replies: g.op.repliesPerBatch(g.size)}
	if g.keep {
		result.numbers = append([]uint64(nil), g.numbers...)
	}
	if g.split {
		result.commands = splitRequest(result.request)
	}
	return result
}

// splitRequest takes a request of ours apart into commands; their arguments lie in the request.
func splitRequest(request []byte) (commands [][]any) {
	line := func() []byte {
		text, rest, _ := bytes.Cut(request, []byte("\r\n"))
		request = rest
		return text
	}
	for len(request) > 0 {
		head := line()
		if head[0] != '*' { // the inline form
			commands = append(commands, []any{head})
			continue
		}
		count, _ := strconv.Atoi(string(head[1:])) // we have written it
		arguments := make([]any, count)
		for i := range arguments {
			length, _ := strconv.Atoi(string(line()[1:]))
			arguments[i] = request[:length:length]
			request = request[length+2:]
		}
		commands = append(commands, arguments)
	}
	return commands
}
