package network_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server/network"
)

// lines is a Handler whose requests are lines and whose replies are the lines' answers:
//
//	echo X     X
//	big N      N times x
//	hand X     X, after handOff twice
//	wait X     X, after handOff and until the gate opens
//	park N X   X, after N microseconds in which the connection is parked, or handOff and a sleep
//	sleep      slept, after handOff and a moment
//	stall X    X, after a moment in which the loop does nothing else
//	keep X     X, held until hold lets it go; without X its position
//	mute       nothing, but held likewise
//	close      bye, then the connection ends
//	@N\n…      a request of N bytes in all, of which only the length is told; NeedBytes is used
type lines struct {
	gate    chan struct{} // what wait waits for
	waiting atomic.Int32

	workers, closedWorkers, opened, closed, served atomic.Int64
	open                                           sync.Map // ID to *network.Conn
	failure                                        atomic.Pointer[string]
	clients                                        sync.Map // *client, to be closed
	refuse                                         atomic.Bool

	kept, releases atomic.Uint64 // replies to keep so far; calls of Release
	hold           atomic.Pointer[func(position uint64) bool]
}

type lineWorker struct {
	h       *lines
	handOff func()
	busy    atomic.Bool
}

func newLines() *lines { return &lines{gate: make(chan struct{})} }

func (h *lines) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	h.failure.CompareAndSwap(nil, &text)
}

func (h *lines) NewWorker(handOff func()) network.Worker {
	h.workers.Add(1)
	return &lineWorker{h: h, handOff: handOff}
}

// newParker makes a parker, where the platform has loops that park.
var newParker func(h *lines) network.Parker

func (h *lines) NewParker() network.Parker {
	if newParker == nil {
		return nil
	}
	return newParker(h)
}

func (h *lines) Open(c *network.Conn) {
	h.opened.Add(1)
	h.open.Store(c.ID, c)
	c.State = new(atomic.Bool) // set while a Serve of this connection runs
	if h.refuse.Load() {
		c.Out = append(c.Out, "full\n"...)
		c.CloseAfterReply()
	}
}

func (h *lines) Closed(c *network.Conn) {
	h.closed.Add(1)
	if _, ok := h.open.LoadAndDelete(c.ID); !ok {
		h.fail("connection %d closed twice or never opened", c.ID)
	}
	if c.State.(*atomic.Bool).Load() {
		h.fail("connection %d closed while it is served", c.ID)
	}
}

func (h *lines) Release(position uint64) bool {
	h.releases.Add(1)
	return (*h.hold.Load())(position)
}

func (w *lineWorker) Close() { w.h.closedWorkers.Add(1) }

func (w *lineWorker) Serve(c *network.Conn, input []byte) (consumed int) {
	serving := c.State.(*atomic.Bool)
	if w.busy.Swap(true) || serving.Swap(true) {
		w.h.fail("two at once in one worker or connection")
	}
	defer w.busy.Store(false)
	defer serving.Store(false)
	before := bytes.Clone(input)
	defer func() {
		if !bytes.Equal(before, input) {
			w.h.fail("the input changed during Serve")
		}
	}()
	w.h.served.Add(1)
	for !c.OutputFull() && !c.Closing() {
		end := bytes.IndexByte(input[consumed:], '\n')
		if end < 0 {
			return consumed
		}
		line := string(input[consumed : consumed+end])
		if text, ok := strings.CutPrefix(line, "@"); ok {
			length, _ := strconv.Atoi(text)
			if len(input)-consumed < length {
				c.NeedBytes = length
				return consumed
			}
			c.Out = fmt.Appendf(c.Out, "%d\n", length)
			consumed += length
			continue
		}
		consumed += end + 1
		if text, ok := strings.CutPrefix(line, "park "); ok && w.park(c, text) {
			return consumed
		}
		w.answer(c, line)
	}
	return consumed
}

// park leaves a line to the connection's parker and tells whether there is one.
func (w *lineWorker) park(c *network.Conn, text string) bool {
	p, ok := c.Parker().(interface{ leave(*network.Conn, string) })
	if ok {
		p.leave(c, text)
		c.Park()
	}
	return ok
}

// delayed splits what is behind "park".
func delayed(text string) (time.Duration, string) {
	number, rest, _ := strings.Cut(text, " ")
	microseconds, _ := strconv.Atoi(number)
	return time.Duration(microseconds) * time.Microsecond, rest
}

