package command

import (
	"github.com/pyropedb/pyrope/server/resp"
	"github.com/pyropedb/pyrope/server/tracking"
)

// invalidationChannel is where a client with RESP2 hears of invalid keys, if another one redirects to it.
const invalidationChannel = "__redis__:invalidate"

// changes are what the present command has done to keys, for those who track them. They are told when it is done, so that
// its own client hears of it behind the reply.
type changes struct {
	keys [][]byte // they point into the command's arguments
	all  bool     // a database was flushed
}

// trackReads notes the keys that a command is about to read, if its client tracks them.
func (c *Context) trackReads(d *Command) (tracked [][]byte) {
	client := c.Client
	mode := client.tracking.Load()
	if mode == nil || mode.broadcast || d.Flags&ReadOnly == 0 || mode.optIn && !client.caching || mode.optOut && client.caching {
		return nil
	}
	tracked = d.keysIn(c.Args)
	for _, key := range tracked {
		c.State.tracking.table.Remember(key, client.ID)
		c.State.boundTracked(key)
	}
	return tracked
}

// boundTracked forgets keys beyond the bound of the table, other than the one given. Their clients are told as if the keys
// had changed. After the bound was lowered it takes several calls.
func (s *State) boundTracked(key []byte) {
	limit := s.tracking.limit.Load()
	if limit == 0 {
		return
	}
	for range 100 {
		if s.tracking.table.Keys() <= limit {
			return
		}
		forgotten, ok := s.tracking.table.ForgetOther(key)
		if !ok {
			return
		}
		s.invalidate(nil, forgotten)
	}
}

// trackDeadlines notes when the keys that a command has read will be gone, if keys on the device may have deadlines:
// active expiry does not look for those.
func (c *Context) trackDeadlines(keys [][]byte) {
	if c.State.Server.Device.Kind == "" || !c.keyspace.HasDeadlines() {
		return
	}
	for _, key := range keys {
		c.probe = probeReader{}
		c.Session.Read(c.key(key), 0, &c.probe)
		if deadline := c.probe.last.Deadline; c.probe.found > 0 && deadline != 0 {
			c.State.tracking.table.NoteDeadline(key, deadline)
		}
	}
}

// tellChanges tells those who track keys what the present command did to them.
func (c *Context) tellChanges() {
	s, keys := c.State, c.changes.keys
	if c.changes.all {
		s.invalidateAll(c)
	}
	if len(keys) > 0 {
		for _, key := range keys {
			clients := s.tracking.table.Take(key)
			if len(clients) > 0 {
				s.invalidate(c, tracking.Forgotten{Key: string(key), Clients: clients})
			}
		}
		s.broadcast(c, uniqueKeys(keys))
	}
	clear(c.changes.keys)
	c.changes = changes{keys: c.changes.keys[:0]}
}

// gone tells those who track keys that they are there no longer, though no client changed them.
func (s *State) gone(keys ...[]byte) {
	for _, key := range keys {
		if clients := s.tracking.table.Take(key); len(clients) > 0 {
			s.invalidate(nil, tracking.Forgotten{Key: string(key), Clients: clients})
		}
	}
	s.broadcast(nil, keys)
}

// invalidate tells the clients that have read a key. by, which may be nil, carries out the command that changed it.
func (s *State) invalidate(by *Context, forgotten tracking.Forgotten) {
	body := resp.AppendArray(nil, 1)
	body = resp.AppendBulkString(body, forgotten.Key)
	for _, id := range forgotten.Clients {
		client := s.Server.Clients.find(int64(id))
		if client == nil {
			continue
		}
		mode := client.tracking.Load()
		if mode == nil || mode.broadcast || mode.noLoop && by != nil && client == by.Client {
			continue
		}
		s.sendInvalidation(by, client, mode, body, false)
	}
}

// broadcast tells the clients with a prefix of keys, which are in order.
func (s *State) broadcast(by *Context, keys [][]byte) {
	s.tracking.prefixes.Match(keys, func(client *Client, matching [][]byte) {
		mode := client.tracking.Load()
		if mode == nil || mode.noLoop && by != nil && client == by.Client {
			return
		}
		body := resp.AppendArray(nil, len(matching))
		for _, key := range matching {
			body = resp.AppendBulk(body, key)
		}
		s.sendInvalidation(by, client, mode, body, true)
	})
}

// invalidateAll tells all clients that track that every key may have changed.
func (s *State) invalidateAll(by *Context) {
	s.tracking.table.Clear()
	for _, client := range s.tracking.all() {
		if mode := client.tracking.Load(); mode != nil {
			s.invalidateFor(by, client, mode)
		}
	}
}

// invalidateFor tells one client that tracks the same.
func (s *State) invalidateFor(by *Context, client *Client, mode *trackingMode) {
	s.sendInvalidation(by, client, mode, resp.AppendNull(nil, client.Protocol()), false)
}

// sendInvalidation sends a client, or the one that it redirects to, the list of invalid keys in body. What the present command
// causes goes to its own client behind its reply; but before it, unless it is a broadcast, if another client redirects there.
func (s *State) sendInvalidation(by *Context, client *Client, mode *trackingMode, body []byte, broadcast bool) {
	receiver := client
	if mode.redirect != 0 {
		receiver = s.Server.Clients.find(int64(mode.redirect))
	}
	var message []byte
	switch {
	case receiver == nil:
		client.brokenRedirect.Store(true)
		if client.Protocol() != resp.RESP3 {
			return
		}
		receiver = client
		message = resp.AppendPush(nil, resp.RESP3, 2)
		message = resp.AppendBulkString(message, "tracking-redir-broken")
		body = resp.AppendInteger(nil, int64(mode.redirect))
	case receiver.Protocol() == resp.RESP3:
		message = resp.AppendPush(nil, resp.RESP3, 2)
		message = resp.AppendBulkString(message, "invalidate")
	case mode.redirect != 0 && receiver.IsListener():
		message = resp.AppendArray(nil, 3)
		message = resp.AppendBulkString(message, "message")
		message = resp.AppendBulkString(message, invalidationChannel)
	default:
		return // nothing tells a message from a reply there
	}
	message = append(message, body...)
	switch {
	case by == nil || receiver != by.Client:
		receiver.push(s, message)
	case client == by.Client || broadcast:
		by.Out = append(by.Out, message...)
	default:
		by.ownPushes = append(by.ownPushes, message...)
	}
}
