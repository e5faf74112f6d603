package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/benchmark/program"
	"github.com/pyropedb/pyrope/benchmark/report"
)

// serverWait is how long the program waits for a server that is not there yet.
const serverWait = 30 * time.Second

// bench is one invocation of the program.
type bench struct {
	options     options
	keys        keyspace
	output      io.Writer
	interrupted *atomic.Bool
	connect     func() (link, error) // set by runAll
	security    *tls.Config          // nil without --tls
	rows        []row                // results, in the order they were found
}

// runAll waits for the server or starts the embedded one, loads, verifies, and runs the sweeps.
func (b *bench) runAll() (err error) {
	if b.options.Txn {
		b.options.Online = true
	}
	closeLog, err := b.openLog()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	if b.options.Online {
		b.forceOneMessage()
	}
	b.printConfig()
	if b.security, err = b.options.security(); err != nil {
		return err
	}
	stop, err := b.reachServer()
	if err != nil {
		return err
	}
	defer stop()
	defer func() {
		err = errors.Join(err, report.Write(b.options.Files, b.output, "RESP-RESULT-JSON", b.rows), b.writePage())
	}()
	if b.options.SaveFreq > 0 {
		saver, err := b.startSaver()
		if err != nil {
			return err
		}
		defer saver.end()
	}
	if b.options.Online {
		return b.runOnline()
	}
	loads := b.options.Op.loads() && !b.options.SkipLoad
	if loads {
		if err := b.load(); err != nil {
			return err
		}
	}
	if b.options.Verify {
		if err := b.verifyAll(); err != nil {
			return err
		}
	}
	if loads && b.options.Runtime == 0 {
		return nil
	}
	return b.sweep()
}

// reachServer sets connect, and returns what ends the server if it is our own.
func (b *bench) reachServer() (stop func(), err error) {
	if b.options.Client == inProcType {
		return b.startEmbedded()
	}
	address := b.options.address()
	b.connect = func() (link, error) {
		l, err := dialLight(address, b.options.Auth, b.security)
		if err != nil {
			return nil, err
		}
		return l, nil
	}
	return func() {}, b.waitForServer(joinHostPort(b.options.Host, b.options.Port))
}

// waitForServer connects and sends QUIT once a second until that works.
func (b *bench) waitForServer(address string) error {
	for deadline := time.Now().Add(serverWait); ; {
		l, err := dialLight(address, "", b.security)
		if err == nil {
			_, _ = command(l, "QUIT") // any answer shows that the server is there
			return l.Close()
		}
		var dialing *net.OpError // what is there and cannot be talked to will not change
		waits := errors.As(err, &dialing) && dialing.Op == "dial"
		if !waits || b.interrupted.Load() || time.Now().After(deadline) {
			return fmt.Errorf("cannot reach the server at %s within %v: %w", address, serverWait, err)
		}
		b.printf("Waiting for server at %s\n", address)
		time.Sleep(time.Second)
	}
}

// sweep runs every batch size with every thread count. A run with wrong values is finished and
// reported, and so is the sweep; other failures end it.
func (b *bench) sweep() error {
	var mismatch error
	for _, size := range b.options.Batch {
		batches, err := b.buildBatches(size)
		if err != nil {
			return err
		}
		for _, threads := range b.options.Threads {
			m, err := b.measure(batches, size, threads)
			if err != nil {
				return fmt.Errorf("cannot run %s with %d threads: %w", b.options.Op, threads, err)
			}
			b.printResult(b.options.Op, threads, m.elapsed, m.batches*uint64(size))
			b.printRemarks(&m, m.batches*uint64(size))
			b.rows = append(b.rows, b.offlineRow(size, threads, &m))
			if m.errors > 0 {
				return fmt.Errorf("%d error replies to %s; the first is %q", m.errors, b.options.Op, m.firstError)
			}
			if m.mismatches+m.checkedNils > 0 {
				mismatch = program.ErrMismatch
			}
			if b.interrupted.Load() {
				return mismatch
			}
		}
	}
	return mismatch
}

// connectAll opens count links.
func (b *bench) connectAll(count int) ([]link, error) { return openAll(count, b.connect) }

// openAll opens count of something, or none.
func openAll[T io.Closer](count int, open func() (T, error)) ([]T, error) {
	opened := make([]T, 0, count)
	for range count {
		one, err := open()
		if err != nil {
			closeAll(opened)
			return nil, err
		}
		opened = append(opened, one)
	}
	return opened, nil
}

// closeAll closes links or carriers; what they carried is over.
func closeAll[T io.Closer](all []T) {
	for _, one := range all {
		_ = one.Close()
	}
}
