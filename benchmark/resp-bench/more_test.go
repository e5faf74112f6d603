package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pyropedb/pyrope/benchmark/program"
	"github.com/pyropedb/pyrope/server/certtest"
)

func TestLoadIsConfirmedOnAServerThatHeldKeys(t *testing.T) {
	s := startFakeServer(t)
	for i := range 5000 {
		s.values["other:"+strings.Repeat("x", i%7)+string(rune('a'+i%26))+filepath.Join("k", strings.Repeat("y", i/26))] = "1"
	}
	s.drop = func(key string) bool { return strings.HasPrefix(key, "XXX") && key < "XXXXX500" }
	code, _, failures := runBench(s, "--op GET --dbsize 1000 --runtime 0")
	if code != program.Failure || !strings.Contains(failures, "of 1000 keys spread evenly over those written it holds") {
		t.Errorf("exit %d: %s", code, failures)
	}
}

func TestRarerOperationsOffline(t *testing.T) {
	for op, want := range map[string]string{
		"ZADD": "sortedset:", "ZREM": "sortedset:", "ZCARD": "sortedset:", "SETBIT": "XXXX", "GETBIT": "XXXX",
		"BITCOUNT": "XXXX", "PFADD": "hyperloglog XXXX", "PFCOUNT": "hyperloglog", "GEOADD": "geo ", "PUBLISH": "XXXX", "SPUBLISH": "XXXX",
	} {
		s := startFakeServer(t)
		flags := "--op " + op + " --dbsize 100 --sscardinality 10 -t 1 -b 4 --totalops 40 --runtime 0 -s"
		if code, _, failures := runBench(s, flags); code != 0 || s.names[op] != 40 || !strings.HasPrefix(s.last[op], want) {
			t.Errorf("%s: exit %d, %d commands, the last with %q: %s", op, code, s.names[op], s.last[op], failures)
		}
	}
}

func TestSortedSetsOnline(t *testing.T) {
	for _, client := range []string{"LightClient", "GarnetClient", "SERedis"} {
		s := startFakeServer(t)
		code, out, failures := runBench(s, "--online --op-workload ZADD,ZCARD --op-percent 50,50 --keylength 8 --dbsize 100 -t 1 --runtime 1 --client "+client)
		if code != 0 || s.names["ZADD"] == 0 || s.names["ZCARD"] == 0 || !strings.HasPrefix(s.last["ZADD"], "sortedset ") {
			t.Errorf("%s: exit %d, %v: %s\n%s", client, code, s.names, failures, out)
		}
	}
}

func TestServerWithoutACommandIsNamed(t *testing.T) {
	s := startFakeServer(t)
	s.refuse = func(name string) string {
		if name == "ZADD" {
			return "ERR unknown command 'ZADD'"
		}
		return ""
	}
	code, _, failures := runBench(s, "--online --op-workload ZADD --op-percent 100 -t 1 --runtime 1")
	if code != program.Failure || !strings.Contains(failures, "ERR unknown command 'ZADD'") {
		t.Errorf("exit %d: %s", code, failures)
	}
}

func TestTransactions(t *testing.T) {
	for _, client := range []string{"LightClient", "SERedis"} {
		s := startFakeServer(t)
		code, out, failures := runBench(s, "--txn --op-workload READ_TXN,WRITE_TXN,READWRITETX,WATCH_TXN --op-percent 25,25,25,25 --dbsize 50 -t 2 --runtime 1 --client "+client)
		if code != 0 {
			t.Fatalf("%s: exit %d: %s", client, code, failures)
		}
		if s.names["MULTI"] == 0 || s.names["MULTI"] != s.names["EXEC"] || s.names["WATCH"] == 0 || s.names["GET"] == 0 || s.names["SET"] == 0 {
			t.Errorf("%s: the server saw %v", client, s.names)
		}
		for _, want := range []string{"benchmarkType: Transactional", "cnt;           tpt (Kops/sec)", "Total time: ", "<<< History >>>"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: the output lacks %q:\n%s", client, want, out)
			}
		}
	}
}

func TestSavesAndPage(t *testing.T) {
	s := startFakeServer(t)
	page := filepath.Join(t.TempDir(), "out.html")
	code, out, failures := runBench(s, "--op GET --dbsize 100 -t 1,2 -b 8 --runtime 1 --save-freq 1 --html-output "+page)
	if code != 0 || s.names["SAVE"] == 0 || !strings.Contains(out, "[Saves]: ") {
		t.Errorf("exit %d, %d saves: %s\n%s", code, s.names["SAVE"], failures, out)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "Throughput by threads") || !strings.Contains(string(text), "batch 8") {
		t.Errorf("the page is %q, %v", text, err)
	}
	code, _, failures = runBench(s, "--online -t 1 --runtime 1 --html-output "+page)
	if text, err = os.ReadFile(page); code != 0 || err != nil || !strings.Contains(string(text), "Latency by percentile") {
		t.Errorf("exit %d, the page is %q, %v: %s", code, text, err, failures)
	}
}

// startProxy listens with TLS and passes everything on.
func startProxy(t *testing.T, security *tls.Config, to string) (port string) {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", security)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				defer client.Close()
				server, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				group.Go(func() { _, _ = io.Copy(server, client); _ = server.(*net.TCPConn).CloseWrite() })
				_, _ = io.Copy(client, server)
				_ = server.Close()
			})
		}
	})
	t.Cleanup(func() { _ = listener.Close(); group.Wait() })
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	return port
}

func TestTLS(t *testing.T) {
	authority := certtest.NewAuthority(t, "test")
	directory := t.TempDir()
	client := authority.Issue(t, "client")
	certificate := certtest.Write(t, directory, "client.pem", append(client.Certificate, client.Key...))
	trusted := certtest.Write(t, directory, "ca.pem", authority.PEM())
	stranger := certtest.Write(t, directory, "other.pem", certtest.NewAuthority(t, "stranger").PEM())
	named := func(template *x509.Certificate) { template.DNSNames = []string{"GarnetTest"} }
	security := &tls.Config{
		Certificates: []tls.Certificate{authority.Issue(t, "server", named).TLS(t)},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: authority.Pool(),
	}
	for flags, want := range map[string]int{
		"":                                      program.Success,
		" --cacert " + trusted:                  program.Success,
		" --online --client PipelinedSession":   program.Success,
		" --online --client SERedis":            program.Success,
		" --cacert " + stranger:                 program.Failure,
		" --cacert " + trusted + " --tlshost x": program.Failure,
	} {
		s := startFakeServer(t)
		_, plain, _ := net.SplitHostPort(s.listener.Addr().String())
		port := startProxy(t, security, "127.0.0.1:"+plain)
		code, _, failures := runWith(port, "--tls --cert-file-name "+certificate+" --dbsize 50 -t 1 --runtime 1"+flags)
		if code != want {
			t.Errorf("%q: exit %d, want %d: %s", flags, code, want, failures)
		}
	}
}