func (w *lineWorker) answer(c *network.Conn, line string) {
	verb, text, _ := strings.Cut(line, " ")
	switch verb {
	case "hand":
		w.handOff()
		w.handOff()
	case "wait":
		w.handOff()
		w.h.waiting.Add(1)
		<-w.h.gate
		w.h.waiting.Add(-1)
	case "sleep":
		w.handOff()
		time.Sleep(50 * time.Microsecond)
		text = "slept"
	case "park":
		w.handOff()
		var delay time.Duration
		delay, text = delayed(text)
		time.Sleep(delay)
	case "stall":
		time.Sleep(30 * time.Millisecond)
	case "big":
		count, _ := strconv.Atoi(text)
		text = strings.Repeat("x", count)
	case "keep":
		c.Hold = w.h.kept.Add(1)
		if text == "" {
			text = strconv.FormatUint(c.Hold, 10)
		}
	case "mute":
		c.Hold = w.h.kept.Add(1)
		return
	case "close":
		text = "bye"
		c.CloseAfterReply()
	}
	c.Out = append(append(c.Out, text...), '\n')
}

// mode is one way to serve: the same tests run in all of them.
type mode struct {
	name    string
	options network.Options
	unix    bool
	secure  bool
	shift   bool // connections go from loop to loop all the time
}

func modes(t *testing.T) []mode {
	t.Helper()
	list := []mode{
		{name: "loop", options: network.Options{Loops: 1}},
		{name: "shifting", shift: network.LoopsSupported},
		{name: "goroutines-unix", options: network.Options{Goroutines: true, ReadBufferBytes: 4096}, unix: true},
		{name: "tls", options: network.Options{}, secure: true},
	}
	if !testing.Short() { // the same code as above, with other sizes
		list = append(list, mode{name: "loops", options: network.Options{Loops: 3, ReadBufferBytes: 4096}},
			mode{name: "unix", options: network.Options{Loops: 2}, unix: true},
			mode{name: "goroutines", options: network.Options{Goroutines: true}})
	}
	if rings(t) {
		list = append(list, mode{name: "ring", options: network.Options{Loops: 1, Rings: true}})
		if !testing.Short() {
			list = append(list, mode{name: "rings", options: network.Options{Loops: 3, Rings: true}},
				mode{name: "rings-shifting", options: network.Options{Rings: true, ReadBufferBytes: 4096}, shift: true},
				mode{name: "rings-unix", options: network.Options{Loops: 2, Rings: true}, unix: true})
		}
	}
	return list
}

// ringsProblem is why there are no loops over io_uring here; nil if there are.
var ringsProblem = sync.OnceValue(func() error {
	if !network.LoopsSupported {
		return errors.New("no event loops")
	}
	s, err := network.Listen(newLines(), network.Options{Rings: true, Loops: 1})
	if err != nil {
		return err
	}
	return s.Close()
})

// rings tells whether there are loops over io_uring.
func rings(t *testing.T) bool {
	t.Helper()
	err := ringsProblem()
	if err != nil {
		t.Logf("no rings here: %v", err)
	}
	return err == nil
}

// inModes runs test once a mode and checks for each that everything ends: workers, connections,
// goroutines, descriptors (N8, N9).
func inModes(t *testing.T, adjust func(*network.Options), test func(t *testing.T, h *lines, s *network.Server)) {
	inEach(t, modes(t), adjust, test)
}

// inSteadyModes is inModes without those in which connections go from loop to loop.
func inSteadyModes(t *testing.T, test func(t *testing.T, h *lines, s *network.Server)) {
	inEach(t, slices.DeleteFunc(modes(t), func(m mode) bool { return m.shift }), nil, test)
}

