// Package clienttest_test runs client libraries against a server, unmodified and in small scripted
// sessions: go-redis in this process, ioredis under node, redis-py under Python. Each session
// checks the replies itself and ends with an error when one is wrong.
package clienttest_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
)

// start starts a server with a password or none, and returns host and port.
func start(t *testing.T, password string) (host, port string) {
	t.Helper()
	s, err := server.New(server.Options{Options: config.Options{Memory: 16 << 20, Password: password}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("cannot close the server: %v", err)
		}
	})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	host, port, err = net.SplitHostPort(s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}

// missing skips the test, and fails it where CI=true says that everything must be there.
func missing(t *testing.T, advice string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(advice)
	}
	t.Skip(advice)
}

// session runs a script with host, port and password as arguments, without and with a password.
func session(t *testing.T, interpreter, script string) {
	for _, password := range []string{"", "secret"} {
		host, port := start(t, password)
		output, err := exec.Command(interpreter, script, host, port, password).CombinedOutput()
		if err != nil {
			t.Errorf("password %q: %v\n%s", password, err, output)
		}
	}
}

func TestIoredis(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		missing(t, "node is not installed (Debian: apt-get install nodejs npm)")
	}
	if _, err := os.Stat(filepath.Join("ioredis", "node_modules", "ioredis")); err != nil {
		missing(t, "ioredis is not installed: run npm install in server/clienttest/ioredis")
	}
	session(t, node, filepath.Join("ioredis", "session.js"))
}

func TestPython(t *testing.T) {
	// The distribution's interpreter knows the distribution's packages; another one may come
	// first on the path.
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		python, err := exec.LookPath(name)
		if err == nil && exec.Command(python, "-c", "import redis").Run() == nil {
			session(t, python, filepath.Join("python", "session.py"))
			return
		}
	}
	missing(t, "redis-py is not installed (Debian: apt-get install python3-redis)")
}
