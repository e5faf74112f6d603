package command

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pyropedb/pyrope/server/tracking"
)

// Client-side caching. A client that tracks is told when a key changes that it has read, or every key with one of its
// prefixes, so that it can drop its copy.
//
// A client's interest in a key is noted before the key is read, and a writer looks for interest after it has written: so
// a reader that did not see the write is found by the writer. On a connection of its own a message never overtakes the reply
// that it makes stale, because both go through the connection's owner (network.Conn.Push), and because reads of a client that
// tracks are neither gathered nor parked.

// defaultTrackedKeys is tracking-table-max-keys unless it is given.
const defaultTrackedKeys = 1_000_000

// clientTracking is what all connections share of it. While a client tracks, attention has watchTracking.
type clientTracking struct {
	mu      sync.Mutex
	clients map[*Client]struct{} // that track; guarded by mu

	table    tracking.Table             // without clients it is empty
	prefixes tracking.Prefixes[*Client] // of the clients with BCAST
	limit    atomic.Int64               // tracking-table-max-keys
	evicted  evictedKeys
}

// trackingMode is how a client tracks; immutable.
type trackingMode struct {
	broadcast, optIn, optOut, noLoop bool

	redirect uint64   // the client that is told instead, 0 for none
	prefixes []string // sorted; of a broadcast
}

// startTracking gives a client a mode, whether or not it had one. Every prefix that it had stays.
func (s *State) startTracking(client *Client, mode *trackingMode) {
	t := &s.tracking
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.clients == nil {
		t.clients = make(map[*Client]struct{})
	}
	t.clients[client] = struct{}{}
	for _, prefix := range mode.prefixes {
		t.prefixes.Add(prefix, client)
	}
	client.brokenRedirect.Store(false)
	client.tracking.Store(mode)
	client.restrict()
	s.attention.set(watchTracking, true)
}

// stopTracking takes a client off what it tracks. The keys that it has read are forgotten when they change, or at once if
// no other client tracks.
func (s *State) stopTracking(client *Client) {
	mode := client.tracking.Load()
	if mode == nil {
		return
	}
	t := &s.tracking
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, prefix := range mode.prefixes {
		t.prefixes.Remove(prefix, client)
	}
	client.tracking.Store(nil)
	client.brokenRedirect.Store(false)
	client.caching = false
	client.restrict()
	if delete(t.clients, client); len(t.clients) == 0 {
		s.attention.set(watchTracking, false)
		t.table.Clear()
	}
}

// all returns the clients that track.
func (t *clientTracking) all() []*Client {
	t.mu.Lock()
	defer t.mu.Unlock()
	clients := make([]*Client, 0, len(t.clients))
	for client := range t.clients {
		clients = append(clients, client)
	}
	return clients
}

// count is the number of clients that track.
func (t *clientTracking) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.clients)
}

// clientTrackingSwitch is CLIENT TRACKING ON|OFF [REDIRECT id] [PREFIX prefix ...] [BCAST] [OPTIN] [OPTOUT] [NOLOOP].
func clientTrackingSwitch(c *Context) {
	mode, ok := c.trackingOptions(c.Args[3:])
	if !ok {
		return
	}
	switch word := c.Args[2]; {
	case equalFold(word, "off"):
		c.State.stopTracking(c.Client)
	case !equalFold(word, "on"):
		c.error(errSyntax)
		return
	default:
		if problem := mode.problem(c.Client.tracking.Load()); problem != "" {
			c.error(problem)
			return
		}
		c.State.startTracking(c.Client, mode)
	}
	c.ok()
}

// trackingOptions reads the options, or replies with the error.
func (c *Context) trackingOptions(options [][]byte) (mode *trackingMode, ok bool) {
	mode = &trackingMode{}
	for i := 0; i < len(options); i++ {
		more := i+1 < len(options)
		switch word := options[i]; {
		case equalFold(word, "redirect") && more:
			i++
			if mode.redirect != 0 {
				c.error(errOneRedirect)
				return nil, false
			}
			id, ok := c.integerArgument(options[i])
			if !ok {
				return nil, false
			}
			if c.State.Server.Clients.find(id) == nil {
				c.error(errNoRedirect)
				return nil, false
			}
			mode.redirect = uint64(id)
		case equalFold(word, "prefix") && more:
			i++
			mode.prefixes = append(mode.prefixes, string(options[i]))
		case equalFold(word, "bcast"):
			mode.broadcast = true
		case equalFold(word, "optin"):
			mode.optIn = true
		case equalFold(word, "optout"):
			mode.optOut = true
		case equalFold(word, "noloop"):
			mode.noLoop = true
		default:
			c.error(errSyntax)
			return nil, false
		}
	}
	return mode, true
}

