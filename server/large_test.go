package server_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/servertest"
)

// longText returns bytes in which each place looks different from its neighbours.
func longText(length int) []byte {
	b := make([]byte, length)
	for i := range b {
		b[i] = byte(i*7 + i/251)
	}
	return b
}

// exchanger is a connection that takes long replies a piece at a time.
type exchanger struct {
	conn   net.Conn
	buffer []byte
}

// send sends a command; value, if it is not nil, is its last word.
func (e *exchanger) send(t *testing.T, value []byte, words ...string) {
	t.Helper()
	count := len(words)
	if value != nil {
		count++
	}
	head := fmt.Appendf(nil, "*%d\r\n", count)
	for _, word := range words {
		head = fmt.Appendf(head, "$%d\r\n%s\r\n", len(word), word)
	}
	parts := [][]byte{head}
	if value != nil {
		parts = [][]byte{fmt.Appendf(head, "$%d\r\n", len(value)), value, []byte("\r\n")}
	}
	for _, part := range parts {
		if _, err := e.conn.Write(part); err != nil {
			t.Fatal(err)
		}
	}
}

// line reads up to a line end.
func (e *exchanger) line() (string, error) {
	var line []byte
	var b [1]byte
	for !bytes.HasSuffix(line, []byte("\r\n")) {
		if _, err := io.ReadFull(e.conn, b[:]); err != nil {
			return "", err
		}
		line = append(line, b[0])
	}
	return string(line[:len(line)-2]), nil
}

// bulk checks that the reply is a bulk string with these bytes.
func (e *exchanger) bulk(want []byte) error {
	line, err := e.line()
	if err != nil || line != "$"+strconv.Itoa(len(want)) {
		return fmt.Errorf("%q, error %v; want a bulk string of %d bytes", line, err, len(want))
	}
	if e.buffer == nil {
		e.buffer = make([]byte, 1<<20)
	}
	for at := 0; at < len(want); {
		n, err := e.conn.Read(e.buffer[:min(len(e.buffer), len(want)-at)])
		if err != nil {
			return err
		}
		if !bytes.Equal(e.buffer[:n], want[at:at+n]) {
			return fmt.Errorf("other bytes than expected behind %d", at)
		}
		at += n
	}
	_, err = e.line()
	return err
}

func dialLong(t *testing.T, s *server.Server) *exchanger {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &exchanger{conn: conn}
}

func (e *exchanger) expect(t *testing.T, want string) {
	t.Helper()
	if line, err := e.line(); err != nil || line != want {
		t.Fatalf("%q, error %v; want %q", line, err, want)
	}
}

func largeOptions(t *testing.T) server.Options {
	return server.Options{Options: config.Options{Memory: 32 << 20, Segment: 64 << 20, StorageTier: config.On, LogDir: t.TempDir()}}
}

// TestAHalfGigabyte sets, reads, changes and deletes the longest string there may be, most of it on the device.
func TestAHalfGigabyte(t *testing.T) {
	if testing.Short() {
		t.Skip("writes and reads 512 MB")
	}
	s := servertest.StartServer(t, largeOptions(t))
	c := dialLong(t, s)
	value := longText(512 << 20)
	began := time.Now()
	c.send(t, value, "SET", "k")
	c.expect(t, "+OK")
	written := time.Now()
	c.send(t, nil, "GET", "k")
	if err := c.bulk(value); err != nil {
		t.Fatal(err)
	}
	t.Logf("SET took %v, GET %v", written.Sub(began), time.Since(written))
	c.send(t, []byte("x"), "APPEND", "k")
	c.expect(t, "-ERR string exceeds maximum allowed size (proto-max-bulk-len)")
	c.send(t, []byte("new"), "SETRANGE", "k", "300000000")
	c.expect(t, ":536870912")
	copy(value[300000000:], "new")
	c.send(t, nil, "GETRANGE", "k", "299999990", "300000010")
	if err := c.bulk(value[299999990:300000011]); err != nil {
		t.Fatal(err)
	}
	c.send(t, nil, "RENAME", "k", "l")
	c.expect(t, "+OK")
	c.send(t, nil, "UNLINK", "l")
	c.expect(t, ":1")
}

// TestAppendToAHundredMegabytes appends in steps, then reads slices of the cold value: each costs the reads of
// its chunks, not of the whole.
func TestAppendToAHundredMegabytes(t *testing.T) {
	const step, steps = 100_000, 1000
	s := servertest.StartServer(t, largeOptions(t))
	c := dialLong(t, s)
	value := longText(step * steps)
	for i := range steps {
		c.send(t, value[i*step:(i+1)*step], "APPEND", "k")
	}
	for i := range steps {
		c.expect(t, ":"+strconv.Itoa((i+1)*step))
	}
	before := s.Info()
	const slices = 50
	for i := range slices {
		at := i * 1_000_003 // far below the 32 MB that are in memory
		c.send(t, nil, "GETRANGE", "k", strconv.Itoa(at), strconv.Itoa(at+999))
		if err := c.bulk(value[at : at+1000]); err != nil {
			t.Fatal(err)
		}
	}
	after := s.Info()
	// A slice lies in one chunk or two; the key's record may be cold, and a chunk takes a second read when it is
	// longer than what was expected.
	if reads := after.DeviceReads - before.DeviceReads; reads == 0 || reads > 5*slices {
		t.Errorf("%d slices took %d reads from the device", slices, reads)
	}
}

// TestAHundredLongReads has a hundred connections read 10 MB each at the same time.
func TestAHundredLongReads(t *testing.T) {
	if testing.Short() {
		t.Skip("has a gigabyte of replies")
	}
	s := servertest.StartServer(t, largeOptions(t))
	value := longText(10 << 20)
	c := dialLong(t, s)
	for i := range 10 {
		c.send(t, value, "SET", strconv.Itoa(i))
		c.expect(t, "+OK")
	}
	var group sync.WaitGroup
	for i := range 100 {
		reader := dialLong(t, s)
		group.Go(func() {
			reader.send(t, nil, "GET", strconv.Itoa(i%10))
			if err := reader.bulk(value); err != nil {
				t.Errorf("reader %d: %v", i, err)
			}
		})
	}
	group.Wait()
}
