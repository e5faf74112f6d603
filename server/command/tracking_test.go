package command_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/resp"
	"github.com/pyropedb/pyrope/server/servertest"
)

// caches are clients of one server, as those that keep copies of keys.
type caches struct {
	clients []*servertest.Client
	ids     []string
}

// dialCaches connects count clients with a protocol. Those with RESP2 need one that listens for them: it is the last.
func dialCaches(t *testing.T, address, protocol string, count int) *caches {
	t.Helper()
	c := &caches{}
	for range count {
		client := servertest.Dial(t, address)
		untilToken(t, client, "token", "HELLO", protocol)
		id, err := client.Do("CLIENT", "ID")
		if err != nil {
			t.Fatal(err)
		}
		c.clients, c.ids = append(c.clients, client), append(c.ids, fmt.Sprint(id.Integer))
	}
	if protocol == "2" {
		untilToken(t, c.clients[count-1], "token", "SUBSCRIBE", "__redis__:invalidate")
	}
	return c
}

// do has one client carry out a command in which $N stands for the id of the N-th client, and returns what each client
// received: pushes before the reply, the reply, pushes behind it.
func (c *caches) do(t *testing.T, actor int, token string, words []string) string {
	t.Helper()
	words = slices.Clone(words)
	for i, word := range words {
		if number, isID := strings.CutPrefix(word, "$"); isID {
			words[i] = c.ids[number[0]-'0']
		}
	}
	if err := c.clients[actor].Send(servertest.AppendCommand(nil, words...)); err != nil {
		t.Fatal(err)
	}
	var before []resp.Value
	var reply resp.Value
	for {
		var err error
		if reply, _, err = c.clients[actor].Receive(); err != nil {
			t.Fatalf("%q: %v", words, err)
		}
		isMessage := reply.Kind == resp.Push || len(reply.Elements) == 3 && string(reply.Elements[0].Text) == "message"
		if !isMessage || words[0] == "SUBSCRIBE" {
			break
		}
		before = append(before, reply)
	}
	text := notations(before, false) + "\nreply " + servertest.Notation(reply) + "\n"
	order := []int{actor}
	for i := range c.clients {
		if i != actor {
			order = append(order, i)
		}
	}
	for _, i := range order {
		text += fmt.Sprintf("client %d: %s\n", i, notations(untilToken(t, c.clients[i], token), false))
	}
	for i, id := range c.ids {
		text = strings.ReplaceAll(text, `"redirect" :`+id+" ", fmt.Sprintf(`"redirect" $%d `, i))
		if slices.Contains(words, "GETREDIR") {
			text = strings.Replace(text, "reply :"+id+"\n", fmt.Sprintf("reply $%d\n", i), 1)
		}
		text = strings.ReplaceAll(text, `broken" :`+id, fmt.Sprintf(`broken" $%d`, i))
	}
	return text
}

