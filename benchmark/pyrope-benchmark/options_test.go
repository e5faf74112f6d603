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
	if o.Host != "127.0.0.1" || o.Port != 6379 || o.Clients != 50 || o.Requests != 100000 || o.DataSize != 3 || o.Keep != 1 ||
		o.Keyspace != -1 || o.Pipeline != 1 || o.Digits != 3 || o.Threads != 0 || o.Seed == 0 || len(o.Command) != 0 {
		t.Errorf("the defaults are %+v", o)
	}
}

func TestCommandLines(t *testing.T) {
	for line, right := range map[string]func(o *options) bool{
		"-h 10.0.0.1 -p 7 -n 10 -c 20": func(o *options) bool {
			return o.address() == "10.0.0.1:7" && o.Requests == 10 && o.Clients == 20
		},
		"-t ping,set -q --csv -l -3": func(o *options) bool { return o.Tests == "ping,set" && o.Quiet && o.CSV && o.Loop && o.RESP3 },
		"-s /tmp/x.sock -a pw --user bob": func(o *options) bool {
			return o.address() == "/tmp/x.sock" && slices.Equal(o.authenticate(), []string{"AUTH", "bob", "pw"})
		},
		"-u redis://me:pw@h:99/5": func(o *options) bool {
			return o.address() == "h:99" && o.User == "me" && o.Password == "pw" && o.Database == 5
		},
		"-u valkey://pw@h":          func(o *options) bool { return o.address() == "h:6379" && o.User == "" && o.Password == "pw" },
		"-u pyrope://[::1]":         func(o *options) bool { return o.address() == "[::1]:6379" && o.Database == 0 },
		"-n 5 lpush mylist -1":      func(o *options) bool { return slices.Equal(o.Command, []string{"lpush", "mylist", "-1"}) },
		"-r 10 -- set a -n ; get a": func(o *options) bool { return len(o.Command) == 6 && o.Keyspace == 10 },
		"-u rediss://h --insecure":  func(o *options) bool { return o.TLS && o.secure.config.InsecureSkipVerify },
		"--tls --tls-ciphers ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-CHACHA20-POLY1305 --sni s": func(o *options) bool {
			return len(o.secure.config.CipherSuites) == 2 && o.secure.config.ServerName == "s"
		},
		"-x set foo":                          func(o *options) bool { return o.Stdin && len(o.Command) == 2 },
		"-k 0 --threads 2 --seed 7 -P 16":     func(o *options) bool { return o.Keep == 0 && o.Threads == 2 && o.Seed == 7 && o.Pipeline == 16 },
		"--dbnum 3 -d 9 -I --precision 1":     func(o *options) bool { return o.Database == 3 && o.DataSize == 9 && o.Idle && o.Digits == 1 },
		"--enable-tracking --mptcp -r 0":      func(o *options) bool { return o.Tracking && o.MPTCP && o.Keyspace == 0 },
		"-r 10000 eval return 0 __rand_int__": func(o *options) bool { return len(o.Command) == 4 },
	} {
		o, err := parseOptions(strings.Fields(line), nil)
		if err != nil || !right(&o) {
			t.Errorf("%s is read as %+v, %v", line, o, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	for line, want := range map[string]string{
		"--cacert f":               "need --tls",
		"--tls --cacert /none":     "cannot read the authority",
		"--tls --cert f":           "--cert and --key go together",
		"--tls --tls-ciphers NULL": `cannot read cipher "NULL"`,
		"--tls-ciphersuites x":     "--tls-ciphersuites is not supported",
		"-c many":                  `--clients: it is "many"; it must be a whole number`,
		"--cluster":                "no cluster mode yet",
		"--rfr yes":                "no cluster mode yet",
		"--rdma":                   "no RDMA",
		"-u foo://x":               "it must be pyrope, valkey or redis",
		"-u redis://h/abc":         "database number",
		"-c 0":                     "-c must be from 1",
		"-t pin":                   "-t pin names no test; there are ping, set,",
		"-n 0":                     "-n must be at least 1 (got 0)",
		"-n":                       "--requests",
		"-d 0":                     "-d must be",
		"-P 0":                     "-P must be",
		"-k 2":                     "-k must be 0 or 1 (got 2)",
		"-r -2":                    "-r must be",
		"--sequential":             "--sequential needs -r",
		"-p 70000":                 "-p must be from 1 to 65535 (got 70000)",
		"--threads 501":            "--threads must be",
		"--dbnum -1":               "--dbnum must not be negative",
		"--user bob":               "--user needs -a",
		"-x":                       "-x needs a command",
		"--frobnicate":             "unknown flag --frobnicate",
	} {
		if _, err := parseOptions(strings.Fields(line), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", line, err, want)
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	for line, want := range map[string]string{"--help": "-P, --pipeline=1", "--version": "pyrope-benchmark dev\n"} {
		var out bytes.Buffer
		if _, err := parseOptions([]string{line}, &out); !errors.Is(err, program.ErrHelpShown) || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v, prints %q", line, err, &out)
		}
	}
}
