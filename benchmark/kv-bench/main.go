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
	"sync/atomic"

	"github.com/pyropedb/pyrope/benchmark/program"
)

func main() { program.Main(run) }

// run is the program: it returns the exit code. Setting interrupted ends it early.
func run(args []string, stdout, stderr io.Writer, interrupted *atomic.Bool) int {
	o, err := parseOptions(args, stdout)
	if err != nil {
		return program.Refuse(err, stderr)
	}
	b := &bench{options: o, output: stdout, interrupted: interrupted}
	err = b.runAll()
	code := program.Code(err) // of a mismatch the report has said what it is
	switch code {
	case program.Interrupted:
		fmt.Fprintln(stdout, "[interrupt] reason=sigint")
	case program.Failure:
		fmt.Fprintf(stderr, "FATAL: %T: %v\n", rootCause(err), err)
	}
	return code
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
