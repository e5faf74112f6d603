package command

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/tsavorite"
)

// tinyPages makes every string longer than 960 bytes a large one.
var tinyPages = tsavorite.Options{PageBytes: 4 << 10, MemoryBytes: 4 << 20}

// pattern is a text in which each place looks different from its neighbours.
func pattern(length int) string {
	b := make([]byte, length)
	for i := range b {
		b[i] = byte(i*7 + i/251)
	}
	return string(b)
}

func bulkReply(value string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(value), value) }

// one serves a command and returns its reply.
func one(t *testing.T, c *Context, client *Client, words ...string) string {
	t.Helper()
	return serve(t, c, client, request(words...))
}

func expect(t *testing.T, c *Context, client *Client, want string, words ...string) {
	t.Helper()
	if got := one(t, c, client, words...); got != want {
		t.Fatalf("%.60q: %.200q of %d bytes, want %.200q of %d", words, got, len(got), want, len(want))
	}
}

// reaped waits until no chunk of any database is left but those of the values that keys have.
func (s *State) reaped(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		s.large.reaper.mu.Lock()
		idle := !s.large.reaper.running && len(s.large.reaper.orphans) == 0
		s.large.reaper.mu.Unlock()
		if idle {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the reaper does not come to an end")
		}
	}
}

// chunkRecords counts the records in the chunk namespace of a database.
func (c *Context) chunkRecords(t *testing.T, database int) int64 {
	t.Helper()
	c.enter()
	defer c.leave()
	count, err := c.Session.Count(c.State.databases[database].Keyspace().chunks())
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// TestStringsOfEveryLength goes over the border between small and large in both directions.
func TestStringsOfEveryLength(t *testing.T) {
	c := newTestContext(t, tinyPages)
	client := &Client{}
	limit, chunk := c.State.large.limit, int(c.State.large.chunkBytes)
	for _, length := range []int{limit - 1, limit, limit + 1, 2*chunk - 1, 2 * chunk, 2*chunk + 1, 10*chunk + 5, 1, 70 * chunk} {
		value := pattern(length)
		expect(t, c, client, "+OK\r\n", "SET", "k", value)
		expect(t, c, client, bulkReply(value), "GET", "k")
		expect(t, c, client, "*2\r\n"+bulkReply(value)+"$-1\r\n", "MGET", "k", "none")
		expect(t, c, client, fmt.Sprintf(":%d\r\n", length), "STRLEN", "k")
		expect(t, c, client, fmt.Sprintf(":%d\r\n", length+3), "APPEND", "k", "end")
		expect(t, c, client, bulkReply(value+"end"), "GET", "k")
		expect(t, c, client, "+string\r\n", "TYPE", "k")
		expect(t, c, client, "*1\r\n$1\r\nk\r\n", "KEYS", "*")
		expect(t, c, client, ":1\r\n", "DBSIZE")
	}
	c.State.reaped(t)
	want := int64(70 + 1 + 1) // chunks, one begun by APPEND, the owner record
	if got := c.chunkRecords(t, 0); got != want {
		t.Errorf("%d records of chunks are left, want %d", got, want)
	}
	expect(t, c, client, ":1\r\n", "DEL", "k")
	c.State.reaped(t)
	if got := c.chunkRecords(t, 0); got != 0 {
		t.Errorf("%d records of chunks are left after DEL", got)
	}
}

// TestHolesReadAsZeros writes far beyond the end and reads what lies between, in stores that keep and in one
// that drops old records.
func TestHolesReadAsZeros(t *testing.T) {
	for _, evict := range []bool{false, true} {
		options := tinyPages
		options.EvictOldest = evict
		c := newTestContext(t, options)
		client := &Client{}
		model := []byte(pattern(500))
		expect(t, c, client, "+OK\r\n", "SET", "k", string(model))
		for _, at := range []int{5000, 20_000, 20_003, 100_000} {
			model = append(model, make([]byte, max(0, at+3-len(model)))...)
			copy(model[at:], "new")
			expect(t, c, client, fmt.Sprintf(":%d\r\n", len(model)), "SETRANGE", "k", fmt.Sprint(at), "new")
			expect(t, c, client, bulkReply(string(model)), "GET", "k")
		}
		expect(t, c, client, ":0\r\n", "SETBIT", "k", "240007", "1")
		model[30000] |= 1
		expect(t, c, client, bulkReply(string(model[29_000:31_000])), "GETRANGE", "k", "29000", "30999")
		expect(t, c, client, bulkReply(string(model)), "GET", "k")
	}
}

// TestTheLastBit sets the last bit there may be: without holes it would not fit the memory.
func TestTheLastBit(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{MemoryBytes: 64 << 10, PageBytes: 4 << 10})
	client := &Client{}
	expect(t, c, client, ":0\r\n", "SETBIT", "k", "4294967295", "1")
	expect(t, c, client, ":1\r\n", "GETBIT", "k", "4294967295")
	expect(t, c, client, ":0\r\n", "GETBIT", "k", "4294967294")
	expect(t, c, client, ":1\r\n", "BITCOUNT", "k")
	expect(t, c, client, ":4294967295\r\n", "BITPOS", "k", "1")
	expect(t, c, client, ":536870912\r\n", "STRLEN", "k")
	expect(t, c, client, "-"+errTooLong+"\r\n", "APPEND", "k", "x")
	expect(t, c, client, "-"+errTooLong+"\r\n", "SETRANGE", "k", "536870912", "x")
	expect(t, c, client, bulkReply("\x00\x01"), "GETRANGE", "k", "-2", "-1")
	expect(t, c, client, ":536870912\r\n", "STRLEN", "k")
}

