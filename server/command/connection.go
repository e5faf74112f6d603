package command

import (
	"math"
	"strings"

	"github.com/pyropedb/pyrope/server/resp"
)

// CompatibleVersion is the version of Redis whose commands and replies these are. Clients read it
// from HELLO and INFO to learn what they may use.
const CompatibleVersion = "7.0.15"

// defaultUser is the one user there is.
const defaultUser = "default"

// Flags and categories that connection commands share.
const (
	connectionFlags = Loading | Stale | Fast
	loginFlags      = NoScript | Loading | Stale | Fast | NoAuth | AllowBusy
	inConnection    = InFast | InConnection
)

func init() { register(connectionCommands) }

var connectionCommands = []Command{
	{Name: "ping", Arity: -1, Flags: Fast, Categories: inConnection, Handler: ping,
		Group: "connection", Since: "1.0.0", Complexity: "O(1)", Summary: "Ask the server for a sign of life"},
	{Name: "echo", Arity: 2, Flags: connectionFlags, Categories: inConnection, Handler: echoMessage,
		Group: "connection", Since: "1.0.0", Complexity: "O(1)", Summary: "Get a text back"},
	{Name: "hello", Arity: -1, Flags: loginFlags, Categories: inConnection, Handler: hello,
		Group: "connection", Since: "6.0.0", Complexity: "O(1)", Summary: "Choose the protocol version, and log in on the way"},
	{Name: "auth", Arity: -2, Flags: loginFlags, Categories: inConnection, Handler: auth,
		Group: "connection", Since: "1.0.0", Complexity: "O(1)", Summary: "Log in"},
	{Name: "select", Arity: 2, Flags: connectionFlags, Categories: inConnection, Handler: selectDatabase,
		Group: "connection", Since: "1.0.0", Complexity: "O(1)", Summary: "Choose the database that later commands use"},
	{Name: "quit", Arity: -1, Flags: loginFlags, Categories: inConnection, Handler: quit,
		Group: "connection", Since: "1.0.0", Complexity: "O(1)", Summary: "Close the connection"},
	{Name: "reset", Arity: 1, Flags: loginFlags, Categories: inConnection, Handler: reset,
		Group: "connection", Since: "6.2.0", Complexity: "O(1)", Summary: "Return the connection to its first state"},
}

// ping is PING [message].
func ping(c *Context) {
	listens := c.Client.IsListener() && c.Client.Protocol() == resp.RESP2
	switch {
	case len(c.Args) > 2:
		c.errorf(errWrongArity, "ping")
	case listens: // in the form of a message
		c.array(2)
		c.bulkString("pong")
		if len(c.Args) == 2 {
			c.bulk(c.Args[1])
		} else {
			c.bulkString("")
		}
	case len(c.Args) == 2:
		c.bulk(c.Args[1])
	default:
		c.simple("PONG")
	}
}

// echoMessage is ECHO message.
func echoMessage(c *Context) { c.bulk(c.Args[1]) }

// quit is QUIT.
func quit(c *Context) {
	c.ok()
	c.Client.Closing = true
}

// reset is RESET.
func reset(c *Context) {
	c.State.Disconnect(c.Client)
	c.Client.reset(c.State.Server.Password() != "")
	c.simple("RESET")
}

// selectDatabase is SELECT index.
func selectDatabase(c *Context) {
	index, ok := c.int32Argument(c.Args[1])
	switch {
	case !ok:
	case index < 0 || int(index) >= len(c.State.databases):
		c.error(errDatabase)
	default:
		c.Client.SetDatabase(int(index))
		c.ok()
	}
}

// int32Argument reads an argument as an integer of 32 bits, or replies with the error.
func (c *Context) int32Argument(argument []byte) (int32, bool) {
	n, ok := c.integerArgument(argument)
	if ok && (n < math.MinInt32 || n > math.MaxInt32) {
		c.error(errInt32)
		return 0, false
	}
	return int32(n), ok
}

// auth is AUTH [username] password.
func auth(c *Context) {
	switch {
	case len(c.Args) > 3:
		c.error(errSyntax)
		return
	case len(c.Args) == 2 && c.State.Server.Password() == "":
		c.error(errNoPassword)
		return
	}
	user := []byte(defaultUser)
	if len(c.Args) == 3 {
		user = c.Args[1]
	}
	if c.login(user, c.Args[len(c.Args)-1]) {
		c.ok()
	}
}

// login authenticates the client, or replies that it may not. Without a password, any is right.
func (c *Context) login(user, password []byte) bool {
	server := &c.State.Server
	if string(user) != defaultUser || server.Password() != "" && !server.passwordIs(password) {
		c.error(errWrongPassword)
		return false
	}
	c.Client.SetAuthenticated(true)
	return true
}

// mustLogIn tells whether the client has yet to authenticate. A password that was taken away since
// the connection came is asked for no longer.
func (c *Context) mustLogIn() bool {
	if c.Client.NeedsAuth && c.State.Server.Password() == "" {
		c.Client.SetAuthenticated(true)
	}
	return c.Client.NeedsAuth
}

// hello is HELLO [version [AUTH username password] [SETNAME name]].
func hello(c *Context) {
	version, ok := c.helloOptions()
	if !ok {
		return
	}
	if c.mustLogIn() {
		c.error(errHelloAuth)
		return
	}
	c.Client.SetProtocol(version)

	c.mapping(7)
	c.bulkString("server")
	c.bulkString("redis")
	c.bulkString("version")
	c.bulkString(CompatibleVersion)
	c.bulkString("proto")
	c.integer(int64(version))
	c.bulkString("id")
	c.integer(int64(c.Client.ID))
	c.bulkString("mode")
	c.bulkString("standalone")
	c.bulkString("role")
	c.bulkString("master")
	c.bulkString("modules")
	c.array(0)
}

// helloOptions reads the arguments of HELLO and does what each says, as Redis does, until one is wrong: then it replies with the error.
func (c *Context) helloOptions() (version resp.Version, ok bool) {
	version = c.Client.Protocol()
	if len(c.Args) == 1 {
		return version, true
	}
	number, isNumber := parseInteger(c.Args[1])
	switch {
	case !isNumber:
		c.error(errProtocolNumber)
		return version, false
	case number == 2:
		version = resp.RESP2
	case number == 3:
		version = resp.RESP3
	default:
		c.error(errProtocol)
		return version, false
	}
	for i := 2; i < len(c.Args); i++ {
		left := len(c.Args) - 1 - i
		switch word := c.Args[i]; {
		case left >= 2 && equalFold(word, "auth"):
			if !c.login(c.Args[i+1], c.Args[i+2]) {
				return version, false
			}
			i += 2
		case left >= 1 && equalFold(word, "setname"):
			if !printable(c.Args[i+1]) {
				c.error(errClientName)
				return version, false
			}
			c.Client.setName(string(c.Args[i+1]))
			i++
		default:
			c.errorf(errHelloOption, echo(word, len(word)))
			return version, false
		}
	}
	return version, true
}

// printable reports whether a name can stand in CLIENT LIST: visible ASCII without blanks.
func printable[T string | []byte](name T) bool {
	return strings.IndexFunc(string(name), func(r rune) bool { return r < '!' || r > '~' }) < 0
}
