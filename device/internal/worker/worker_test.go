package worker_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/internal/worker"
)

func requests(count int) []*device.Request {
	all := make([]*device.Request, count)
	for i := range all {
		all[i] = &device.Request{Token: uint64(i), Buffer: make([]byte, 1)}
	}
	return all
}

func newQueue(t *testing.T, p *worker.Pool) *worker.Queue {
	t.Helper()
	q, err := p.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestNoMoreThanCountRunAtOnce(t *testing.T) {
	const workers = 3
	var running, most atomic.Int64
	p := worker.NewPool("test", 1, workers, func(number int, r *device.Request) (int, error) {
		if number < 0 || number >= workers {
			t.Errorf("worker number %d", number)
		}
		now := running.Add(1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		time.Sleep(time.Millisecond)
		running.Add(-1)
		return len(r.Buffer), nil
	})
	defer p.Close()
	q := newQueue(t, p)
	q.Submit(requests(30))
	done := make([]*device.Request, 7)
	for back := 0; back < 30; {
		back += q.Poll(done, true)
	}
	if most.Load() != workers {
		t.Errorf("%d ran at once, want %d", most.Load(), workers)
	}
}

func TestErrorsAndAlignmentAreReported(t *testing.T) {
	broken := errors.New("broken")
	p := worker.NewPool("test", 512, 2, func(_ int, r *device.Request) (int, error) { return 3, broken })
	defer p.Close()
	q := newQueue(t, p)
	batch := []*device.Request{{Buffer: nil}, {Address: 3}}
	q.Submit(batch)
	done := make([]*device.Request, 2)
	for back := 0; back < 2; {
		back += q.Poll(done, true)
	}
	if !errors.Is(batch[0].Err, broken) || batch[0].Transferred != 3 {
		t.Errorf("moved %d, %v", batch[0].Transferred, batch[0].Err)
	}
	if !errors.Is(batch[1].Err, device.ErrUnaligned) || batch[1].Transferred != 0 {
		t.Errorf("moved %d, %v", batch[1].Transferred, batch[1].Err)
	}
}

func TestCloseFinishesWhatWaits(t *testing.T) {
	p := worker.NewPool("test", 1, 1, func(int, *device.Request) (int, error) {
		time.Sleep(time.Millisecond)
		return 1, nil
	})
	q := newQueue(t, p)
	batch := requests(20)
	q.Submit(batch)
	p.Close()
	for _, r := range batch {
		if r.Err != nil || r.Transferred != 1 {
			t.Fatalf("request %d: moved %d, %v", r.Token, r.Transferred, r.Err)
		}
	}
	q.Submit(requests(1))
	done := make([]*device.Request, 30)
	if n := q.Poll(done, true); n != 21 || !errors.Is(done[20].Err, device.ErrClosed) {
		t.Errorf("%d came back, the last with %v", n, done[20].Err)
	}
	if _, err := p.NewQueue(); !errors.Is(err, device.ErrClosed) {
		t.Errorf("a queue of a closed pool: %v", err)
	}
}
