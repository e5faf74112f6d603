package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pyropedb/pyrope/benchmark/reply"
	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
)

// inProc is a link to a server in this process: requests are executed on the caller's goroutine,
// by the code that serves sockets.
type inProc struct{ client *server.Client }

// exchange implements link.
func (l inProc) exchange(request []byte, r *reply.Scanner) error {
	received, err := l.client.Send(request)
	if err != nil {
		return fmt.Errorf("cannot send requests: %w", err)
	}
	if err := r.Feed(received); err != nil {
		return err
	}
	if !r.Complete() {
		return errors.New("cannot read replies: the embedded server has answered fewer requests than it got")
	}
	return nil
}

// interruptBy implements link; an exchange in process waits for nobody.
func (l inProc) interruptBy(time.Time) {}

// Close implements link.
func (l inProc) Close() error {
	l.client.Close()
	return nil
}

// startEmbedded makes a server in this process, prints what it is, and sets connect.
func (b *bench) startEmbedded() (stop func(), err error) {
	var o config.Options
	if err := b.options.embedded(&o); err != nil {
		return nil, err
	}
	if o.Memory == 0 {
		o.Memory, _ = config.DefaultMemory(config.MachineMemory())
	}
	embedded, err := server.New(server.Options{Options: o})
	if err != nil {
		return nil, fmt.Errorf("cannot start the embedded server: %w", err)
	}
	if err := embedded.LoadError(); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start the embedded server: %w", err), embedded.Close())
	}
	resolved := embedded.Options()
	b.printf("------EMBEDDED-SERVER-CONFIG------\n")
	b.printf("index: %v\n", resolved.Index)
	b.printf("memory: %v\n", resolved.Memory)
	b.printf("page: %v\n", resolved.Page)
	for _, name := range slices.Sorted(maps.Keys(b.options.Server)) {
		b.printf("%s: %s\n", name, b.options.Server[name])
	}
	b.printf("----------------------------------\n")
	b.connect = func() (link, error) {
		client, err := embedded.Client()
		if err != nil {
			return nil, fmt.Errorf("cannot connect: %w", err)
		}
		return inProc{client}, nil
	}
	return func() { _ = embedded.Close() }, nil
}
