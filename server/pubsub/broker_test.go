package pubsub_test

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/pyropedb/pyrope/server/pubsub"
)

// prefixes is a broker whose patterns are prefixes.
func prefixes() *pubsub.Broker[int] {
	return &pubsub.Broker[int]{Match: func(pattern, channel []byte) bool { return bytes.HasPrefix(channel, pattern) }}
}

func TestMessagesReachWhoWantsThem(t *testing.T) {
	b := prefixes()
	publish := func(space pubsub.Space, channel string) string {
		var got []string
		count := b.Publish(space, []byte(channel), func(s int, pattern string) { got = append(got, fmt.Sprintf("%d%s", s, pattern)) })
		if count != len(got) {
			t.Errorf("%d receivers, %d deliveries", count, len(got))
		}
		slices.Sort(got)
		return fmt.Sprint(got)
	}
	check := func(space pubsub.Space, channel, want string) {
		t.Helper()
		if got := publish(space, channel); got != want {
			t.Errorf("%q of space %d reaches %s, want %s", channel, space, got, want)
		}
	}
	check(pubsub.Channels, "news", "[]")
	if !b.Idle() || !b.Subscribe(pubsub.Channels, "news", 1) || b.Subscribe(pubsub.Channels, "news", 1) || b.Idle() {
		t.Error("a subscription counts once")
	}
	b.Subscribe(pubsub.Channels, "news", 2)
	b.Subscribe(pubsub.Patterns, "ne", 1)
	b.Subscribe(pubsub.Patterns, "", 3)
	b.Subscribe(pubsub.Shards, "news", 4)
	check(pubsub.Channels, "news", "[1 1ne 2 3]")
	check(pubsub.Channels, "other", "[3]")
	check(pubsub.Shards, "news", "[4]")
	if got := fmt.Sprint(b.Names(pubsub.Channels, nil), b.Names(pubsub.Patterns, []byte("n")), b.Names(pubsub.Shards, []byte("x"))); got != "[news] [ne] []" {
		t.Errorf("names %s", got)
	}
	if b.Subscribers(pubsub.Channels, "news") != 2 || b.Subscribers(pubsub.Channels, "x") != 0 || b.Count(pubsub.Patterns) != 2 {
		t.Error("the counts are wrong")
	}
	for _, s := range []int{1, 2, 2, 7} {
		b.Unsubscribe(pubsub.Channels, "news", s)
	}
	b.Unsubscribe(pubsub.Patterns, "ne", 1)
	b.Unsubscribe(pubsub.Patterns, "", 3)
	check(pubsub.Channels, "news", "[]")
	b.Unsubscribe(pubsub.Shards, "news", 4)
	if !b.Idle() || b.Count(pubsub.Channels) != 0 || b.Count(pubsub.Shards) != 0 {
		t.Error("something is left")
	}
}

// TestNothingComesAfterUnsubscribe publishes while subscribers come and go.
func TestNothingComesAfterUnsubscribe(t *testing.T) {
	b := prefixes()
	var mu sync.Mutex
	gone := map[int]bool{}
	var group sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				b.Publish(pubsub.Channels, []byte("c"), func(s int, _ string) {
					mu.Lock()
					defer mu.Unlock()
					if gone[s] {
						t.Errorf("%d gets a message after it left", s)
					}
				})
			}
		})
	}
	for i := range 2000 {
		b.Subscribe(pubsub.Channels, "c", i)
		b.Unsubscribe(pubsub.Channels, "c", i)
		mu.Lock()
		gone[i] = true
		mu.Unlock()
	}
	close(stop)
	group.Wait()
}
