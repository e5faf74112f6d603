package command

import "time"

// Client is the state of one connection. It is a plain struct: the goroutine that serves the
// connection at the moment owns it, and hands it on together with the connection.
type Client struct {
	ID          uint64
	Address     string // of the peer, as CLIENT LIST prints it
	Local       string // our end of the connection
	ConnectedAt time.Time

	Database int // index of the selected database
	Protocol int // RESP version of the replies: 3, or 2 (also when 0)

	Name           string // CLIENT SETNAME
	LibraryName    string // CLIENT SETINFO LIB-NAME
	LibraryVersion string // CLIENT SETINFO LIB-VER

	NeedsAuth bool // a password is set and this connection has not given it yet
	NoEvict   bool // CLIENT NO-EVICT
	NoTouch   bool // CLIENT NO-TOUCH
	Closing   bool // close the connection once the replies so far are written

	Commands    uint64   // commands executed for this connection
	LastCommand *Command // the last one that was found in the table; nil before the first
	LastActive  int64    // Unix time in milliseconds of the last batch
}

// Reset returns the connection to the state it was accepted in, as RESET does; identity and
// counters stay.
func (c *Client) Reset() {
	c.Database = 0
	c.Protocol = 2
	c.Name = ""
	c.NoEvict = false
	c.NoTouch = false
}
