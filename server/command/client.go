package command

import "github.com/pyropedb/pyrope/server/resp"

// Flags and categories that the subcommands of containers share.
const (
	slowFlags      = NoScript | Loading | Stale
	adminFlags     = Admin | NoScript | Loading | Stale
	helpFlags      = Loading | Stale
	inSlowClient   = InSlow | InConnection
	inAdmin        = InAdmin | InSlow | InDangerous
	inAdminClient  = inAdmin | InConnection
	perConnections = "O(N) where N is the number of client connections"
)

func init() { register(clientCommands) }

var clientCommands = []Command{{
	Name: "client", Arity: -2, Categories: InSlow, Group: "connection", Since: "2.4.0",
	Complexity: "Depends on subcommand.", Summary: "Commands about client connections",
	Subcommands: []Command{
		{Name: "id", Arity: 2, Flags: slowFlags, Categories: inSlowClient, Handler: clientID,
			Group: "connection", Since: "5.0.0", Complexity: "O(1)", Summary: "The id of this connection"},
		{Name: "getname", Arity: 2, Flags: slowFlags, Categories: inSlowClient, Handler: clientGetName,
			Group: "connection", Since: "2.6.9", Complexity: "O(1)", Summary: "The name of this connection"},
		{Name: "setname", Arity: 3, Flags: slowFlags, Categories: inSlowClient, Handler: clientSetName,
			Group: "connection", Since: "2.6.9", Complexity: "O(1)", Summary: "Name this connection"},
		{Name: "setinfo", Arity: 4, Flags: slowFlags, Categories: inSlowClient, Handler: clientSetInfo,
			Group: "connection", Since: "7.2.0", Complexity: "O(1)", Summary: "Tell which library this connection is used by"},
		{Name: "info", Arity: 2, Flags: slowFlags, Categories: inSlowClient, Handler: clientInfo,
			Group: "connection", Since: "6.2.0", Complexity: "O(1)", Summary: "What CLIENT LIST says of this connection"},
		{Name: "list", Arity: -2, Flags: adminFlags, Categories: inAdminClient, Handler: clientList,
			Group: "connection", Since: "2.4.0", Complexity: perConnections, Summary: "List the connections"},
		{Name: "kill", Arity: -3, Flags: adminFlags, Categories: inAdminClient, Handler: clientKill,
			Group: "connection", Since: "2.4.0", Complexity: perConnections, Summary: "Close connections"},
		{Name: "no-evict", Arity: 3, Flags: adminFlags, Categories: inAdminClient, Handler: clientNoEvict,
			Group: "connection", Since: "7.0.0", Complexity: "O(1)", Summary: "Spare this connection when memory is short"},
		{Name: "no-touch", Arity: 3, Flags: slowFlags, Categories: inSlowClient, Handler: clientNoTouch,
			Group: "connection", Since: "7.2.0", Complexity: "O(1)", Summary: "Leave the age of keys alone when this connection reads them"},
		{Name: "pause", Arity: -3, Flags: adminFlags, Categories: inAdminClient, Handler: clientPause,
			Group: "connection", Since: "2.9.50", Complexity: "O(1)", Summary: "Hold commands back for a time"},
		{Name: "unpause", Arity: 2, Flags: adminFlags, Categories: inAdminClient, Handler: clientUnpause,
			Group: "connection", Since: "6.2.0", Complexity: "O(N) Where N is the number of paused clients", Summary: "Let commands go on that are held back"},
		{Name: "reply", Arity: 3, Flags: slowFlags, Categories: inSlowClient, Handler: clientReply,
			Group: "connection", Since: "3.2.0", Complexity: "O(1)", Summary: "Leave out replies to this connection"},
		{Name: "unblock", Arity: -3, Flags: adminFlags, Categories: inAdminClient, Handler: clientUnblock,
			Group: "connection", Since: "5.0.0", Complexity: "O(log N) where N is the number of client connections",
			Summary: "End the wait of another connection's command"},
		{Name: "tracking", Arity: -3, Flags: slowFlags, Categories: inSlowClient, Handler: clientTrackingSwitch,
			Group: "connection", Since: "6.0.0", Complexity: "O(1). Some options may introduce additional complexity.",
			Summary: "Be told of keys that this connection has read when they change"},
		{Name: "caching", Arity: 3, Flags: slowFlags, Categories: inSlowClient, Handler: clientCaching,
			Group: "connection", Since: "6.0.0", Complexity: "O(1)", Summary: "Track the keys of the next command, or do not"},
		{Name: "getredir", Arity: 2, Flags: slowFlags, Categories: inSlowClient, Handler: clientGetRedirect,
			Group: "connection", Since: "6.0.0", Complexity: "O(1)", Summary: "The id of the connection that is told of this one's keys"},
		{Name: "trackinginfo", Arity: 2, Flags: slowFlags, Categories: inSlowClient, Handler: clientTrackingInfo,
			Group: "connection", Since: "6.2.0", Complexity: "O(1)", Summary: "How this connection tracks keys"},
		{Name: "help", Arity: 2, Flags: helpFlags, Categories: inSlowClient, Handler: clientHelp,
			Group: "connection", Since: "5.0.0", Complexity: "O(1)", Summary: "List the subcommands"},
	},
}}

