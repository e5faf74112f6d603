package server_test

// Attacks on a whole server over real sockets: input that is no protocol, clients that vanish, storms
// of commands on few keys. What is checked is not survival but what must hold: every reply in its
// place, counters exact, values whole, nothing visible past its deadline, nothing left behind.

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/resp"
	"github.com/pyropedb/pyrope/server/servertest"
)

// besieged are the configurations under attack: memory alone, and a few pages before each kind of tier.
func besieged(t *testing.T) map[string]config.Options {
	tier := config.Options{Memory: 32 << 10, Page: 4 << 10, Segment: 64 << 10, Index: 512, StorageTier: config.On}
	local, file, goroutines := tier, tier, tier
	local.DeviceType, local.IndexMax, local.NetworkThreads = device.LocalMemory, 512, 1
	file.DeviceType, file.LogDir, file.ScatterGather = device.RandomAccess, t.TempDir(), config.Off
	goroutines.DeviceType, goroutines.NetworkBackend = device.LocalMemory, config.BackendNet
	list := map[string]config.Options{
		"goroutines":  goroutines,
		"memory":      small(),
		"LocalMemory": local,
		"file":        file,
	}
	if ringsProblem() == nil {
		rings := local
		rings.NetworkBackend = config.BackendUring
		list["rings"] = rings
	}
	return list
}

// inSiege runs attack against a fresh server of each configuration, with a seed that is logged.
func inSiege(t *testing.T, attack func(t *testing.T, s *server.Server, seed uint64)) {
	for name, options := range besieged(t) {
		t.Run(name, func(t *testing.T) {
			seed := testSeed()
			t.Logf("seed %d", seed)
			s := start(t, options)
			t.Run("attack", func(t *testing.T) { attack(t, s, seed) })
			eventually(t, "all connections to be gone", func() bool {
				c, err := s.Client()
				if err != nil {
					return false
				}
				defer c.Close()
				reply, err := c.Do("INFO", "clients") // it may be killed by an attacker's last words
				return err == nil && strings.Contains(string(reply.Text), "\nconnected_clients:1\r")
			})
		})
	}
}

// together runs work on n goroutines, each with a generator of its own.
func together(n int, seed uint64, work func(number int, random *rand.Rand)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { work(i, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	group.Wait()
}

// siegeTime is how long an attack without an end of its own lasts.
func siegeTime() time.Duration {
	if testing.Short() {
		return 300 * time.Millisecond
	}
	return time.Second
}

// pipeline sends commands at once and returns their replies.
func pipeline(t *testing.T, c *servertest.Client, commands [][]string) []resp.Value {
	t.Helper()
	var request []byte
	for _, words := range commands {
		request = servertest.AppendCommand(request, words...)
	}
	if err := c.Send(request); err != nil {
		t.Error(err)
		return nil
	}
	replies := make([]resp.Value, len(commands))
	for i := range replies {
		var err error
		if replies[i], _, err = c.Receive(); err != nil {
			t.Errorf("reply %d of %d: %v", i, len(commands), err)
			return nil
		}
	}
	return replies
}

// rawDial connects without a protocol.
func rawDial(t *testing.T, s *server.Server) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Error(err)
		return nil
	}
	return conn.(*net.TCPConn)
}

// sealed is a value that carries its own length and checksum; whole tells whether it is one.
func sealed(random *rand.Rand, key string, length int) string {
	body := make([]byte, length)
	fill := byte(random.Uint32())
	for i := range body {
		body[i] = fill + byte(i)
	}
	text := fmt.Sprintf("%d:%s", length, body)
	return fmt.Sprintf("%s%08x", text, crc32.ChecksumIEEE([]byte(key+text)))
}

func whole(key string, value []byte) bool {
	length, body, found := bytes.Cut(value, []byte{':'})
	want, err := strconv.Atoi(string(length))
	if !found || err != nil || len(body) != want+8 {
		return false
	}
	text := value[:len(value)-8]
	return string(value[len(text):]) == fmt.Sprintf("%08x", crc32.ChecksumIEEE(append([]byte(key), text...)))
}

