package command

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/server/pubsub"
	"github.com/pyropedb/pyrope/server/resp"
)

// Client is the state of one connection. The goroutine that serves the connection at the moment
// owns it, and hands it on together with the connection. What CLIENT LIST shows of other
// connections is atomic or behind mu; the rest is the owner's alone.
type Client struct {
	ID          uint64    // immutable
	Address     string    // of the peer, as CLIENT LIST prints it; immutable
	Local       string    // our end of the connection; immutable
	ConnectedAt time.Time // immutable
	Transport   Transport // nil for a client without a socket; immutable

	Parser    resp.Parser // the owner's; remembers how far an incomplete request was read
	NeedsAuth bool        // the owner's: a password is set and this connection has not given it yet
	Closing   bool        // the owner's: close the connection once the replies so far are written

	Journaled uint64 // the owner's: position of the connection's last write in the append-only file

	reads         *parkedReads // the owner's: what the client waits for while it is parked
	restricted    bool         // the owner's: not every command may be carried out at once, see restrict
	replies       replyMode    // the owner's
	caching       bool         // the owner's: CLIENT CACHING is about the present command
	subscriptions [pubsub.SpaceCount]subscriptions

	database    atomic.Int32
	protocol    atomic.Int32
	commands    atomic.Uint64
	lastCommand atomic.Pointer[Command]
	noEvict     atomic.Bool // CLIENT NO-EVICT
	noTouch     atomic.Bool // CLIENT NO-TOUCH
	monitors    atomic.Bool // MONITOR

	tracking       atomic.Pointer[trackingMode] // CLIENT TRACKING; nil for not
	brokenRedirect atomic.Bool                  // the client that it redirects to was gone

	waited atomic.Int64 // when the last command that waited ended, in Unix nanoseconds; waitsNow during one

	crowdedSince atomic.Int64 // since when more than the soft bound waits for a listener, see monotonic; 0 for not

	mu struct {
		sync.Mutex
		name           string // CLIENT SETNAME
		libraryName    string // CLIENT SETINFO LIB-NAME
		libraryVersion string // CLIENT SETINFO LIB-VER
	}
}

// Database is the number of the selected database. Any goroutine.
func (c *Client) Database() int { return int(c.database.Load()) }

// SetDatabase selects a database, whose number must be one that exists.
func (c *Client) SetDatabase(index int) { c.database.Store(int32(index)) }

// Protocol is the RESP version of the replies. Any goroutine.
func (c *Client) Protocol() resp.Version {
	if c.protocol.Load() == int32(resp.RESP3) {
		return resp.RESP3
	}
	return resp.RESP2
}

// SetProtocol sets the RESP version of the replies from the present command on.
func (c *Client) SetProtocol(version resp.Version) {
	c.protocol.Store(int32(version))
	c.restrict()
}

// restrict finds out whether each command has to be looked at before it is carried out, so that runs of plain
// ones are not gathered. It follows every change of what it looks at.
func (c *Client) restrict() {
	c.restricted = c.NeedsAuth || c.replies != replyAlways || c.monitors.Load() || c.tracking.Load() != nil ||
		c.IsListener() && c.Protocol() == resp.RESP2
}

// Commands is the number of commands executed for the connection. Any goroutine.
func (c *Client) Commands() uint64 { return c.commands.Load() }

// LastCommand is the last command found in the table, or nil before the first. Any goroutine.
func (c *Client) LastCommand() *Command { return c.lastCommand.Load() }

// count adds calls of the owner's.
func (c *Client) count(calls uint64) { c.commands.Store(c.commands.Load() + calls) }

// noteCommand notes what the owner is about to execute.
func (c *Client) noteCommand(d *Command) {
	if c.lastCommand.Load() != d {
		c.lastCommand.Store(d)
	}
}

// waitsNow stands for the end of a wait that has not come.
const waitsNow = -1

// BeginWait notes that a command of the client waits; the owner's.
func (c *Client) BeginWait() { c.waited.Store(waitsNow) }

// EndWait notes that no command waits any more; the owner's, after every batch.
func (c *Client) EndWait() {
	if c.waited.Load() == waitsNow {
		c.waited.Store(time.Now().UnixNano())
	}
}

// IdleSince is when the client was last heard of, or the command ended that waited longer; the zero time while one
// waits. Any goroutine, for a client with a Transport.
func (c *Client) IdleSince() time.Time {
	waited := c.waited.Load()
	if waited == waitsNow {
		return time.Time{}
	}
	heard := c.Transport.LastInteraction()
	if after := time.Unix(0, waited); after.After(heard) {
		return after
	}
	return heard
}

// IsLocal tells whether the peer with an address is on this machine for sure: at the other end of a unix socket or of
// loopback, or without a socket.
func IsLocal(remote string) bool {
	address, err := netip.ParseAddrPort(remote)
	return err != nil || address.Addr().Unmap().IsLoopback()
}

// Name is what CLIENT SETNAME gave, or empty. Any goroutine.
func (c *Client) Name() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.name
}

// setName sets what Name returns.
func (c *Client) setName(name string) {
	c.mu.Lock()
	c.mu.name = name
	c.mu.Unlock()
}

// library is what CLIENT SETINFO gave. Any goroutine.
func (c *Client) library() (name, version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.libraryName, c.mu.libraryVersion
}

// setLibrary changes what library returns; nil leaves a part as it is.
func (c *Client) setLibrary(name, version *string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if name != nil {
		c.mu.libraryName = *name
	}
	if version != nil {
		c.mu.libraryVersion = *version
	}
}

// SetAuthenticated notes whether the connection may do more than authenticate.
func (c *Client) SetAuthenticated(yes bool) {
	c.NeedsAuth = !yes
	c.Parser.Unauthenticated = !yes
	c.restrict()
}

// reset returns the connection to the state it was accepted in, as RESET does.
func (c *Client) reset(needsAuth bool) {
	c.SetDatabase(0)
	c.SetProtocol(resp.RESP2)
	c.setName("")
	c.noEvict.Store(false)
	c.noTouch.Store(false)
	if c.replies == replyNever {
		c.replies = replyAlways
	}
	c.SetAuthenticated(!needsAuth)
}