// problem is the error for a mode that makes no sense or that cannot follow the present one, nil for none; or empty.
// Of a mode without an error it completes the prefixes.
func (m *trackingMode) problem(present *trackingMode) string {
	if present == nil {
		present = &trackingMode{broadcast: m.broadcast}
	}
	switch {
	case len(m.prefixes) > 0 && !m.broadcast:
		return errPrefixAlone
	case present.broadcast != m.broadcast:
		return errSwitchBroadcast
	case m.broadcast && (m.optIn || m.optOut):
		return errOptionsBroadcast
	case m.optIn && m.optOut:
		return errBothOptions
	case m.optIn && present.optOut, m.optOut && present.optIn:
		return errSwitchOptions
	case !m.broadcast:
		return ""
	}
	for i, prefix := range m.prefixes {
		if other, found := overlapping(prefix, present.prefixes); found {
			return prefixProblem(errPrefixOverlaps, prefix, other)
		}
		if other, found := overlapping(prefix, m.prefixes[i+1:]); found {
			return prefixProblem(errPrefixesOverlap, prefix, other)
		}
	}
	if len(m.prefixes) == 0 {
		m.prefixes = []string{""}
	}
	m.prefixes = append(m.prefixes, present.prefixes...)
	slices.Sort(m.prefixes)
	m.prefixes = slices.Compact(m.prefixes)
	return ""
}

// overlapping returns the first of some prefixes with which a key may begin that begins with this one too.
func overlapping(prefix string, others []string) (other string, found bool) {
	for _, other := range others {
		if strings.HasPrefix(prefix, other) || strings.HasPrefix(other, prefix) {
			return other, true
		}
	}
	return "", false
}

// clientCaching is CLIENT CACHING YES|NO. It is about the next command.
func clientCaching(c *Context) {
	mode := c.Client.tracking.Load()
	switch word := c.Args[2]; {
	case mode == nil:
		c.error(errCachingUntracked)
	case equalFold(word, "yes") && !mode.optIn:
		c.error(errCachingYes)
	case equalFold(word, "no") && !mode.optOut:
		c.error(errCachingNo)
	case equalFold(word, "yes"), equalFold(word, "no"):
		c.Client.caching = true
		c.ok()
	default:
		c.error(errSyntax)
	}
}

// forgetCaching ends what CLIENT CACHING said, unless the command that was carried out is itself one of CLIENT's.
func (c *Context) forgetCaching() {
	if d := Lookup(c.Args[0]); d != clientCommand || len(c.Args) < 2 || d.Subcommand(c.Args[1]) == nil {
		c.Client.caching = false
	}
}

// clientGetRedirect is CLIENT GETREDIR.
func clientGetRedirect(c *Context) { c.integer(c.Client.redirect()) }

// redirect is the id of the client that is told instead of this one, 0 for itself, -1 without tracking. Any goroutine.
func (c *Client) redirect() int64 {
	if mode := c.tracking.Load(); mode != nil {
		return int64(mode.redirect)
	}
	return -1
}

// clientTrackingInfo is CLIENT TRACKINGINFO.
func clientTrackingInfo(c *Context) {
	mode := c.Client.tracking.Load()
	flags := []string{"on"}
	if mode == nil {
		flags[0], mode = "off", &trackingMode{}
	}
	for _, flag := range []struct {
		name string
		on   bool
	}{
		{"bcast", mode.broadcast},
		{"optin", mode.optIn}, {"caching-yes", mode.optIn && c.Client.caching},
		{"optout", mode.optOut}, {"caching-no", mode.optOut && c.Client.caching},
		{"noloop", mode.noLoop}, {"broken_redirect", c.Client.brokenRedirect.Load()},
	} {
		if flag.on {
			flags = append(flags, flag.name)
		}
	}
	c.mapping(3)
	c.bulkString("flags")
	c.beginSet(len(flags))
	for _, flag := range flags {
		c.bulkString(flag)
	}
	c.bulkString("redirect")
	c.integer(c.Client.redirect())
	c.bulkString("prefixes")
	c.array(len(mode.prefixes))
	for _, prefix := range mode.prefixes {
		c.bulkString(prefix)
	}
}

// prefixProblem is an error about two prefixes.
func prefixProblem(format, prefix, other string) string {
	return fmt.Sprintf(format, echo([]byte(prefix), len(prefix)), echo([]byte(other), len(other)))
}

// uniqueKeys sorts keys and leaves out what is there twice.
func uniqueKeys(keys [][]byte) [][]byte {
	slices.SortFunc(keys, bytes.Compare)
	return slices.CompactFunc(keys, bytes.Equal)
}
