// Package program is what the benchmarks are as programs: how a command line is read, how an
// interrupt ends a run early, and what the exit codes mean to the scripts that call them.
//
//	arguments → Parse → options → run → nil or an error → Code → exit code
//	              |                ^
//	           Refuse            interrupted ← SIGINT
package program

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
)

// The exit codes of the benchmarks.
const (
	Success     = 0
	Failure     = 1
	Mismatch    = 2 // a value or a byte that was checked is wrong
	Usage       = 64
	Interrupted = 130
)

// The ways to end that are no plain failures.
var (
	ErrInterrupted = errors.New("interrupted")
	ErrMismatch    = errors.New("what was read differs from what was written")
	ErrHelpShown   = errors.New("help shown")
)

// Run is a benchmark: it returns the exit code. Setting interrupted ends it early.
type Run func(arguments []string, stdout, stderr io.Writer, interrupted *atomic.Bool) int

// Main runs a benchmark with the arguments of the process, and ends the process. The first
// interrupt ends the run early, a second one kills.
func Main(run Run) {
	var interrupted atomic.Bool
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	go func() {
		<-signals
		interrupted.Store(true)
		signal.Stop(signals)
	}()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, &interrupted))
}

// Code is the exit code that an error of a run stands for.
func Code(err error) int {
	switch {
	case err == nil:
		return Success
	case errors.Is(err, ErrMismatch):
		return Mismatch
	case errors.Is(err, ErrInterrupted):
		return Interrupted
	}
	return Failure
}
