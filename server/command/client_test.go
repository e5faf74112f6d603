package command

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/tsavorite"
)

// wire is a Transport that is not connected to anything.
type wire struct {
	input, capacity, output int
	last                    time.Time
	killed                  atomic.Bool

	mu     sync.Mutex
	pushed []byte // guarded by mu
}

func (w *wire) LastInteraction() time.Time { return w.last }
func (w *wire) InputBytes() int            { return w.input }
func (w *wire) InputCapacity() int         { return w.capacity }
func (w *wire) WaitsForPeer() bool         { return true }
func (w *wire) OutputBytes() int           { return w.output }
func (w *wire) Push(data []byte, limit int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pushed = append(w.pushed, data...)
	return limit == 0 || len(w.pushed) <= limit
}
func (w *wire) AppendPushes(dst []byte) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	dst = append(dst, w.pushed...)
	w.pushed = nil
	return dst
}
func (w *wire) Kill()        { w.killed.Store(true) }
func (w *wire) Killed() bool { return w.killed.Load() }

// connect adds a client with an address of its own to the registry.
func connect(c *Context, id uint64) (*Client, *wire) {
	w := &wire{last: time.Now()}
	client := &Client{
		ID: id, Address: fmt.Sprintf("10.0.0.1:%d", id), Local: "10.0.0.9:6379", ConnectedAt: time.Now(), Transport: w,
	}
	c.State.Server.Clients.Add(client)
	return client, w
}

func TestClientLine(t *testing.T) {
	now := time.Now()
	client := &Client{
		ID: 7, Address: "10.0.0.1:5", Local: "10.0.0.9:6379", ConnectedAt: now.Add(-90 * time.Second),
		Transport: &wire{input: 10, capacity: 64, output: 1000, last: now.Add(-5 * time.Second)},
	}
	const start = "id=7 addr=10.0.0.1:5 laddr=10.0.0.9:6379 fd=-1 name= age=90 idle=5 flags=N db=0"
	line := client.line(now)
	if !strings.HasPrefix(line, start) || !strings.HasSuffix(line, " resp=2 lib-name= lib-ver=\n") ||
		!strings.Contains(line, " qbuf=10 qbuf-free=54 ") || !strings.Contains(line, " oll=1 omem=1000 tot-mem=1064 ") ||
		!strings.Contains(line, " cmd=NULL user=default ") {
		t.Errorf("line %q", line)
	}
	for _, field := range strings.Fields(line) {
		if strings.Count(field, "=") != 1 {
			t.Errorf("field %q", field)
		}
	}
	name, version := "lib", "1.2"
	client.setName("bob")
	client.setLibrary(&name, nil)
	client.setLibrary(nil, &version)
	client.SetDatabase(3)
	client.SetProtocol(3)
	client.noEvict.Store(true)
	client.noTouch.Store(true)
	client.noteCommand(Lookup([]byte("get")))
	line = client.line(now.Add(-time.Hour)) // a clock that went back
	for _, want := range []string{" name=bob ", " age=0 idle=0 flags=eT db=3 ", " cmd=get ", " resp=3 lib-name=lib lib-ver=1.2\n"} {
		if !strings.Contains(line, want) {
			t.Errorf("no %q in %q", want, line)
		}
	}
	client.reset(true)
	if line = client.line(now); !strings.Contains(line, " name= ") || !strings.Contains(line, " flags=N db=0 ") ||
		!strings.Contains(line, " resp=2 ") || !client.NeedsAuth || !client.Parser.Unauthenticated {
		t.Errorf("after reset: %q", line)
	}
	onSocket := &Client{Local: "/tmp/pyrope.sock:0"}
	if flags := onSocket.flags(); flags != "U" {
		t.Errorf("flags on a unix socket: %q", flags)
	}
}

