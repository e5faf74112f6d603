package network_test

import (
	"bytes"
	"encoding/binary"
	"sync"
	"syscall"
	"time"

	"github.com/pyropedb/pyrope/server/network"
)

func init() { newParker = func(h *lines) network.Parker { return newLineParker(h) } }

// lineParker answers lines after a while, as a device would.
type lineParker struct {
	h       *lines
	eventFD int
	fresh   []*parkedLine
	lines   map[*network.Conn]*parkedLine
	timers  sync.WaitGroup
	count   int

	mu   sync.Mutex
	done []*network.Conn
}

type parkedLine struct {
	c    *network.Conn
	wait time.Duration
	text string
	half bool // half of the answer is there
}

func newLineParker(h *lines) *lineParker {
	fd, _, errno := syscall.Syscall(syscall.SYS_EVENTFD2, 0, syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if errno != 0 {
		panic(errno)
	}
	return &lineParker{h: h, eventFD: int(fd), lines: map[*network.Conn]*parkedLine{}}
}

func (p *lineParker) EventFD() int { return p.eventFD }

func (p *lineParker) leave(c *network.Conn, text string) {
	wait, text := delayed(text)
	if p.lines[c] != nil {
		p.h.fail("a parked connection is parked again")
	}
	p.lines[c] = &parkedLine{c: c, wait: wait, text: text}
	p.fresh = append(p.fresh, p.lines[c])
}

func (p *lineParker) Submit() {
	for _, line := range p.fresh {
		if line.wait == 0 { // a device that answers at once
			p.mu.Lock()
			p.done = append(p.done, line.c)
			p.mu.Unlock()
			_, _ = syscall.Write(p.eventFD, binary.NativeEndian.AppendUint64(nil, 1))
			continue
		}
		p.timers.Add(1)
		time.AfterFunc(line.wait, func() {
			defer p.timers.Done()
			p.mu.Lock()
			p.done = append(p.done, line.c)
			p.mu.Unlock()
			_, _ = syscall.Write(p.eventFD, binary.NativeEndian.AppendUint64(nil, 1))
		})
	}
	p.fresh = nil
}

func (p *lineParker) Poll(ready []*network.Conn, wait bool) []*network.Conn {
	if wait {
		p.timers.Wait()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	ready = append(ready, p.done...)
	p.done = nil
	return ready
}

// Deliver answers every third line in two halves.
func (p *lineParker) Deliver(c *network.Conn) bool {
	line := p.lines[c]
	if line == nil {
		p.h.fail("a connection is delivered to that is not parked")
		return true
	}
	if p.count++; p.count%3 == 0 && !line.half && len(line.text) > 1 {
		c.Out = append(c.Out, line.text[:1]...)
		line.text, line.half = line.text[1:], true
		p.fresh = append(p.fresh, line)
		return false
	}
	c.Out = append(append(c.Out, bytes.TrimSpace([]byte(line.text))...), '\n')
	delete(p.lines, c)
	return true
}

func (p *lineParker) Close() {
	if len(p.lines) > 0 {
		p.h.fail("a parker is closed with %d connections parked", len(p.lines))
	}
	_ = syscall.Close(p.eventFD)
}
