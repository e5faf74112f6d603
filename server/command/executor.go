package command

import (
	"slices"
	"time"

	"github.com/pyropedb/pyrope/server/resp"
)

// Serve executes the complete commands at the start of input for client, and appends their
// replies to c.Out in order. It returns how many bytes of input are done with, and need: how long
// the rest must grow for the command it begins with to be complete, as far as is known; 0 when the
// rest is served as it is, since Serve stopped for c.Out to be flushed (ReplyLimit), for the client to be
// parked (Parked), or the connection to be closed (client.Closing, or the server's Overdue).
func (c *Context) Serve(client *Client, input []byte) (consumed, need int) {
	c.begin(client)
	c.Stats.Batches.add(1)
	if client.reads != nil {
		c.finishReads()
	}
	for !client.Closing && !c.parked && (c.ReplyLimit == 0 || len(c.Out) < c.ReplyLimit) && !c.State.Server.Overdue() {
		if gathered := c.gather(input[consumed:]); gathered > 0 {
			consumed += gathered
			continue
		}
		var used int
		var result resp.Result
		c.Args, used, result = client.Parser.Next(input[consumed:], c.Args)
		consumed += used
		if result == resp.NeedMore {
			need = client.Parser.Need()
			break
		}
		if result == resp.Malformed {
			c.error(client.Parser.Err().Text)
			c.Stats.ErrorReplies.add(1)
			client.Closing = true
			break
		}
		c.execute()
	}
	c.end()
	return consumed, need
}

// gather executes the run of plain GETs or SETs that input begins with and returns its length, 0
// if it begins with neither.
func (c *Context) gather(input []byte) (consumed int) {
	if c.State.Loading.Load() != 0 {
		return 0
	}
	if consumed = c.gatherGets(input); consumed == 0 {
		consumed = c.gatherSets(input)
	}
	return consumed
}

// Execute carries out the command in c.Args for client, for callers that have no bytes to parse.
func (c *Context) Execute(client *Client) {
	c.begin(client)
	c.execute()
	c.end()
}

func (c *Context) begin(client *Client) {
	c.Client, c.parked = client, false
	c.enter()
	c.meter.start()
}

func (c *Context) end() {
	c.leave()
	c.Client = nil
	if len(c.Args) > keepArguments {
		c.Args, c.keys, c.intents, c.looked, c.doomed, c.changes = nil, nil, nil, nil, doomedReader{}, changes{}
		c.bitops.keys, c.sketches.merger.keys = foldedKeys{}, foldedKeys{}
	}
}

// keepArguments is the number of arguments up to which the lists of arguments and keys stay for
// the next command.
const keepArguments = 4096

// execute carries out the command in c.Args, and puts what it pushed to its own client before its reply.
func (c *Context) execute() {
	mark := len(c.Out)
	if c.Client.replies == replyAlways {
		c.executeLoud()
	} else {
		c.executeMuted()
	}
	if c.Client.caching {
		c.forgetCaching()
	}
	if len(c.changes.keys) > 0 || c.changes.all {
		c.tellChanges()
	}
	if len(c.ownPushes) > 0 {
		c.insertOwnPushes(mark)
	}
}

// executeLoud carries out the command in c.Args with its reply.
func (c *Context) executeLoud() {
	client := c.Client
	d := c.find()
	if d == nil {
		c.Stats.ErrorReplies.add(1)
		return
	}
	if !d.accepts(len(c.Args)) {
		c.reject(d, errWrongArity)
		return
	}
	if client.NeedsAuth && d.Flags&NoAuth == 0 && c.mustLogIn() {
		c.reject(d, errNoAuth)
		return
	}
	if client.restricted {
		if problem := client.problemWith(d); problem != "" {
			c.reject(d, problem)
			return
		}
	}
	if d.Flags&Loading == 0 && d != pingCommand && c.State.Loading.Load() != 0 {
		c.reject(d, errLoading)
		return
	}
	if (d.Flags&Write != 0 || d == pingCommand) && c.State.Server.unsaved.Load() {
		c.reject(d, errUnsaved)
		return
	}
	watched := c.State.attention.any()
	if watched && c.State.attention.has(watchPause) && !c.awaitPause(d) {
		client.Closing = true
		return
	}
	client.noteCommand(d)
	c.command = d
	c.keyspace = c.State.databases[client.Database()].Keyspace()
	mark := len(c.Out)
	var tracked [][]byte
	if client.restricted {
		tracked = c.trackReads(d)
	}
	d.Handler(c)
	if took, slow := c.charge(d, 1); slow {
		c.noteSlow(d, took, c.Args)
	}
	if c.given.keyspace != nil {
		c.passDeadline()
	}
	if tracked != nil {
		c.trackDeadlines(tracked)
	}
	if len(c.Out) > mark && c.Out[mark] == '-' {
		c.Stats.Commands[d.index].Failed.add(1)
		c.Stats.ErrorReplies.add(1)
	}
	if watched && c.State.attention.has(watchCommands) {
		c.showCommand(d, time.Now())
	}
}

// insertOwnPushes puts what the present command pushed to its own client before its reply, which
// begins at mark.
func (c *Context) insertOwnPushes(mark int) {
	c.Out = slices.Insert(c.Out, mark, c.ownPushes...)
	c.ownPushes = c.ownPushes[:0]
}

// find looks Args up in the table, down to the subcommand; when there is none it replies so and returns nil.
func (c *Context) find() *Command {
	d := Lookup(c.Args[0])
	if d == nil {
		c.unknownCommand()
		return nil
	}
	if len(d.Subcommands) == 0 || len(c.Args) < 2 {
		return d
	}
	sub := d.Subcommand(c.Args[1])
	if sub == nil {
		c.unknownSubcommand(d)
	}
	return sub
}

// reject replies with an error instead of executing d.
func (c *Context) reject(d *Command, text string) {
	if text == errWrongArity {
		c.errorf(text, d.fullName)
	} else {
		c.error(text)
	}
	c.Stats.Commands[d.index].Rejected.add(1)
	c.Stats.ErrorReplies.add(1)
}