// trackingCommand is a random command about keys, or about tracking them.
func trackingCommand(random *rand.Rand, protocol string) []string {
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	key := func() string { return pick("a1", "a2", "b1", "user:1", "", "a\r\n") }
	templates := []func() []string{
		func() []string { return []string{"GET", key()} },
		func() []string { return []string{"MGET", key(), key(), key()} },
		func() []string {
			return []string{pick("EXISTS", "STRLEN", "TYPE", "TOUCH", "BITCOUNT", "PFCOUNT", "GETBIT"), key()}
		},
		func() []string { return []string{"GETRANGE", key(), "0", "1"} },
		func() []string { return []string{"SET", key(), pick("1", "x", "")} },
		func() []string { return []string{"SET", key(), "1", pick("NX", "XX", "GET", "KEEPTTL", "FOO")} },
		func() []string { return []string{"SET", key(), "1", "EX", pick("1000", "0")} },
		func() []string { return []string{pick("DEL", "UNLINK"), key(), key()} },
		func() []string { return []string{pick("INCR", "GETDEL", "PERSIST", "DECR"), key()} },
		func() []string { return []string{"GETEX", key(), "EX", "1000"} },
		func() []string { return []string{"GETEX", key(), "PERSIST"} },
		func() []string { return []string{pick("APPEND", "SETNX", "GETSET", "PFADD"), key(), "7"} },
		func() []string { return []string{pick("MSET", "MSETNX"), key(), "1", key(), "2"} },
		func() []string { return []string{pick("RENAME", "RENAMENX", "COPY", "PFMERGE"), key(), key()} },
		func() []string { return []string{"MOVE", key(), "1"} },
		func() []string { return []string{"EXPIRE", key(), pick("1000", "-1", "x")} },
		func() []string { return []string{"SETBIT", key(), "3", "1"} },
		func() []string { return []string{"SETRANGE", key(), "3", pick("x", "")} },
		func() []string { return []string{"BITOP", "OR", key(), key(), key()} },
		func() []string { return []string{"BITFIELD", key(), pick("SET", "GET"), "u8", "0"} },
		func() []string { return []string{pick("FLUSHDB", "FLUSHALL", "DBSIZE", "NOPE", "FLUSHDB")} },
		func() []string { return []string{"SELECT", pick("0", "0", "1")} },
		func() []string { return []string{"CLIENT", "CACHING", pick("YES", "NO", "YES", "NO", "MAYBE")} },
		func() []string { return []string{"CLIENT", pick("GETREDIR", "TRACKINGINFO", "CACHING", "NOPE")} },
		func() []string { return []string{"CLIENT", "TRACKINGINFO"} },
		func() []string {
			words := []string{"CLIENT", "TRACKING", pick("ON", "ON", "ON", "OFF", "x")}
			if protocol == "2" && random.IntN(4) > 0 {
				words = append(words, "REDIRECT", "$3")
			}
			options := []string{"BCAST", "OPTIN", "OPTOUT", "NOLOOP", "PREFIX a", "PREFIX user:", "PREFIX ", "PREFIX b", "PREFIX", "NOPE", "REDIRECT $0", "REDIRECT $2",
				"REDIRECT 0", "REDIRECT 99999999", "REDIRECT x", "BCAST PREFIX a"}
			for range random.IntN(4) {
				words = append(words, strings.Split(pick(options...), " ")...)
			}
			return words
		},
	}
	if n := len(templates); random.IntN(4) == 0 {
		return templates[n-1]()
	}
	return templates[random.IntN(len(templates))]()
}

// TestTrackedKeysAreInvalidatedAsByRedis lets clients read, write and track keys at random on Pyrope and on Redis, and
// compares all that each of them receives, command by command.
func TestTrackedKeysAreInvalidatedAsByRedis(t *testing.T) {
	for _, protocol := range []string{"2", "3"} {
		t.Run("resp"+protocol, func(t *testing.T) {
			const seed, count = 1, 4
			random := rand.New(rand.NewPCG(seed, 0))
			servers := []*caches{dialCaches(t, startPyrope(t), protocol, count), dialCaches(t, servertest.StartRedis(t), protocol, count)}
			both := func(step, actor int, words ...string) {
				t.Helper()
				var heard [2]string
				for i, server := range servers {
					heard[i] = server.do(t, actor, fmt.Sprint("token", step), words)
				}
				if heard[0] != heard[1] {
					t.Fatalf("seed %d, step %d, %q by %d:\n got %s\nwant %s", seed, step, words, actor, heard[0], heard[1])
				}
			}
			// One client tracks all the time: with the last one that does, Pyrope forgets the table.
			both(0, 2, "CLIENT", "TRACKING", "ON", "REDIRECT", "$3")
			for step := range 300 {
				actor := random.IntN(3)
				words := trackingCommand(random, protocol)
				if repliesTwice(words) || actor == 2 && len(words) > 2 && words[1] == "TRACKING" {
					continue
				}
				both(step, actor, words...)
			}
		})
	}
}

