package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/benchmark/program"
)

const (
	progressInterval  = 250 * time.Millisecond
	interruptInterval = 50 * time.Millisecond
)

// bench is one invocation of the program.
type bench struct {
	options     options
	stdin       io.Reader
	output      io.Writer
	warnings    io.Writer
	interrupted *atomic.Bool

	persistence  configuration // of the server
	printedBytes int           // of the progress line on the screen
	streams      uint64        // tests run so far; each has random numbers of its own
}

// run asks the server for its configuration and runs the tests.
func (b *bench) run() error {
	if b.options.Idle {
		return b.idle()
	}
	var input []byte
	if b.options.Stdin {
		var err error
		if input, err = io.ReadAll(b.stdin); err != nil {
			return fmt.Errorf("cannot read the last argument from stdin: %w", err)
		}
	}
	tests, err := b.options.suite(input)
	if err != nil {
		return err
	}
	if b.persistence, err = b.options.probe(); err != nil {
		return err
	}
	if !b.persistence.known {
		fmt.Fprintln(b.warnings, "WARNING: Could not fetch server CONFIG")
	}
	if b.options.CSV {
		b.printCSVHeader()
	}
	for {
		for i := range tests {
			if err := b.measure(&tests[i]); err != nil {
				return err
			}
		}
		if len(b.options.Command) == 0 && !b.options.CSV {
			b.printf("\n")
		}
		if !b.options.Loop || len(tests) == 0 {
			return nil
		}
	}
}

// measure runs one test and reports it.
func (b *bench) measure(t *test) error {
	b.streams++
	m, err := newMeasuring(&b.options, t, b.streams)
	if err != nil {
		return err
	}
	defer m.close()
	began := time.Now()
	over := make(chan error, 1)
	go func() { over <- m.drive() }()
	if err = b.watch(m, t.title, began, over); err != nil {
		return err
	}
	elapsed := time.Since(began)
	finished, _ := m.totals()
	b.clearProgress()
	b.report(&result{title: t.title, elapsed: elapsed, finished: finished, latencies: m.latencies()})
	return nil
}

// watch shows progress until the run is over, and ends it when the user interrupts.
func (b *bench) watch(m *measuring, title string, began time.Time, over <-chan error) error {
	glance := time.NewTicker(interruptInterval)
	defer glance.Stop()
	last := progress{at: began}
	for {
		select {
		case err := <-over:
			if b.interrupted.Load() {
				return program.ErrInterrupted
			}
			return err
		case now := <-glance.C:
			if b.interrupted.Load() {
				m.stop.Store(true)
			} else if !b.options.CSV && now.Sub(last.at) >= progressInterval {
				next := progress{at: now}
				next.finished, next.sum = m.totals()
				b.printProgress(title, began, last, next)
				last = next
			}
		}
	}
}

// idle opens connections and waits for the interrupt.
func (b *bench) idle() error {
	b.printf("Creating %d idle connections and waiting forever (Ctrl+C when done)\n", b.options.Clients)
	for range b.options.Clients {
		conn, err := b.options.dial()
		if err != nil {
			return err
		}
		defer conn.Close()
	}
	for !b.interrupted.Load() {
		b.printf("clients: %d\r", b.options.Clients)
		for waited := time.Duration(0); waited < progressInterval && !b.interrupted.Load(); waited += interruptInterval {
			time.Sleep(interruptInterval)
		}
	}
	return program.ErrInterrupted
}
