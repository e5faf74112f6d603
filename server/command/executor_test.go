package command

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/tsavorite"
)

// newTestContext returns a context over a store in memory.
func newTestContext(tb testing.TB, options tsavorite.Options) *Context {
	tb.Helper()
	if options.MemoryBytes == 0 && options.PageBytes == 0 {
		options.MemoryBytes, options.PageBytes = 8<<20, 1<<20 // the race detector pays for each byte of memory
	}
	store, err := tsavorite.Open(options)
	if err != nil {
		tb.Fatal(err)
	}
	return contextOf(tb, store)
}

// contextOf returns a context of a store, both of which end with the test.
func contextOf(tb testing.TB, store *tsavorite.Store) *Context {
	tb.Helper()
	state, err := NewState(store, 0)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := state.NewContext(nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		c.Close()
		state.Close()
		if err := store.Close(); err != nil {
			tb.Errorf("cannot close the store: %v", err)
		}
	})
	return c
}

// request is a command as clients send it.
func request(words ...string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&out, "$%d\r\n%s\r\n", len(word), word)
	}
	return out.String()
}

// requests is a pipeline of commands, cut into words at blanks.
func requests(lines ...string) string {
	var out strings.Builder
	for _, line := range lines {
		out.WriteString(request(strings.Fields(line)...))
	}
	return out.String()
}

// serve executes a pipeline and returns the replies.
func serve(t *testing.T, c *Context, client *Client, input string) string {
	t.Helper()
	c.Out = c.Out[:0]
	if consumed, _ := c.Serve(client, []byte(input)); consumed != len(input) && !client.Closing {
		t.Fatalf("Serve consumed %d bytes of %d", consumed, len(input))
	}
	return string(c.Out)
}