// repliesTwice tells whether Redis sends an error and OK for a CLIENT TRACKING, or changes the mode in spite of
// the error: when prefixes overlap each other, but not the first of them.
func repliesTwice(words []string) bool {
	var prefixes []string
	for i, word := range words {
		if word == "PREFIX" && i+1 < len(words) {
			prefixes = append(prefixes, words[i+1])
		}
	}
	return len(prefixes) > 2
}

// cache is a client in RESP3 that keeps what it reads until it is told that it is invalid.
type cache struct {
	*servertest.Client
	values map[string]string
}

// take does what a push says.
func (c *cache) take(t *testing.T, push resp.Value) {
	if len(push.Elements) != 2 || string(push.Elements[0].Text) != "invalidate" {
		t.Errorf("an unexpected push: %s", servertest.Notation(push))
		return
	}
	if push.Elements[1].Missing {
		clear(c.values)
	}
	for _, key := range push.Elements[1].Elements {
		delete(c.values, string(key.Text))
	}
}

// read reads a key, if it has no copy, in a pipeline with another one.
func (c *cache) read(t *testing.T, keys ...string) {
	var request []byte
	for _, key := range keys {
		request = servertest.AppendCommand(request, "GET", key)
	}
	if err := c.Send(request); err != nil {
		t.Error(err)
		return
	}
	for i := 0; i < len(keys); {
		reply, _, err := c.Receive()
		switch {
		case err != nil:
			t.Error(err)
			return
		case reply.Kind == resp.Push:
			c.take(t, reply)
		default:
			c.values[keys[i]] = string(reply.Text)
			i++
		}
	}
}

// TestCopiesAreNeverStale lets clients cache keys that others write, alone, in pipelines and by other commands, in memory
// and on a device. When the writers are done no cache may have an old value.
func TestCopiesAreNeverStale(t *testing.T) {
	for name, start := range map[string]func(*testing.T) string{"memory": startPyrope, "tiered": startTiered} {
		t.Run(name, func(t *testing.T) {
			address := start(t)
			const keys, writes = 20, 200
			keyName := func(i int) string { return fmt.Sprint("key", i%keys) }
			var writers, readers sync.WaitGroup
			var done atomic.Bool
			var caches []*cache
			for n := range 4 {
				c := &cache{servertest.Dial(t, address), map[string]string{}}
				caches = append(caches, c)
				mode := []string{"CLIENT", "TRACKING", "ON"}
				if n == 3 {
					mode = append(mode, "BCAST", "PREFIX", "key")
				}
				untilToken(t, c.Client, "token", "HELLO", "3")
				untilToken(t, c.Client, "token", mode...)
				readers.Go(func() {
					random := rand.New(rand.NewPCG(uint64(n), 0))
					for !done.Load() {
						c.read(t, keyName(random.IntN(keys)), keyName(random.IntN(keys)))
					}
				})
			}
			for n := range 3 {
				writer := servertest.Dial(t, address)
				writers.Go(func() {
					random := rand.New(rand.NewPCG(uint64(n), 1))
					for i := range writes {
						value, key := fmt.Sprint(n, ":", i), keyName(random.IntN(keys))
						request := servertest.AppendCommand(nil, "SET", key, value)
						request = servertest.AppendCommand(request, "SET", keyName(random.IntN(keys)), value)
						request = servertest.AppendCommand(request, "APPEND", key, "+")
						request = servertest.AppendCommand(request, "SET", fmt.Sprint("ballast", n, ":", i), strings.Repeat("b", 64<<10))
						if err := writer.Send(request); err != nil {
							t.Error(err)
							return
						}
						for range 4 {
							if reply, _, err := writer.Receive(); err != nil || reply.IsError() {
								t.Errorf("%s, %v", servertest.Notation(reply), err)
								return
							}
						}
					}
				})
			}
			writers.Wait()
			done.Store(true)
			readers.Wait()
			check := servertest.Dial(t, address)
			copies := 0
			for n, c := range caches {
				for _, push := range untilToken(t, c.Client, "token") {
					c.take(t, push)
				}
				copies += len(c.values)
				for key, value := range c.values {
					if reply, err := check.Do("GET", key); err != nil || string(reply.Text) != value {
						t.Errorf("cache %d has %q for %s; the server %s, %v", n, value, key, servertest.Notation(reply), err)
					}
				}
			}
			if copies == 0 {
				t.Error("no cache has anything")
			}
		})
	}
}

