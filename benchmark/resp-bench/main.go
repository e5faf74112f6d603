// Command resp-bench loads a RESP server and measures how many operations a second it carries out.
//
// Offline, request batches are built beforehand, and each thread sends a batch chosen at random,
// drains all its replies, and goes on. What a run does is
//
//	options → load (every key, DBSIZE compared) → [verify every key] → for each batch size:
//	          build batches → for each thread count: run, print [Total time] and [Throughput]
//
// The batches are bytes on the wire; replies are counted by a scanner that looks at headers only,
// or, with --verify, compared byte for byte with what the key's number says. Nothing is allocated
// between the first request of a run and the last reply.
//
// Online (--online), nothing is loaded or built beforehand: each thread draws operations from a mix,
// has --itp of them in flight, and records how long they took; a line of percentiles comes every two
// seconds:
//
//	mix → client (link, session, go-redis) → recorder of the thread → tick: line → totals
//
// Exit codes: 0 success; 1 the server could not be reached, answered with errors, or holds fewer
// keys than were loaded; 2 --verify found a wrong or missing value; 64 bad usage.
package main

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/pyropedb/pyrope/benchmark/program"
)

func main() { program.Main(run) }

// run is the program: it returns the exit code. Setting interrupted ends the present phase early.
func run(args []string, stdout, stderr io.Writer, interrupted *atomic.Bool) int {
	o, err := parseOptions(args, stdout)
	if err != nil {
		return program.Refuse(err, stderr)
	}
	b := &bench{options: o, keys: o.keyspace(), output: stdout, interrupted: interrupted}
	if err = b.runAll(); err != nil {
		fmt.Fprintf(stderr, "ERROR: %v\n", err)
	}
	return program.Code(err)
}
