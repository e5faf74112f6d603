package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
)

// longValues is a text of which each value is a piece: those of a hundred connections that write at once take no memory and no time, so that
// none has to wait for the others before it can go on writing.
type longValues struct {
	text []byte
	size int // of a value
}

// wordBytes is the length of the words of the text, which are its places: any piece of a value tells where it belongs.
const wordBytes = 9

func newLongValues(count, size int) longValues {
	v := longValues{size: size}
	for n := range count + size/wordBytes + 1 {
		v.text = fmt.Appendf(v.text, "%08d|", n)
	}
	return v
}

// of is the value of key n.
func (v longValues) of(n int) []byte { return v.text[n*wordBytes:][:v.size] }

// set writes the value of key n by SET.
func (v longValues) set(t *testing.T, c *talker, n int) {
	key := strconv.Itoa(n)
	request := net.Buffers{fmt.Appendf(nil, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n", len(key), key, v.size), v.of(n), []byte("\r\n")}
	if _, err := request.WriteTo(c); err != nil {
		t.Errorf("SET %d: %v", n, err)
	} else if reply := c.line(t); reply != "+OK" {
		t.Errorf("SET %d: %s", n, reply)
	}
}

// TestAHundredLongValues has a hundred connections write a value of 10 MB each (2 MB to the backend of goroutines) at the same
// time, and then read one each: nothing is refused, every byte is right, somebody else is served meanwhile, and the process has no
// more than the values, the requests that are under
// way, and as much again for buffers that grew. Memory is enough for all that connections may hold; beyond it they are dropped when they stall.
func TestAHundredLongValues(t *testing.T) {
	const count = 100
	for backend, size := range map[string]int{"epoll": 10 << 20, "net": 2 << 20} {
		t.Run(backend, func(t *testing.T) {
			if testing.Short() {
				size = 512 << 10
			}
			memory, limit := 12*count*size, 64<<20+3*count*size
			p := startProcess(t, "--memory", fmt.Sprint(memory), "--network-backend", backend)
			other := p.talk(t)
			stop := p.watchResident(t)
			exchange := func(what string, each func(c *talker, n int)) {
				began := time.Now()
				var group sync.WaitGroup
				for n := range count {
					c := p.talk(t)
					group.Go(func() { each(c, n) })
				}
				over := make(chan struct{})
				go func() { group.Wait(); close(over) }()
				served := 0
				for waiting := true; waiting; served++ {
					if reply := other.do(t, "PING"); reply != "+PONG" {
						t.Errorf("PING meanwhile: %s", reply)
					}
					select {
					case <-over:
						waiting = false
					case <-time.After(time.Millisecond):
					}
				}
				t.Logf("%s took %v; %d requests of somebody else were served; resident %d MB", what, time.Since(began), served, p.resident(t)>>20)
			}
			values := newLongValues(count, size)
			exchange("writing", func(c *talker, n int) { values.set(t, c, n) })
			exchange("reading", func(c *talker, n int) {
				fmt.Fprintf(c, "GET %d\r\n", n)
				if value, there := c.bulk(t, nil); !there || !bytes.Equal(value, values.of(n)) {
					t.Errorf("value %d came back with %d bytes, wrong", n, len(value))
				}
			})
			most := stop()
			t.Logf("at most %d MB resident", most>>20)
			if most > limit {
				t.Errorf("the process had %d MB, want at most %d", most>>20, limit>>20)
			}
		})
	}
}

// backends are the ways to serve connections that there are here: io_uring is not everywhere.
func backends(t *testing.T) []string {
	t.Helper()
	names := []string{"epoll", "net"}
	s, err := server.New(server.Options{Options: config.Options{Memory: 16 << 20, Page: 1 << 20, NetworkBackend: config.BackendUring}})
	if err == nil {
		err = errors.Join(s.Start(), s.Close())
	}
	if err != nil {
		t.Logf("without io_uring: %v", err)
		return names
	}
	return append(names, "uring")
}

// TestAHundredLongWrites has a hundred connections write a value of 10 MB each at the same time, with a tier and memory for a quarter of them: nothing
// is refused, every byte is right, and somebody else is served meanwhile. The process stays within what the server may have, one
// request more, and a quarter for what is not counted at once: garbage, buffers of the device.
func TestAHundredLongWrites(t *testing.T) {
	const count = 100
	size, memory := 10<<20, 256<<20
	if testing.Short() {
		size, memory = 1<<20, 48<<20
	}
	limit := memory/4*5 + size
	values := newLongValues(count, size)
	for _, backend := range backends(t) {
		t.Run(backend, func(t *testing.T) {
			p := startProcess(t, "--memory", fmt.Sprint(memory), "--network-backend", backend, "--storage-tier", "--logdir", t.TempDir())
			other := p.talk(t)
			stop := p.watchResident(t)
			var group sync.WaitGroup
			for n := range count {
				c := p.talk(t)
				group.Go(func() { values.set(t, c, n) })
			}
			over := make(chan struct{})
			go func() { group.Wait(); close(over) }()
			served, waiting := 0, 0
			for running := true; running; served++ {
				if reply := other.do(t, "PING"); reply != "+PONG" {
					t.Errorf("PING meanwhile: %s", reply)
				}
				now, _ := strconv.Atoi(other.info(t, "clients", "input_waiting_clients"))
				waiting = max(waiting, now)
				select {
				case <-over:
					running = false
				case <-time.After(time.Millisecond):
				}
			}
			most := stop()
			t.Logf("at most %d MB resident, %d waited, %d requests of somebody else were served", most>>20, waiting, served)
			if most > limit {
				t.Errorf("the process had %d MB, want at most %d", most>>20, limit>>20)
			}
			var value []byte
			for n := range count {
				fmt.Fprintf(other, "GET %d\r\n", n)
				there := false
				if value, there = other.bulk(t, value); !there || !bytes.Equal(value, values.of(n)) {
					t.Errorf("value %d came back with %d bytes, wrong", n, len(value))
				}
			}
		})
	}
}
