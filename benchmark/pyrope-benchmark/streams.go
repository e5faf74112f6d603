package main

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// inlineWriteBytes is how much a connection writes before it reads; more is written beside the reading.
const inlineWriteBytes = 64 << 10

// driveStreams gives every connection a goroutine until all requests are answered.
func (l *lane) driveStreams() error {
	var group sync.WaitGroup
	var once sync.Once
	var failure error
	for _, c := range l.connections {
		group.Go(func() {
			if err := c.serve(); err != nil {
				once.Do(func() { failure = err })
				l.run.stop.Store(true)
			}
		})
	}
	group.Wait()
	return failure
}

// serve exchanges batches until none is left.
func (c *connection) serve() error {
	received := make([]byte, receiveBytes)
	for c.next() {
		if len(c.unsent) > inlineWriteBytes {
			written := make(chan error, 1)
			go func(request []byte) { written <- write(c.stream, request) }(c.unsent)
			if err := c.drain(received); err != nil {
				return err
			}
			if err := <-written; err != nil {
				return err
			}
		} else if err := write(c.stream, c.unsent); err != nil {
			return err
		} else if err := c.drain(received); err != nil {
			return err
		}
		if c.lane.run.options.Keep == 0 {
			c.disconnect()
			if err := c.connect(c.lane.run.options); err != nil {
				return err
			}
			c.fresh = true
		}
	}
	return nil
}

// write sends a request.
func write(conn net.Conn, request []byte) error {
	if _, err := conn.Write(request); err != nil {
		return fmt.Errorf("cannot send requests: %w", err)
	}
	return nil
}

// drain reads until the batch is answered or the run is stopped.
func (c *connection) drain(received []byte) error {
	for {
		if err := c.stream.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			return fmt.Errorf("cannot read replies: %w", err)
		}
		n, err := c.stream.Read(received)
		complete, failure := c.received(received[:n])
		if failure != nil || complete {
			return failure
		}
		if timeout, ok := err.(net.Error); err != nil && (!ok || !timeout.Timeout()) {
			return errClosed
		}
		if c.lane.run.stop.Load() {
			return nil
		}
	}
}
