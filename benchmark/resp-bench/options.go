package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/pyropedb/pyrope/benchmark/program"
	"github.com/pyropedb/pyrope/benchmark/report"
	"github.com/pyropedb/pyrope/server/certificate"
	"github.com/pyropedb/pyrope/server/config"
)

// options are the flags of the program.
type options struct {
	program.Help

	Port       int    `short:"p" default:"6379" help:"Port of the server."`
	Host       string `short:"h" default:"127.0.0.1" help:"Host of the server."`
	ClientAddr string `name:"clientaddr" placeholder:"ADDR" help:"Address that clients connect to, when it differs from --host."`
	Auth       string `short:"a" placeholder:"PASSWORD" help:"Password, sent with AUTH on every connection."`

	TLS          bool   `name:"tls" help:"Connect with TLS."`
	TLSHost      string `name:"tlshost" default:"GarnetTest" help:"Name of the server for TLS (SNI); checked with --cacert."`
	CertFile     string `name:"cert-file-name" placeholder:"FILE" help:"Certificate and key of the client: PEM, or PKCS#12."`
	CertPassword string `name:"cert-password" placeholder:"PASSWORD" help:"Password of a PKCS#12 file."`
	CACert       string `name:"cacert" placeholder:"FILE" help:"Certificates, PEM, one of which must have signed the server's; without it any certificate of the server will do."`

	Op      operation  `default:"GET" help:"Operation: ${operations}."`
	Client  clientType `default:"LightClient" help:"LightClient (a TCP socket a thread), InProc (an embedded server, no sockets), PipelinedSession (aliases GarnetClientSession, GarnetClient: --itp operations in flight, each timed by itself; offline --itp batches) or GoRedis (alias SERedis)."`
	Threads []int      `short:"t" default:"1,2,4,8,16,32" help:"Thread counts to run with, one after another."`
	Batch   []int      `name:"batchsize" short:"b" aliases:"pipeline" default:"4096" help:"Batch sizes to run with: commands a pipeline, or keys a command for MGET and MSET."`
	Runtime int        `default:"15" help:"Seconds a run; 0 only loads (with --skipload: runs --totalops operations), -1 runs until interrupted."`
	Total   uint64     `name:"totalops" default:"33554432" help:"Operations to prepare, and to run when --runtime is 0."`
	Zipf    bool       `help:"Choose keys by a Zipf distribution (theta 0.99) rather than uniformly."`
	TTL     int        `name:"ttl" default:"0" help:"Seconds to live that SETEX gives; online also SET, by an EXPIRE after it."`
	Verify  bool       `help:"Read every key once before the runs, and compare every byte of every value that GET or MGET returns; exit with 2 on a difference."`

	DBSize      uint64 `name:"dbsize" default:"1024" help:"Number of keys."`
	KeyLength   int    `name:"keylength" default:"8" help:"Bytes of a key, padded with X on the left; 0 is as many as the digits of --dbsize."`
	ValueLength int    `name:"valuelength" short:"v" default:"8" help:"Bytes of a value; 0 makes the value equal to its key."`
	SkipLoad    bool   `name:"skipload" short:"s" help:"Do not load the keys first."`
	LoadThreads int    `default:"8" help:"Threads that load."`
	LSet        bool   `name:"lset" help:"Load with SET rather than MSET."`

	Online     bool        `short:"o" help:"Measure latency: operations of a mix, one by one or --itp at a time, a line of percentiles every 2 seconds."`
	Txn        bool        `short:"x" help:"As --online, each operation a transaction: READ_TXN, WRITE_TXN, READWRITETX or WATCH_TXN."`
	Workload   []operation `name:"op-workload" default:"GET,SET,DEL" help:"Operations of the mix (online): ${online}; with --txn: ${transactions}."`
	Percent    []int       `name:"op-percent" default:"60,30,10" help:"Share of each operation of the mix; the sum is 100."`
	InFlight   int         `name:"itp" default:"1" help:"Operations in flight per thread (online); offline batches in flight (PipelinedSession)."`
	Burst      bool        `help:"Do not wait for replies before the next batch is sent (offline, PipelinedSession)."`
	Sync       bool        `help:"Wait for each reply: goes with --itp 1 only (online)."`
	Rate       int         `default:"0" help:"Operations a second of all threads together (online); 0 is as many as replies come. Latencies then count from when an operation was due."`
	Pool       bool        `help:"Threads share a pool of connections (online: PipelinedSession, GoRedis)."`
	ClientHist bool        `name:"client-hist" help:"Print the latencies of every client at the end (online)."`
	Sets       uint64      `name:"sscardinality" default:"0" help:"Sorted sets that ZADD, ZREM and ZCARD spread over; a key always goes to the same one. 0 is one."`
	SaveFreq   int         `name:"save-freq" default:"0" help:"Seconds between two SAVEs, sent on a connection of their own; 0 is none."`
	HTMLOutput string      `name:"html-output" placeholder:"FILE" help:"Write the results to a file as a page with plots."`

	LoggerLevel config.Level `default:"Information" help:"Above Information the lines that come every 2 seconds are left out (online)."`
	ConsoleOff  bool         `name:"disable-console-logger" help:"With --file-logger: print nothing."`
	FileLogger  string       `placeholder:"FILE" help:"Append to a file what is printed."`

	report.Files

	Index  config.Size       `short:"i" default:"1g" help:"Index size of the embedded server (InProc)."`
	Memory config.Size       `default:"0" help:"Log memory of the embedded server (InProc); 0 is the server's default."`
	Server map[string]string `name:"server-option" placeholder:"NAME=VALUE" help:"Options of the embedded server (InProc) as its command line has them, such as storage-tier=yes or aof=yes."`
}

