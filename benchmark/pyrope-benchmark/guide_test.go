package main

import (
	"strings"
	"testing"
)

// TestGuideLines: the command lines of the manual of valkey-benchmark, and of an article that has 100 clients do 500,000 SETs and
// GETs. First the numbers of the original, to be read; then those of a moment, to be run.
func TestGuideLines(t *testing.T) {
	port := startServer(t)
	for _, c := range []struct{ line, scaled string }{
		{"", "-t ping,set,get -n 300"},
		{"-c 20 -P 10 --threads 2 -q", "-c 20 -P 10 --threads 2 -q -t set,get -n 2000"},
		{"-h 192.168.1.1 -p 6379 -n 100000 -c 20", "-n 1000 -c 20 -t set"},
		{"-t set -n 1000000 -r 100000000", "-t set -n 3000 -r 100000000"},
		{"-t ping,set,get -n 100000 --csv", "-t ping,set,get -n 1000 --csv"},
		{"-r 10000 -n 10000 lpush mylist __rand_int__", ""},
		{"-r 10000 -n 10000 eval return(1) 0", ""},
		{"-- multi ; set key:__rand_int__ __data__ ; incr counter ; exec", ""},
		{"-t set,lpush -n 100000 -q", "-t set -n 1000 -q"},
		{"-n 100000 -q script load server.call('set','foo','bar')", ""},
		{"-t set -r 100000 -n 1000000", "-t set -r 1000 -n 5000"},
		{"-n 1000000 -t set,get -P 16 -q", "-n 5000 -t set,get -P 16 -q"},
		{"-t set,get -n 500000 -c 100", "-t set,get -n 3000 -c 100"},
		{"-n 1000 -k 0 --dbnum 0 -3 --enable-tracking --seed 5 --precision 2 -d 64", "-t set -n 100 -k 0 --dbnum 0 -3 --seed 5 --precision 2 -d 64"},
	} {
		if _, err := parseOptions(strings.Fields(c.line), nil); err != nil {
			t.Errorf("%s: %v", c.line, err)
		}
		if c.scaled == "" {
			continue
		}
		if code, out, failures := runProgram("-p "+port+" "+c.scaled, ""); code != 0 {
			t.Errorf("%s: exit %d: %s%s", c.scaled, code, out, failures)
		}
	}
}

// TestGuideCommandsOfOthers: commands that the server need not know end the program with what it says of them.
func TestGuideCommandsOfOthers(t *testing.T) {
	port := startServer(t)
	for line, command := range map[string]string{
		"-n 100 -q script load x": "script", "-r 10 -n 10 eval return(1) 0": "eval", "-n 100 lpush mylist __rand_int__": "lpush",
		"-n 400 -- multi ; set key:__rand_int__ __data__ ; incr counter ; exec": "multi",
	} {
		code, _, failures := runProgram("-p "+port+" "+line, "")
		if code != 0 && !strings.Contains(failures, "ERR unknown command '"+command+"'") {
			t.Errorf("%s: exit %d: %s", line, code, failures)
		}
	}
}

// TestOptionsOfTheManual: every option of the manual of valkey-benchmark is taken, or is refused with the reason.
func TestOptionsOfTheManual(t *testing.T) {
	for _, line := range []string{
		"-h host", "-p 6379", "-s /tmp/socket", "-a secret", "--user me -a secret", "-u valkey://user:password@host:6379/1", "-u valkeys://host", "-c 50", "-n 100000", "-d 3", "--dbnum 0", "-3",
		"--threads 2", "--enable-tracking", "-k 1", "-k 0", "-r 1000", "-P 1", "-q", "--precision 0", "--precision 3", "--csv", "-l", "-t set,get", "-I", "-x set foo", "--seed 7", "--tls",
		"--tls --sni host", "--tls --insecure", "--mptcp", "-- set a b",
	} {
		if _, err := parseOptions(strings.Fields(line), nil); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	for line, reason := range map[string]string{ // taken, but the files are not there
		"--tls --cacert /none": "cannot read the authority", "--tls --cacertdir /none": "/none", "--tls --cert /none --key /none": "/none",
		"--tls-ciphersuites x": "TLS 1.3 has three suites", "--rdma": "no RDMA transport", "--cluster": "no cluster mode", "--rfr all": "no cluster mode",
	} {
		if _, err := parseOptions(strings.Fields(line), nil); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v, want the reason %q", line, err, reason)
		}
	}
	for _, flag := range []string{"--help", "--version"} {
		if code, out, failures := runProgram(flag, ""); code != 0 || out == "" {
			t.Errorf("%s: exit %d: %s%s", flag, code, out, failures)
		}
	}
}
