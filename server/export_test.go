package server

import (
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/server/command"
)

// SetPatience replaces ShutdownTimeout; it comes before Start.
func (s *Server) SetPatience(patience time.Duration) { s.patience = patience }

// DropStalled has a governor look at the connections at several moments.
func (s *Server) DropStalled(moments ...time.Time) {
	var g governor
	for _, moment := range moments {
		s.dropStalled(&g, moment)
	}
}

// KeptWaiting is the number of connections whose peers wait for a command that waits itself.
func (s *Server) KeptWaiting() (count int) {
	s.state.Server.Clients.Each(func(client *command.Client) {
		if client.IdleSince().IsZero() && !client.Transport.WaitsForPeer() {
			count++
		}
	})
	return count
}

// DropLaggards has a governor look at incomplete requests at several moments.
func (s *Server) DropLaggards(moments ...time.Time) {
	for _, moment := range moments {
		s.dropLaggards(moment)
	}
}

// WrapDevice has the store use what wrap makes of the device.
func (o *Options) WrapDevice(wrap func(device.Device) device.Device) { o.hooks.wrapDevice = wrap }

// BeforeLoad has a function run before the data is loaded.
func (o *Options) BeforeLoad(hook func()) { o.hooks.beforeLoad = hook }
