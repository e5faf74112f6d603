// Command pyrope-benchmark simulates many clients that send commands to a RESP server, and says how
// many requests a second were answered and how long each took. It takes the options and prints the
// lines of redis-benchmark and valkey-benchmark, so that scripts written for those work with it.
//
//	options → tests (the default ones, or one command line) → for each test: connect, run, report
//
//	                       lane (--threads)             lane
//	budget of -n requests    |-- connection: batch of -P → replies → batch …
//	                         |-- connection …             |-- connection …
//
// A lane is one goroutine that waits for its connections with epoll; on other systems than Linux each
// connection has a goroutine. Latency runs from the moment a batch is handed to the kernel until its
// last reply is there, and counts for every request of the batch.
//
// Exit codes: 0; 1 no server, an error reply or a lost connection; 64 bad usage; 130 interrupted.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/pyropedb/pyrope/benchmark/program"
)

// version is set by the linker.
var version = "dev"

func main() {
	program.Main(func(arguments []string, stdout, stderr io.Writer, interrupted *atomic.Bool) int {
		return run(arguments, os.Stdin, stdout, stderr, interrupted)
	})
}

// run is the program: it returns the exit code. Setting interrupted ends it early.
func run(arguments []string, stdin io.Reader, stdout, stderr io.Writer, interrupted *atomic.Bool) int {
	o, err := parseOptions(arguments, stdout)
	if err != nil {
		return program.Refuse(err, stderr)
	}
	b := &bench{options: o, stdin: stdin, output: stdout, warnings: stderr, interrupted: interrupted}
	err = b.run()
	if err != nil && !errors.Is(err, program.ErrInterrupted) {
		fmt.Fprintln(stderr, err)
	}
	return program.Code(err)
}
