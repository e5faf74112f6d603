package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/pyropedb/pyrope/benchmark/program"
)

// options are the flags of the program.
type options struct {
	program.Help
	Version versionFlag `help:"Show the version and exit."`

	Host       string `short:"h" default:"127.0.0.1" placeholder:"HOSTNAME" help:"Server hostname."`
	Port       int    `short:"p" default:"6379" help:"Server port."`
	Socket     string `short:"s" placeholder:"PATH" help:"Server socket (overrides host and port)."`
	Password   string `short:"a" help:"Password for AUTH."`
	User       string `help:"Used to send ACL style 'AUTH username password'. Needs -a."`
	URI        string `name:"uri" short:"u" placeholder:"URI" help:"Server URI: pyrope://user:password@host:port/dbnum (also redis:// and valkey://); user, password and dbnum are optional."`
	Clients    int    `short:"c" default:"50" help:"Number of parallel connections."`
	Requests   int64  `short:"n" default:"100000" help:"Total number of requests."`
	DataSize   int    `short:"d" default:"3" help:"Data size of SET/GET value in bytes."`
	Database   int    `name:"dbnum" default:"0" help:"SELECT the specified database number."`
	RESP3      bool   `name:"resp3" short:"3" help:"Start session in RESP3 protocol mode."`
	Threads    int    `default:"0" help:"Enable multi-thread mode with so many threads."`
	Tracking   bool   `name:"enable-tracking" help:"Send CLIENT TRACKING on before starting the benchmark."`
	Keep       int    `name:"keep-alive" short:"k" default:"1" help:"1=keep alive 0=reconnect."`
	Keyspace   int64  `name:"keyspace" short:"r" default:"-1" help:"Replace __rand_int__ in arguments by a 12-digit number from 0 to this minus 1, anew for every command. Without -r all commands use the same key."`
	Sequential bool   `help:"Replace __rand_int__ by 0, 1, 2 and so on instead of random numbers, over all connections: -n as large as -r reaches every key once."`
	Pipeline   int64  `short:"P" default:"1" help:"Pipeline so many requests."`
	Quiet      bool   `short:"q" help:"Just show query/sec values."`
	Digits     int    `name:"precision" default:"3" help:"Significant digits of latencies, 1 to 3."`
	CSV        bool   `name:"csv" help:"Output in CSV format."`
	Loop       bool   `short:"l" help:"Run the tests until interrupted."`
	Tests      string `short:"t" placeholder:"TESTS" help:"Only run the comma separated list of tests: names as in the output. Ignored if a command is given."`
	Idle       bool   `short:"I" help:"Idle mode. Just open -c idle connections and wait."`
	Stdin      bool   `short:"x" help:"Read the last argument from stdin."`
	Seed       uint64 `placeholder:"NUM" help:"Seed of the random numbers; the default is the time."`
	MPTCP      bool   `name:"mptcp" help:"Connect with multipath TCP, where the system has it."`

	TLS bool `name:"tls" help:"Connect with TLS."`
	secure
	refused

	Command []string `arg:"" optional:"" passthrough:"" help:"A command and its arguments; ';' as an argument separates several, and a number before a command repeats it. __rand_int__ and __data__ are replaced."`
}

// refused are the options of valkey-benchmark that this program has no use for.
type refused struct {
	CipherSuites string `name:"tls-ciphersuites" hidden:""`
	RDMA         bool   `name:"rdma" hidden:""`
	Cluster      bool   `hidden:""`
	RFR          string `name:"rfr" hidden:""`
}

// check reports the first such option that is given.
func (r *refused) check() error {
	switch {
	case r.CipherSuites != "":
		return errors.New("--tls-ciphersuites is not supported: TLS 1.3 has three suites here, all of them on")
	case r.RDMA:
		return errors.New("--rdma is not supported: the server has no RDMA transport")
	case r.Cluster || r.RFR != "":
		return errors.New("--cluster and --rfr are not supported: the server has no cluster mode yet")
	}
	return nil
}

// versionFlag shows the version when it is seen.
type versionFlag bool

// BeforeReset prints the version and ends the parse.
func (versionFlag) BeforeReset(c *kong.Context) error {
	fmt.Fprintf(c.Stdout, "pyrope-benchmark %s\n", version)
	return program.ErrHelpShown
}

