package server

// What the server tells those who watch it over HTTP.

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/pyropedb/pyrope/server/command"
	"github.com/pyropedb/pyrope/server/monitor"
)

// watched is what HTTP asks: nothing before the store is open, and no readiness until the server has started and its
// data is loaded.
type watched struct {
	state   atomic.Pointer[command.State]
	serving atomic.Bool
	refused atomic.Pointer[string] // why writes are refused now; sample keeps it
	before  uint64                 // writes refused until the last look; sample's alone
}

// Ready is part of monitor.Source.
func (w *watched) Ready() error {
	state := w.state.Load()
	if !w.serving.Load() || state == nil || state.Loading.Load() != 0 {
		return errors.New("loading")
	}
	if cause := w.refused.Load(); cause != nil {
		return errors.New(*cause)
	}
	return nil
}

// Metrics is part of monitor.Source.
func (w *watched) Metrics() (command.Metrics, bool) {
	state := w.state.Load()
	if state == nil {
		return command.Metrics{}, false
	}
	return state.Metrics(), true
}

// look notes whether writes are refused: none was since the last look, or how it is.
func (w *watched) look(metrics *command.Metrics) {
	var cause string
	switch {
	case metrics.Store.FlushError != "":
		cause = "the device takes no pages: " + metrics.Store.FlushError
	case metrics.Refused > w.before:
		cause = "writes are refused: memory is full"
	}
	w.before = metrics.Refused
	if cause == "" {
		w.refused.Store(nil)
	} else {
		w.refused.Store(&cause)
	}
}

// openMonitor answers HTTP, if that is asked for. It comes first, so that probes see a server that loads.
func (s *Server) openMonitor() (err error) {
	address := s.options.HTTPAddress()
	if address == "" {
		return nil
	}
	if s.monitor, err = monitor.Listen(address, &s.watched, s.log); err != nil {
		return fmt.Errorf("cannot answer HTTP on %s: %w", address, err)
	}
	s.log.Info("answering HTTP", "address", s.monitor.Address().String())
	return nil
}

// closeMonitor ends it.
func (s *Server) closeMonitor() error {
	if s.monitor == nil {
		return nil
	}
	return s.monitor.Close()
}

// HTTPAddr is the address on which HTTP is answered, or nil.
func (s *Server) HTTPAddr() net.Addr {
	if s.monitor == nil {
		return nil
	}
	return s.monitor.Address()
}
