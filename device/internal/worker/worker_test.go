package worker_test

import (
	"errors"
	"sync"
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

// mover is a worker.Mover whose Try does what try says, nothing by default.
type mover struct {
	try  func(*device.Request) bool
	move func(*device.Request) (int, error)
}

func (m mover) Try(r *device.Request) (int, bool, error) {
	if m.try == nil || !m.try(r) {
		return 0, false, nil
	}
	return len(r.Buffer), true, nil
}

func (m mover) Move(r *device.Request) (int, error) { return m.move(r) }

func (m mover) Close() {}

func newPool(sectorBytes, count int, m mover) *worker.Pool {
	return worker.NewPool("test", sectorBytes, count, func() worker.Mover { return m })
}

func TestNoMoreThanCountRunAtOnce(t *testing.T) {
	const workers = 3
	var running, most atomic.Int64
	p := newPool(1, workers, mover{move: func(r *device.Request) (int, error) {
		now := running.Add(1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		time.Sleep(time.Millisecond)
		running.Add(-1)
		return len(r.Buffer), nil
	}})
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

// TestReadsThatNeedNoWaitAreOverAfterSubmit has a batch too small to wake a worker for.
func TestReadsThatNeedNoWaitAreOverAfterSubmit(t *testing.T) {
	p := newPool(1, 2, mover{
		try:  func(*device.Request) bool { return true },
		move: func(*device.Request) (int, error) { t.Error("a worker was asked"); return 0, nil },
	})
	defer p.Close()
	q := newQueue(t, p)
	q.Submit(requests(20))
	done := make([]*device.Request, 30)
	if n := q.Poll(done, false); n != 20 || done[19].Transferred != 1 || done[19].Err != nil {
		t.Errorf("%d came back", n)
	}
}

// TestWhatWouldBlockGoesToAWorker (W1, W2) lets every other read need a worker, and every write.
func TestWhatWouldBlockGoesToAWorker(t *testing.T) {
	var moved, wrote atomic.Int64
	p := newPool(1, 4, mover{
		try: func(r *device.Request) bool {
			if r.Op == device.OpWrite {
				t.Error("a write was tried")
			}
			return r.Token%2 == 0
		},
		move: func(r *device.Request) (int, error) {
			moved.Add(1)
			if r.Op == device.OpWrite {
				wrote.Add(1)
			}
			return len(r.Buffer), nil
		},
	})
	defer p.Close()
	const queues, count = 3, 200
	var group sync.WaitGroup
	for range queues {
		q := newQueue(t, p)
		group.Go(func() {
			batch := requests(count)
			batch[0].Op = device.OpWrite
			q.Submit(batch)
			done := make([]*device.Request, count)
			for back := 0; back < count; {
				n := q.Poll(done, true)
				for _, r := range done[:n] {
					if r.Err != nil || r.Transferred != 1 {
						t.Errorf("request %d: moved %d, %v", r.Token, r.Transferred, r.Err)
					}
				}
				back += n
			}
		})
	}
	group.Wait()
	if moved.Load() != queues*(count/2+1) || wrote.Load() != queues {
		t.Errorf("workers moved %d, %d of them writes", moved.Load(), wrote.Load())
	}
}

// TestCloseWaitsForWhatIsBeingTried (W3) closes the pool while the submitter tries a read that then needs a worker.
func TestCloseWaitsForWhatIsBeingTried(t *testing.T) {
	tried, goOn := make(chan struct{}), make(chan struct{})
	p := newPool(1, 1, mover{
		try:  func(*device.Request) bool { close(tried); <-goOn; return false },
		move: func(r *device.Request) (int, error) { return len(r.Buffer), nil },
	})
	q := newQueue(t, p)
	batch := requests(1)
	submitted := make(chan struct{})
	go func() { q.Submit(batch); close(submitted) }()
	<-tried
	closed := make(chan struct{})
	go func() { p.Close(); close(closed) }()
	close(goOn)
	<-submitted
	<-closed
	if n := q.Poll(make([]*device.Request, 1), true); n != 1 || batch[0].Err != nil || batch[0].Transferred != 1 {
		t.Errorf("%d came back, moved %d, %v", n, batch[0].Transferred, batch[0].Err)
	}
}

func TestErrorsAndAlignmentAreReported(t *testing.T) {
	broken := errors.New("broken")
	p := newPool(512, 2, mover{move: func(*device.Request) (int, error) { return 3, broken }})
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
	p := newPool(1, 1, mover{move: func(*device.Request) (int, error) {
		time.Sleep(time.Millisecond)
		return 1, nil
	}})
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