// clientType is how requests reach the server.
type clientType string

// The clients there are.
const (
	lightClientType clientType = "LightClient"
	inProcType      clientType = "InProc"
	sessionType     clientType = "PipelinedSession"
	goRedisType     clientType = "GoRedis"
)

// clientNames are the names that clients go by: their own, and those of what they stand in for.
var clientNames = map[string]clientType{
	"LightClient": lightClientType, "InProc": inProcType, "PipelinedSession": sessionType,
	"GarnetClientSession": sessionType, "GarnetClient": sessionType, "GoRedis": goRedisType, "SERedis": goRedisType,
}

// UnmarshalText sets c from a flag's text, in any case.
func (c *clientType) UnmarshalText(text []byte) error {
	for name, known := range clientNames {
		if strings.EqualFold(string(text), name) {
			*c = known
			return nil
		}
	}
	return fmt.Errorf("ClientType %s not supported", text)
}

// parseOptions reads the command line and checks it. Help goes to stdout.
func parseOptions(args []string, stdout io.Writer) (options, error) {
	var o options
	err := program.Parse("resp-bench", "Loads a RESP server and measures its throughput.", &o, args, stdout,
		kong.WithHyphenPrefixedParameters(true), // --runtime -1
		kong.Vars{
			"operations":   strings.Join(operationNames(isOffline), ", "),
			"online":       strings.Join(operationNames(isOnline), ", "),
			"transactions": strings.Join(operationNames(isTransaction), ", "),
		})
	return o, err
}

// WhyNot tells why an option of the tool whose output this program follows is not here.
func (o *options) WhyNot(flag string) string {
	switch {
	case strings.HasPrefix(flag, "aof"):
		return "the embedded server takes --server-option aof=yes and the like; the append-only file alone is measured by the Go benchmarks of server/aof and tsavorite/log"
	case strings.HasPrefix(flag, "cluster"), flag == "broadcast", flag == "replica-ops-percent", flag == "offline-buffers", flag == "workload-seed":
		return "there is no cluster"
	}
	return ""
}

