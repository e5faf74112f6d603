package command

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/localmemory"
	"github.com/pyropedb/pyrope/tsavorite"
)

// lateDevice holds the next read back, once it is armed, until it is released.
type lateDevice struct {
	device.Device
	armed    atomic.Bool
	held     chan struct{} // closed when a read is held
	released chan struct{}
}

type lateQueue struct {
	device.Queue
	device *lateDevice
	late   []*device.Request
}

func (d *lateDevice) NewQueue() (device.Queue, error) {
	queue, err := d.Device.NewQueue()
	return &lateQueue{Queue: queue, device: d}, err
}

func (q *lateQueue) Submit(batch []*device.Request) {
	for _, r := range batch {
		if r.Op == device.OpRead && q.device.armed.CompareAndSwap(true, false) {
			q.late = append(q.late, r)
			close(q.device.held)
			continue
		}
		q.Queue.Submit([]*device.Request{r})
	}
}

func (q *lateQueue) Poll(done []*device.Request, wait bool) int {
	if n := q.Queue.Poll(done, false); n > 0 {
		return n
	}
	if wait && len(q.late) > 0 {
		<-q.device.released
		q.Queue.Submit(q.late)
		q.late = nil
	}
	return q.Queue.Poll(done, wait)
}

func (q *lateQueue) InFlight() int { return q.Queue.InFlight() + len(q.late) }

// soon fails the test if something does not happen within half a minute.
func soon(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("in vain awaited: ", what)
	}
}

