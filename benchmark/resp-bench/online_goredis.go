package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// goRedis is the client library of the same name, as an application uses it. Each worker has a client
// of one connection, or with --pool all share one client of as many connections as workers. --itp
// operations go into one pipeline and are timed together.
type goRedis struct {
	clients chan *redis.Client // the next worker's
	all     []*redis.Client
	working sync.WaitGroup // workers that use a client
}

// newGoRedis makes the clients; they connect when they are used.
func newGoRedis(b *bench, count int) *goRedis {
	g := &goRedis{clients: make(chan *redis.Client, count)}
	options := goRedisOptions(b)
	if b.options.Pool {
		options.PoolSize = count
		g.all = []*redis.Client{redis.NewClient(options)}
	}
	g.working.Add(count)
	for i := range count {
		if !b.options.Pool {
			mine := *options
			g.all = append(g.all, redis.NewClient(&mine))
		}
		g.clients <- g.all[min(i, len(g.all)-1)]
	}
	return g
}

// goRedisOptions are those of a client with one connection.
func goRedisOptions(b *bench) *redis.Options {
	return &redis.Options{
		Addr: b.options.address(), Password: b.options.Auth, Protocol: 2, PoolSize: 1, MaxRetries: -1, DisableIdentity: true,
		TLSConfig: b.security,
	}
}

// close implements onlineClient; the workers end by themselves, within the client's time limits.
func (g *goRedis) close() {
	g.working.Wait()
	for _, client := range g.all {
		_ = client.Close() // a second Close is refused, and needless
	}
}

// work implements onlineClient.
func (g *goRedis) work(w *onlineWorker) error {
	client := <-g.clients
	defer g.working.Done()
	ctx := context.Background()
	for !w.stop.Load() {
		pipe := client.Pipeline()
		for range w.inFlight {
			for _, arguments := range w.mix.arguments() {
				pipe.Do(ctx, arguments...)
			}
		}
		began := w.pacer.await()
		replies, _ := pipe.Exec(ctx) // its error is that of one of the replies
		latency := time.Since(began)
		misses := uint64(0)
		for _, r := range replies {
			switch err := r.Err(); {
			case errors.Is(err, redis.Nil):
				misses++
			case err != nil:
				return fmt.Errorf("go-redis: %w", err)
			}
		}
		w.recorder.record(latency, uint64(w.inFlight), misses)
	}
	return nil
}