// TestLargeStringsMoveBetweenKeys covers RENAME, COPY and MOVE, over targets that are large themselves.
func TestLargeStringsMoveBetweenKeys(t *testing.T) {
	c := newTestContext(t, tinyPages)
	client := &Client{}
	a, b := pattern(10_000), strings.Repeat("b", 5000)
	expect(t, c, client, "+OK\r\n", "SET", "a", a, "EX", "1000")
	expect(t, c, client, "+OK\r\n", "SET", "b", b)
	expect(t, c, client, ":0\r\n", "RENAMENX", "a", "b")
	expect(t, c, client, "+OK\r\n", "RENAME", "a", "b")
	expect(t, c, client, bulkReply(a), "GET", "b")
	expect(t, c, client, ":1000\r\n", "TTL", "b")
	expect(t, c, client, ":1\r\n", "COPY", "b", "c")
	expect(t, c, client, ":10003\r\n", "APPEND", "b", "end")
	expect(t, c, client, bulkReply(a), "GET", "c")
	expect(t, c, client, ":1\r\n", "MOVE", "b", "1")
	expect(t, c, client, "*1\r\n$1\r\nc\r\n", "KEYS", "*")
	expect(t, c, client, "+OK\r\n", "FLUSHDB")
	expect(t, c, client, "+OK\r\n", "SWAPDB", "0", "1")
	expect(t, c, client, bulkReply(a+"end"), "GET", "b")
	c.State.reaped(t)
	if got, want := c.chunkRecords(t, 0), int64(10_003/c.State.large.chunkBytes+2); got != want {
		t.Errorf("%d records of chunks are left, want %d", got, want)
	}
}

// TestDumpAndRestoreLarge takes a value through DUMP, also where it was made by small pages.
func TestDumpAndRestoreLarge(t *testing.T) {
	c := newTestContext(t, tinyPages)
	client := &Client{}
	value := pattern(30_000)
	expect(t, c, client, "+OK\r\n", "SET", "k", value)
	_, dumped, _ := strings.Cut(one(t, c, client, "DUMP", "k"), "\r\n")
	expect(t, c, client, "+OK\r\n", "RESTORE", "copy", "0", strings.TrimSuffix(dumped, "\r\n"))
	expect(t, c, client, bulkReply(value), "GET", "copy")
	expect(t, c, client, bulkReply("raw"), "OBJECT", "ENCODING", "copy")
	expect(t, c, client, fmt.Sprintf(":%d\r\n", 30_000+len("copy")+recordOverheadBytes), "MEMORY", "USAGE", "copy")
}

// TestFullMemoryLeavesTheOldValue fills memory in the midst of large writes.
func TestFullMemoryLeavesTheOldValue(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{MemoryBytes: 256 << 10, PageBytes: 4 << 10})
	client := &Client{}
	old, tooMuch := pattern(50_000), strings.Repeat("x", 400_000)
	const full = "-" + errOutOfMemory + "\r\n"
	expect(t, c, client, "+OK\r\n", "SET", "k", old)
	for _, words := range [][]string{
		{"SET", "k", tooMuch}, {"SET", "k", tooMuch, "XX", "GET"}, {"GETSET", "k", tooMuch}, {"APPEND", "k", tooMuch},
		{"SETRANGE", "k", "60000", tooMuch}, {"MSET", "k", tooMuch, "l", "1"}, {"SETEX", "k", "10", tooMuch},
	} {
		expect(t, c, client, full, words...)
		expect(t, c, client, bulkReply(old), "GET", "k")
		c.State.reaped(t)
	}
	expect(t, c, client, ":1\r\n", "EXISTS", "k", "l")
	// What failed writes have left behind the end does not show.
	expect(t, c, client, ":60001\r\n", "SETRANGE", "k", "60000", "y")
	expect(t, c, client, bulkReply(old+strings.Repeat("\x00", 10_000)+"y"), "GET", "k")
	for range 20 { // the room of each value comes back
		expect(t, c, client, "+OK\r\n", "SET", "k", old)
		c.State.reaped(t)
	}
}

