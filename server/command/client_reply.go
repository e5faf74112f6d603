package command

// replyMode says which replies of commands a client gets: CLIENT REPLY.
type replyMode uint8

const (
	replyAlways replyMode = iota
	replyNever
	replySkipsNext // that of the next command is left out
	replySkips     // that of the present command is
)

// setReplyMode changes the mode.
func (c *Client) setReplyMode(mode replyMode) {
	c.replies = mode
	c.restrict()
}

// executeMuted is executeLoud for a client that does not get all replies. What the command itself does to the mode counts.
func (c *Context) executeMuted() {
	client, mark := c.Client, len(c.Out)
	if client.replies == replySkipsNext {
		client.replies = replySkips
	}
	c.executeLoud()
	if client.replies != replyAlways {
		c.Out = c.Out[:mark]
	}
	if client.replies == replySkips {
		client.setReplyMode(replyAlways)
	}
}

// clientReply is CLIENT REPLY ON|OFF|SKIP. Only ON is answered.
func clientReply(c *Context) {
	switch word := c.Args[2]; {
	case equalFold(word, "on"):
		c.Client.setReplyMode(replyAlways)
		c.ok()
	case equalFold(word, "off"):
		c.Client.setReplyMode(replyNever)
	case equalFold(word, "skip"):
		if c.Client.replies != replyNever {
			c.Client.setReplyMode(replySkipsNext)
		}
	default:
		c.error(errSyntax)
	}
}
