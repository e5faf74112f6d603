package command

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/tsavorite"
)

// newConfiguredContext returns a context of a server with resolved options.
func newConfiguredContext(t *testing.T) *Context {
	t.Helper()
	c := newTestContext(t, tsavorite.Options{})
	options, _, err := config.Resolve(config.Options{Memory: 64 << 20, Password: "secret"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.State.Server.Options = options
	c.State.Server.LogLevel = new(slog.LevelVar)
	c.State.Server.SetPassword(options.Password)
	return c
}

func TestEveryOptionIsAParameter(t *testing.T) {
	for _, name := range config.Names() {
		if parameterNamed(name) == nil {
			t.Errorf("CONFIG GET does not know %s", name)
		}
	}
	if !slices.IsSortedFunc(parameters, func(a, b parameter) int { return strings.Compare(a.name, b.name) }) {
		t.Error("the parameters are not in order")
	}
	for i := 1; i < len(parameters); i++ {
		if parameters[i].name == parameters[i-1].name {
			t.Errorf("%s is there twice", parameters[i].name)
		}
	}
}

func TestConfigGet(t *testing.T) {
	c := newConfiguredContext(t)
	check := func(line, want string) {
		t.Helper()
		if got := serve(t, c, &Client{}, requests(line)); got != want {
			t.Errorf("%s: %q; want %q", line, got, want)
		}
	}
	check("CONFIG GET maxmemory", "*2\r\n$9\r\nmaxmemory\r\n$8\r\n67108864\r\n")
	check("CONFIG GET memory", "*2\r\n$6\r\nmemory\r\n$3\r\n64m\r\n")
	check("CONFIG GET Page", "*2\r\n$4\r\npage\r\n$2\r\n4m\r\n")
	check("CONFIG GET requirepass", "*2\r\n$11\r\nrequirepass\r\n$6\r\nsecret\r\n")
	check("CONFIG GET bind", "*2\r\n$4\r\nbind\r\n$9\r\n127.0.0.1\r\n")
	check("CONFIG GET loglevel", "*2\r\n$8\r\nloglevel\r\n$6\r\nnotice\r\n")
	check("CONFIG GET maxclients", "*2\r\n$10\r\nmaxclients\r\n$5\r\n10000\r\n")
	check("CONFIG GET device-type", "*2\r\n$11\r\ndevice-type\r\n$7\r\nDefault\r\n")
	all := serve(t, c, &Client{}, requests("CONFIG GET *"))
	if got := strings.Count(all, "\r\n") - 1; got != 4*len(parameters) {
		t.Errorf("CONFIG GET * has %d lines for %d parameters", got, len(parameters))
	}
}

func TestConfigSet(t *testing.T) {
	c := newConfiguredContext(t)
	check := func(line, want string) {
		t.Helper()
		if got := serve(t, c, &Client{}, requests(line)); got != want {
			t.Errorf("%s: %q; want %q", line, got, want)
		}
	}
	const ok = "+OK\r\n"
	failed := func(name, problem string) string {
		return "-ERR CONFIG SET failed (possibly related to argument '" + name + "') - " + problem + "\r\n"
	}
	check("CONFIG SET sg-get no LOGLEVEL warning requirepass new", ok)
	if c.State.ScatterGather.Load() || c.State.Server.LogLevel.Level() != slog.LevelWarn || c.State.Server.Password() != "new" {
		t.Error("CONFIG SET did not change what it said")
	}
	check("CONFIG GET sg-get", "*2\r\n$6\r\nsg-get\r\n$2\r\nno\r\n")
	check("CONFIG GET logger-level", "*2\r\n$12\r\nlogger-level\r\n$7\r\nWarning\r\n")
	check("CONFIG SET logger-level None", ok)
	check("CONFIG GET loglevel", "*2\r\n$8\r\nloglevel\r\n$7\r\nnothing\r\n")

	// One wrong pair, and nothing changes.
	check("CONFIG SET sg-get yes requirepass x page 8m", failed("page", immutable))
	check("CONFIG SET sg-get yes sg-get maybe", failed("sg-get", "duplicate parameter"))
	check("CONFIG SET maxclients 5 sg-get maybe", failed("sg-get", "argument must be 'yes' or 'no'"))
	check("CONFIG SET maxclients 0", failed("maxclients", "argument must be between 1 and 2147483647 inclusive"))
	check("CONFIG SET loglevel loud", failed("loglevel", "argument(s) must be one of the following: debug, verbose, notice, warning"))
	if c.State.ScatterGather.Load() || c.State.Server.Password() != "new" || c.State.Server.MaxClients() != 10000 {
		t.Error("a CONFIG SET that failed changed something")
	}
	// A fixed parameter may be set to what it is.
	check("CONFIG SET appendonly no databases 16 storage-tier NO", ok)
	check("CONFIG SET appendonly yes", failed("appendonly", immutable))
	c.State.Server.LogLevel = nil
	check("CONFIG SET loglevel debug", failed("loglevel", immutable))
}

func TestDirectory(t *testing.T) {
	c := newConfiguredContext(t)
	working := directory(c.State)
	if !strings.HasPrefix(working, "/") {
		t.Errorf("directory %q by default", working)
	}
	c.State.Server.Options.CheckpointDir = "sub"
	if got := directory(c.State); got != working+"/sub" {
		t.Errorf("directory %q", got)
	}
}