// TestAbandonedValuesAreFound has values expire and be overwritten unseen: a sweep finds their chunks.
func TestAbandonedValuesAreFound(t *testing.T) {
	now := time.Now().UnixMilli()
	options := tinyPages
	options.Clock = func() int64 { return now }
	c := newTestContext(t, options)
	client := &Client{}
	for i := range 5 {
		expect(t, c, client, "+OK\r\n", "SET", fmt.Sprint(i), pattern(5000), "PX", "100")
	}
	expect(t, c, client, "+OK\r\n", "SET", "stays", pattern(5000), "PX", "5000")
	keyspace := c.State.databases[0].Keyspace()
	if got := keyspace.suspectFrom.Load(); got != now+100 {
		t.Errorf("suspect from %d, want %d", got, now+100)
	}
	now += 1000
	c.State.considerSweep(time.UnixMilli(now))
	c.State.large.reaper.background.Wait()
	if got, want := c.chunkRecords(t, 0), int64(5000/c.State.large.chunkBytes+2); got != want {
		t.Errorf("%d records of chunks are left, want %d", got, want)
	}
	expect(t, c, client, bulkReply(pattern(5000)), "GET", "stays")
	if got := keyspace.suspectFrom.Load(); got != now+4000 {
		t.Errorf("suspect from %d after the sweep, want %d", got, now+4000)
	}
}

// TestDroppedChunksTakeTheValueAlong has a store drop its oldest pages: a value is there whole or not at all.
func TestDroppedChunksTakeTheValueAlong(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{MemoryBytes: 128 << 10, PageBytes: 4 << 10, EvictOldest: true})
	client := &Client{}
	value := pattern(20_000)
	there := 0
	for i := range 200 {
		expect(t, c, client, "+OK\r\n", "SET", fmt.Sprint(i%10), value)
		switch got := one(t, c, client, "GET", fmt.Sprint((i+5)%10)); got {
		case bulkReply(value):
			there++
		case "$-1\r\n":
		default:
			t.Fatalf("a part is there: %.200q", got)
		}
	}
	for i := range 50 { // keeps the key's record young, not its chunks
		expect(t, c, client, "+OK\r\n", "SET", "ballast", strings.Repeat("b", 900))
		one(t, c, client, "APPEND", "3", "x")
		if got := one(t, c, client, "BITCOUNT", "3"); got[0] != ':' {
			t.Fatalf("round %d: %q", i, got)
		}
	}
	if there == 0 {
		t.Error("no value was ever there")
	}
}

// TestLargeNumbers: where pages are small, digits may fill several chunks, and are a number all the same.
func TestLargeNumbers(t *testing.T) {
	c := newTestContext(t, tinyPages)
	client := &Client{}
	text := "1" + strings.Repeat("0", 4900)
	one(t, c, client, "SET", "k", text)
	if got := one(t, c, client, "INCRBYFLOAT", "k", "1"); !strings.HasPrefix(got, "$4901\r\n1000000000000000000") {
		t.Errorf("INCRBYFLOAT of %d digits answers %.60q", len(text), got)
	}
	one(t, c, client, "SET", "k", strings.Repeat("1", floatMaxBytes))
	for _, words := range [][]string{{"INCRBYFLOAT", "k", "1"}, {"INCR", "k"}} {
		if got := one(t, c, client, words...); !strings.HasPrefix(got, "-ERR value is not ") {
			t.Errorf("%s of %d digits answers %.60q", words[0], floatMaxBytes, got)
		}
	}
}