func TestRepliesComeInOrder(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	input := requests("SET a 1", "GET a", "GET b", "get a", "INCR a", "GET a", "NOSUCH", "GET", "MGET a b a", "GET a") + "GET a\r\nget b\r\n"
	want := "+OK\r\n$1\r\n1\r\n$-1\r\n$1\r\n1\r\n:2\r\n$1\r\n2\r\n" +
		"-ERR unknown command 'NOSUCH', with args beginning with: \r\n" +
		"-ERR wrong number of arguments for 'get' command\r\n" +
		"*3\r\n$1\r\n2\r\n$-1\r\n$1\r\n2\r\n$1\r\n2\r\n$1\r\n2\r\n$-1\r\n"
	if got := serve(t, c, &Client{}, input); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestInputCutAnywhere serves a pipeline in two pieces, cut at every place, and expects the same
// replies as in one.
func TestInputCutAnywhere(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	input := requests("SET a 1", "GET a", "GET a", "INCR a", "MGET a b", "GET b", "SET a 1") + "GET a\r\n"
	whole := serve(t, c, &Client{}, input)
	for cut := range input {
		client := &Client{}
		c.Out = c.Out[:0]
		consumed, need := c.Serve(client, []byte(input[:cut]))
		if rest := cut - consumed; rest > 0 && (need <= rest || consumed+need > len(input)) {
			t.Fatalf("cut at %d: %d bytes are left, Serve needs %d", cut, rest, need)
		}
		if again, _ := c.Serve(client, []byte(input[consumed:])); consumed+again != len(input) {
			t.Fatalf("cut at %d: consumed %d and %d bytes of %d", cut, consumed, again, len(input))
		}
		if string(c.Out) != whole {
			t.Fatalf("cut at %d: got %q\nwant %q", cut, c.Out, whole)
		}
	}
}

func TestServeStopsAtTheReplyLimit(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	client := &Client{}
	serve(t, c, client, request("SET", "k", strings.Repeat("x", 1000)))
	input := strings.Repeat(request("STRLEN", "k"), 10)
	c.ReplyLimit = 20
	c.Out = nil
	calls := 0
	for served := 0; served < len(input); calls++ {
		consumed, need := c.Serve(client, []byte(input[served:]))
		served += consumed
		if consumed == 0 || (need == 0) != (served < len(input)) {
			t.Fatalf("Serve consumed %d bytes and needs %d", consumed, need)
		}
		if len(c.Out) > 20+len(":1000\r\n") {
			t.Fatalf("Serve went on to %d bytes of reply", len(c.Out))
		}
		c.Out = c.Out[:0]
	}
	if calls != 4 {
		t.Errorf("it took %d calls, want 4", calls)
	}
}

func TestMalformedRequestCloses(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	client := &Client{}
	got := serve(t, c, client, request("SET", "a", "1")+"*1\r\n!bad\r\n"+request("SET", "a", "2"))
	if want := "+OK\r\n-ERR Protocol error: expected '$', got '!'\r\n"; got != want || !client.Closing {
		t.Errorf("got %q, closing %v", got, client.Closing)
	}
	if got := serve(t, c, &Client{}, request("GET", "a")); got != "$1\r\n1\r\n" {
		t.Errorf("what came behind the error was executed: %q", got)
	}
}

func TestUnauthenticatedClientsAreRefused(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	c.State.Server.SetPassword("secret")
	c.State.Server.SetPassword("secret")
	client := &Client{}
	client.SetAuthenticated(false)
	got := serve(t, c, client, requests("GET a", "SET a 1", "NOSUCH"))
	want := "-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n" +
		"-ERR unknown command 'NOSUCH', with args beginning with: \r\n"
	if got != want {
		t.Errorf("got %q", got)
	}
}

// TestGatheredReads runs long pipelines of GET, with and without scatter-gather, and compares.
func TestGatheredReads(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	client := &Client{}
	var reads, want []string
	for i := range 3 * gatherMaxKeys {
		key, value := fmt.Sprintf("key:%d", i), strings.Repeat("v", i%100)
		if i%7 != 0 {
			serve(t, c, client, request("SET", key, value))
			want = append(want, fmt.Sprintf("$%d\r\n%s\r\n", len(value), value))
		} else {
			want = append(want, "$-1\r\n")
		}
		reads = append(reads, request("GET", key))
	}
	for _, gather := range []bool{true, false} {
		c.State.ScatterGather.Store(gather)
		for _, length := range []int{1, 2, gatherMaxKeys - 1, gatherMaxKeys, gatherMaxKeys + 1, len(reads)} {
			got := serve(t, c, client, strings.Join(reads[:length], ""))
			if got != strings.Join(want[:length], "") {
				t.Fatalf("gather %v: the replies to %d GETs are wrong", gather, length)
			}
		}
	}
	words := []string{"MGET"}
	for i := range reads {
		words = append(words, fmt.Sprintf("key:%d", i))
	}
	if got := serve(t, c, client, request(words...)); got != fmt.Sprintf("*%d\r\n", len(reads))+strings.Join(want, "") {
		t.Error("the reply to a long MGET is wrong")
	}
}

func TestLargeRepliesNarrowTheBatch(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{MemoryBytes: 64 << 20, PageBytes: 4 << 20})
	client := &Client{}
	serve(t, c, client, request("SET", "k", strings.Repeat("x", 1<<20)))
	serve(t, c, client, strings.Repeat(request("GET", "k"), 2))
	if c.gets.limit != gatherMinKeys {
		t.Errorf("after values of 1 MiB a batch may have %d keys, want %d", c.gets.limit, gatherMinKeys)
	}
	serve(t, c, client, strings.Repeat(request("GET", "missing"), 2))
	if c.gets.limit != gatherMaxKeys {
		t.Errorf("after missing keys a batch may have %d keys, want %d", c.gets.limit, gatherMaxKeys)
	}
}

func TestStatsOfAPipeline(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	client := &Client{}
	serve(t, c, client, requests("SET a 1", "GET a", "GET b", "GET a", "SET a", "INCR a", "SET a x", "INCR a", "NOSUCH", "MGET a b c"))
	totals := c.State.Totals()
	for name, want := range map[string][3]uint64{"get": {3, 0, 0}, "set": {2, 1, 0}, "incr": {2, 0, 1}, "mget": {1, 0, 0}} {
		stats := &totals.Commands[Lookup([]byte(name)).Index()]
		if got := [3]uint64{stats.Calls.Load(), stats.Rejected.Load(), stats.Failed.Load()}; got != want {
			t.Errorf("%s: calls, rejected, failed = %v, want %v", name, got, want)
		}
		if stats.Nanoseconds.Load() == 0 {
			t.Errorf("%s took no time", name)
		}
	}
	if hits, misses := totals.Hits.Load(), totals.Misses.Load(); hits != 3 || misses != 3 {
		t.Errorf("%d hits and %d misses, want 3 and 3", hits, misses)
	}
	if client.Commands() != 8 || client.LastCommand().Name != "mget" {
		t.Errorf("the client executed %d commands, the last one %s", client.Commands(), client.LastCommand().Name)
	}
	if errors := totals.ErrorReplies.Load(); errors != 3 {
		t.Errorf("%d error replies, want 3", errors)
	}
}

