// Package pubsub knows who wants which messages. It is the registry behind SUBSCRIBE and PUBLISH:
// channels and patterns to their subscribers, and nothing of connections or replies.
//
//	Subscribe(Channels, "news", s) ---> channels  "news" -> {s, ...}
//	Subscribe(Patterns, "n*", s)   ---> patterns  "n*"   -> {s, ...}
//	Publish(Channels, "news", ...) ---> deliver for "news", then for each pattern that matches
//
// Channels and shard channels are two spaces of names; patterns look at the former only.
package pubsub

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Space is a kind of name that may be subscribed to.
type Space uint8

// The spaces.
const (
	Channels Space = iota
	Patterns
	Shards
	SpaceCount = iota
)

// Broker maps names to subscribers of type S. Its methods may be called from any goroutine.
type Broker[S comparable] struct {
	// Match tells whether a pattern matches a channel; immutable.
	Match func(pattern, channel []byte) bool

	mu     sync.RWMutex
	names  [SpaceCount]map[string]map[S]struct{} // guarded by mu; a name without subscribers is not there
	inUse  atomic.Int64                          // subscriptions in all; zero lets a publisher go on without the lock
	counts [SpaceCount]atomic.Int64              // names, for INFO
}

// Subscribe adds a subscriber to a name, and tells whether it was new there.
func (b *Broker[S]) Subscribe(space Space, name string, subscriber S) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.names[space] == nil {
		b.names[space] = make(map[string]map[S]struct{})
	}
	subscribers := b.names[space][name]
	if subscribers == nil {
		subscribers = make(map[S]struct{})
		b.names[space][name] = subscribers
		b.counts[space].Add(1)
	}
	if _, known := subscribers[subscriber]; known {
		return false
	}
	subscribers[subscriber] = struct{}{}
	b.inUse.Add(1)
	return true
}

// Unsubscribe takes a subscriber off a name. No message comes to it by that name once it returned.
func (b *Broker[S]) Unsubscribe(space Space, name string, subscriber S) {
	b.mu.Lock()
	defer b.mu.Unlock()
	subscribers := b.names[space][name]
	if _, known := subscribers[subscriber]; !known {
		return
	}
	delete(subscribers, subscriber)
	b.inUse.Add(-1)
	if len(subscribers) == 0 {
		delete(b.names[space], name)
		b.counts[space].Add(-1)
	}
}

// Idle tells whether nobody is subscribed to anything.
func (b *Broker[S]) Idle() bool { return b.inUse.Load() == 0 }

// Publish calls deliver for everyone who wants a message of the channel, once a matching name, and returns how
// often. pattern is what matched, empty for the channel itself. deliver must not block and must not
// call the broker.
func (b *Broker[S]) Publish(space Space, channel []byte, deliver func(subscriber S, pattern string)) (receivers int) {
	if b.Idle() {
		return 0
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	for subscriber := range b.names[space][string(channel)] {
		deliver(subscriber, "")
		receivers++
	}
	if space != Channels {
		return receivers
	}
	for pattern, subscribers := range b.names[Patterns] {
		if !b.Match([]byte(pattern), channel) {
			continue
		}
		for subscriber := range subscribers {
			deliver(subscriber, pattern)
			receivers++
		}
	}
	return receivers
}

// Names returns the names of a space that have subscribers and that match a pattern, in order; nil matches all.
func (b *Broker[S]) Names(space Space, pattern []byte) (names []string) {
	b.mu.RLock()
	for name := range b.names[space] {
		if pattern == nil || b.Match(pattern, []byte(name)) {
			names = append(names, name)
		}
	}
	b.mu.RUnlock()
	slices.Sort(names)
	return names
}

// Subscribers is how many are subscribed to a name.
func (b *Broker[S]) Subscribers(space Space, name string) int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.names[space][name])
}

// Count is the number of names of a space that have subscribers.
func (b *Broker[S]) Count(space Space) int64 { return b.counts[space].Load() }
