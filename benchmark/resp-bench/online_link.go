package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/pyropedb/pyrope/benchmark/reply"
)

// linkClient gives each worker a link. --itp operations are sent together and timed together.
type linkClient struct {
	links chan link // not taken by a worker yet
	all   []link
	once  sync.Once
}

// newLinkClient opens count links.
func newLinkClient(b *bench, count int) (*linkClient, error) {
	links, err := b.connectAll(count)
	if err != nil {
		return nil, err
	}
	c := &linkClient{links: make(chan link, count), all: links}
	for _, l := range links {
		c.links <- l
	}
	return c, nil
}

// close implements onlineClient: exchanges that hang are given up after a while. The links themselves
// are closed by their workers.
func (c *linkClient) close() {
	c.once.Do(func() {
		for _, l := range c.all {
			l.interruptBy(time.Now().Add(drainGrace))
		}
	})
}

// work implements onlineClient.
func (c *linkClient) work(w *onlineWorker) error {
	l := <-c.links
	defer l.Close()
	var scanner reply.Scanner
	var request []byte
	for !w.stop.Load() {
		request = request[:0]
		for range w.inFlight {
			var count int
			request, count = w.mix.appendNext(request)
			scanner.Expect(count)
		}
		nils, began := scanner.Nils, w.pacer.await()
		if err := l.exchange(request, &scanner); err != nil {
			return err
		}
		if scanner.Errors > 0 {
			return fmt.Errorf("the server answers with %q", scanner.FirstError)
		}
		w.recorder.record(time.Since(began), uint64(w.inFlight), scanner.Nils-nils)
	}
	return nil
}