// TestCloseLeavesABacklog checks that Close does not wait for all of a deep pipeline of slow commands.
func TestCloseLeavesABacklog(t *testing.T) {
	options := small()
	options.NetworkThreads = 1
	s := newServer(t, options)
	const patience = 200 * time.Millisecond
	s.SetPatience(patience)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	c := dial(t, s)
	keys := []string{"MSET"}
	for i := range 20000 {
		keys = append(keys, strconv.Itoa(i), "value")
	}
	pipeline(t, c, [][]string{keys})
	// Each looks at all keys and finds none. The server reads them at once.
	backlog := servertest.AppendCommand(nil, "SET", "begun", "yes")
	const commands = 4000
	backlog = append(backlog, bytes.Repeat(servertest.AppendCommand(nil, "KEYS", "none*"), commands)...)
	if err := c.Send(backlog); err != nil {
		t.Fatal(err)
	}
	observer, err := s.Client()
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the backlog to be served", func() bool { return do(t, observer, "EXISTS begun") == ":1" })
	observer.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	served := 0
	for _, _, err := c.Receive(); err == nil; _, _, err = c.Receive() {
		served++
	}
	if served == 0 || served > commands {
		t.Errorf("%d of %d commands were served", served, commands+1)
	}
}

// TestNoise sends what is no protocol, and commands with flipped and missing bytes, in pieces of any
// size, and leaves in the middle of it.
func TestNoise(t *testing.T) {
	words := []string{"GET", "SET", "MGET", "MSET", "MSETNX", "INCR", "APPEND", "SETRANGE", "GETRANGE", "DEL", "PEXPIREAT",
		"KEYS", "SCAN", "RANDOMKEY", "SELECT", "HELLO", "AUTH", "CLIENT", "COMMAND", "OBJECT", "GETEX", "INCRBYFLOAT",
		"INFO", "RESET", "LIST", "DOCS", "", "0", "-1", "2", "3", "9223372036854775807", "-9223372036854775808", "1e400",
		"nan", "EX", "KEEPTTL", "MATCH", "*", "[^]", "\\", "\x00", "\r\n", "\xff\xfe", "k", "536870912"}
	fragments := []string{"*", "$", "*-1\r\n", "*0\r\n", "$-1\r\n", "*1000000000\r\n", "*2147483648\r\n", "*1\r\n$-5\r\n", "*1\r\n:5\r\n",
		"\r\n\r\n", "'", "\"\\x", "*01\r\n", "* 1\r\n", "*2\n$3\nGET\n", "*3\r\n$3\r\nSET\r\n$600000000\r\n", "*40\r\n$1\r\na\r\n"}
	rounds := 30
	if !testing.Short() {
		rounds = 200
	}
	inSiege(t, func(t *testing.T, s *server.Server, seed uint64) {
		together(6, seed, func(_ int, random *rand.Rand) {
			for range rounds {
				var input []byte
				for range random.IntN(30) {
					command := make([]string, 1+random.IntN(6))
					for i := range command {
						command[i] = words[random.IntN(len(words))]
					}
					start := len(input)
					if command[0] == "SETRANGE" || random.IntN(8) == 0 { // an offset would ask for much memory
						input = append(input, fragments[random.IntN(len(fragments))]...)
						continue
					}
					input = servertest.AppendCommand(input, command...)
					switch random.IntN(12) {
					case 0:
						input[start+random.IntN(len(input)-start)] = byte(random.Uint32())
					case 1:
						input = input[:start+random.IntN(len(input)-start)]
					}
				}
				conn := rawDial(t, s)
				if conn == nil {
					return
				}
				for len(input) > 0 {
					n, err := conn.Write(input[:1+random.IntN(len(input))])
					if input = input[n:]; err != nil {
						break // the server has had enough of it
					}
				}
				_ = conn.SetLinger(random.IntN(2) - 1) // 0 resets
				_ = conn.Close()
			}
		})
	})
}

// TestRepliesKeepTheirPlaces sends a long pipeline, its start byte by byte, that changes the protocol
// on the way, and closes its end of the connection behind the beginning of another command.
func TestRepliesKeepTheirPlaces(t *testing.T) {
	inSiege(t, func(t *testing.T, s *server.Server, seed uint64) {
		together(4, seed, func(number int, random *rand.Rand) {
			var request, want []byte
			for i := range 3000 {
				text, key := strconv.Itoa(i), fmt.Sprintf("place:%d", number)
				switch random.IntN(4) {
				case 0:
					request, want = servertest.AppendCommand(request, "ECHO", text), resp.AppendBulkString(want, text)
				case 1:
					request, want = servertest.AppendCommand(request, "SET", key, text), resp.AppendOK(want)
					request, want = servertest.AppendCommand(request, "GETDEL", key), resp.AppendBulkString(want, text)
				case 2:
					request = append(servertest.AppendCommand(request, "HELLO", "3"), "\r\nget none\r\nRESET\r\n"...)
					want = append(want, "%_+RESET\r\n"...)
				default:
					request, want = append(request, "GET none\r\n"...), resp.AppendNull(want, resp.RESP2)
				}
			}
			request = append(request, "*2\r\n$4\r\nECHO\r\n$100\r\nunfinished"...)
			conn := rawDial(t, s)
			if conn == nil {
				return
			}
			defer func() { _ = conn.Close() }()
			go func() {
				for i := range 300 {
					_, _ = conn.Write(request[i : i+1]) // a failure shows in the replies
				}
				_, _ = conn.Write(request[300:])
				_ = conn.CloseWrite()
			}()
			_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
			got, err := io.ReadAll(conn)
			if err != nil {
				t.Error(err)
			}
			if got = withoutGreetings(got); !bytes.Equal(got, want) {
				at := 0
				for at < min(len(got), len(want)) && got[at] == want[at] {
					at++
				}
				t.Errorf("%d bytes of replies, want %d; from byte %d on %.60q, want %.60q", len(got), len(want), at, got[at:], want[at:])
			}
		})
	})
}

