package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/pyropedb/pyrope/benchmark/report"
)

// saver makes the server save, again and again, on a connection of its own.
type saver struct {
	bench   *bench
	link    link
	over    chan struct{}
	stopped sync.WaitGroup

	saves   int
	longest time.Duration
	failure error
}

// startSaver connects and starts a saver that must be ended.
func (b *bench) startSaver() (*saver, error) {
	l, err := b.connect()
	if err != nil {
		return nil, fmt.Errorf("cannot connect for --save-freq: %w", err)
	}
	s := &saver{bench: b, link: l, over: make(chan struct{})}
	s.stopped.Go(func() { s.run(time.Duration(b.options.SaveFreq) * time.Second) })
	return s, nil
}

// run saves until it is over, or until the server refuses.
func (s *saver) run(interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for s.failure == nil {
		select {
		case <-s.over:
			return
		case <-ticker.C:
		}
		began := time.Now()
		if _, s.failure = command(s.link, "SAVE"); s.failure == nil {
			s.saves++
			s.longest = max(s.longest, time.Since(began))
		}
	}
}

// end waits for a SAVE under way, for a while, and prints what there was.
func (s *saver) end() {
	close(s.over)
	s.link.interruptBy(time.Now().Add(drainGrace))
	s.stopped.Wait()
	_ = s.link.Close()
	s.bench.printf("[Saves]: %d, the longest took %s ms\n", s.saves, report.N2(float64(s.longest.Microseconds())/1000))
	if s.failure != nil {
		s.bench.printf("[Saves]: ended early: %v\n", s.failure)
	}
}
