package server

// Limits of connections that time decides: idle ones, and those that take too little for too long.

import (
	"time"

	"github.com/pyropedb/pyrope/server/command"
	"github.com/pyropedb/pyrope/server/config"
)

// limiter looks at every connection about once a second. Its goroutine owns it.
type limiter struct {
	overSoft map[*command.Client]time.Time // since when a connection's unsent output is above its soft limit
}

// outputLimit is the limit on a connection's unsent output.
func outputLimit(limits *config.OutputLimits, _ *command.Client) config.OutputLimit {
	return limits.Normal
}

// enforce ends the connections that have been idle, or above their soft limit, for too long.
func (s *Server) enforce(now time.Time) {
	options := s.state.Server.Current()
	idle := time.Duration(options.Timeout) * time.Second
	limits := &options.OutputLimits
	if idle == 0 && limits.Normal.Soft == 0 && limits.PubSub.Soft == 0 && len(s.limiter.overSoft) == 0 {
		return
	}
	over := make(map[*command.Client]time.Time)
	s.state.Server.Clients.Each(func(client *command.Client) {
		if client.Address == inProcess {
			return // its owner ends it
		}
		last := client.IdleSince()
		isIdle := idle > 0 && !client.IsListener() && !last.IsZero() && now.Sub(last) > idle
		if isIdle && client.Transport.WaitsForPeer() { // else its request waits for the server
			s.log.Debug("closing an idle connection", "client", client.Address)
			client.Transport.Kill()
			return
		}
		limit := outputLimit(limits, client)
		unsent := client.Transport.OutputBytes()
		if limit.Soft == 0 || unsent <= int(limit.Soft) {
			return
		}
		since, known := s.limiter.overSoft[client]
		if !known {
			since = now
		}
		over[client] = since
		if now.Sub(since) > time.Duration(limit.SoftSeconds)*time.Second {
			client.Transport.Kill() // Closed logs it
		}
	})
	s.limiter.overSoft = over
}

// noteLimits logs and counts a connection that ends because of its buffers.
func (h *handler) noteLimits(client *command.Client) {
	server := &h.state.Server
	options, transport := server.Current(), client.Transport
	limit := outputLimit(&options.OutputLimits, client)
	bound := limit.Hard
	if limit.Soft != 0 && (bound == 0 || limit.Soft < bound) {
		bound = limit.Soft
	}
	switch output, input := transport.OutputBytes(), transport.InputBytes(); {
	case bound != 0 && output > int(bound):
		h.outputDisconnections.Add(1)
		h.log.Warn("a connection is closed: its peer does not take its output", "unsent", output, "client", client.Address)
	case input > int(options.QueryBufferLimit):
		h.inputDisconnections.Add(1)
		h.log.Warn("a connection is closed: its request is too large", "bytes", input, "client", client.Address)
	}
}
