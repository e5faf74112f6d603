package main

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"
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
