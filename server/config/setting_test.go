package config_test

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/pyropedb/pyrope/server/config"
)

func TestSetAndGetUnderEveryName(t *testing.T) {
	check := func(name, text, want string) {
		t.Helper()
		var o config.Options
		if err := o.Set(name, text); err != nil {
			t.Error(err)
		}
		if got := o.Get(name); got != want {
			t.Errorf("%s set to %q is %q; want %q", name, text, got, want)
		}
	}
	check("port", "1", "1")
	check("MEMORY", "2048m", "2g")
	check("maxmemory", "2048m", "2g")
	check("sg-get", "FALSE", "no")
	check("storage-tier", "on", "yes")
	check("device-type", "localmemory", "LocalMemory")
	check("device-io-backend", "URING", "Uring")
	check("loglevel", "verbose", "Trace")
	check("compaction-kind", "SCAN", "scan")
	check("compaction-type", "Lookup", "lookup")
	check("logger-level", "none", "None")
	check("unixsocketperm", "0755", "755")
	check("requirepass", "x y", "x y")
	check("maxmemory-policy", "NoEviction", "noeviction")
	check("tcp-keepalive", "0", "0")
	check("cert-refresh-freq", "30", "30")
	check("client-certificate-required", "True", "yes")
	check("tls-auth-clients", "Optional", "optional")
	check("cert-file-name", "/c.pem", "/c.pem")
	check("logger-format", "json", "JSON")
	check("file-logger", "/x", "/x")
	check("notify-keyspace-events", "AKE", "AKE")
	check("network-backend", "NET", "net")
	check("slowlog-log-slower-than", "-1", "-1")
	check("latency-tracking-info-percentiles", "50 99.99", "50 99.99")
	check("enable-debug-command", "LOCAL", "local")

	var o config.Options
	if got := o.Get("nothing"); got != "" {
		t.Errorf("an unknown option is %q", got)
	}
	for _, name := range config.Names() {
		if canonical, ok := config.Canonical(name); !ok || canonical != name {
			t.Errorf("%s is %s, %v", name, canonical, ok)
		}
	}
	if names := config.Names(); len(names) != 76 || !slices.Contains(names, "index-max-size") {
		t.Errorf("%d options: %q", len(names), names)
	}
}

func TestSetRefusesAndLeavesAsItWas(t *testing.T) {
	for name, text := range map[string]string{
		"notify-keyspace-events": "KEy", "latency-tracking-info-percentiles": "101", "enable-debug-command": "maybe",
		"network-backend": "kqueue", "compaction-type": "Shift", "port": "a", "sg-get": "maybe", "device-type": "Azure", "logger-level": "loud", "unixsocketperm": "999",
		"tcp-keepalive": "soon", "tls-auth-clients": "maybe", "logger-format": "XML", "client-output-buffer-limit": "normal",
		"memory": "much", "maxmemory-policy": "volatile", "device-io-backend": "spdk", "nothing": "x",
		"databases": "0", "compaction-max-dead-percent": "0", "keep-checkpoints": "0",
	} {
		var o config.Options
		if err := o.Set(name, text); err == nil || o != (config.Options{}) {
			t.Errorf("%s set to %q: error %v, options %+v", name, text, err, o)
		}
	}
}

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{
		"memroy": "memory", "prt": "port", "storagetier": "storage-tier", "logdri": "logdir",
		"devicetype": "device-type", "max-memory": "maxmemory", "mutable": "mutable-percent", "zzzzzz": "", "x": "",
	} {
		if got := config.Nearest(name); got != want {
			t.Errorf("Nearest(%q) = %q; want %q", name, got, want)
		}
	}
}

func TestLevels(t *testing.T) {
	levels := []config.Level{config.Trace, config.Debug, config.Information, config.Warning, config.Error, config.Critical, config.None}
	for i := 1; i < len(levels); i++ {
		if levels[i-1].Slog() >= levels[i].Slog() {
			t.Errorf("%s (%d) is not below %s (%d)", levels[i-1], levels[i-1].Slog(), levels[i], levels[i].Slog())
		}
	}
	for _, level := range levels {
		if got := config.LevelOf(level.Slog()); got != level {
			t.Errorf("the level of %d is %s; want %s", level.Slog(), got, level)
		}
	}
	if config.Information.Slog() != slog.LevelInfo || config.Error.Slog() != slog.LevelError {
		t.Error("levels do not meet log/slog's")
	}
}

func TestFormat(t *testing.T) {
	var f config.Format
	if err := f.UnmarshalText([]byte("redisconf")); err != nil || f != config.RedisConf {
		t.Errorf("%s, %v", f, err)
	}
	if err := f.UnmarshalText([]byte("xml")); err == nil || err.Error() != `cannot read config format "xml": it must be RedisConf or JSON` {
		t.Errorf("xml: %v", err)
	}
}
