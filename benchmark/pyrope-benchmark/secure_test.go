package main

import (
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/benchmark/program"
	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/certtest"
	"github.com/pyropedb/pyrope/server/config"
)

// TestTLS benchmarks a Pyrope server that speaks TLS and wants a certificate of its clients.
func TestTLS(t *testing.T) {
	authority := certtest.NewAuthority(t, "test")
	directory := t.TempDir()
	write := func(name string, text []byte) string { return certtest.Write(t, directory, name, text) }
	own, client := authority.Issue(t, "server"), authority.Issue(t, "client")
	trusted, stranger := write("ca.pem", authority.PEM()), write("other.pem", certtest.NewAuthority(t, "stranger").PEM())
	s, err := server.New(server.Options{Options: config.Options{
		Memory: 64 << 20, TLS: config.On, CAFile: trusted,
		CertFile: write("server.pem", own.Certificate), KeyFile: write("server.key", own.Key),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	port := strconv.Itoa(s.Addr().(*net.TCPAddr).Port)
	flags := "-p " + port + " -t ping,set,get -n 200 -c 4 -q --tls --cert " + write("client.pem", client.Certificate) + " --key " + write("client.key", client.Key)
	for more, want := range map[string]int{
		" --cacert " + trusted:                             program.Success,
		" --cacertdir " + directory + " -P 10 --threads 2": program.Success,
		" --insecure -k 0":                                 program.Success,
		" --insecure -d 100000 -n 20":                      program.Success,
		" --cacert " + stranger:                            program.Failure,
		" --cacert " + trusted + " --sni other":            program.Failure,
	} {
		code, out, failures := runProgram(flags+more, "")
		if code != want || strings.Contains(out, "SET: ") != (want == program.Success) {
			t.Errorf("%s: exit %d, want %d: %s%s", more, code, want, out, failures)
		}
	}
}
