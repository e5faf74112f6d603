package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pyropedb/pyrope/benchmark/reply"
	"github.com/redis/go-redis/v9"
)

// carrier takes the batches of one worker of an offline run to the server.
type carrier interface {
	// carry sends a batch, and returns when the worker may send the next.
	carry(next *batch, r *reply.Scanner) error
	// finish waits for the replies to all batches.
	finish(r *reply.Scanner) error
	// interruptBy makes the others fail that are not over by the deadline. Any goroutine may call it.
	interruptBy(deadline time.Time)
	Close() error
}

// burstBatches is how many batches may be in flight with --burst: more than the sockets on the way hold.
const burstBatches = 1024

// newCarrier connects one worker as the options say.
func (b *bench) newCarrier() (carrier, error) {
	switch b.options.Client {
	case sessionType:
		return newSessionCarrier(b)
	case goRedisType:
		return goRedisCarrier{redis.NewClient(goRedisOptions(b))}, nil
	}
	l, err := b.connect()
	if err != nil {
		return nil, err
	}
	return linkCarrier{l}, nil
}

// linkCarrier waits for the replies of each batch.
type linkCarrier struct{ link }

// carry implements carrier.
func (c linkCarrier) carry(next *batch, r *reply.Scanner) error {
	r.Expect(next.replies)
	return c.exchange(next.request, r)
}

// finish implements carrier.
func (c linkCarrier) finish(*reply.Scanner) error { return nil }

// sessionCarrier has several batches in flight on one connection.
type sessionCarrier struct {
	session  *session
	worker   *sessionWorker
	replies  [1]int        // of a batch; in a field so that carry allocates nothing
	failed   error         // of the last send; what is in flight is then given up
	received chan struct{} // closed when the session's receiver has ended
}

// newSessionCarrier connects.
func newSessionCarrier(b *bench) (*sessionCarrier, error) {
	conn, err := dialLight(b.options.address(), b.options.Auth, b.security)
	if err != nil {
		return nil, err
	}
	inFlight := b.options.InFlight
	if b.options.Burst {
		inFlight = burstBatches
	}
	c := &sessionCarrier{
		session: &session{conn: conn}, received: make(chan struct{}),
		worker: &sessionWorker{&onlineWorker{recorder: newRecorder()}, make(chan struct{}, inFlight)},
	}
	for range inFlight {
		c.worker.window <- struct{}{}
	}
	go func() {
		c.session.receive()
		close(c.received)
	}()
	return c, nil
}

// carry implements carrier.
func (c *sessionCarrier) carry(next *batch, _ *reply.Scanner) error {
	<-c.worker.window
	c.replies[0] = next.replies
	c.failed = c.session.send(c.worker, time.Now(), next.request, c.replies[:])
	return c.failed
}

// finish implements carrier.
func (c *sessionCarrier) finish(r *reply.Scanner) error {
	for range cap(c.worker.window) {
		if c.failed != nil {
			return c.failed
		}
		<-c.worker.window
	}
	_, _, misses := c.worker.recorder.take()
	r.Nils += misses
	c.session.guard.Lock()
	defer c.session.guard.Unlock()
	return c.session.failed
}

// interruptBy implements carrier.
func (c *sessionCarrier) interruptBy(deadline time.Time) { c.session.conn.interruptBy(deadline) }

// Close implements carrier.
func (c *sessionCarrier) Close() error {
	err := c.session.conn.Close()
	<-c.received
	return err
}

// goRedisCarrier sends each batch as a pipeline of the client library go-redis.
type goRedisCarrier struct{ client *redis.Client }

// carry implements carrier.
func (c goRedisCarrier) carry(next *batch, r *reply.Scanner) error {
	ctx := context.Background()
	pipe := c.client.Pipeline()
	for _, arguments := range next.commands {
		pipe.Do(ctx, arguments...)
	}
	replies, err := pipe.Exec(ctx) // the error is that of one of the replies, or of the connection
	for _, one := range replies {
		answer, is := one.(*redis.Cmd)
		var refused redis.Error
		if failure := one.Err(); !is || failure != nil && !errors.Is(failure, redis.Nil) && !errors.As(failure, &refused) {
			return fmt.Errorf("go-redis: %w", err)
		}
		count(r, answer.Val(), answer.Err())
	}
	return nil
}

// count notes a reply of go-redis as the scanner would have.
func count(r *reply.Scanner, value any, err error) {
	if err != nil && !errors.Is(err, redis.Nil) {
		r.Errors++
		if r.FirstError == "" {
			r.FirstError = err.Error()
		}
		if r.Check != nil {
			r.Check.SkipError()
		}
		return
	}
	switch v := value.(type) {
	case nil:
		r.Nils++
		if r.Check != nil {
			r.Check.SkipNil()
		}
	case string:
		r.Bytes += uint64(len(v))
		if r.Check != nil {
			r.Check.Begin(len(v))
			r.Check.Compare([]byte(v))
			r.Check.Compare([]byte("\r\n"))
			r.Check.End()
		}
	case []any:
		for _, element := range v {
			count(r, element, nil)
		}
	}
}

// finish implements carrier.
func (c goRedisCarrier) finish(*reply.Scanner) error { return nil }

// interruptBy implements carrier; the client has time limits of its own.
func (c goRedisCarrier) interruptBy(time.Time) {}

// Close implements carrier.
func (c goRedisCarrier) Close() error { return c.client.Close() }