// withoutGreetings writes the reply to HELLO 3 as % and the null behind it as _, and leaves the rest as it is.
func withoutGreetings(replies []byte) (rest []byte) {
	for len(replies) > 0 {
		value, length, result := resp.ReadReply(replies)
		switch {
		case result != resp.Complete:
			return append(rest, replies...)
		case value.Kind == resp.Map:
			rest = append(rest, '%')
		case value.Kind == resp.Null:
			rest = append(rest, '_')
		default:
			rest = append(rest, replies[:length]...)
		}
		replies = replies[length:]
	}
	return rest
}

// TestClientsVanish leaves connections in the middle of requests and of replies.
func TestClientsVanish(t *testing.T) {
	longest := 60 // pipelines, in pairs of commands
	if testing.Short() {
		longest = 15
	}
	inSiege(t, func(t *testing.T, s *server.Server, seed uint64) {
		together(8, seed, func(_ int, random *rand.Rand) {
			for range 20 {
				var request []byte
				for range random.IntN(longest) {
					key := fmt.Sprintf("big:%d", random.IntN(20))
					request = servertest.AppendCommand(request, "SET", key, strings.Repeat("v", random.IntN(3000)))
					request = servertest.AppendCommand(request, "MGET", key, "big:1", "big:2", "big:3")
				}
				conn := rawDial(t, s)
				if conn == nil {
					return
				}
				_, _ = conn.Write(request[:random.IntN(len(request)+1)])
				if random.IntN(2) == 0 {
					_ = conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
					_, _ = conn.Read(make([]byte, random.IntN(20000)))
				}
				_ = conn.SetLinger(random.IntN(2) - 1)
				_ = conn.Close()
			}
		})
	})
}