// Check reports the first option that is out of range or does not go with the others.
func (o *options) Check() error {
	switch {
	case o.LoadThreads < 1:
		return fmt.Errorf("--load-threads must be at least 1 (got %d)", o.LoadThreads)
	case len(o.Threads) == 0 || slices.Min(o.Threads) < 1:
		return fmt.Errorf("--threads must be a list of numbers of at least 1 (got %s)", joinNumbers(o.Threads))
	case len(o.Batch) == 0 || slices.Min(o.Batch) < 1:
		return fmt.Errorf("--batchsize must be a list of numbers of at least 1 (got %s)", joinNumbers(o.Batch))
	case o.DBSize < 1 || o.DBSize >= 1<<48:
		return fmt.Errorf("--dbsize must be from 1 to %d (got %d)", uint64(1)<<48-1, o.DBSize)
	case o.Total < 1:
		return fmt.Errorf("--totalops must be at least 1 (got %d)", o.Total)
	case o.KeyLength < 0 || o.KeyLength > 64<<10:
		return fmt.Errorf("--keylength must be from 0 to %d (got %d)", 64<<10, o.KeyLength)
	case o.ValueLength < 0 || o.ValueLength > 512<<20:
		return fmt.Errorf("--valuelength must be from 0 to %d (got %d)", 512<<20, o.ValueLength)
	case o.Runtime < -1:
		return fmt.Errorf("--runtime must be -1, 0 or a number of seconds (got %d)", o.Runtime)
	case o.Port < 1 || o.Port > 65535:
		return fmt.Errorf("--port must be from 1 to 65535 (got %d)", o.Port)
	case o.Op == opSetEx && o.TTL <= 0:
		//lint:ignore ST1005 the text, its full stop included, is part of the interface
		return errors.New("TTL must be positive for SETEX operations.")
	case o.Verify && !o.Op.reads():
		return fmt.Errorf("--verify needs --op GET or MGET (got %s)", o.Op)
	case o.SaveFreq < 0:
		return fmt.Errorf("--save-freq must be 0 or a number of seconds (got %d)", o.SaveFreq)
	case o.Sets > o.DBSize:
		return errors.New("DB size cannot be smaller than SortedSet cardinality")
	case len(o.Server) > 0 && o.Client != inProcType:
		return fmt.Errorf("--server-option is for the embedded server of --client InProc (the client is %s)", o.Client)
	case o.embedded(new(config.Options)) != nil:
		return fmt.Errorf("--server-option: %w", o.embedded(new(config.Options)))
	case o.Online || o.Txn:
		return errors.Join(o.checkTLS(), o.checkOnline())
	}
	return errors.Join(o.checkTLS(), o.checkOffline())
}

// embedded sets what the flags say of the embedded server.
func (o *options) embedded(target *config.Options) error {
	target.Memory, target.Index = o.Memory, o.Index
	for _, name := range slices.Sorted(maps.Keys(o.Server)) {
		if err := target.Set(name, o.Server[name]); err != nil {
			return err
		}
	}
	return nil
}

// keyspace returns the naming of keys and values that the options ask for.
func (o *options) keyspace() keyspace {
	k := keyspace{sets: o.Sets, dbSize: o.DBSize, keyLength: o.KeyLength, valueLength: o.ValueLength, ttlSeconds: o.TTL}
	if k.keyLength == 0 {
		k.keyLength = len(strconv.FormatUint(o.DBSize, 10))
	}
	return k
}

// address is where clients connect.
func (o *options) address() string {
	host := o.Host
	if o.ClientAddr != "" {
		host = o.ClientAddr
	}
	return joinHostPort(host, o.Port)
}

// joinNumbers writes a list as a flag takes it.
func joinNumbers(numbers []int) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, ",")
}

// checkTLS reports the first option that does not go with --tls, or without it. The texts are those
// that scripts know.
func (o *options) checkTLS() error {
	switch {
	case o.TLS && o.CertFile == "":
		//lint:ignore ST1005 the text is part of the interface
		return errors.New("Certificate file name is required for TLS")
	case !o.TLS && o.CertFile != "":
		//lint:ignore ST1005 the text is part of the interface
		return errors.New("Certificate file name is not required for non-TLS")
	case o.TLS && o.Client == inProcType:
		return errors.New("--tls is not supported with --client InProc, which has no sockets")
	case !o.TLS && o.CACert != "":
		return errors.New("--cacert needs --tls")
	}
	return nil
}

// security is the options about TLS; nil is none.
func (o *options) security() (*tls.Config, error) {
	if !o.TLS {
		return nil, nil
	}
	own := certificate.Options{CertFile: o.CertFile, Password: o.CertPassword, CAFile: o.CACert}
	return certificate.LoadClient(own, o.TLSHost, o.CACert == "")
}
