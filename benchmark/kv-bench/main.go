// Command kv-bench measures the engine alone: sessions of package tsavorite in this process, no
// protocol and no socket. Keys are 8-byte integers, values are bytes that follow from the key.
//
//	options → device, store → load every key → [warm] → for each thread count, each iteration:
//	          warm-up (discarded) → measured window → [run t=T i=I] …
//
//	workers start       window begins            window ends   last worker ends
//	|  warmup-sec       |  runsec                |  exit-lag   |
//	|  discarded        |  ops counted           |  overshoot: counted apart
//
// Each worker owns a session, a generator and a scoreboard on cache lines of its own; it looks at the
// stop flag once a chunk of --batch-size operations, and allocates nothing within one. A clock in the
// middle reads the scoreboards at both ends of the window.
//
// Exit codes: 0 success; 1 failure; 2 --validate found a wrong value; 64 bad usage; 130 interrupted.
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
	exitSuccess     = 0
	exitFailure     = 1
	exitMismatch    = 2
	exitUsage       = 64
	exitInterrupted = 130
)

// The ways to end that are no plain failures.
var (
	errMismatch    = errors.New("validation failed")
	errInterrupted = errors.New("interrupted")
	errHelpShown   = errors.New("help shown")
)

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

// run is the program: it returns the exit code. Setting interrupted ends it early.
func run(args []string, stdout, stderr io.Writer, interrupted *atomic.Bool) int {
	o, err := parseOptions(args, stdout)
	if errors.Is(err, errHelpShown) {
		return exitSuccess
	}
	if err != nil {
		fmt.Fprintf(stderr, "ERROR: %v\n", err)
		return exitUsage
	}
	b := &bench{options: o, output: stdout, interrupted: interrupted}
	err = b.runAll()
	switch {
	case err == nil:
		return exitSuccess
	case errors.Is(err, errMismatch):
		return exitMismatch // the report has said what
	case errors.Is(err, errInterrupted):
		fmt.Fprintln(stdout, "[interrupt] reason=sigint")
		return exitInterrupted
	default:
		fmt.Fprintf(stderr, "FATAL: %T: %v\n", rootCause(err), err)
		return exitFailure
	}
}

// rootCause unwraps err to the error that it began with.
func rootCause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// helpFlag is --help.
type helpFlag bool

// BeforeReset prints the help and ends the parse; kong calls it when the flag is seen.
func (helpFlag) BeforeReset(ctx *kong.Context) error {
	if err := ctx.PrintUsage(false); err != nil {
		return err
	}
	return errHelpShown
}
