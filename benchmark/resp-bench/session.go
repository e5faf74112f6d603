package main

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/benchmark/reply"
)

// session is one connection that many operations are in flight on. Workers send, a goroutine of the
// session receives, and every operation is timed by itself:
//
//	worker → send ─ pending … pending ─ receive → its worker's recorder and window
//
// Replies come in the order of requests, so pending is a queue.
type session struct {
	conn *lightClient
	// unanswered is how many of manyReplies have yet to come to their end; the receiver's own. It is the least that the scanner had outstanding: within
	// an array that counts the elements too, but never less than with the array unanswered.
	unanswered int
	sending    sync.Mutex // held while bytes are sent, so that the queue's order is theirs; taken before guard

	guard  sync.Mutex // of all below; never held while the network is waited for
	queue  []pending
	head   int // the oldest pending operation
	failed error
}

// pending is an operation whose replies have not all come.
type pending struct {
	worker  *sessionWorker
	began   time.Time
	replies int
}

// sessionWorker is a worker's view of what it has in flight.
type sessionWorker struct {
	*onlineWorker
	window chan struct{} // a token for each operation that may be started
}

// manyReplies is what a session's scanner is told to expect: all that ever come.
const manyReplies = 1 << 60

// send writes a request of operations that belong to worker; their latencies count from began.
func (s *session) send(worker *sessionWorker, began time.Time, request []byte, replies []int) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	if err := s.enqueue(worker, began, replies); err != nil {
		return err
	}
	if _, err := s.conn.conn.Write(request); err != nil {
		return wrapWrite(err)
	}
	return nil
}

// enqueue notes what is about to be sent.
func (s *session) enqueue(worker *sessionWorker, began time.Time, replies []int) error {
	s.guard.Lock()
	defer s.guard.Unlock()
	if s.failed != nil {
		return s.failed
	}
	if s.head == len(s.queue) {
		s.queue, s.head = s.queue[:0], 0
	}
	for _, count := range replies {
		s.queue = append(s.queue, pending{worker, began, count})
	}
	return nil
}

// receive takes replies until the connection ends.
func (s *session) receive() {
	var scanner reply.Scanner
	scanner.Expect(manyReplies)
	s.unanswered = manyReplies
	buffer := make([]byte, receiveBytes)
	for {
		n, err := s.conn.conn.Read(buffer)
		if err == nil {
			err = s.take(&scanner, buffer[:n])
		}
		if err != nil {
			s.fail(fmt.Errorf("cannot read replies: %w", err))
			return
		}
	}
}

// take scans what has arrived and ends the operations that are complete.
func (s *session) take(scanner *reply.Scanner, piece []byte) error {
	nils := scanner.Nils
	if err := scanner.Feed(piece); err != nil {
		return err
	}
	if scanner.Errors > 0 {
		return fmt.Errorf("the server answers with %q", scanner.FirstError)
	}
	arrived, misses, now := max(0, s.unanswered-scanner.Outstanding()), scanner.Nils-nils, time.Now()
	s.unanswered -= arrived
	s.guard.Lock()
	defer s.guard.Unlock()
	for ; arrived > 0; arrived-- {
		if s.head == len(s.queue) {
			return errors.New("more replies than requests")
		}
		oldest := &s.queue[s.head]
		if oldest.replies--; oldest.replies > 0 {
			continue
		}
		oldest.worker.recorder.record(now.Sub(oldest.began), 1, misses)
		misses = 0
		oldest.worker.window <- struct{}{} // never full: it holds what may be in flight
		s.head++
	}
	if s.head > len(s.queue)/2 {
		s.queue = s.queue[:copy(s.queue, s.queue[s.head:])]
		s.head = 0
	}
	return nil
}

// fail ends the session: what is in flight is given up.
func (s *session) fail(err error) {
	s.guard.Lock()
	defer s.guard.Unlock()
	s.failed = err
	for _, lost := range s.queue[s.head:] {
		lost.worker.window <- struct{}{}
	}
	s.queue, s.head = nil, 0
}

// sessions is the client of pipelined sessions: one for each worker, or with --pool as many, of which
// a worker takes any that is free for each of its sends.
type sessions struct {
	all       []*session
	free      chan *session
	pool      bool
	receivers sync.WaitGroup
	ended     atomic.Bool
}

// newSessions connects count sessions.
func newSessions(b *bench, count int) (*sessions, error) {
	c := &sessions{free: make(chan *session, count), pool: b.options.Pool}
	for range count {
		conn, err := dialLight(b.options.address(), b.options.Auth, b.security)
		if err != nil {
			c.close()
			return nil, err
		}
		s := &session{conn: conn}
		c.all = append(c.all, s)
		c.free <- s
		c.receivers.Go(s.receive)
	}
	return c, nil
}

// close implements onlineClient.
func (c *sessions) close() {
	if c.ended.Swap(true) {
		return
	}
	for _, s := range c.all {
		_ = s.conn.Close() // which ends its receiver
	}
	c.receivers.Wait()
}

// work implements onlineClient.
func (c *sessions) work(w *onlineWorker) error {
	worker := &sessionWorker{w, make(chan struct{}, w.inFlight)}
	for range w.inFlight {
		worker.window <- struct{}{}
	}
	var mine *session
	if !c.pool {
		mine = <-c.free
	}
	var request []byte
	var replies []int
	for !w.stop.Load() {
		<-worker.window
		began := w.pacer.await()
		request, replies = w.appendOperation(request[:0], replies[:0])
		for more := w.pacer.interval == 0; more; {
			select {
			case <-worker.window:
				request, replies = w.appendOperation(request, replies)
			default:
				more = false
			}
		}
		s := mine
		if c.pool {
			s = <-c.free
		}
		if w.pacer.interval == 0 {
			began = time.Now()
		}
		err := s.send(worker, began, request, replies)
		if c.pool {
			c.free <- s
		}
		if err != nil && !w.stop.Load() {
			return err
		}
	}
	return nil
}

// appendOperation appends the next operation and how many replies it gets.
func (w *onlineWorker) appendOperation(request []byte, replies []int) ([]byte, []int) {
	request, count := w.mix.appendNext(request)
	return request, append(replies, count)
}
