package command

import (
	"errors"
	"fmt"

	"github.com/pyropedb/pyrope/server/aof"
	"github.com/pyropedb/pyrope/server/resp"
	"github.com/pyropedb/pyrope/tsavorite"
)

// The methods of this file append one reply each to c.Out, in the client's protocol where RESP2
// and RESP3 differ.

func (c *Context) ok() { c.Out = resp.AppendOK(c.Out) }

func (c *Context) simple(text string) { c.Out = resp.AppendSimpleString(c.Out, text) }

func (c *Context) bulk(value []byte) { c.Out = resp.AppendBulk(c.Out, value) }

func (c *Context) bulkString(value string) { c.Out = resp.AppendBulkString(c.Out, value) }

func (c *Context) integer(n int64) { c.Out = resp.AppendInteger(c.Out, n) }

// flag replies with the integer 1 or 0.
func (c *Context) flag(yes bool) {
	if yes {
		c.integer(1)
	} else {
		c.integer(0)
	}
}

// null replies that there is no value: the null bulk string of RESP2, the null of RESP3.
func (c *Context) null() { c.Out = resp.AppendNull(c.Out, c.Client.Protocol()) }

// array begins an array of count replies, which follow.
func (c *Context) array(count int) { c.Out = resp.AppendArray(c.Out, count) }

// mapping begins a map of count pairs, which follow key by key: an array of twice as many in RESP2.
func (c *Context) mapping(count int) { c.Out = resp.AppendMap(c.Out, c.Client.Protocol(), count) }

// error replies with an error text that begins with its code.
func (c *Context) error(text string) {
	c.State.Server.errors.note(text)
	c.Out = resp.AppendError(c.Out, text)
}

// errorf is error for a text with parts.
func (c *Context) errorf(format string, parts ...any) { c.error(fmt.Sprintf(format, parts...)) }

// errorBytes is error for a text in a buffer, which may be used again afterwards.
func (c *Context) errorBytes(text []byte) { c.error(string(text)) }

// failed replies to a status that no command expects, and reports whether it did: when it
// returns true the handler has nothing more to say.
func (c *Context) failed(status tsavorite.Status) bool {
	switch status {
	case tsavorite.OutOfMemory:
		c.error(errOutOfMemory)
	case tsavorite.TooLarge:
		c.error(errTooLong)
	case tsavorite.StatusError:
		c.failedBy(c.Session.Err())
	default:
		return false
	}
	return true
}

// failedBy replies with the cause of a failure in the engine or below it.
func (c *Context) failedBy(err error) {
	if err == nil {
		c.error(errUnknownCause)
		return
	}
	var refused *aof.RefusedError
	if errors.As(err, &refused) {
		c.errorf(errAppendOnly, refused.Cause.Error())
		return
	}
	c.error("ERR " + err.Error())
}
