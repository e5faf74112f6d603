package main

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/benchmark/reply"
	"github.com/pyropedb/pyrope/benchmark/report"
)

const (
	loadBatchKeys  = 4096    // keys an MSET at most
	loadBatchBytes = 1 << 20 // request bytes a load batch is ended at
)

// load writes every key, whatever the number of threads, and compares DBSIZE with it.
func (b *bench) load() error {
	threads := min(uint64(b.options.LoadThreads), b.options.DBSize)
	op := opMSet
	if b.options.LSet {
		op = opSet
	}
	links, err := b.connectAll(int(threads))
	if err != nil {
		return err
	}
	defer closeAll(links)

	loaders := make([]loader, threads)
	var failed atomic.Bool
	var group sync.WaitGroup
	began := time.Now()
	for i := range loaders {
		l := &loaders[i]
		*l = loader{bench: b, op: op, link: links[i], failed: &failed}
		l.next, l.end = share(b.options.DBSize, threads, uint64(i))
		group.Go(func() {
			if l.err = l.run(); l.err != nil {
				failed.Store(true)
			}
		})
	}
	group.Wait()
	elapsed := time.Since(began)

	var loaded uint64
	for i := range loaders {
		if loaders[i].err != nil {
			return fmt.Errorf("cannot load the DB: %w", loaders[i].err)
		}
		loaded += loaders[i].loaded
	}
	b.printResult(op, int(threads), elapsed, loaded)
	if b.interrupted.Load() {
		return fmt.Errorf("cannot load the DB: interrupted after %s of %s keys", report.N0(loaded), report.N0(b.options.DBSize))
	}
	return b.confirmLoad(links[0])
}

// confirmLoad asks the server how many keys it holds: a run over keys that were never written
// measures misses, which cost a fraction of a read.
func (b *bench) confirmLoad(l link) error {
	stored, err := command(l, "DBSIZE")
	if err != nil {
		return fmt.Errorf("cannot confirm the load: %w", err)
	}
	b.printf(">>> Loaded %d keys into the DB >>>\n", stored)
	enough := b.options.DBSize - b.options.DBSize/100
	if stored < 0 || uint64(stored) < enough {
		return fmt.Errorf("cannot load the DB: it holds %d keys after %d were written; at least %d must be there", stored, b.options.DBSize, enough)
	}
	return b.confirmSample(l)
}

// sampleKeys is how many keys are looked for after a load, at most.
const sampleKeys = 8192

// confirmSample looks for keys spread evenly over those that were loaded: a server that held other keys
// before has a large DBSIZE whatever has become of the load.
func (b *bench) confirmSample(l link) error {
	count := min(sampleKeys, b.options.DBSize)
	arguments := []string{"EXISTS"}
	for i := range count {
		high, low := bits.Mul64(i, b.options.DBSize)
		number, _ := bits.Div64(high, low, count)
		arguments = append(arguments, string(b.keys.appendKey(nil, number)))
	}
	found, err := command(l, arguments...)
	if err != nil {
		return fmt.Errorf("cannot confirm the load: %w", err)
	}
	if enough := count - count/100; found < 0 || uint64(found) < enough {
		return fmt.Errorf("cannot load the DB: of %d keys spread evenly over those written it holds %d; at least %d must be there", count, found, enough)
	}
	return nil
}

// share returns the index-th of count nearly equal parts of the numbers 0 to total-1.
func share(total, count, index uint64) (begin, end uint64) {
	size, rest := total/count, total%count
	begin = index*size + min(index, rest)
	end = begin + size
	if index < rest {
		end++
	}
	return begin, end
}

// loader writes the keys next to end-1 through one link.
type loader struct {
	bench     *bench
	op        operation // opMSet or opSet
	link      link
	failed    *atomic.Bool // another loader has failed
	next, end uint64
	loaded    uint64
	request   []byte
	replies   reply.Scanner
	err       error
}

// run loads batch after batch.
func (l *loader) run() error {
	for l.next < l.end && !l.failed.Load() && !l.bench.interrupted.Load() {
		count := l.buildBatch()
		l.replies.Expect(l.op.repliesPerBatch(count))
		if err := l.link.exchange(l.request, &l.replies); err != nil {
			return err
		}
		if l.replies.Errors > 0 {
			return fmt.Errorf("%d error replies to %s; the first is %q", l.replies.Errors, l.op, l.replies.FirstError)
		}
		l.loaded += uint64(count)
	}
	return nil
}

// buildBatch writes the next batch into the request buffer, and returns how many keys are in it.
func (l *loader) buildBatch() int {
	keys := &l.bench.keys
	numeric := l.bench.options.Op == opIncr
	first := l.next
	perKey := keys.keySize(first) + keys.valueSize(first) + 32
	count := int(min(l.end-first, loadBatchKeys, uint64(max(1, loadBatchBytes/perKey))))
	l.next += uint64(count)
	if l.op == opMSet {
		l.request = keys.appendMSet(l.request[:0], count, numeric, func(i int) uint64 { return first + uint64(i) })
		return count
	}
	l.request = l.request[:0]
	for i := range count {
		l.request = keys.appendSet(l.request, first+uint64(i), numeric)
	}
	return count
}
