package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/server/config"
)

// parsed returns the options of a command line, its words separated by blanks.
func parsed(t *testing.T, line string) (config.Options, error) {
	t.Helper()
	var output bytes.Buffer
	flags, _, done, err := parse(strings.Fields(line), nil, &output, &output)
	if done {
		t.Fatalf("%s: help or version: %s", line, output.String())
	}
	if err != nil {
		return config.Options{}, err
	}
	return flags.Options, nil
}

func TestParse(t *testing.T) {
	check := func(line string, want config.Options) {
		t.Helper()
		if want.Port == 0 {
			want.Port = config.DefaultPort
		}
		got, err := parsed(t, line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
	check("", config.Options{})
	check("--port 7000 --bind 127.0.0.1,::1", config.Options{Port: 7000, Bind: "127.0.0.1,::1"})
	check("-m 64m -p 4m -i 16M -s 1GB", config.Options{Memory: 64 << 20, Page: 4 << 20, Index: 16 << 20, Segment: 1 << 30})
	check("--maxmemory=1g --maxmemory-policy ALLKEYS-LRU", config.Options{Memory: 1 << 30, Policy: config.AllKeysLRU})
	check("--storage-tier", config.Options{StorageTier: config.On})
	check("--storage-tier true", config.Options{StorageTier: config.On})
	check("--storage-tier false", config.Options{StorageTier: config.Off})
	check("--storage-tier=no", config.Options{StorageTier: config.Off})
	check("--storage-tier --port 1", config.Options{StorageTier: config.On, Port: 1})
	check("--sg-get false --protected-mode No", config.Options{ScatterGather: config.Off, ProtectedMode: config.Off})
	check("--storage-tier -l /data", config.Options{StorageTier: config.On, LogDir: "/data"})
	check("--device-type native --device-io-backend LIBAIO", config.Options{DeviceType: device.Native, DeviceBackend: device.Libaio})
	check("--device-completion-threads 2 --device-io-contexts 3 --device-queue-depth 4 --device-throttle-limit 5", config.Options{
		DeviceCompletionThreads: 2, DeviceContexts: 3, DeviceQueueDepth: 4, DeviceThrottle: 5})
	check("--unixsocket /tmp/s --unixsocketperm 700 --network-threads 2", config.Options{
		UnixSocket: "/tmp/s", UnixSocketPerm: 0o700, NetworkThreads: 2})
	check("--index-max-size 1g --mutable-percent 50 --max-databases 4", config.Options{
		IndexMax: 1 << 30, MutablePercent: 50, MaxDatabases: 4})
	check("--requirepass x --maxclients 5 --databases 3 --loglevel warning", config.Options{
		Password: "x", MaxClients: 5, MaxDatabases: 3, LoggerLevel: config.Warning})
	check("--tcp-keepalive 0 --timeout 5 --tls-port 6380 --tls-cert-file c --tls-auth-clients no", config.Options{
		TCPKeepAlive: config.Given(0), Timeout: 5, TLSPort: 6380, CertFile: "c", AuthClients: config.AuthNo})
	check("--tls --cert-file-name c --cert-password p --client-certificate-required false --logger-format json --file-logger f", config.Options{
		TLS: config.On, CertFile: "c", KeyPassword: "p", AuthClients: config.AuthNo, LoggerFormat: config.LogJSON, LogFile: "f"})
	check("--logger-level trace", config.Options{LoggerLevel: config.Trace})
}

func TestParseRefuses(t *testing.T) {
	refused := func(line, want string) {
		t.Helper()
		if _, err := parsed(t, line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", line, err, want)
		}
	}
	refused("--memroy 4g", `unknown flag --memroy, did you mean "--memory"?`)
	refused("--storage-teir", `did you mean "--storage-tier"?`)
	refused("--memory 4q", `--memory: cannot read size "4q"`)
	refused("--storage-tier=maybe", `cannot read switch "maybe"`)
	refused("--device-type azure", "device-type")
	refused("--logger-level loud", "cannot read level")
	refused("--port x", `--port: cannot read number "x": it must be a whole number from 0 to 65535`)
	refused("--tcp-keepalive 1.5", `--tcp-keepalive: cannot read number "1.5": it must be a whole number from 0 to 2147483647`)
	refused("--network-threads many", `from 0 to 1024`)
	refused("--readcache", "there is no option --readcache: there is no second log")
	refused("--minthreads 4", "there is no option --minthreads: there is no thread pool")
	refused("--daemonize yes", "there is no option --daemonize: it means something to Redis only")
	refused("--lua", "there is no option --lua: there are no scripts")
	refused("--auth Password", "there is no option --auth: there is one password")
	refused("--max-databases 0", `--max-databases: cannot read number "0": it must be a whole number from 1 to 256`)
	refused("--compaction-max-dead-percent=0", "from 1 to 100")
	refused("--memory -5m", `--memory has no value; one that begins with - is written --memory="-5m"`)
	refused("--logdir --storage-tier", "--logdir has no value; one that begins with - is written --logdir=")
	refused("--reviv-fraction 1", "there are no free lists")
	refused("--client-output-buffer-limit normal", "cannot read limits")
	refused("--tls-auth-clients maybe", "it must be no, yes or optional")
	refused("a.conf b.conf", "unexpected argument b.conf")
	refused("a.conf --config-import-path b.conf", "give one of them")
	refused("/nowhere/a.conf", "/nowhere/a.conf")
	refused("--config-import-path a --config-import-format xml", "cannot read config format")
}

func TestFilesComeBeforeFlags(t *testing.T) {
	directory := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	redis := write("redis.conf", "port 7000\nmaxmemory 64mb\nstorage-tier yes\nappendfilename no\nport 7001\n")
	json := write("options.json", `{"port": 7000, "memory": "64m", "storage-tier": true}`)
	check := func(line string, want config.Options) {
		t.Helper()
		got, err := parsed(t, line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
	check(redis, config.Options{Port: 7001, Memory: 64 << 20, StorageTier: config.On})
	check(redis+" --port 7002 --storage-tier false", config.Options{Port: 7002, Memory: 64 << 20, StorageTier: config.Off})
	check("--port 7002 --config-import-path "+redis, config.Options{Port: 7002, Memory: 64 << 20, StorageTier: config.On})
	check("--maxmemory 1g "+redis, config.Options{Port: 7001, Memory: 1 << 30, StorageTier: config.On})
	check("--config-import-path "+json, config.Options{Port: 7000, Memory: 64 << 20, StorageTier: config.On})
	check("--config-import-path "+json+" --config-import-format json -m 1g", config.Options{Port: 7000, Memory: 1 << 30, StorageTier: config.On})
	check("--port 0 "+redis, config.Options{Memory: 64 << 20, StorageTier: config.On})

	if _, err := parsed(t, "--config-import-format JSON "+redis); err == nil || !strings.Contains(err.Error(), redis) {
		t.Errorf("a redis.conf as JSON: %v", err)
	}
	_, notes, _, err := parse([]string{redis}, nil, &bytes.Buffer{}, &bytes.Buffer{})
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "appendfilename") {
		t.Errorf("notes %q, %v", notes, err)
	}
}

// TestPrecedence gives one option in every place: defaults, file, environment, command line, each over the one before.
func TestPrecedence(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.conf")
	if err := os.WriteFile(path, []byte("port 1\ndatabases 1\ntimeout 1\nclient-output-buffer-limit normal 1mb 0 0\nclient-output-buffer-limit pubsub 1mb 0 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	environment := []string{"PYROPE_CONFIG_IMPORT_PATH=" + path, "PYROPE_DATABASES=2", "PYROPE_TIMEOUT=2", "PYROPE_QUIET=yes"}
	parsed, notes, _, err := parse([]string{"--timeout", "3"}, environment, &bytes.Buffer{}, &bytes.Buffer{})
	if err != nil || len(notes) != 0 || !parsed.Quiet {
		t.Fatalf("%+v, notes %q, %v", parsed, notes, err)
	}
	limit := config.OutputLimit{Hard: 1 << 20, Given: true}
	want := config.Options{Port: 1, MaxDatabases: 2, Timeout: 3, OutputLimits: config.OutputLimits{Normal: limit, PubSub: limit}}
	if diff := cmp.Diff(want, parsed.Options); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, notes, _, err := parse(nil, []string{"PYROPE_MEMROY=1g"}, &bytes.Buffer{}, &bytes.Buffer{}); err != nil || len(notes) != 1 {
		t.Errorf("a wrong variable: notes %q, %v", notes, err)
	}
	if _, _, _, err := parse(nil, []string{"PYROPE_PORT=x"}, &bytes.Buffer{}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "PYROPE_PORT: port: cannot read number") {
		t.Errorf("a bad variable: %v", err)
	}
}

func TestHelpNamesEveryOption(t *testing.T) {
	var output bytes.Buffer
	if _, _, done, err := parse([]string{"--help"}, nil, &output, &output); !done || err != nil {
		t.Fatalf("done %v, %v", done, err)
	}
	for _, name := range config.Names() {
		if !strings.Contains(output.String(), "--"+name) {
			t.Errorf("help does not name --%s", name)
		}
	}
	for _, title := range []string{"Network", "TLS", "Memory", "Storage tier", "Config file", "Log"} {
		if !strings.Contains(output.String(), "\n"+title+"\n") {
			t.Errorf("help has no group %s", title)
		}
	}
}