func TestDatabasesAreApart(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	first, second := &Client{}, &Client{}
	second.SetDatabase(3)
	serve(t, c, first, requests("SET k first", "SET only first"))
	serve(t, c, second, requests("SET k second"))
	if got := serve(t, c, first, requests("GET k", "DBSIZE")); got != "$5\r\nfirst\r\n:2\r\n" {
		t.Errorf("database 0: %q", got)
	}
	if got := serve(t, c, second, requests("GET k", "GET only", "DBSIZE", "KEYS *")); got != "$6\r\nsecond\r\n$-1\r\n:1\r\n*1\r\n$1\r\nk\r\n" {
		t.Errorf("database 3: %q", got)
	}
	serve(t, c, first, request("FLUSHDB"))
	if got := serve(t, c, second, requests("GET k")); got != "$6\r\nsecond\r\n" {
		t.Errorf("FLUSHDB of another database: %q", got)
	}
	serve(t, c, first, request("FLUSHALL"))
	if got := serve(t, c, second, requests("GET k", "DBSIZE")); got != "$-1\r\n:0\r\n" {
		t.Errorf("after FLUSHALL: %q", got)
	}
}

func TestWaitLeavesTheEngine(t *testing.T) {
	store, err := tsavorite.Open(tsavorite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	state, err := NewState(store, 0)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	c, err := state.NewContext(func() { order = append(order, "hand-off") })
	if err != nil {
		t.Fatal(err)
	}
	c.enter()
	c.Wait(func() {
		order = append(order, "wait")
		state.ResetTotals()
	})
	c.leave()
	if !slices.Equal(order, []string{"hand-off", "wait"}) {
		t.Errorf("the order was %v", order)
	}
	c.Close()
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// TestLongCommandsStepAside: who walks the whole log hands the other connections over first.
func TestLongCommandsStepAside(t *testing.T) {
	state := newTestContext(t, tsavorite.Options{}).State
	handOffs := 0
	c, err := state.NewContext(func() { handOffs++ })
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	client := &Client{}
	for line, want := range map[string]bool{"SET k v": false, "GET k": false, "DBSIZE": false, "KEYS *": true} {
		handOffs = 0
		serve(t, c, client, requests(line))
		if (handOffs > 0) != want {
			t.Errorf("%s handed over %d times", line, handOffs)
		}
	}
}

// TestQuickCommandsAllocateNothing covers what a cache does all day.
func TestQuickCommandsAllocateNothing(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	client := &Client{}
	for _, line := range []string{
		"SET k value", "SET k value EX 100", "SET k value XX", "SET k value NX GET", "SETEX k 100 value", "GET k",
		"MGET k k missing", "INCR n", "INCRBY n 5", "APPEND a x", "SETRANGE a 3 x", "STRLEN k", "GETRANGE k 0 2", "EXISTS k missing",
		"DEL k", "EXPIRE k 100", "TTL k", "PERSIST k", "TYPE k", "GETEX k EX 10", "GETSET k value", "MSET k 1 l 2", "GETDEL gone",
		"DBSIZE",
	} {
		input := []byte(requests(line, line))
		c.Serve(client, input) // grows the buffers
		allocations := testing.AllocsPerRun(100, func() {
			c.Out = c.Out[:0]
			c.Serve(client, input)
		})
		if allocations != 0 {
			t.Errorf("%s allocates %v times", line, allocations)
		}
	}
}

func BenchmarkServe(b *testing.B) {
	for _, bench := range []struct {
		name, line string
	}{{"get", "GET key:000001"}, {"set", "SET key:000001 0123456789012345678901234567890123456789012345678901234567890123"}, {"incr", "INCR n"}, {"strlen", "STRLEN key:000001"}} {
		for _, pipeline := range []int{1, 16, 256} {
			b.Run(fmt.Sprintf("%s/%d", bench.name, pipeline), func(b *testing.B) {
				c := newTestContext(b, tsavorite.Options{})
				client := &Client{}
				c.Serve(client, []byte(requests("SET key:000001 0123456789012345678901234567890123456789012345678901234567890123")))
				input := []byte(strings.Repeat(requests(bench.line), pipeline))
				b.ReportAllocs()
				for b.Loop() {
					c.Out = c.Out[:0]
					c.Serve(client, input)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*pipeline), "ns/command")
			})
		}
	}
}
