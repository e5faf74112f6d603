package servertest

import (
	"testing"

	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
)

// StartServer starts a server in this process. It ends with the test. DEBUG is allowed, unless the options say something
// about it.
func StartServer(tb testing.TB, options server.Options) *server.Server {
	tb.Helper()
	if options.EnableDebug == "" {
		options.EnableDebug = config.DebugYes
	}
	s, err := server.New(options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("cannot close the server: %v", err)
		}
	})
	if err := s.Start(); err != nil {
		tb.Fatal(err)
	}
	return s
}
