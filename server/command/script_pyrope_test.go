package command_test

import (
	"path/filepath"
	"testing"

	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/servertest"
	"github.com/pyropedb/pyrope/tsavorite"
)

// TestScriptsOfPyropeAlone runs the scripts of commands that Redis does not have, in process and
// over TCP.
func TestScriptsOfPyropeAlone(t *testing.T) {
	paths, err := filepath.Glob("testdata/pyrope/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("cannot find the scripts: %d files, error %v", len(paths), err)
	}
	for _, path := range paths {
		script := servertest.LoadScript(t, path)
		t.Run("process/"+filepath.Base(path), func(t *testing.T) {
			script.Run(t, servertest.NewHandler(t, tsavorite.Options{}))
		})
		t.Run("tcp/"+filepath.Base(path), func(t *testing.T) {
			options := config.Options{Memory: 64 << 20, Page: 4 << 20}
			tested := servertest.StartServer(t, server.Options{Options: options})
			script.Run(t, servertest.Dial(t, tested.Addr().String()))
		})
	}
}