func inEach(t *testing.T, list []mode, adjust func(*network.Options), test func(t *testing.T, h *lines, s *network.Server)) {
	for _, m := range list {
		t.Run(m.name, func(t *testing.T) {
			if warm, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
				_ = warm.Close() // package net's own descriptors are open now
			}
			goroutines, descriptors := runtime.NumGoroutine(), countDescriptors(t)
			options := m.options
			switch {
			case m.unix:
				options.UnixSocket = filepath.Join(t.TempDir(), "s")
			case m.secure:
				options.TLSAddresses = []string{"127.0.0.1:0"}
				options.TLS = func() *tls.Config { return serverTLS(t) }
			default:
				options.Addresses = []string{"127.0.0.1:0"}
			}
			if adjust != nil {
				adjust(&options)
			}
			h := newLines()
			s, err := network.Listen(h, options)
			if err != nil {
				t.Fatal(err)
			}
			handlers.Store(s, h)
			defer handlers.Delete(s)
			stop := make(chan struct{})
			var shifting sync.WaitGroup
			if m.shift {
				shifting.Go(func() { shift(s, stop) })
			}
			test(t, h, s)
			close(stop)
			shifting.Wait()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			h.closeClients()
			if err := s.Close(); err != nil {
				t.Errorf("the second Close: %v", err)
			}
			if h.workers.Load() != h.closedWorkers.Load() || h.opened.Load() != h.closed.Load() || s.Connections() != 0 {
				t.Errorf("%d workers, %d closed; %d connections opened, %d closed, %d counted", h.workers.Load(),
					h.closedWorkers.Load(), h.opened.Load(), h.closed.Load(), s.Connections())
			}
			if text := h.failure.Load(); text != nil {
				t.Error(*text)
			}
			eventually(t, "goroutines and descriptors to end", func() bool {
				return runtime.NumGoroutine() <= goroutines && countDescriptors(t) <= descriptors
			})
		})
	}
}

// shift changes the number of loops that take part until stop is closed.
func shift(s *network.Server, stop <-chan struct{}) {
	ticker := time.NewTicker(3 * time.Millisecond)
	defer ticker.Stop()
	for count := 0; ; count++ {
		select {
		case <-stop:
			return
		case <-ticker.C:
			s.Shift(1 + count%2)
		}
	}
}

// handlers finds the handler of a server under test.
var handlers sync.Map

// countDescriptors is the number of descriptors this process has open, 0 where nobody tells.
func countDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

// eventually waits up to a minute for condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// connect opens a connection to the first address of a server, with TLS if that is all it speaks.
func connect(s *network.Server) (net.Conn, error) {
	if len(s.Addresses()) == 0 {
		return tls.Dial("tcp", s.TLSAddresses()[0].String(), &tls.Config{InsecureSkipVerify: true})
	}
	return net.Dial(s.Addresses()[0].Network(), s.Addresses()[0].String())
}

// client is a connection to the server under test.
type client struct {
	net.Conn
	t      *testing.T
	reader *bufio.Reader
}

func dial(t *testing.T, s *network.Server) *client {
	t.Helper()
	conn, err := connect(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	c := &client{Conn: conn, t: t, reader: bufio.NewReader(conn)}
	if h, ok := handlers.Load(s); ok {
		h.(*lines).clients.Store(c, nil)
	}
	return c
}

// narrow has the kernel buffer little of what the peer does not read, so that the rest of it is the server's.
func (c *client) narrow() {
	c.t.Helper()
	narrow(c.t, c.Conn)
}

func narrow(t *testing.T, conn net.Conn) {
	t.Helper()
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if err := conn.(interface{ SetReadBuffer(int) error }).SetReadBuffer(256 << 10); err != nil {
		t.Error(err)
	}
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		c.t.Error(err)
	}
}

// expect reads one reply.
func (c *client) expect(want string) {
	c.t.Helper()
	got, err := c.reader.ReadString('\n')
	if err != nil || strings.TrimSuffix(got, "\n") != want {
		c.t.Fatalf("got %.80q (%d bytes), %v; want %.80q", got, len(got), err, want)
	}
}

// expectEndSoon reads the end of the stream behind whatever comes before it; a reset will do.
func (c *client) expectEndSoon() {
	c.t.Helper()
	_, err := io.Copy(io.Discard, c.reader)
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		c.t.Fatal("the server does not close the connection")
	}
}

// expectEnd reads the end of the stream; a reset will do.
func (c *client) expectEnd() {
	c.t.Helper()
	if got, err := c.reader.ReadByte(); err == nil {
		c.t.Fatalf("got byte %q, want the end", got)
	} else if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		c.t.Fatal("the server does not close the connection")
	}
}

func (c *client) ask(request, want string) {
	c.t.Helper()
	c.send(request + "\n")
	c.expect(want)
}

// only returns the single open connection on the server's side.
func (h *lines) only(t *testing.T) (c *network.Conn) {
	t.Helper()
	eventually(t, "one connection", func() bool {
		count := 0
		h.open.Range(func(_, value any) bool {
			c = value.(*network.Conn)
			count++
			return true
		})
		return count == 1
	})
	return c
}

func (h *lines) closeClients() {
	h.clients.Range(func(key, _ any) bool {
		_ = key.(*client).Close() // some are closed already
		return true
	})
}

// shorter is all, or part in short mode.
func shorter(all, part int) int {
	if testing.Short() {
		return part
	}
	return all
}