// TestKillStorm kills connections that are served, that wait, and that are just being accepted.
func TestKillStorm(t *testing.T) {
	inSiege(t, func(t *testing.T, s *server.Server, seed uint64) {
		end := time.Now().Add(siegeTime())
		together(12, seed, func(number int, random *rand.Rand) {
			for time.Now().Before(end) {
				conn := rawDial(t, s)
				if conn == nil {
					return
				}
				_ = conn.SetDeadline(time.Now().Add(time.Minute))
				request := servertest.AppendCommand(nil, "DEBUG", "SLEEP", "0.005")
				for range random.IntN(50) {
					request = servertest.AppendCommand(request, "SET", fmt.Sprintf("k:%d", random.IntN(50)), strings.Repeat("z", random.IntN(2000)))
					request = servertest.AppendCommand(request, "GET", fmt.Sprintf("k:%d", random.IntN(50)))
				}
				if number < 2 {
					request = servertest.AppendCommand(request, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no")
				}
				_, _ = conn.Write(request)
				_ = conn.CloseWrite()
				var timeout net.Error
				if _, err := io.Copy(io.Discard, conn); errors.As(err, &timeout) && timeout.Timeout() {
					t.Error("a connection neither answers nor ends")
				}
				_ = conn.Close()
			}
		})
	})
}

// TestCountersAreExact adds to few counters from many connections, beside writers that turn the log's pages.
func TestCountersAreExact(t *testing.T) {
	const counters = 8
	inSiege(t, func(t *testing.T, s *server.Server, seed uint64) {
		var sums [counters]atomic.Int64
		together(8, seed, func(number int, random *rand.Rand) {
			c := dial(t, s)
			for range 20 {
				var commands [][]string
				var of []int
				for range 1 + random.IntN(60) {
					counter := random.IntN(counters)
					of = append(of, counter)
					commands = append(commands, []string{"INCR", fmt.Sprintf("counter:%d", counter)})
				}
				for i, reply := range pipeline(t, c, commands) {
					if reply.Kind != resp.Integer {
						t.Errorf("INCR: %v", reply)
						continue
					}
					sums[of[i]].Add(1)
				}
				noise := fmt.Sprintf("noise:%d", random.IntN(40))
				pipeline(t, c, [][]string{{"SET", noise, strings.Repeat("n", random.IntN(1000))}, {"DEL", noise}, {"SCAN", "0"}})
			}
		})
		c := dial(t, s)
		for i := range counters {
			check(t, c, fmt.Sprintf("GET counter:%d", i), fmt.Sprintf("%q", strconv.FormatInt(sums[i].Load(), 10)))
		}
	})
}

// TestValuesAreWhole overwrites few keys with values of changing lengths, and reads them in every way.
func TestValuesAreWhole(t *testing.T) {
	inSiege(t, func(t *testing.T, s *server.Server, seed uint64) {
		end := time.Now().Add(siegeTime())
		together(8, seed, func(_ int, random *rand.Rand) {
			c := dial(t, s)
			for time.Now().Before(end) {
				var commands [][]string
				for range 1 + random.IntN(20) {
					key, other := fmt.Sprintf("t:%d", random.IntN(12)), fmt.Sprintf("t:%d", random.IntN(12))
					length := random.IntN(3000)
					commands = append(commands, [][]string{
						{"SET", key, sealed(random, key, length)},
						{"SET", key, sealed(random, key, length), "PX", "20"},
						{"MSET", key, sealed(random, key, length), other, sealed(random, other, 50)},
						{"GETSET", key, sealed(random, key, length)},
						{"GETDEL", key},
						{"MGET", key, other},
						{"GET", key},
						{"GET", other},
					}[random.IntN(8)])
				}
				for i, reply := range pipeline(t, c, commands) {
					values := reply.Elements
					if reply.Kind == resp.Bulk {
						values = []resp.Value{reply}
					}
					if reply.IsError() {
						t.Errorf("%.60q: %s", commands[i], reply)
					}
					for j, value := range values {
						if key := commands[i][1+j]; !value.Missing && !whole(key, value.Text) {
							t.Errorf("%.60q: %.60q of %d bytes is not whole", commands[i], value.Text, len(value.Text))
						}
					}
				}
			}
		})
	})
}

// TestAppendsAreWhole appends from several connections to one value, up to the size that no page holds.
func TestAppendsAreWhole(t *testing.T) {
	inSiege(t, func(t *testing.T, s *server.Server, seed uint64) {
		var appended atomic.Int64
		together(4, seed, func(number int, _ *rand.Rand) {
			c := dial(t, s)
			part := strings.Repeat(string(rune('a'+number)), 16)
			for range 100 {
				for _, reply := range pipeline(t, c, [][]string{{"APPEND", "long", part}, {"GET", "long"}}) {
					if reply.Kind == resp.Integer {
						appended.Add(1)
					}
					for text := reply.Text; reply.Kind == resp.Bulk && len(text) > 0; text = text[min(16, len(text)):] {
						if !bytes.Equal(text[:min(16, len(text))], bytes.Repeat(text[:1], 16)) {
							t.Errorf("a part is %.16q", text)
						}
					}
				}
			}
		})
		c := dial(t, s)
		check(t, c, "STRLEN long", fmt.Sprintf(":%d", 16*appended.Load()))
	})
}

// TestNothingOutlivesItsDeadline reads keys with short lives until they are gone.
func TestNothingOutlivesItsDeadline(t *testing.T) {
	inSiege(t, func(t *testing.T, s *server.Server, seed uint64) {
		end := time.Now().Add(siegeTime())
		together(8, seed, func(number int, random *rand.Rand) {
			c := dial(t, s)
			for time.Now().Before(end) {
				key, life := fmt.Sprintf("e:%d:%d", number, random.IntN(20)), 1+random.IntN(30)
				sent := time.Now()
				check(t, c, fmt.Sprintf("SET %s %s PX %d", key, strings.Repeat("e", 1+random.IntN(900)), life), "+OK")
				set := time.Now()
				for alive := true; alive; {
					asked := time.Now()
					alive = do(t, c, "EXISTS "+key) == ":1"
					// The server's clock counts whole milliseconds.
					if late := asked.Sub(set) - time.Duration(life+1)*time.Millisecond; alive && late > time.Millisecond {
						t.Errorf("a key is seen %v after its deadline", late)
						return
					}
					if early := time.Duration(life-1)*time.Millisecond - time.Since(sent); !alive && early > 0 {
						t.Errorf("a key is gone %v before its deadline", early)
						return
					}
				}
			}
		})
		c := dial(t, s)
		check(t, c, "KEYS *", "[]")
		check(t, c, "DBSIZE", ":0")
	})
}

// TestScansUnderFlushes visits all keys in every way while they are written in bulk and flushed.
func TestScansUnderFlushes(t *testing.T) {
	keys := 2000
	if testing.Short() {
		keys = 600
	}
	inSiege(t, func(t *testing.T, s *server.Server, seed uint64) {
		end := time.Now().Add(siegeTime())
		together(8, seed, func(number int, random *rand.Rand) {
			c := dial(t, s)
			for time.Now().Before(end) {
				some := make([]string, 0, keys/2)
				for range cap(some) / 2 {
					some = append(some, fmt.Sprintf("key:%d", random.IntN(keys)), "some value")
				}
				commands := [][]string{
					append([]string{"MSET"}, some...),
					append([]string{"MSETNX"}, some[:20]...),
					append([]string{"DEL"}, some...),
					{[]string{"FLUSHALL", "FLUSHDB", "PING", "PING", "PING"}[random.IntN(5)]},
					{"RANDOMKEY"}, {"DBSIZE"},
					{"KEYS", "*"},
					append([]string{"MGET"}, some...),
				}
				random.Shuffle(len(commands)-2, func(i, j int) { commands[i], commands[j] = commands[j], commands[i] })
				replies := pipeline(t, c, commands)
				for i, reply := range replies {
					if reply.IsError() {
						t.Errorf("%.60q: %s", commands[i], reply)
					}
				}
				if replies == nil || len(replies[7].Elements) != len(some) {
					t.Error("MGET does not answer for every key")
					return
				}
				named := make(map[string]bool)
				for _, key := range replies[6].Elements {
					if named[string(key.Text)] {
						t.Errorf("KEYS names %q twice", key.Text)
					}
					named[string(key.Text)] = true
				}
				for cursor := "0"; ; {
					reply, err := c.Do("SCAN", cursor, "COUNT", "100")
					if err != nil || len(reply.Elements) != 2 {
						t.Errorf("SCAN %s: %v, %v", cursor, reply, err)
						return
					}
					if cursor = string(reply.Elements[0].Text); cursor == "0" {
						break
					}
				}
			}
		})
		c := dial(t, s)
		reply, err := c.Do("KEYS", "*")
		if err != nil {
			t.Fatal(err)
		}
		check(t, c, "DBSIZE", fmt.Sprintf(":%d", len(reply.Elements)))
	})
}

// TestNobodySeesHalfAnMSET reads several keys while others write them together.
func TestNobodySeesHalfAnMSET(t *testing.T) {
	inSiege(t, func(t *testing.T, s *server.Server, seed uint64) {
		end := time.Now().Add(siegeTime())
		together(6, seed, func(number int, random *rand.Rand) {
			c := dial(t, s)
			for time.Now().Before(end) {
				if number < 3 {
					value := strconv.Itoa(random.IntN(1000))
					pipeline(t, c, [][]string{{"MSET", "first", value, "second", value, "third", value}})
					continue
				}
				for _, reply := range pipeline(t, c, [][]string{{"MGET", "first", "second", "third"}}) {
					if values := reply.Elements; len(values) != 3 || values[0].String() != values[1].String() ||
						values[1].String() != values[2].String() {
						t.Errorf("MGET: %s", reply)
					}
				}
			}
		})
	})
}

// TestStrangersHoldNoMemory sends requests without the password and reads none of the replies.
func TestStrangersHoldNoMemory(t *testing.T) {
	options := small()
	options.Password = "secret"
	s := start(t, options)
	conn := rawDial(t, s)
	if conn == nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetWriteDeadline(time.Now().Add(time.Minute))
	_, err := conn.Write(bytes.Repeat([]byte("PING\r\n"), 5<<20))
	var timeout net.Error
	if err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		t.Errorf("150 MB of replies nobody may have are kept: %v", err)
	}
	friend := dial(t, s)
	check(t, friend, "AUTH secret", "+OK")
	value := strings.Repeat("v", 500000)
	commands := [][]string{{"SET", "key", value}}
	for range 40 {
		commands = append(commands, []string{"GET", "key"})
	}
	for i, reply := range pipeline(t, friend, commands)[1:] {
		if string(reply.Text) != value {
			t.Errorf("reply %d has %d bytes", i, len(reply.Text))
		}
	}
}
