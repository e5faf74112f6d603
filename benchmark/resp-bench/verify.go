package main

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pyropedb/pyrope/benchmark/program"
	"github.com/pyropedb/pyrope/benchmark/reply"
	"github.com/pyropedb/pyrope/benchmark/report"
)

// verifyBatchKeys is how many keys a batch of the verifying pass reads.
const verifyBatchKeys = 1024

// verifyAll reads every key once, in order, and compares every byte: what runs choose at random
// leaves keys out.
func (b *bench) verifyAll() error {
	threads := min(uint64(b.options.LoadThreads), b.options.DBSize)
	links, err := b.connectAll(int(threads))
	if err != nil {
		return err
	}
	defer closeAll(links)

	verifiers := make([]verifier, threads)
	var failed atomic.Bool
	var group sync.WaitGroup
	for i := range verifiers {
		v := &verifiers[i]
		*v = verifier{bench: b, link: links[i], failed: &failed, checker: checker{keys: b.keys}}
		v.replies.Check = &v.checker
		v.next, v.end = share(b.options.DBSize, threads, uint64(i))
		group.Go(func() {
			if v.err = v.run(); v.err != nil {
				failed.Store(true)
			}
		})
	}
	group.Wait()

	var m measurement
	for i := range verifiers {
		err = errors.Join(err, verifiers[i].err)
		m.addChecks(&verifiers[i].checker)
	}
	if err != nil {
		return fmt.Errorf("cannot verify the DB: %w", err)
	}
	b.printf("\nVerification of every key\n")
	b.printVerified(&m)
	if b.interrupted.Load() {
		return fmt.Errorf("cannot verify the DB: interrupted after %s of %s keys", report.N0(m.checked), report.N0(b.options.DBSize))
	}
	if m.mismatches+m.checkedNils > 0 {
		return program.ErrMismatch
	}
	return nil
}

// verifier reads the keys next to end-1 through one link.
type verifier struct {
	bench     *bench
	link      link
	failed    *atomic.Bool // another verifier has failed
	next, end uint64
	request   []byte
	numbers   []uint64
	replies   reply.Scanner
	checker   checker
	err       error
}

// run verifies batch after batch.
func (v *verifier) run() error {
	op := v.bench.options.Op
	for v.next < v.end && !v.failed.Load() && !v.bench.interrupted.Load() {
		v.numbers = v.numbers[:0]
		for ; v.next < v.end && len(v.numbers) < verifyBatchKeys; v.next++ {
			v.numbers = append(v.numbers, v.next)
		}
		v.request = v.bench.keys.appendBatch(v.request[:0], op, len(v.numbers), func(i int) uint64 { return v.numbers[i] })
		v.checker.startBatch(v.numbers)
		v.replies.Expect(op.repliesPerBatch(len(v.numbers)))
		if err := v.link.exchange(v.request, &v.replies); err != nil {
			return err
		}
		if v.replies.Errors > 0 {
			return fmt.Errorf("%d error replies to %s; the first is %q", v.replies.Errors, op, v.replies.FirstError)
		}
	}
	return nil
}
