package devicetest

import (
	"runtime"
	"sync"
	"testing"

	"github.com/pyropedb/pyrope/device"
)

// testEveryRequestComesBackOnce submits batches of all sizes and checks tokens, bytes and counts.
func testEveryRequestComesBackOnce(t *testing.T, c Config) {
	f := open(t, c, nil)
	const length = 3 * segmentBytes
	f.fill(length)
	q := f.queue()
	defer f.closeQueue(q)
	for _, count := range []int{1, 2, 7, 64, 300} {
		requests := f.randomReads(count, length, uint64(count))
		q.Submit(requests)
		if q.InFlight() != count {
			t.Fatalf("InFlight is %d after %d requests", q.InFlight(), count)
		}
		seen := make([]bool, count)
		f.collect(q, count, func(r *device.Request) {
			if seen[r.Token] || requests[r.Token] != r {
				t.Fatalf("request %d came back twice or as another", r.Token)
			}
			seen[r.Token] = true
			f.checkRead(r)
		})
	}
	q.Submit(nil)
	if q.InFlight() != 0 {
		t.Fatalf("InFlight is %d after an empty batch", q.InFlight())
	}
}

// testErrorsAreReported mixes requests that must fail into a batch of good ones.
func testErrorsAreReported(t *testing.T, c Config) {
	f := open(t, c, nil)
	f.fill(2 * segmentBytes)
	if err := f.device.Truncate(segmentBytes); err != nil {
		t.Fatal(err)
	}
	q := f.queue()
	defer f.closeQueue(q)
	requests := f.randomReads(40, segmentBytes, 1)
	for i, r := range requests {
		if i%2 == 0 {
			r.Address += segmentBytes
		}
	}
	q.Submit(requests)
	f.collect(q, len(requests), func(r *device.Request) {
		if r.Address < segmentBytes {
			f.wantError(r, device.ErrTruncated)
		} else {
			f.checkRead(r)
		}
	})
	// A request that failed may be used again, and the old error must be gone.
	for _, r := range requests {
		r.Address |= segmentBytes
	}
	q.Submit(requests)
	f.collect(q, len(requests), f.checkRead)
}

// testSubmitAndPoll refills what came back, as a benchmark's loop does.
func testSubmitAndPoll(t *testing.T, c Config) {
	f := open(t, c, nil)
	const length = 2 * segmentBytes
	f.fill(length)
	q := f.queue()
	defer f.closeQueue(q)
	const total = 2000
	batch := f.randomReads(16, length, 2)
	done := make([]*device.Request, len(batch))
	submitted, back := len(batch), 0
	for back < total {
		n := q.SubmitAndPoll(batch, done, true)
		if n == 0 {
			t.Fatalf("nothing came back with %d in flight", q.InFlight())
		}
		back += n
		for _, r := range done[:n] {
			f.checkRead(r)
			r.Address = (r.Address + 3*Block) % length
		}
		batch = append(batch[:0], done[:min(n, total-submitted)]...)
		submitted += len(batch)
	}
	if back != total || q.InFlight() != 0 {
		t.Fatalf("%d of %d came back, %d in flight", back, total, q.InFlight())
	}
}

// testFullRings puts ten thousand reads through a ring of four, all in one Submit.
func testFullRings(t *testing.T, c Config) {
	f := open(t, c, func(o *device.Options) { o.IOContexts, o.QueueDepth, o.ThrottleLimit = 1, 4, 0 })
	const length = 4 * segmentBytes
	f.fill(length)
	q := f.queue()
	defer f.closeQueue(q)
	requests := make([]*device.Request, 10_000)
	buffers := f.buffers(len(requests), Block)
	for i := range requests {
		requests[i] = &device.Request{Address: uint64(i) * 7 * Block % length, Buffer: buffers[i], Token: uint64(i)}
	}
	q.Submit(requests)
	seen := make([]bool, len(requests))
	f.collect(q, len(requests), func(r *device.Request) {
		if seen[r.Token] {
			t.Fatalf("request %d came back twice", r.Token)
		}
		seen[r.Token] = true
		f.checkRead(r)
	})
}

// testQueuesShareARing lets goroutines with a queue each read at once through one small ring; some
// block, some only look.
func testQueuesShareARing(t *testing.T, c Config) {
	f := open(t, c, func(o *device.Options) { o.IOContexts, o.QueueDepth, o.ThrottleLimit = 1, 8, 0 })
	const length, rounds = 4 * segmentBytes, 25
	f.fill(length)
	var readers sync.WaitGroup
	for g := range 6 {
		q := f.queue()
		requests := f.randomReads(5+g, length, uint64(g))
		readers.Go(func() {
			defer f.closeQueue(q)
			done := make([]*device.Request, 3)
			for round := range rounds {
				q.Submit(requests)
				for back := 0; back < len(requests); {
					wait := (g+round)%3 != 0
					if !wait {
						runtime.Gosched()
					}
					n := q.Poll(done, wait)
					for _, r := range done[:n] {
						if r.Token >= uint64(len(requests)) || requests[r.Token] != r {
							t.Errorf("queue %d got a request of another", g)
							return
						}
						f.checkReadSoft(r)
						r.Address = (r.Address + Block) % length
					}
					back += n
				}
				if q.InFlight() != 0 {
					t.Errorf("queue %d: InFlight is %d", g, q.InFlight())
					return
				}
			}
		})
	}
	readers.Wait()
}

// checkReadSoft is checkRead for goroutines that must not end the test.
func (f *fixture) checkReadSoft(r *device.Request) {
	want := len(r.Buffer)
	if f.config.KeepsNothing {
		want = 0
	}
	if r.Err != nil || r.Transferred != want {
		f.Errorf("read at %d: moved %d, %v", r.Address, r.Transferred, r.Err)
		return
	}
	if i := wrongAt(r.Buffer[:r.Transferred], r.Address); i >= 0 {
		f.Errorf("read at %d: the word at byte %d is wrong", r.Address, i)
	}
}

// testPollIdle checks that waiting for nothing returns.
func testPollIdle(t *testing.T, c Config) {
	f := open(t, c, nil)
	q := f.queue()
	done := make([]*device.Request, 1)
	for _, wait := range []bool{false, true} {
		if n := q.Poll(done, wait); n != 0 {
			t.Fatalf("Poll(wait %t) returned %d with nothing in flight", wait, n)
		}
		if n := q.SubmitAndPoll(nil, done, wait); n != 0 {
			t.Fatalf("SubmitAndPoll(wait %t) returned %d with nothing in flight", wait, n)
		}
	}
	f.closeQueue(q)
}

// testNoAllocations reads batches again and again.
func testNoAllocations(t *testing.T, c Config) {
	if !c.AllocatesNothing {
		return
	}
	f := open(t, c, nil)
	const length = 2 * segmentBytes
	f.fill(length)
	q := f.queue()
	defer f.closeQueue(q)
	requests := f.randomReads(32, length, 3)
	done := make([]*device.Request, len(requests))
	allocations := testing.AllocsPerRun(200, func() {
		for n := q.SubmitAndPoll(requests, done, true); n < len(requests); {
			n += q.Poll(done, true)
		}
	})
	if allocations >= 1 && !raceEnabled {
		t.Errorf("a batch of %d reads allocates %.1f times; want 0", len(requests), allocations)
	}
}
