package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/server/config"
)

// read writes text to a file and reads it as a config file.
func read(t *testing.T, name, text string, format config.Format) ([]config.Entry, []string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.ReadFile(path, format)
}

func TestRedisConf(t *testing.T) {
	entries, notes, err := read(t, "redis.conf", "# comment with an \"unbalanced quote\n\nport 7000\nbind 127.0.0.1 -::1\n  maxmemory   100mb\r\n"+
		"MaxMemory-Policy AllKeys-LRU\nrequirepass \"pa\\x73s \\\"word\\\"\\n\"\nunixsocket '/tmp/it\\'s'\n"+
		"save 3600 1\nsave \"\"\nappendonly yes\nappendfsync always\nappendfilename x\ndatabases 4\nloglevel notice\nstorage-tier yes", "")
	if err != nil {
		t.Fatal(err)
	}
	want := []config.Entry{
		{"port", "7000"}, {"bind", "127.0.0.1 -::1"}, {"memory", "100mb"}, {"maxmemory-policy", "AllKeys-LRU"},
		{"password", "pass \"word\"\n"}, {"unixsocket", "/tmp/it's"}, {"save", "3600 1"}, {"save", ""}, {"aof", "yes"}, {"aof-commit-freq", "always"}, {"max-databases", "4"},
		{"logger-level", "notice"}, {"storage-tier", "yes"},
	}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if len(notes) != 1 || !strings.HasSuffix(notes[0], `redis.conf: line 13 is ignored: there is no option "appendfilename"`) {
		t.Errorf("notes %q", notes)
	}
	var o config.Options
	if err := o.Apply(entries); err != nil {
		t.Fatal(err)
	}
	wantOptions := config.Options{
		Port: 7000, Bind: "127.0.0.1 -::1", Memory: 100 << 20, Policy: config.AllKeysLRU, Password: "pass \"word\"\n",
		UnixSocket: "/tmp/it's", MaxDatabases: 4, LoggerLevel: config.Information, StorageTier: config.On, AppendOnly: config.On, CommitFrequency: config.CommitAlways,
	}
	if diff := cmp.Diff(wantOptions, o); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

func TestInclude(t *testing.T) {
	directory := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	inner := write("inner.conf", "port 7001\nhz 10\nclient-output-buffer-limit pubsub 1mb 0 0\n")
	write("more-1.conf", "databases 3\n")
	write("more-2.conf", "databases 4\ntimeout 5\n")
	outer := write("outer.conf", "port 7000\nclient-output-buffer-limit normal 2mb 0 0\ninclude "+inner+"\ninclude "+
		filepath.Join(directory, "more-*.conf")+"\ninclude "+filepath.Join(directory, "none-*.conf")+"\ntimeout 6\n")
	entries, notes, err := config.ReadFile(outer, "")
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], inner+": line 2 is ignored") {
		t.Fatalf("notes %q, %v", notes, err)
	}
	want := map[string]string{"port": "7001", "max-databases": "4", "timeout": "6",
		"client-output-buffer-limit": "normal 2mb 0 0 pubsub 1mb 0 0"}
	if diff := cmp.Diff(want, config.Merge(entries)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	circle := filepath.Join(directory, "circle.conf")
	write("circle.conf", "include "+circle)
	if _, _, err := config.ReadFile(circle, ""); err == nil || !strings.Contains(err.Error(), "files include one another") {
		t.Errorf("a file that includes itself: %v", err)
	}
	bad := write("bad.conf", "port 1\nport x\n")
	if _, _, err := config.ReadFile(write("with-bad.conf", "\n\ninclude "+bad), ""); err == nil || !strings.Contains(err.Error(), "line 3: "+bad+": line 2: port:") {
		t.Errorf("a bad included file: %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	entries, others, notes, err := config.ReadEnvironment([]string{
		"HOME=/root", "PYROPE_MEMORY=64m", "PYROPE_TLS_CERT_FILE=/c", "PYROPE_REQUIREPASS=x=y", "PYROPE_BIND=", "PYROPE_CONFIG_IMPORT_PATH=/f",
		"PYROPE_PORT=tcp://10.0.0.1:6379", "PYROPE_MEMROY=1", "PYROPE_SERVICE_HOST=10.0.0.1",
	}, "config-import-path")
	if err != nil || len(notes) != 3 || others["config-import-path"] != "/f" {
		t.Fatalf("notes %q, others %v, %v", notes, others, err)
	}
	want := []config.Entry{{Name: "memory", Value: "64m"}, {Name: "tls-cert-file", Value: "/c"}, {Name: "password", Value: "x=y"}}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	for i, text := range []string{"PYROPE_PORT is ignored", "did you mean PYROPE_MEMORY?", "PYROPE_SERVICE_HOST is ignored"} {
		if !strings.Contains(notes[i], text) {
			t.Errorf("note %q, want %q", notes[i], text)
		}
	}
	if _, _, _, err := config.ReadEnvironment([]string{"PYROPE_MEMORY=much"}); err == nil || !strings.Contains(err.Error(), `PYROPE_MEMORY: memory: cannot read size "much"`) {
		t.Errorf("a bad value: %v", err)
	}
}

