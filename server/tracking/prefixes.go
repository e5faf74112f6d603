package tracking

import (
	"bytes"
	"sync"
	"sync/atomic"
)

// Prefixes maps beginnings of keys to who wants to hear of every change of such a key. Its methods may be called from
// any goroutine. The zero value is empty and ready.
type Prefixes[S comparable] struct {
	mu          sync.RWMutex
	subscribers map[string]map[S]struct{} // guarded by mu; a prefix without subscribers is not there
	count       atomic.Int64              // of the prefixes
}

// Add adds a subscriber to a prefix; the empty one is that of all keys.
func (p *Prefixes[S]) Add(prefix string, subscriber S) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.subscribers == nil {
		p.subscribers = make(map[string]map[S]struct{})
	}
	subscribers := p.subscribers[prefix]
	if subscribers == nil {
		subscribers = make(map[S]struct{})
		p.subscribers[prefix] = subscribers
		p.count.Add(1)
	}
	subscribers[subscriber] = struct{}{}
}

// Remove takes a subscriber off a prefix.
func (p *Prefixes[S]) Remove(prefix string, subscriber S) {
	p.mu.Lock()
	defer p.mu.Unlock()
	subscribers, known := p.subscribers[prefix]
	if !known {
		return
	}
	delete(subscribers, subscriber)
	if len(subscribers) == 0 {
		delete(p.subscribers, prefix)
		p.count.Add(-1)
	}
}

// Count is the number of prefixes.
func (p *Prefixes[S]) Count() int64 { return p.count.Load() }

// Match calls deliver for each subscriber of a prefix that some of the keys begin with, with those keys. deliver
// must not block and must not come back to the Prefixes.
func (p *Prefixes[S]) Match(keys [][]byte, deliver func(subscriber S, matching [][]byte)) {
	if p.Count() == 0 {
		return
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	for prefix, subscribers := range p.subscribers {
		var matching [][]byte
		for _, key := range keys {
			if bytes.HasPrefix(key, []byte(prefix)) {
				matching = append(matching, key)
			}
		}
		if len(matching) == 0 {
			continue
		}
		for subscriber := range subscribers {
			deliver(subscriber, matching)
		}
	}
}
