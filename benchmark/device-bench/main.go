// Command device-bench measures a device alone: random reads of one sector each, no engine, no
// protocol. Beside fio with the same block size and depth it tells what this repository's own loop
// costs; beside kv-bench, what the engine adds.
//
//	fill the file → [--warm: read it once] → for each thread count, each batch size:
//
//	a thread   queue of the device, --batch-size reads outstanding
//	           submit what came back, wait for the next completions, again, until --runtime is over
//
// Every eight bytes of the file are a hash of their address, so that --verify can check whatever
// comes back. Exit codes: 0 success; 1 failure; 2 --verify found a wrong byte; 64 bad usage; 130 interrupted.
package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/benchmark/program"
)

// pauseBetween is how long the disk rests between two configurations.
const pauseBetween = 2 * time.Second

func main() {
	program.Main(func(arguments []string, stdout, stderr io.Writer, interrupted *atomic.Bool) int {
		return run(arguments, stdout, stderr, interrupted, pauseBetween)
	})
}

// run is the program: it returns the exit code. Setting interrupted ends it early.
func run(args []string, stdout, stderr io.Writer, interrupted *atomic.Bool, pause time.Duration) int {
	o, err := parseOptions(args, stdout)
	if err != nil {
		return program.Refuse(err, stderr)
	}
	b := &bench{options: o, output: stdout, interrupted: interrupted, pause: pause}
	err = b.run()
	code := program.Code(err)
	if code == program.Failure || code == program.Mismatch {
		fmt.Fprintf(stderr, "FATAL: %v\n", err)
	}
	return code
}