func TestJSONFile(t *testing.T) {
	entries, notes, err := read(t, "pyrope.json", `{
		"port": 7001, "memory": "64m", "storage-tier": true, "sg-get": false, "unixsocketperm": "700", "device-type": "native"
	}`, "")
	if err != nil || len(notes) != 0 {
		t.Fatalf("notes %q, error %v", notes, err)
	}
	var o config.Options
	if err := o.Apply(entries); err != nil {
		t.Fatal(err)
	}
	want := config.Options{Port: 7001, Memory: 64 << 20, StorageTier: config.On, ScatterGather: config.Off,
		UnixSocketPerm: 0o700, DeviceType: device.Native}
	if diff := cmp.Diff(want, o); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if got := o.Get("unixsocketperm"); got != "700" {
		t.Errorf("unixsocketperm is %q", got)
	}
}

func TestFileRefusals(t *testing.T) {
	refused := func(name, text, want string) {
		t.Helper()
		_, _, err := read(t, name, text, "")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
	refused("a.conf", "port 1\nmemroy 4g\n", `line 2: unknown option "memroy": did you mean "memory"?`)
	refused("a.conf", "storage-teir yes", `did you mean "storage-tier"?`)
	refused("a.conf", "device-queue 5", `did you mean "device-queue-depth"?`)
	refused("a.conf", "frobnicate yes", `line 1: unknown option "frobnicate"`)
	refused("a.conf", "port", `line 1: "port" has no value`)
	refused("a.conf", "port x", `line 1: port: cannot read number "x"`)
	refused("a.conf", "port 1 2", `line 1: port: cannot read number "1 2"`)
	refused("a.conf", `requirepass "abc`, "line 1: a quote is not closed")
	refused("a.conf", `requirepass "abc"d`, "line 1: a quote is not closed")
	refused("a.conf", "memory 4q", `line 1: memory: cannot read size "4q"`)
	refused("a.conf", "include /nowhere/other.conf", "line 1: cannot include /nowhere/other.conf: ")
	refused("a.conf", "readcache yes", `line 1: there is no option "readcache": there is no second log`)
	refused("a.conf", "cluster-announce-hostname2 x", `there is no cluster`)
	refused("a.conf", "tcp-keepalive soon", `line 1: tcp-keepalive: cannot read number "soon": it must be a whole number from 0 to 2147483647`)
	refused("a.json", `{"memory": [1]}`, "memory: it must be a string, a number or a boolean")
	refused("a.json", `{"memory": "1x"}`, "cannot read size")
	refused("a.json", `{"mem": 1}`, `unknown option "mem": did you mean "memory"?`)
	refused("a.json", `{"memory": 1} {}`, "more than one JSON value")
	refused("a.json", `{"memory"`, "unexpected EOF")
	if _, _, err := config.ReadFile(filepath.Join(t.TempDir(), "none.conf"), ""); err == nil || !strings.Contains(err.Error(), "none.conf") {
		t.Errorf("missing file: %v", err)
	}
}

func TestFormatIsGiven(t *testing.T) {
	if entries, _, err := read(t, "pyrope.json", "port 5", config.RedisConf); err != nil || len(entries) != 1 {
		t.Errorf("RedisConf in a .json file: %v, %v", entries, err)
	}
	if entries, _, err := read(t, "pyrope.conf", `{"port": 5}`, config.JSON); err != nil || len(entries) != 1 {
		t.Errorf("JSON in a .conf file: %v, %v", entries, err)
	}
}

func FuzzRedisConf(f *testing.F) {
	f.Add("port 6379\n# comment\nrequirepass \"a\\x41\\n\"\n")
	f.Add("unixsocket 'a\\'b'\nsave \"\"\n")
	f.Add("bind 127.0.0.1 ::1\nmemory 4g")
	f.Fuzz(func(t *testing.T, text string) {
		entries, _, err := config.ParseRedisConf([]byte(text))
		if err != nil {
			return
		}
		var o config.Options
		if err := o.Apply(entries); err != nil {
			t.Errorf("a file that was read does not apply: %v", err)
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add(`{"port": 6379, "memory": "4g", "sg-get": false}`)
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := config.ParseJSON([]byte(text))
		if err != nil {
			return
		}
		var o config.Options
		if err := o.Apply(entries); err != nil {
			t.Errorf("a file that was read does not apply: %v", err)
		}
	})
}