// TestSameAsSmallStrings runs random commands in a store of tiny pages and in one where nothing is large.
func TestSameAsSmallStrings(t *testing.T) {
	seed := NewSeed()
	random := rand.New(rand.NewPCG(seed, 1))
	tiny := newTestContext(t, tinyPages)
	whole := newTestContext(t, tsavorite.Options{})
	clients := [2]*Client{{}, {}}
	key := func() string { return fmt.Sprintf("k%d", random.IntN(4)) }
	number := func(n int) string { return fmt.Sprint(random.IntN(n)) }
	value := func() string { return pattern(random.IntN(6000)) }
	rounds := 6000
	if testing.Short() {
		rounds = 1500
	}
	for i := range rounds {
		words := [][]string{
			{"SET", key(), value()}, {"APPEND", key(), value()}, {"SETRANGE", key(), number(9000), value()}, {"GET", key()},
			{"GETRANGE", key(), number(9000), number(9000)}, {"GETRANGE", key(), "-" + number(3000), "-" + number(3000)}, {"STRLEN", key()},
			{"SETBIT", key(), number(60_000), number(2)}, {"GETBIT", key(), number(60_000)}, {"BITCOUNT", key(), number(5000), number(9000)},
			{"BITCOUNT", key(), number(50_000), number(70_000), "BIT"}, {"BITPOS", key(), number(2), number(5000), number(9000)},
			{"BITPOS", key(), number(2), number(50_000), number(70_000), "BIT"}, {"BITPOS", key(), number(2), number(9000)}, {"BITPOS", key(), "0"},
			{"BITOP", []string{"AND", "OR", "XOR", "DIFF", "ONE", "ANDOR", "DIFF1"}[random.IntN(7)], key(), key(), key()}, {"BITOP", "NOT", key(), key()},
			{"BITFIELD", key(), "SET", "i40", number(60_000), number(1 << 40), "INCRBY", "u13", number(60_000), "7", "GET", "i64", number(60_000)},
			{"BITFIELD_RO", key(), "GET", "i64", number(60_000)}, {"MGET", key(), key(), key()}, {"MSET", key(), value(), key(), value()},
			{"MSETNX", key(), value(), "k9", value()}, {"DEL", "k9"}, {"GETDEL", key()}, {"GETSET", key(), value()}, {"SET", key(), value(), "GET"},
			{"SETNX", key(), value()}, {"GETEX", key(), "EX", "100"}, {"PERSIST", key()}, {"TTL", key()}, {"EXPIRE", key(), "100"},
			{"RENAME", key(), key()}, {"COPY", key(), key(), "REPLACE"}, {"LCS", "k9", key(), "LEN"}, {"INCR", key()}, {"INCRBYFLOAT", key(), "1"},
			{"PFADD", key(), number(1000), number(1000)}, {"PFCOUNT", key(), "h"}, {"PFMERGE", "h", key()}, {"PFADD", "h", number(1000)}, {"PFCOUNT", "h"},
			{"SETWITHETAG", key(), value()}, {"GETWITHETAG", key()}, {"SETIFMATCH", key(), value(), "1"}, {"DUMP", key()}, {"EXISTS", key(), key()},
			{"TYPE", key()}, {"OBJECT", "ENCODING", key()}, {"MEMORY", "USAGE", key()}, {"DBSIZE"}, {"GETIFNOTMATCH", key(), "1"},
		}
		command := words[random.IntN(len(words))]
		got, want := one(t, tiny, clients[0], command...), one(t, whole, clients[1], command...)
		if got != want {
			at := 0
			for at < len(got) && at < len(want) && got[at] == want[at] {
				at++
			}
			t.Fatalf("seed %d, command %d, %.50q: %d bytes, want %d; they differ at %d: %.40q, want %.40q",
				seed, i, command, len(got), len(want), at, got[at:], want[at:])
		}
	}
	for _, key := range []string{"k0", "k1", "k2", "k3", "k9", "h"} {
		one(t, tiny, clients[0], "DEL", key)
	}
	tiny.State.reaped(t)
	if left := tiny.chunkRecords(t, 0); left != 0 {
		t.Errorf("seed %d: %d records of chunks are left", seed, left)
	}
}

// TestLargeStringsAreWhole has workers set, append, read and delete one large string. Each value is made of
// one letter and each APPEND adds some of them, so that whoever reads two kinds of letters has read a torn value.
func TestLargeStringsAreWhole(t *testing.T) {
	const workers, rounds = 4, 300
	c := newTestContext(t, tinyPages)
	together(t, c, workers, func(worker int, c *Context) {
		client := &Client{}
		letter := string(rune('a' + worker))
		value := strings.Repeat(letter, 2000+1000*worker)
		for i := range rounds {
			var input string
			switch i % 6 {
			case 0:
				input = request("SET", "k", value)
			case 1:
				input = request("GETRANGE", "k", "0", "-1")
			case 2:
				input = request("SETRANGE", "k", "0", strings.Repeat(letter, 6000))
			case 3:
				input = request("RENAME", "k", "k2") + request("RENAME", "k2", "k")
			case 4:
				input = request("DEL", "k")
			}
			input += request("GET", "k")
			c.Out = c.Out[:0]
			c.Serve(client, []byte(input))
			at := bytes.LastIndexByte(c.Out, '$')
			_, body, _ := bytes.Cut(c.Out[at:], []byte("\r\n"))
			body = bytes.TrimSuffix(body, []byte("\r\n"))
			if len(body) > 0 && bytes.Count(body, body[:1]) != len(body) {
				t.Errorf("worker %d, round %d: a torn value of %d bytes", worker, i, len(body))
				return
			}
		}
	})
}
