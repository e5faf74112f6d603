package main

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/benchmark/program"
)

func TestDefaults(t *testing.T) {
	o, err := parseOptions(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if o.Port != 6379 || o.Host != "127.0.0.1" || o.DBSize != 1024 || o.Total != 1<<25 || o.Op != opGet || o.KeyLength != 8 || o.ValueLength != 8 ||
		!slices.Equal(o.Batch, []int{4096}) || o.Runtime != 15 || !slices.Equal(o.Threads, []int{1, 2, 4, 8, 16, 32}) || o.LoadThreads != 8 ||
		o.SkipLoad || o.LSet || o.Zipf || o.Client != lightClientType || o.TTL != 0 || o.Auth != "" || o.Verify {
		t.Errorf("defaults are %+v", o)
	}
}

func TestFlagsOfTheGuide(t *testing.T) {
	for line, check := range map[string]func(o *options) bool{
		"--op GET --dbsize 1000000 -t 8 -b 512 --runtime 15": func(o *options) bool {
			return o.DBSize == 1000000 && slices.Equal(o.Threads, []int{8}) && slices.Equal(o.Batch, []int{512})
		},
		"--op GET --dbsize 16777216 --valuelength 100 --runtime 0": func(o *options) bool { return o.Runtime == 0 && o.ValueLength == 100 },
		"-s --op GET --dbsize 16777216 --valuelength 100 -t 1,2,4,8,16,32 -b 1024": func(o *options) bool {
			return o.SkipLoad && len(o.Threads) == 6
		},
		"--op MSET --dbsize 100000000 --keylength 16 --valuelength 96 --client LightClient --load-threads 32 -b 4096 --runtime 0": func(o *options) bool {
			return o.Op == opMSet && o.LoadThreads == 32 && o.KeyLength == 16
		},
		"--op MGET --dbsize 16777216 --valuelength 8 -t 16 -b 512": func(o *options) bool { return o.Op == opMGet },
		"--op GET --dbsize 1000000 -v 100 -t 16 -b 1024 --client InProc": func(o *options) bool {
			return o.Client == inProcType && o.ValueLength == 100
		},
		"--op GET --dbsize 16777216 -v 100 -t 16 -b 1024 --zipf": func(o *options) bool { return o.Zipf },
		"--runtime -1 --pipeline 64,128":                         func(o *options) bool { return o.Runtime == -1 && slices.Equal(o.Batch, []int{64, 128}) },
		"-h 10.0.0.7 -p 7000 -a secret":                          func(o *options) bool { return o.address() == "10.0.0.7:7000" && o.Auth == "secret" },
		"-h 10.0.0.7 --clientaddr ::1":                           func(o *options) bool { return o.address() == "[::1]:6379" },
		"--op setex --ttl 5 --client lightclient":                func(o *options) bool { return o.Op == opSetEx && o.Client == lightClientType },
	} {
		o, err := parseOptions(strings.Fields(line), nil)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		} else if !check(&o) {
			t.Errorf("%s: read as %+v", line, o)
		}
	}
}

func TestRefusedOptions(t *testing.T) {
	for line, want := range map[string]string{
		"--load-threads 0":                  "--load-threads must be at least 1 (got 0)",
		"--op SETEX":                        "TTL must be positive for SETEX operations.",
		"--itp 2":                           "--itp needs --online or --client PipelinedSession (got 2)",
		"--itp 0 --client PipelinedSession": "--itp must be from 1 to 1024 (got 0)",
		"--burst":                           "--burst needs --client PipelinedSession",
		"--burst --client PipelinedSession --itp 2":   "--burst needs --client PipelinedSession, and no --itp",
		"--verify --client PipelinedSession":          "--verify is not supported with --client PipelinedSession",
		"--rate 5":                                    "--rate needs --online (got 5)",
		"--server-option aof=yes":                     "--server-option is for the embedded server of --client InProc (the client is LightClient)",
		"--client InProc --server-option floppy=yes":  "--server-option: ",
		"--client InProc --server-option memory=lots": "cannot read size \"lots\"",
		"--pool":                  "--pool and --client-hist need --online",
		"--save-freq -5":          "--save-freq must be 0 or a number of seconds (got -5)",
		"--client Telnet":         "ClientType Telnet not supported",
		"--op SCRIPTSET":          "opType: SCRIPTSET benchmark not supported: the server runs no scripts",
		"--op mydictget":          "a custom command of another server",
		"--op BITOP_NAND":         "opType: BITOP_NAND benchmark not supported; it must be one of GET",
		"--aof-bench":             "there is no flag --aof-bench: the embedded server takes --server-option aof=yes",
		"--broadcast":             "there is no cluster",
		"--replica-ops-percent 5": "there is no cluster",
		"--sync":                  "--sync needs --online",
		"--op READ_TXN":           "opType: READ_TXN benchmark not supported with LightClient!",
		"--sscardinality 2000":    "DB size cannot be smaller than SortedSet cardinality",
		"--tls":                   "Certificate file name is required for TLS",
		"--cert-file-name x.pem":  "Certificate file name is not required for non-TLS",
		"--cacert x.pem":          "--cacert needs --tls",
		"--port abc":              `--port: it is "abc"; it must be a whole number`,
		"--cluster-bench":         "there is no flag --cluster-bench: there is no cluster",
		"-t 1,0":                  "--threads must be a list of numbers of at least 1 (got 1,0)",
		"-b 0":                    "--batchsize must be a list of numbers of at least 1 (got 0)",
		"--dbsize 0":              "--dbsize must be from 1",
		"--totalops 0":            "--totalops must be at least 1",
		"--runtime -2":            "--runtime must be -1, 0 or a number of seconds (got -2)",
		"--keylength -1":          "--keylength must be from 0",
		"--valuelength 999999999": "--valuelength must be from 0",
		"--port 70000":            "--port must be from 1 to 65535 (got 70000)",
		"--verify --op SET":       "--verify needs --op GET or MGET (got SET)",
		"-t two":                  `--threads: it is "two"; it must be a whole number`,
		"stray":                   "unexpected argument stray",
	} {
		if _, err := parseOptions(strings.Fields(line), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", line, err, want)
		}
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	if _, err := parseOptions([]string{"--help"}, &out); !errors.Is(err, program.ErrHelpShown) {
		t.Fatal(err)
	}
	for _, want := range []string{"--dbsize=1024", "-h, --host=", "Operation: GET, SET, SETEX, MGET, MSET,"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the help lacks %q:\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "pipeline=") {
		t.Error("the help shows the hidden alias --pipeline")
	}
}

func TestKeyLengthZeroIsTheDigitsOfDBSize(t *testing.T) {
	o, err := parseOptions(strings.Fields("--keylength 0 --dbsize 1000"), nil)
	if err != nil {
		t.Fatal(err)
	}
	k := o.keyspace()
	if got := string(k.appendKey(nil, 7)); got != "XXX7" {
		t.Errorf("key 7 is %q, want XXX7", got)
	}
}
