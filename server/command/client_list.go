package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/pyropedb/pyrope/server/pubsub"
)

// clientInfo is CLIENT INFO.
func clientInfo(c *Context) {
	c.verbatim(c.Client.line(time.Now()))
}

// clientList is CLIENT LIST [TYPE type] [ID id [id ...]].
func clientList(c *Context) {
	clients := &c.State.Server.Clients
	arguments := c.Args[2:]
	var listed []*Client
	switch {
	case len(arguments) == 0:
		listed = clients.all()
	case len(arguments) == 2 && equalFold(arguments[0], "type"):
		kind, ok := c.clientType(arguments[1])
		if !ok {
			return
		}
		for _, client := range clients.all() {
			if kind.has(client) {
				listed = append(listed, client)
			}
		}
	case len(arguments) >= 2 && equalFold(arguments[0], "id"):
		for _, argument := range arguments[1:] {
			id, ok := parseInteger(argument)
			if !ok {
				c.error(errClientID)
				return
			}
			if client := clients.find(id); client != nil {
				listed = append(listed, client)
			}
		}
	default:
		c.error(errSyntax)
		return
	}
	now := time.Now()
	var text strings.Builder
	for _, client := range listed {
		text.WriteString(client.line(now))
	}
	c.verbatim(text.String())
}

// clientKind is a type of client as CLIENT LIST and KILL name it.
type clientKind uint8

const (
	anyClient clientKind = iota
	normalClient
	listenerClient // subscribed to something
	noClient       // of a replica or a master: there are none
)

// has tells whether a client is of the kind.
func (k clientKind) has(c *Client) bool {
	switch k {
	case normalClient:
		return !c.IsListener()
	case listenerClient:
		return c.IsListener()
	}
	return k == anyClient
}

// clientType reads a type of client, or replies with the error.
func (c *Context) clientType(argument []byte) (kind clientKind, ok bool) {
	for name, kind := range map[string]clientKind{
		"normal": normalClient, "pubsub": listenerClient, "master": noClient, "replica": noClient, "slave": noClient,
	} {
		if equalFold(argument, name) {
			return kind, true
		}
	}
	c.errorf(errClientType, echo(argument, len(argument)))
	return noClient, false
}

// line is what CLIENT LIST says of a client, line end included. Any goroutine.
func (c *Client) line(now time.Time) string {
	var inputBytes, inputCapacity, outputBytes int
	lastInteraction := c.ConnectedAt
	if c.Transport != nil {
		inputBytes, inputCapacity = c.Transport.InputBytes(), c.Transport.InputCapacity()
		outputBytes = c.Transport.OutputBytes()
		lastInteraction = c.Transport.LastInteraction()
	}
	command := "NULL"
	if last := c.LastCommand(); last != nil {
		command = last.FullName()
	}
	outputs := 0
	if outputBytes > 0 {
		outputs = 1
	}
	library, version := c.library()
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=-1 name=%s age=%d idle=%d flags=%s db=%d sub=%d psub=%d ssub=%d"+
		" multi=-1 qbuf=%d qbuf-free=%d argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=%d omem=%d tot-mem=%d"+
		" events=r cmd=%s user=%s redir=%d resp=%d lib-name=%s lib-ver=%s\n",
		c.ID, c.Address, c.Local, c.Name(), seconds(now.Sub(c.ConnectedAt)), seconds(now.Sub(lastInteraction)),
		c.flags(), c.Database(), c.subscriptions[pubsub.Channels].count.Load(),
		c.subscriptions[pubsub.Patterns].count.Load(), c.subscriptions[pubsub.Shards].count.Load(), inputBytes, max(inputCapacity-inputBytes, 0), outputs, outputBytes,
		inputCapacity+outputBytes, command, defaultUser, c.redirect(), c.Protocol(), library, version)
}

// seconds is a duration in whole seconds, 0 for one that a step of the clock made negative.
func seconds(d time.Duration) int64 { return max(int64(d/time.Second), 0) }

// flags are the letters CLIENT LIST shows, in its order: O monitor, P subscribed, t tracking, R whose redirection is broken, B in
// broadcast mode, U unix socket, e no-evict, T no-touch; N none of them.
func (c *Client) flags() string {
	var flags string
	if c.monitors.Load() {
		flags += "O"
	}
	if c.IsListener() {
		flags += "P"
	}
	if mode := c.tracking.Load(); mode != nil {
		flags += "t"
		if c.brokenRedirect.Load() {
			flags += "R"
		}
		if mode.broadcast {
			flags += "B"
		}
	}
	if strings.HasPrefix(c.Local, "/") {
		flags += "U"
	}
	if c.noEvict.Load() {
		flags += "e"
	}
	if c.noTouch.Load() {
		flags += "T"
	}
	if flags == "" {
		return "N"
	}
	return flags
}
