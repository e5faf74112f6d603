package command

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/server/pubsub"
	"github.com/pyropedb/pyrope/server/resp"
)

// subscriptions are a client's names of one space. The names are the owner's; anyone may read the count.
type subscriptions struct {
	names map[string]struct{}
	count atomic.Int32
}

// IsListener tells whether the client is subscribed to anything. Any goroutine.
func (c *Client) IsListener() bool {
	for space := range c.subscriptions {
		if c.subscriptions[space].count.Load() > 0 {
			return true
		}
	}
	return false
}

// problemWith is the error for a command that a restricted client may not call, or empty. In RESP2 nothing tells a message
// from a reply, so that a subscribed client may call few; and who monitors is what Redis calls a replica.
func (c *Client) problemWith(d *Command) string {
	if c.monitors.Load() && (d.Flags&ReadOnly != 0 || replicated(d)) {
		return errMonitorKeyspace
	}
	if !c.IsListener() || c.Protocol() != resp.RESP2 {
		return ""
	}
	switch d.Name {
	case "subscribe", "unsubscribe", "psubscribe", "punsubscribe", "ssubscribe", "sunsubscribe", "ping", "quit", "reset":
		return ""
	}
	return fmt.Sprintf(errListening, d.fullName)
}

// message is something published. It is encoded once for all subscribers with the same protocol.
type message struct {
	space            pubsub.Space
	channel, payload []byte
	encoded          map[resp.Version][]byte // without a pattern
}

// to returns the bytes that a client with that protocol gets for a matching pattern, empty for the channel itself.
func (m *message) to(version resp.Version, pattern string) []byte {
	if pattern != "" {
		out := resp.AppendPush(nil, version, 4)
		out = resp.AppendBulkString(out, "pmessage")
		out = resp.AppendBulkString(out, pattern)
		out = resp.AppendBulk(out, m.channel)
		return resp.AppendBulk(out, m.payload)
	}
	if out, known := m.encoded[version]; known {
		return out
	}
	kind := "message"
	if m.space == pubsub.Shards {
		kind = "smessage"
	}
	out := resp.AppendPush(nil, version, 3)
	out = resp.AppendBulkString(out, kind)
	out = resp.AppendBulk(out, m.channel)
	out = resp.AppendBulk(out, m.payload)
	if m.encoded == nil {
		m.encoded = make(map[resp.Version][]byte)
	}
	m.encoded[version] = out
	return out
}

// publish sends a message to everyone who wants it and returns how many they are. publisher, which
// may be nil, is the client whose command it comes of: if it is among them it gets the message
// before the command's reply.
func (s *State) publish(publisher *Context, space pubsub.Space, channel, payload []byte) (receivers int) {
	if s.Broker.Idle() {
		return 0
	}
	m := message{space: space, channel: channel, payload: payload}
	return s.Broker.Publish(space, channel, func(client *Client, pattern string) {
		data := m.to(client.Protocol(), pattern)
		if publisher != nil && client == publisher.Client {
			publisher.ownPushes = append(publisher.ownPushes, data...)
			return
		}
		client.push(s, data)
	})
}

// push sends data to a client that listens, and drops one that does not keep up: the class pubsub of
// client-output-buffer-limit. Any goroutine.
func (c *Client) push(s *State, data []byte) {
	if c.Transport == nil {
		return
	}
	limit := s.Server.Current().OutputLimits.WithDefaults().PubSub
	taken := c.Transport.Push(data, int(limit.Hard))
	switch waiting := c.Transport.OutputBytes(); {
	case taken && (limit.Soft == 0 || waiting <= int(limit.Soft)):
		if c.crowdedSince.Load() != 0 {
			c.crowdedSince.Store(0)
		}
		return
	case taken && c.crowdedSince.CompareAndSwap(0, monotonic()):
		return
	case taken && monotonic()-c.crowdedSince.Load() < int64(limit.SoftSeconds)*int64(time.Second):
		return
	}
	if !c.Transport.Killed() {
		s.Server.log().Warn("a subscriber that does not keep up is dropped", "client", c.ID, "address", c.Address)
		c.Transport.Kill()
	}
}

// Disconnect takes a connection that is gone off what it listens to.
func (s *State) Disconnect(client *Client) {
	s.unsubscribeAll(client)
	s.stopMonitoring(client)
	s.stopTracking(client)
}

// unsubscribeAll takes a client off all it is subscribed to, without replies.
func (s *State) unsubscribeAll(client *Client) {
	for space := range pubsub.Space(pubsub.SpaceCount) {
		own := &client.subscriptions[space]
		for name := range own.names {
			s.Broker.Unsubscribe(space, name, client)
		}
		own.names = nil
		own.count.Store(0)
	}
	client.restrict()
}