// awaitInvalid waits until a client is told that a key, or every one, is invalid.
func awaitInvalid(t *testing.T, client *servertest.Client, want string) {
	t.Helper()
	for {
		push, _, err := client.Receive()
		if err != nil {
			t.Fatalf("waiting for %s: %v", want, err)
		}
		if servertest.Notation(push) == want {
			return
		}
	}
}

// pushed is the notation of an invalidation of one key.
func pushed(key string) string { return fmt.Sprintf(">[%q [%q]]", "invalidate", key) }

// fill writes this many bytes of ballast.
func fill(t *testing.T, client *servertest.Client, bytes int) {
	t.Helper()
	const size = 64 << 10
	value := strings.Repeat("b", size)
	for i := range bytes / size {
		if reply, err := client.Do("SET", fmt.Sprint("ballast", i), value); err != nil || reply.IsError() {
			t.Fatalf("SET: %s, %v", servertest.Notation(reply), err)
		}
	}
}

// TestExpiredCopiesAreInvalid waits for what is told of keys that expire unseen, in memory and on the device.
func TestExpiredCopiesAreInvalid(t *testing.T) {
	for name, start := range map[string]func(*testing.T) string{"memory": startPyrope, "tiered": startTiered} {
		t.Run(name, func(t *testing.T) {
			address := start(t)
			client, all, writer := servertest.Dial(t, address), servertest.Dial(t, address), servertest.Dial(t, address)
			for i, words := range [][]string{{"HELLO", "3"}, {"CLIENT", "TRACKING", "ON"}} {
				untilToken(t, client, fmt.Sprint("token", i), words...)
			}
			for i, words := range [][]string{{"HELLO", "3"}, {"CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "k"}} {
				untilToken(t, all, fmt.Sprint("token", i), words...)
			}
			sets := 0
			for lifetime, found := 500, false; !found; lifetime *= 2 { // the machine may be slow
				sets++
				untilToken(t, writer, "token", "SET", "key", "value", "PX", fmt.Sprint(lifetime))
				if name == "tiered" { // the key becomes cold
					fill(t, writer, 6<<20)
				}
				replies := untilToken(t, client, "read", "GET", "key")
				found = string(replies[len(replies)-1].Text) == "value"
			}
			awaitInvalid(t, client, pushed("key"))
			for range sets + 1 {
				awaitInvalid(t, all, pushed("key"))
			}
			if replies := untilToken(t, client, "gone", "EXISTS", "key"); servertest.Notation(replies[0]) != ":0" {
				t.Errorf("the key is told to be invalid before it is gone")
			}
		})
	}
}

// TestEvictedCopiesAreInvalid fills a server that drops the oldest keys.
func TestEvictedCopiesAreInvalid(t *testing.T) {
	options := config.Options{Memory: 8 << 20, Page: 1 << 20, Policy: config.AllKeysLRU}
	address := servertest.StartServer(t, server.Options{Options: options}).Addr().String()
	client, all, writer := servertest.Dial(t, address), servertest.Dial(t, address), servertest.Dial(t, address)
	for _, c := range []*servertest.Client{client, all} {
		untilToken(t, c, "token", "HELLO", "3")
	}
	untilToken(t, all, "token", "CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "k")
	untilToken(t, client, "token", "CLIENT", "TRACKING", "ON")
	untilToken(t, writer, "token", "SET", "key", "value")
	untilToken(t, client, "read", "GET", "key")
	untilToken(t, all, "told of the SET")
	fill(t, writer, 16<<20)
	awaitInvalid(t, client, pushed("key"))
	awaitInvalid(t, all, pushed("key"))
	if replies := untilToken(t, client, "gone", "EXISTS", "key"); servertest.Notation(replies[0]) != ":0" {
		t.Errorf("the key is told to be invalid, and is there")
	}
}

// TestTrackedKeysAreBounded reads more keys than the table may have.
func TestTrackedKeysAreBounded(t *testing.T) {
	address := startPyrope(t)
	client, other := servertest.Dial(t, address), servertest.Dial(t, address)
	for i, words := range [][]string{{"HELLO", "3"}, {"CONFIG", "SET", "tracking-table-max-keys", "10"}, {"CLIENT", "TRACKING", "ON"}} {
		untilToken(t, client, fmt.Sprint("token", i), words...)
	}
	invalid := map[string]bool{}
	for i := range 100 {
		for _, reply := range untilToken(t, client, fmt.Sprint("read", i), "GET", fmt.Sprint("key", i)) {
			if reply.Kind == resp.Push {
				invalid[servertest.Notation(reply)] = true
			}
		}
	}
	for len(invalid) < 90 { // the last push comes behind the last token
		push, _, err := client.Receive()
		if err != nil {
			t.Fatalf("after %d invalid keys: %v", len(invalid), err)
		}
		invalid[servertest.Notation(push)] = true
	}
	untilToken(t, other, "token", "CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "a", "PREFIX", "b")
	info := servertest.Notation(untilToken(t, other, "token", "INFO", "stats")[0]) + servertest.Notation(untilToken(t, other, "token", "INFO", "clients")[0])
	for _, want := range []string{"tracking_total_keys:10\\r", "tracking_total_items:10\\r", "tracking_total_prefixes:2\\r", "tracking_clients:2\\r"} {
		if !strings.Contains(info, want) {
			t.Errorf("INFO has not %s: %s", want, info)
		}
	}
	list := servertest.Notation(untilToken(t, other, "token", "CLIENT", "LIST")[0])
	if !strings.Contains(list, " flags=t ") || !strings.Contains(list, " flags=tB ") || strings.Count(list, " redir=0 ") != 2 {
		t.Errorf("CLIENT LIST: %s", list)
	}
	untilToken(t, other, "token", "CLIENT", "TRACKING", "OFF")
	untilToken(t, client, "token", "CLIENT", "TRACKING", "OFF")
	info = servertest.Notation(untilToken(t, other, "token", "INFO", "stats")[0])
	for _, want := range []string{"tracking_total_keys:0\\r", "tracking_total_items:0\\r", "tracking_total_prefixes:0\\r"} {
		if !strings.Contains(info, want) {
			t.Errorf("INFO has not %s after everyone is off: %s", want, info)
		}
	}
}

// TestRedirectionBreaks ends the client that another one redirects to, and compares with Redis what the latter hears and shows.
func TestRedirectionBreaks(t *testing.T) {
	var seen [2]string
	for i, address := range []string{startPyrope(t), servertest.StartRedis(t)} {
		c := dialCaches(t, address, "3", 3)
		for step, words := range [][]string{
			{"CLIENT", "TRACKING", "ON", "REDIRECT", "$2"}, {"GET", "a"}, {"CLIENT", "KILL", "ID", "$2"}, {"CLIENT", "LIST", "ID", "$2"},
			{"GET", "a"}, {"SET", "a", "1"}, {"CLIENT", "TRACKINGINFO"}, {"CLIENT", "GETREDIR"}, {"CLIENT", "TRACKING", "ON"},
			{"CLIENT", "TRACKINGINFO"}, {"CLIENT", "TRACKING", "OFF"}, {"CLIENT", "TRACKINGINFO"},
		} {
			if step == 2 {
				c.clients = c.clients[:2]
			}
			text := c.do(t, 0, fmt.Sprint("token", step), words)
			for words[1] == "LIST" && strings.Contains(text, "id=") { // it ends on its own loop
				text = c.do(t, 0, fmt.Sprint("token", step), words)
			}
			seen[i] += text
		}
	}
	if seen[0] != seen[1] {
		t.Errorf(" got %s\nwant %s", seen[0], seen[1])
	}
}