// parseOptions reads the command line and checks it. Help goes to stdout.
func parseOptions(arguments []string, stdout io.Writer) (options, error) {
	var o options
	err := program.Parse("pyrope-benchmark", "Sends commands to a RESP server from many clients at once.", &o, arguments, stdout,
		kong.WithHyphenPrefixedParameters(true))
	if o.Seed == 0 {
		o.Seed = uint64(time.Now().UnixNano())
	}
	return o, err
}

// Check reports the first option that is out of range, and takes the URI apart.
func (o *options) Check() error {
	if err := o.refused.check(); err != nil {
		return err
	}
	if len(o.Command) > 0 {
		switch first := o.Command[0]; {
		case first == "--":
			o.Command = o.Command[1:]
		case strings.HasPrefix(first, "-"):
			return fmt.Errorf("unknown flag %s; a command that begins so goes after --", first)
		}
	}
	if o.URI != "" {
		if err := o.readURI(); err != nil {
			return err
		}
	}
	if err := o.readTLS(); err != nil {
		return err
	}
	switch {
	case o.Port < 1 || o.Port > 65535:
		return fmt.Errorf("-p must be from 1 to 65535 (got %d)", o.Port)
	case o.Clients < 1 || o.Clients > 1<<20:
		return fmt.Errorf("-c must be from 1 to %d (got %d)", 1<<20, o.Clients)
	case len(o.Command) == 0 && !anySelected(o.Tests):
		return fmt.Errorf("-t %s names no test; there are %s", o.Tests, testNames())
	case o.Requests < 1:
		return fmt.Errorf("-n must be at least 1 (got %d)", o.Requests)
	case o.DataSize < 1 || o.DataSize > 1<<30:
		return fmt.Errorf("-d must be from 1 to %d (got %d)", 1<<30, o.DataSize)
	case o.Pipeline < 1 || o.Pipeline > 1<<20:
		return fmt.Errorf("-P must be from 1 to %d (got %d)", 1<<20, o.Pipeline)
	case o.Keep != 0 && o.Keep != 1:
		return fmt.Errorf("-k must be 0 or 1 (got %d)", o.Keep)
	case o.Keyspace < -1 || o.Keyspace > 1e12:
		return fmt.Errorf("-r must be from 0 to %d (got %d)", int64(1e12), o.Keyspace)
	case o.Sequential && o.Keyspace < 0:
		return errors.New("--sequential needs -r, up to which it counts")
	case o.Threads < 0 || o.Threads > 500:
		return fmt.Errorf("--threads must be from 0 to 500 (got %d)", o.Threads)
	case o.Database < 0:
		return fmt.Errorf("--dbnum must not be negative (got %d)", o.Database)
	case o.User != "" && o.Password == "":
		return errors.New("--user needs -a with the password")
	case o.Stdin && len(o.Command) == 0:
		return errors.New("-x needs a command, whose last argument it reads")
	}
	return nil
}

// readURI sets what the URI says.
func (o *options) readURI() error {
	u, err := url.Parse(o.URI)
	if err != nil {
		return fmt.Errorf("cannot read the URI of -u: %w", err)
	}
	switch strings.ToLower(u.Scheme) {
	case "pyrope", "valkey", "redis":
	case "pyropes", "valkeys", "rediss":
		o.TLS = true
	default:
		return fmt.Errorf("the URI scheme of -u is %q; it must be pyrope, valkey or redis, with an s at the end for TLS", u.Scheme)
	}
	if u.Hostname() != "" {
		o.Host = u.Hostname()
	}
	if u.Port() != "" {
		if o.Port, err = strconv.Atoi(u.Port()); err != nil {
			return fmt.Errorf("cannot read the port of -u: %w", err)
		}
	}
	if u.User != nil {
		o.User = u.User.Username()
		password, both := u.User.Password()
		if o.Password = password; !both {
			o.User, o.Password = "", o.User
		}
	}
	if number := strings.Trim(u.Path, "/"); number != "" {
		if o.Database, err = strconv.Atoi(number); err != nil {
			return fmt.Errorf("cannot read the database number of -u: %w", err)
		}
	}
	return nil
}
