package server

import (
	"github.com/pyropedb/pyrope/server/command"
	"github.com/pyropedb/pyrope/server/network"
)

// parker joins a loop's parked connections to the clients whose reads are under way. It is the network's Parker.
type parker struct {
	*command.Parker
	traffic *worker // counts the bytes of replies
	clients []*command.Client
}

// Poll is part of network.Parker.
func (p *parker) Poll(ready []*network.Conn, wait bool) []*network.Conn {
	p.clients = p.Parker.Poll(p.clients[:0], wait)
	for i, client := range p.clients {
		ready = append(ready, client.Transport.(*network.Conn))
		p.clients[i] = nil
	}
	return ready
}

// Deliver is part of network.Parker.
func (p *parker) Deliver(c *network.Conn) (done bool) {
	before := len(c.Out)
	var how command.Delivery
	c.Out, how = p.Parker.Deliver(c.State.(*command.Client), c.Out)
	if how == command.Unfinished {
		c.ServeAgain()
	}
	p.traffic.outputBytes.Store(p.traffic.outputBytes.Load() + uint64(len(c.Out)-before))
	return how != command.Missing
}

// Close is part of network.Parker.
func (p *parker) Close() {
	p.traffic.Close()
	p.Parker.Close()
}
