package command

import (
	"fmt"
	"sync"
	"time"
)

func init() {
	register([]Command{{
		Name: "monitor", Arity: 1, Flags: adminFlags, Categories: inAdmin, Handler: monitor,
		Group: "server", Since: "1.0.0", Complexity: "O(1)", Summary: "See every command that the server executes",
	}})
}

// monitors are the clients that see every command. While there are some, attention has watchCommands, so that no run is
// gathered.
type monitors struct {
	mu      sync.Mutex
	clients map[*Client]struct{}
}

// monitor is MONITOR. It may not be undone but by RESET.
func monitor(c *Context) {
	if c.Client.monitors.Load() {
		return // as Redis does: no reply
	}
	m := &c.State.monitors
	m.mu.Lock()
	if m.clients == nil {
		m.clients = make(map[*Client]struct{})
	}
	m.clients[c.Client] = struct{}{}
	c.State.attention.set(watchCommands, true)
	m.mu.Unlock()
	c.Client.monitors.Store(true)
	c.Client.restrict()
	c.ok()
}

// stopMonitoring takes a client off MONITOR.
func (s *State) stopMonitoring(client *Client) {
	if !client.monitors.Swap(false) {
		return
	}
	m := &s.monitors
	m.mu.Lock()
	delete(m.clients, client)
	s.attention.set(watchCommands, len(m.clients) > 0)
	m.mu.Unlock()
	client.restrict()
}

// showCommand tells the monitors of a command that was executed, behind its reply. Those about the server itself are
// not told.
func (c *Context) showCommand(d *Command, now time.Time) {
	if d.Flags&Admin != 0 {
		return
	}
	line := fmt.Appendf(nil, "+%d.%06d [%d %s]", now.Unix(), now.Nanosecond()/1000, c.Client.Database(), c.Client.Address)
	for i, argument := range c.Args {
		if isSecret(d, c.Args, i) {
			argument = []byte(redacted)
		}
		line = appendQuoted(append(line, ' '), argument)
	}
	line = append(line, "\r\n"...)
	m := &c.State.monitors
	m.mu.Lock()
	defer m.mu.Unlock()
	for client := range m.clients {
		if client == c.Client {
			c.Out = append(c.Out, line...)
		} else {
			client.push(c.State, line)
		}
	}
}

// appendQuoted appends text as a C string.
func appendQuoted(dst, text []byte) []byte {
	dst = append(dst, '"')
	for _, b := range text {
		switch b {
		case '\\', '"':
			dst = append(dst, '\\', b)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\a':
			dst = append(dst, `\a`...)
		case '\b':
			dst = append(dst, `\b`...)
		default:
			if b < ' ' || b > '~' {
				dst = append(dst, `\x`...)
				dst = append(dst, hexDigits[b>>4], hexDigits[b&15])
			} else {
				dst = append(dst, b)
			}
		}
	}
	return append(dst, '"')
}

const hexDigits = "0123456789abcdef"
