package command_test

import (
	"path/filepath"
	"testing"

	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/servertest"
	"github.com/pyropedb/pyrope/tsavorite"
)

// forEachScript runs check with every script of testdata.
func forEachScript(t *testing.T, check func(t *testing.T, script *servertest.Script)) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("cannot find the scripts: %d files, error %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) { check(t, servertest.LoadScript(t, path)) })
	}
}

func TestScriptsInProcess(t *testing.T) {
	forEachScript(t, func(t *testing.T, script *servertest.Script) {
		script.Run(t, servertest.NewHandler(t, tsavorite.Options{}))
	})
}

func TestScriptsOverTCP(t *testing.T) {
	forEachScript(t, func(t *testing.T, script *servertest.Script) {
		options := config.Options{Memory: 64 << 20, Page: 4 << 20}
		tested := servertest.StartServer(t, server.Options{Options: options})
		script.Run(t, servertest.Dial(t, tested.Addr().String()))
	})
}

// TestScriptsOnRedis checks the expectations themselves.
func TestScriptsOnRedis(t *testing.T) {
	forEachScript(t, func(t *testing.T, script *servertest.Script) {
		script.Run(t, servertest.Dial(t, servertest.StartRedis(t)))
	})
}