// TestNoLatchIsKeptForTheDevice has commands on several keys wait for one that is on the device, and writes that key meanwhile: the write goes
// through, and the command uses what was written.
func TestNoLatchIsKeptForTheDevice(t *testing.T) {
	for _, test := range []struct{ prepare, command, write, want, check, result, size string }{
		{"SET cold aaaa", "BITOP AND d cold hot", "SET cold ffff", ":4\r\n", "GET d", "$4\r\nffff\r\n", ":304\r\n"},
		{"SET d cold", "BITOP OR d cold hot", "SET d written", ":4\r\n", "GET d", "$4\r\nffff\r\n", ":303\r\n"},
		{"SET d cold", "BITOP OR d none none", "SET none f", ":1\r\n", "GET d", "$1\r\nf\r\n", ":304\r\n"},
		{"SET d cold", "BITOP OR d none none", "DEL d", ":0\r\n", "EXISTS d", ":0\r\n", ":302\r\n"},
		{"SET cold aaaa", "LCS hot cold", "SET cold fffa", "$3\r\nfff\r\n", "EXISTS hot", ":1\r\n", ":303\r\n"},
		{"PFADD cold a b c", "PFCOUNT three cold", "PFADD cold d e", ":8\r\n", "PFCOUNT cold", ":5\r\n", ":303\r\n"},
		{"PFADD cold a b c", "PFMERGE d three cold", "PFADD cold d e", "+OK\r\n", "PFCOUNT d", ":8\r\n", ":304\r\n"},
		{"PFADD d a b c", "PFMERGE d three", "PFADD d d e", "+OK\r\n", "PFCOUNT d", ":8\r\n", ":303\r\n"},
		{"PFADD d a b c", "PFMERGE d three", "DEL d", "+OK\r\n", "PFCOUNT d", ":3\r\n", ":303\r\n"},
	} {
		t.Run(test.command+"/"+test.write, func(t *testing.T) {
			inner, err := localmemory.Open(device.Options{SegmentSizeBytes: 64 << 10, InlineCompletion: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = inner.Close() })
			d := &lateDevice{Device: inner, held: make(chan struct{}), released: make(chan struct{})}
			c := newTestContext(t, tsavorite.Options{Device: d, PageBytes: 4 << 10, MemoryBytes: 64 << 10})
			client := &Client{}
			one(t, c, client, strings.Fields(test.prepare)...)
			for i := range 300 {
				one(t, c, client, "SET", fmt.Sprint("fill", i), strings.Repeat("f", 400))
			}
			one(t, c, client, "SET", "hot", "ffff")
			one(t, c, client, "PFADD", "three", "x", "y", "z")
			expect(t, c, client, ":303\r\n", "DBSIZE")
			waiting, err := c.State.NewContext(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer waiting.Close()
			done, written := make(chan struct{}), make(chan struct{})
			d.armed.Store(true)
			go func() {
				defer close(done)
				waiting.Serve(&Client{}, []byte(requests(test.command)))
			}()
			soon(t, "the read", d.held)
			go func() {
				defer close(written)
				c.Out = c.Out[:0]
				c.Serve(client, []byte(requests(test.write)))
			}()
			soon(t, "the write", written)
			close(d.released)
			soon(t, "the end of the command", done)
			if reply := string(waiting.Out); reply != test.want {
				t.Errorf("the command answers %q, want %q", reply, test.want)
			}
			expect(t, c, client, test.result, strings.Fields(test.check)...)
			expect(t, c, client, test.size, "DBSIZE")
		})
	}
}

// TestSourcesAreOfOneMoment has workers write groups of keys over a device while others combine them: whoever sees the values of two writes
// gets another result.
func TestSourcesAreOfOneMoment(t *testing.T) {
	d, err := localmemory.Open(device.Options{SegmentSizeBytes: 64 << 10, CompletionThreads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	c := newTestContext(t, tsavorite.Options{Device: d, PageBytes: 4 << 10, MemoryBytes: 16 << 10})
	client := &Client{}
	one(t, c, client, "PFADD", "few", "1", "2", "3")
	one(t, c, client, "PFADD", "more", "4", "5", "6", "7", "8")
	few, more := bulkOf(t, one(t, c, client, "GET", "few")), bulkOf(t, one(t, c, client, "GET", "more"))
	groups, rounds := 100, 1000
	if testing.Short() {
		rounds = 250
	}
	write := func(group int) string {
		values := []string{strings.Repeat("x", 200), strings.Repeat("x", 100), few, more}
		if rand.IntN(2) == 0 {
			values = []string{values[1], values[0], values[3], values[2]}
		}
		words := []string{"MSET"}
		for i, name := range []string{"a", "b", "p", "q"} {
			words = append(words, fmt.Sprint(name, group), values[i])
		}
		return request(words...)
	}
	for group := range groups {
		c.Serve(client, []byte(write(group)))
	}
	together(t, c, 4, func(worker int, c *Context) {
		client := &Client{}
		for range rounds {
			group := rand.IntN(groups)
			name := func(key string) string { return fmt.Sprint(key, group) }
			to := fmt.Sprint("to", worker)
			input, want := write(group), "+OK\r\n"
			if worker > 1 {
				switch rand.IntN(4) {
				case 0:
					input = request("BITOP", "XOR", to, name("a"), name("b")) + request("BITCOUNT", to)
					want = ":200\r\n:400\r\n"
				case 1:
					input, want = request("LCS", name("b"), name("a"), "LEN"), ":100\r\n"
				case 2:
					input, want = request("PFCOUNT", name("p"), name("q")), ":8\r\n"
				default:
					input = request("DEL", to) + request("PFMERGE", to, name("q"), name("p")) + request("PFCOUNT", to)
					want = "+OK\r\n:8\r\n"
				}
			}
			c.Out = c.Out[:0]
			c.Serve(client, []byte(input))
			if reply := string(c.Out); !strings.HasSuffix(reply, want) {
				t.Errorf("%.80q answers %q, want %q", input, reply, want)
				return
			}
		}
	})
	if info := c.State.Store.Info(); info.PendingReads == 0 {
		t.Errorf("no read went to the device: %+v", info)
	}
}

// bulkOf is the string of a bulk reply.
func bulkOf(t *testing.T, reply string) string {
	t.Helper()
	_, body, ok := strings.Cut(reply, "\r\n")
	if !ok || reply[0] != '$' {
		t.Fatalf("no string: %q", reply)
	}
	return strings.TrimSuffix(body, "\r\n")
}

// TestBitsInAnyOrder folds sources in every order: the result is that of the arguments.
func TestBitsInAnyOrder(t *testing.T) {
	for operator := range bitOperators {
		if operator == bitNot {
			continue
		}
		for range 50 {
			sources := make([][]byte, 2+rand.IntN(3))
			for i := range sources {
				sources[i] = make([]byte, rand.IntN(20))
				for k := range sources[i] {
					sources[i][k] = byte(rand.Uint32())
				}
			}
			results := [2][]byte{}
			for turn, order := range [][]int{rand.Perm(len(sources)), rand.Perm(len(sources))} {
				b := bitCombiner{operator: operator}
				b.Begin()
				for _, i := range order {
					b.fold(sources[i], i == 0)
				}
				results[turn] = bytes.Clone(b.finish())
			}
			if !bytes.Equal(results[0], results[1]) {
				t.Errorf("%s of %x is %x or %x", bitOperatorNames[operator], sources, results[0], results[1])
			}
		}
	}
}
