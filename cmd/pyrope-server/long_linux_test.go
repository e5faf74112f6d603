package main

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
)

// longValue is the value of key n: any piece of it tells where it belongs.
func longValue(n, size int) []byte {
	word := fmt.Appendf(nil, "%06d:%d|", n, size)
	return bytes.Repeat(word, size/len(word)+1)[:size]
}

// TestAHundredLongValues has a hundred connections write a value of 10 MB each (2 MB to the backend of goroutines) at the same time, and then read one each: nothing is refused, every
// byte is right, somebody else is served meanwhile, and the process has no more than the values, the requests that are under
// way, and as much again for buffers that grew. Memory is enough for all that connections may hold; beyond it they are dropped when they stall.
func TestAHundredLongValues(t *testing.T) {
	const count = 100
	for backend, size := range map[string]int{"epoll": 10 << 20, "net": 2 << 20} {
		t.Run(backend, func(t *testing.T) {
			if testing.Short() {
				size = 512 << 10
			}
			memory, limit := 9*count*size, 64<<20+3*count*size
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
			exchange("writing", func(c *talker, n int) {
				if _, err := c.Write(appendCommand(nil, []byte("SET"), fmt.Append(nil, n), longValue(n, size))); err != nil {
					t.Error(err)
				} else if reply := c.line(t); reply != "+OK" {
					t.Errorf("SET %d: %s", n, reply)
				}
			})
			exchange("reading", func(c *talker, n int) {
				fmt.Fprintf(c, "GET %d\r\n", n)
				if value, there := c.bulk(t, nil); !there || !bytes.Equal(value, longValue(n, size)) {
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
	for _, backend := range backends(t) {
		t.Run(backend, func(t *testing.T) {
			p := startProcess(t, "--memory", fmt.Sprint(memory), "--network-backend", backend, "--storage-tier", "--logdir", t.TempDir())
			other := p.talk(t)
			stop := p.watchResident(t)
			var group sync.WaitGroup
			for n := range count {
				c := p.talk(t)
				group.Go(func() {
					if _, err := c.Write(appendCommand(nil, []byte("SET"), fmt.Append(nil, n), longValue(n, size))); err != nil {
						t.Error(err)
					} else if reply := c.line(t); reply != "+OK" {
						t.Errorf("SET %d: %s", n, reply)
					}
				})
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
				if value, there = other.bulk(t, value); !there || !bytes.Equal(value, longValue(n, size)) {
					t.Errorf("value %d came back with %d bytes, wrong", n, len(value))
				}
			}
		})
	}
}
