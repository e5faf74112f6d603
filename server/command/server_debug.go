package command

import (
	"fmt"
	"strconv"
	"time"

	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/resp"
)

// debug is DEBUG, with what test suites use of it. It is no container in the table, because Redis
// has one error for an unknown subcommand and for a wrong number of arguments.
func debug(c *Context) {
	if !c.mayDebug() {
		c.error(errDebugRefused)
		return
	}
	word := c.Args[1]
	takes := func(name string, least, most int) bool {
		given := len(c.Args) - 2
		return equalFold(word, name) && least <= given && given <= most
	}
	switch {
	case c.State.Loading.Load() != 0 && (takes("object", 1, 1) || takes("populate", 1, 3)):
		c.error(errLoading)
	case takes("help", 0, 0):
		debugHelp(c)
	case takes("sleep", 1, 1):
		// What is no number counts as zero, as with C's strtod.
		if seconds, _ := strconv.ParseFloat(string(c.Args[2]), 64); seconds > 0 {
			c.sleep(time.Duration(min(seconds, maxSleepSeconds) * float64(time.Second)))
		}
		c.ok()
	case takes("set-active-expire", 1, 1):
		c.State.expiry.disabled.Store(string(c.Args[2]) == "0")
		c.ok()
	case takes("error", 1, 1):
		c.errorBytes(c.Args[2])
	case takes("log", 1, 1):
		c.State.Server.log().Warn("DEBUG LOG", "message", string(c.Args[2]))
		c.ok()
	case takes("object", 1, 1):
		debugObject(c)
	case takes("protocol", 1, 1):
		debugProtocol(c)
	case takes("populate", 1, 3):
		debugPopulate(c)
	case takes("reload", 0, 3), takes("loadaof", 0, 0):
		c.error(errDebugReload)
	default:
		c.errorf(errDebugSubcommand, echo(word, echoLimit))
	}
}

// mayDebug tells whether enable-debug-command lets the client use DEBUG. Commands without a server around them do.
func (c *Context) mayDebug() bool {
	switch c.State.Server.Options.EnableDebug {
	case config.DebugNo:
		return false
	case config.DebugLocal:
		return IsLocal(c.Client.Address)
	}
	return true
}

// debugHelp is DEBUG HELP.
func debugHelp(c *Context) {
	c.help("DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"ERROR <text>",
		"    Get the text as an error.",
		"LOG <message>",
		"    Write the message to the server's log.",
		"OBJECT <key>",
		"    Get how the value is kept, in Redis's terms.",
		"POPULATE <count> [<prefix>] [<size>]",
		"    Make string keys named key:<number>, or with another prefix.",
		"PROTOCOL <type>",
		"    Get a value of a type of the protocol: string, integer, double, bignum, null, array, set, map,",
		"    attrib, push, verbatim, true or false.",
		"SET-ACTIVE-EXPIRE <0|1>",
		"    Leave keys past their deadline alone until a write meets them, or remove them soon.",
		"SLEEP <seconds>",
		"    Keep this connection waiting; the others are served. Decimals are allowed.",
		"HELP",
		"    Print this help.")
}

// debugObject is DEBUG OBJECT key.
func debugObject(c *Context) {
	var i inspector
	switch {
	case c.failed(c.Session.Read(c.key(c.Args[2]), 0, &i)):
	case !i.found:
		c.error(errNoSuchKey)
	default:
		c.simple(fmt.Sprintf("Value at:0x0 refcount:1 encoding:%s serializedlength:%d lru:0 lru_seconds_idle:0", i.encoding, i.valueBytes+1))
	}
}

// debugProtocol is DEBUG PROTOCOL type: a value of each type, for the tests of clients.
func debugProtocol(c *Context) {
	version := c.Client.Protocol()
	switch word := c.Args[2]; {
	case equalFold(word, "string"):
		c.bulkString("Hello World")
	case equalFold(word, "integer"):
		c.integer(12345)
	case equalFold(word, "double"):
		c.Out = resp.AppendDouble(c.Out, version, 3.141)
	case equalFold(word, "bignum"):
		c.Out = resp.AppendBigNumber(c.Out, version, "1234567999999999999999999999999999999")
	case equalFold(word, "null"):
		c.null()
	case equalFold(word, "array"):
		c.array(3)
		c.integers(3)
	case equalFold(word, "set"):
		c.beginSet(3)
		c.integers(3)
	case equalFold(word, "map"):
		c.mapping(3)
		for i := range 3 {
			c.integer(int64(i))
			c.Out = resp.AppendBool(c.Out, version, i == 1)
		}
	case equalFold(word, "attrib"):
		if version == resp.RESP3 {
			c.Out = append(c.Out, "|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n"...)
		}
		c.bulkString("Some real reply following the attribute")
	case equalFold(word, "push") && version == resp.RESP2:
		c.error(errOnlyRESP3)
	case equalFold(word, "push"):
		c.Out = resp.AppendPush(c.Out, version, 2)
		c.bulkString("server-cpu-usage")
		c.integer(42)
		c.bulkString("Some real reply following the push reply")
	case equalFold(word, "verbatim"):
		c.verbatim("This is a verbatim\nstring")
	case equalFold(word, "true"), equalFold(word, "false"):
		c.Out = resp.AppendBool(c.Out, version, equalFold(word, "true"))
	default:
		c.error(errProtocolType)
	}
}

// integers appends the integers from 0 on.
func (c *Context) integers(count int) {
	for i := range count {
		c.integer(int64(i))
	}
}

// debugPopulate is DEBUG POPULATE count [prefix] [size]: keys that do not exist yet get a value.
func debugPopulate(c *Context) {
	count, ok := c.integerArgument(c.Args[2])
	if !ok {
		return
	}
	prefix, size := []byte("key"), int64(0)
	if len(c.Args) > 3 {
		prefix = c.Args[3]
	}
	if len(c.Args) > 4 {
		if size, ok = c.integerArgument(c.Args[4]); !ok {
			return
		}
	}
	if size < 0 || size > c.stringLimit() {
		c.error(errOutOfRange)
		return
	}
	for i := range count {
		key, value := fmt.Appendf(nil, "%s:%d", prefix, i), fmt.Appendf(nil, "value:%d", i)
		if size > 0 {
			value = append(value, make([]byte, size)...)[:size]
		}
		u := &setUpdater{setOptions: setOptions{onlyIfMissing: true}, value: value, old: &c.old}
		if _, ok := c.update(key, u); !ok {
			return
		}
	}
	c.ok()
}
