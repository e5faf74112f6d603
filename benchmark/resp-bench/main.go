// Command resp-bench loads a RESP server and measures how many operations a second it carries out.
//
// It runs offline: request batches are built beforehand, and each thread sends a batch chosen at
// random, drains all its replies, and goes on. What a run does is
//
//	options → load (every key, DBSIZE compared) → [verify every key] → for each batch size:
//	          build batches → for each thread count: run, print [Total time] and [Throughput]
//
// The batches are bytes on the wire; replies are counted by a scanner that looks at headers only,
// or, with --verify, compared byte for byte with what the key's number says. Nothing is allocated
// between the first request of a run and the last reply.
//
// Exit codes: 0 success; 1 the server could not be reached, answered with errors, or holds fewer
// keys than were loaded; 2 --verify found a wrong or missing value; 64 bad usage.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"

	"github.com/alecthomas/kong"
)

// The exit codes of the program.
const (
	exitSuccess  = 0
	exitFailure  = 1
	exitMismatch = 2
	exitUsage    = 64
)

// errMismatch is what a run with --verify returns when a reply was wrong or missing.
var errMismatch = errors.New("values read back differ from those loaded")

func main() {
	var interrupted atomic.Bool
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	go func() {
		<-signals
		interrupted.Store(true)
		signal.Stop(signals) // a second interrupt kills
	}()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, &interrupted))
}

// run is the program: it returns the exit code. Setting interrupted ends the present phase early.
func run(args []string, stdout, stderr io.Writer, interrupted *atomic.Bool) int {
	o, err := parseOptions(args, stdout)
	if errors.Is(err, errHelpShown) {
		return exitSuccess
	}
	if err != nil {
		fmt.Fprintf(stderr, "ERROR: %v\n", err)
		return exitUsage
	}
	b := &bench{options: o, keys: o.keyspace(), output: stdout, interrupted: interrupted}
	err = b.runAll()
	switch {
	case err == nil:
		return exitSuccess
	case errors.Is(err, errMismatch):
		fmt.Fprintf(stderr, "ERROR: %v\n", err)
		return exitMismatch
	default:
		fmt.Fprintf(stderr, "ERROR: %v\n", err)
		return exitFailure
	}
}

// errHelpShown says that --help was given and answered.
var errHelpShown = errors.New("help shown")

// helpFlag is --help without the short form -h, which names the host here.
type helpFlag bool

// BeforeReset prints the help and ends the parse; kong calls it when the flag is seen.
func (helpFlag) BeforeReset(ctx *kong.Context) error {
	if err := ctx.PrintUsage(false); err != nil {
		return err
	}
	return errHelpShown
}