func TestClientsAreListedByAge(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	for _, id := range []uint64{5, 2, 9, 1} {
		connect(c, id)
	}
	self, _ := connect(c, 3)
	ids := func(reply string) (ids []string) {
		for _, line := range strings.Split(reply, "\n") {
			if first, _, found := strings.Cut(line, " "); found && strings.HasPrefix(first, "id=") {
				ids = append(ids, first[3:])
			}
		}
		return ids
	}
	for line, want := range map[string]string{
		"CLIENT LIST": "[1 2 3 5 9]", "CLIENT LIST TYPE NORMAL": "[1 2 3 5 9]", "CLIENT LIST ID 9 1 77": "[9 1]",
		"CLIENT LIST TYPE master": "[]", "CLIENT INFO": "[3]",
	} {
		if got := fmt.Sprint(ids(serve(t, c, self, requests(line)))); got != want {
			t.Errorf("%s lists %s; want %s", line, got, want)
		}
	}
	c.State.Server.Clients.Remove(self)
	if count := c.State.Server.Clients.Count(); count != 4 {
		t.Errorf("%d clients after one left", count)
	}
}

func TestKillFilters(t *testing.T) {
	check := func(line, reply, killed string, closing bool) {
		t.Helper()
		c := newTestContext(t, tsavorite.Options{})
		wires := make(map[uint64]*wire)
		for _, id := range []uint64{1, 2, 4} {
			_, wires[id] = connect(c, id)
		}
		self, own := connect(c, 3)
		wires[3] = own
		got := serve(t, c, self, requests(line))
		var dead []uint64
		for id := range uint64(5) {
			if w := wires[id]; w != nil && w.Killed() {
				dead = append(dead, id)
			}
		}
		if got != reply || fmt.Sprint(dead) != killed || self.Closing != closing {
			t.Errorf("%s: reply %q, killed %v, closing %v; want %q, %s, %v", line, got, dead, self.Closing, reply, killed, closing)
		}
	}
	check("CLIENT KILL 10.0.0.1:2", "+OK\r\n", "[2]", false)
	check("CLIENT KILL 10.0.0.1:3", "+OK\r\n", "[]", true)
	check("CLIENT KILL 10.0.0.1:8", "-ERR No such client\r\n", "[]", false)
	check("CLIENT KILL ID 4", ":1\r\n", "[4]", false)
	check("CLIENT KILL ID 3", ":0\r\n", "[]", false)
	check("CLIENT KILL ID 3 SKIPME no", ":1\r\n", "[]", true)
	check("CLIENT KILL TYPE normal", ":3\r\n", "[1 2 4]", false)
	check("CLIENT KILL TYPE normal SKIPME NO", ":4\r\n", "[1 2 4]", true)
	check("CLIENT KILL TYPE pubsub", ":0\r\n", "[]", false)
	check("CLIENT KILL TYPE pubsub TYPE normal", ":3\r\n", "[1 2 4]", false) // the last one counts
	check("CLIENT KILL ADDR 10.0.0.1:1 ID 2", ":0\r\n", "[]", false)
	check("CLIENT KILL ADDR 10.0.0.1:1 LADDR 10.0.0.9:6379 USER default", ":1\r\n", "[1]", false)
	check("CLIENT KILL LADDR 1.1.1.1:1", ":0\r\n", "[]", false)
}

// TestClientsComeAndGo reads the registry and the clients while others change them; it is for the
// race detector.
func TestClientsComeAndGo(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	var group sync.WaitGroup
	for worker := range uint64(4) {
		group.Go(func() {
			for i := range uint64(200) {
				client, _ := connect(c, worker*1000+i)
				client.setName("name")
				client.SetDatabase(int(i % 16))
				client.count(1)
				client.noteCommand(commandsByName[i%10])
				c.State.Server.Clients.Remove(client)
			}
		})
	}
	self, _ := connect(c, 99_999)
	for range 50 {
		if got := serve(t, c, self, requests("CLIENT LIST")); !strings.Contains(got, "id=99999 ") {
			t.Errorf("the lister is not in its list: %q", got)
		}
	}
	group.Wait()
	if count := c.State.Server.Clients.Count(); count != 1 {
		t.Errorf("%d clients are left", count)
	}
}
