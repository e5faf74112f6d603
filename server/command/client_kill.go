package command

// killFilter selects clients for CLIENT KILL; every part that is set must match.
type killFilter struct {
	id           uint64 // 0 for any
	address      []byte // nil for any
	localAddress []byte // nil for any
	kind         clientKind
	sparesSelf   bool // SKIPME
}

// clientKill is CLIENT KILL address, or CLIENT KILL option value [option value ...].
func clientKill(c *Context) {
	filter := killFilter{address: c.Args[2]}
	oneAddress := len(c.Args) == 3
	if !oneAddress {
		var ok bool
		if filter, ok = c.killFilter(); !ok {
			return
		}
	}
	killed := int64(0)
	for _, client := range c.State.Server.Clients.all() {
		if !filter.selects(client) || filter.sparesSelf && client == c.Client {
			continue
		}
		killed++
		if client == c.Client {
			client.Closing = true // once it has its reply
		} else if client.Transport != nil {
			client.Transport.Kill()
		}
	}
	switch {
	case !oneAddress:
		c.integer(killed)
	case killed == 0:
		c.error(errNoSuchClient)
	default:
		c.ok()
	}
}

// selects tells whether the filter matches a client.
func (f *killFilter) selects(client *Client) bool {
	return f.kind.has(client) &&
		(f.id == 0 || f.id == client.ID) &&
		(f.address == nil || string(f.address) == client.Address) &&
		(f.localAddress == nil || string(f.localAddress) == client.Local)
}

// killFilter reads the options of CLIENT KILL, or replies with the error.
func (c *Context) killFilter() (filter killFilter, ok bool) {
	filter.sparesSelf = true
	for options := c.Args[2:]; len(options) > 0; options = options[2:] {
		if len(options) == 1 {
			c.error(errSyntax)
			return filter, false
		}
		value := options[1]
		switch option := options[0]; {
		case equalFold(option, "id"):
			id, isNumber := parseInteger(value)
			if !isNumber || id < 1 {
				c.error(errClientIDPlus)
				return filter, false
			}
			filter.id = uint64(id)
		case equalFold(option, "type"):
			kind, ok := c.clientType(value)
			if !ok {
				return filter, false
			}
			filter.kind = kind
		case equalFold(option, "addr"):
			filter.address = value
		case equalFold(option, "laddr"):
			filter.localAddress = value
		case equalFold(option, "user"):
			if string(value) != defaultUser {
				c.errorf(errNoSuchUser, echo(value, len(value)))
				return filter, false
			}
		case equalFold(option, "skipme") && equalFold(value, "yes"):
			filter.sparesSelf = true
		case equalFold(option, "skipme") && equalFold(value, "no"):
			filter.sparesSelf = false
		default:
			c.error(errSyntax)
			return filter, false
		}
	}
	return filter, true
}