// clientID is CLIENT ID.
func clientID(c *Context) { c.integer(int64(c.Client.ID)) }

// clientGetName is CLIENT GETNAME.
func clientGetName(c *Context) {
	if name := c.Client.Name(); name != "" {
		c.bulkString(name)
	} else {
		c.null()
	}
}

// clientSetName is CLIENT SETNAME name. An empty name takes the name away.
func clientSetName(c *Context) {
	if !printable(c.Args[2]) {
		c.error(errClientName)
		return
	}
	c.Client.setName(string(c.Args[2]))
	c.ok()
}

// clientSetInfo is CLIENT SETINFO LIB-NAME|LIB-VER value.
func clientSetInfo(c *Context) {
	attribute, value := c.Args[2], string(c.Args[3])
	isName, isVersion := equalFold(attribute, "lib-name"), equalFold(attribute, "lib-ver")
	switch {
	case !isName && !isVersion:
		c.errorf(errUnrecognized, echo(attribute, len(attribute)))
	case !printable(value):
		c.errorf(errLibrary, lower(attribute))
	case isName:
		c.Client.setLibrary(&value, nil)
		c.ok()
	default:
		c.Client.setLibrary(nil, &value)
		c.ok()
	}
}

// clientNoEvict is CLIENT NO-EVICT ON|OFF.
func clientNoEvict(c *Context) {
	if on, ok := c.onOrOff(c.Args[2]); ok {
		c.Client.noEvict.Store(on)
		c.ok()
	}
}

// clientNoTouch is CLIENT NO-TOUCH ON|OFF.
func clientNoTouch(c *Context) {
	if on, ok := c.onOrOff(c.Args[2]); ok {
		c.Client.noTouch.Store(on)
		c.ok()
	}
}

// onOrOff reads an argument that is ON or OFF, or replies with the error.
func (c *Context) onOrOff(argument []byte) (on, ok bool) {
	on = equalFold(argument, "on")
	if !on && !equalFold(argument, "off") {
		c.error(errSyntax)
		return false, false
	}
	return on, true
}

// lower returns the text of an argument in lower case.
func lower(argument []byte) string {
	text := append([]byte(nil), argument...)
	for i, letter := range text {
		if 'A' <= letter && letter <= 'Z' {
			text[i] += 'a' - 'A'
		}
	}
	return string(text)
}

// help replies with the lines that HELP gives for a container.
func (c *Context) help(lines ...string) {
	c.array(len(lines))
	for _, line := range lines {
		c.simple(line)
	}
}

// verbatim replies with text for people: a verbatim string in RESP3, a bulk string in RESP2.
func (c *Context) verbatim(text string) {
	c.Out = resp.AppendVerbatim(c.Out, c.Client.Protocol(), "txt", text)
}

// clientHelp is CLIENT HELP.
func clientHelp(c *Context) {
	c.help("CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"CACHING (YES|NO)",
		"    Track the keys of the next command, or do not.",
		"GETNAME",
		"    Get the name of this connection.",
		"GETREDIR",
		"    Get the id of the connection that is told of this one's keys.",
		"ID",
		"    Get the id of this connection.",
		"INFO",
		"    Get the line of CLIENT LIST for this connection.",
		"KILL <ip:port>",
		"    Close the connection from that address.",
		"KILL <option> <value> [<option> <value> [...]]",
		"    Close the connections that all options select:",
		"    * ID <client-id>",
		"    * ADDR (<ip:port>|<unixsocket>:0)",
		"    * LADDR (<ip:port>|<unixsocket>:0)",
		"    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
		"    * USER <username>",
		"    * SKIPME (YES|NO): spare this connection (default: yes).",
		"LIST [TYPE (NORMAL|MASTER|REPLICA|PUBSUB)] [ID <client-id> [...]]",
		"    List the connections, a line each.",
		"NO-EVICT (ON|OFF)",
		"    Spare this connection when memory for clients is short.",
		"NO-TOUCH (ON|OFF)",
		"    Do not let the commands of this connection make keys younger.",
		"PAUSE <timeout> [WRITE|ALL]",
		"    Hold back all commands, or those that write, for that many milliseconds.",
		"REPLY (ON|OFF|SKIP)",
		"    Send replies to this connection, or none, or leave out that of the next command.",
		"SETINFO (LIB-NAME|LIB-VER) <value>",
		"    Tell the name or version of the library behind this connection.",
		"SETNAME <name>",
		"    Name this connection.",
		"TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]]",
		"         [OPTIN] [OPTOUT] [NOLOOP]",
		"    Be told when keys change that this connection has read, or that have a prefix.",
		"TRACKINGINFO",
		"    Get how this connection tracks keys.",
		"UNBLOCK <client-id> [TIMEOUT|ERROR]",
		"    End the wait of that connection's command, as if its time were over or with an error.",
		"UNPAUSE",
		"    Let the commands go on that PAUSE holds back.",
		"HELP",
		"    Print this help.")
}
