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
// comes back. Exit codes: 0 success; 1 failure or a wrong byte; 64 bad usage; 130 interrupted.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"time"
)

// The exit codes of the program.
const (
	exitSuccess     = 0
	exitFailure     = 1
	exitUsage       = 64
	exitInterrupted = 130
)

// pauseBetween is how long the disk rests between two configurations.
const pauseBetween = 2 * time.Second

var (
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
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, &interrupted, pauseBetween))
}

// run is the program: it returns the exit code. Setting interrupted ends it early.
func run(args []string, stdout, stderr io.Writer, interrupted *atomic.Bool, pause time.Duration) int {
	o, err := parseOptions(args, stdout)
	if errors.Is(err, errHelpShown) {
		return exitSuccess
	}
	if err != nil {
		fmt.Fprintf(stderr, "ERROR: %v\n", err)
		return exitUsage
	}
	b := &bench{options: o, output: stdout, interrupted: interrupted, pause: pause}
	switch err := b.run(); {
	case err == nil:
		return exitSuccess
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	default:
		fmt.Fprintf(stderr, "FATAL: %v\n", err)
		return exitFailure
	}
}
