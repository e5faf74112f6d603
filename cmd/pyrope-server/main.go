// Command pyrope-server runs a Pyrope server: it turns flags and a config file into options, starts
// the server, waits for a signal or a SHUTDOWN, and closes it.
//
//	pyrope-server                                   defaults: port 6379 on loopback, all in memory
//	pyrope-server /etc/pyrope.conf --port 7000      a file, then flags that override it
//	pyrope-server -m 4g --storage-tier -l /data     4 GB in memory, the rest in /data
//
// It exits with 0 after a signal or a SHUTDOWN, and with 1 after one line on standard error when it
// cannot start.
package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/logging"
)

// version is set by the linker to what git calls this state of the source; empty in other builds.
var version string

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, signals))
}

// run is the program; it returns the exit code.
func run(arguments []string, stdout, stderr io.Writer, signals <-chan os.Signal) int {
	flags, notes, done, err := parse(arguments, os.Environ(), stdout, stderr)
	if done {
		return 0
	}
	if err == nil {
		err = serve(flags, notes, stdout, stderr, signals)
	}
	if err != nil {
		fmt.Fprintln(stderr, "pyrope-server:", strings.ReplaceAll(err.Error(), "\n", "; "))
		return 1
	}
	return 0
}

// serve runs the server until a signal or a SHUTDOWN.
func serve(flags *flags, notes []string, stdout, stderr io.Writer, signals <-chan os.Signal) error {
	level := new(slog.LevelVar)
	level.Set(flags.LoggerLevel.Slog())
	to, reopen := stderr, func() error { return nil }
	if flags.LogFile != "" {
		file, err := logging.Open(flags.LogFile)
		if err != nil {
			return fmt.Errorf("--logfile: %w", err)
		}
		defer file.Close()
		to, reopen = file, file.Reopen
	}
	log := logging.New(to, flags.LoggerFormat, level)
	for _, note := range notes {
		log.Warn(note)
	}
	if flags.Memory == 0 {
		var note string
		if flags.Memory, note = config.DefaultMemory(config.MachineMemory()); note != "" {
			log.Info(note)
		}
	}
	if !flags.Quiet {
		fmt.Fprintf(stdout, "Pyrope %s, %s/%s, pid %d\n", programVersion(), runtime.GOOS, runtime.GOARCH, os.Getpid())
	}
	s, err := server.New(server.Options{Options: flags.Options, Log: log, LogLevel: level, OwnsProcess: true, ConfigFile: flags.rewritable})
	if err != nil {
		return err
	}
	if err := s.Start(); err != nil {
		if closing := s.Close(); closing != nil {
			log.Error("cannot close the server", "cause", closing)
		}
		return err
	}
	loaded := s.Loaded()
	for {
		select {
		case <-loaded:
			if err := s.LoadError(); err != nil {
				return errors.Join(err, s.Close())
			}
			fmt.Fprintln(stdout, "* Ready to accept connections")
			loaded = nil
			continue
		case received := <-signals:
			if received == syscall.SIGHUP {
				reload(s, log, reopen)
				continue
			}
			log.Info("closing", "signal", received.String())
		case <-s.ShutdownRequested():
			log.Info("closing", "request", "SHUTDOWN")
		}
		return closeUnless(s, signals)
	}
}

// reload is what SIGHUP asks for: the log's file and the certificates are opened again.
func reload(s *server.Server, log *slog.Logger, reopen func() error) {
	if err := reopen(); err != nil {
		log.Error("cannot open the log's file again; the former goes on", "cause", err)
	}
	if err := s.Reload(); err != nil {
		log.Error("cannot read the certificates again; the former stay", "cause", err)
	}
	log.Info("reloaded", "signal", syscall.SIGHUP.String())
}

// closeUnless closes the server; a second signal that ends it ends the wait for it.
func closeUnless(s *server.Server, signals <-chan os.Signal) error {
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	for {
		select {
		case err := <-closed:
			return err
		case received := <-signals:
			if received != syscall.SIGHUP {
				return fmt.Errorf("cannot close the server: interrupted by %s", received)
			}
		}
	}
}
