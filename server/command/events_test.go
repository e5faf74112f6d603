package command_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server/servertest"
)

// TestEventsAreThoseOfRedis runs random commands of every family on Pyrope and on Redis, and compares what a
// subscriber to all keyspace events is told, command by command.
func TestEventsAreThoseOfRedis(t *testing.T) {
	families := map[string]func(uint64) *servertest.Generator{
		"strings": servertest.NewGenerator, "bitmaps": servertest.NewBitmapGenerator,
		"hyperloglogs": servertest.NewHyperLogLogGenerator, "transfers": servertest.NewKeysGenerator,
	}
	for family, newGenerator := range families {
		t.Run(family, func(t *testing.T) {
			seed := rand.Uint64()
			generator := newGenerator(seed)
			var clients, listeners [2]*servertest.Client
			for i, address := range []string{startPyrope(t), servertest.StartRedis(t)} {
				clients[i], listeners[i] = servertest.Dial(t, address), servertest.Dial(t, address)
				if reply, err := clients[i].Do("CONFIG", "SET", "notify-keyspace-events", "KEg$n"); err != nil || reply.IsError() {
					t.Fatalf("CONFIG SET: %v, %v", reply, err)
				}
				untilToken(t, listeners[i], "token", "PSUBSCRIBE", "__key*")
			}
			for step := range 3000 {
				words := generator.Next()
				var told [2]string
				for i := range clients {
					untilToken(t, clients[i], fmt.Sprint("token", step), words...)
					events := untilToken(t, listeners[i], fmt.Sprint("token", step))
					texts := strings.Split(notations(events, true), "\n")
					if words[0] == "UNSUBSCRIBE" {
						slices.Sort(texts)
					}
					told[i] = strings.Join(texts, "\n")
				}
				if told[0] != told[1] {
					t.Fatalf("seed %d, step %d, %.300q:\n got %.2000s\nwant %.2000s", seed, step, words, told[0], told[1])
				}
			}
		})
	}
}

// TestExpiredKeysAreTold waits for the events of keys that nobody looks at, in memory and with a device.
func TestExpiredKeysAreTold(t *testing.T) {
	for name, start := range map[string]func(*testing.T) string{"memory": startPyrope, "tiered": startTiered} {
		t.Run(name, func(t *testing.T) {
			address := start(t)
			client, listener := servertest.Dial(t, address), servertest.Dial(t, address)
			do := func(words ...string) string {
				t.Helper()
				reply, err := client.Do(words...)
				if err != nil || reply.IsError() {
					t.Fatalf("%q: %v, %v", words, reply, err)
				}
				return servertest.Notation(reply)
			}
			do("CONFIG", "SET", "notify-keyspace-events", "Ex")
			untilToken(t, listener, "token", "PSUBSCRIBE", "__keyevent@0__:expired")
			const count = 1000
			for i := range count {
				do("SET", fmt.Sprint("key", i), "value", "PX", "100")
				do("SET", fmt.Sprint("lasting", i), "value", "EX", "1000")
			}
			began := time.Now()
			seen := map[string]int{}
			for range count {
				event, _, err := listener.Receive()
				if err != nil || len(event.Elements) != 4 {
					t.Fatalf("event %s, %v after %d keys", servertest.Notation(event), err, len(seen))
				}
				seen[string(event.Elements[3].Text)]++
			}
			if len(seen) != count {
				t.Errorf("%d keys of %d were told", len(seen), count)
			}
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("the last key was told after %v", took)
			}
			if stats := do("INFO", "stats"); !strings.Contains(stats, fmt.Sprintf(`expired_keys:%d\r\n`, count)) {
				t.Errorf("INFO: %s", stats)
			}
			if size := do("DBSIZE"); size != fmt.Sprintf(":%d", count) {
				t.Errorf("DBSIZE is %s", size)
			}
		})
	}
}

// TestAWriteTellsOfTheKeyBefore writes on a key past its deadline that active expiry left alone.
func TestAWriteTellsOfTheKeyBefore(t *testing.T) {
	var clients, listeners [2]*servertest.Client
	for i, address := range []string{startPyrope(t), servertest.StartRedis(t)} {
		clients[i], listeners[i] = servertest.Dial(t, address), servertest.Dial(t, address)
		untilToken(t, clients[i], "token", "CONFIG", "SET", "notify-keyspace-events", "KEAn")
		untilToken(t, listeners[i], "token", "PSUBSCRIBE", "__key*")
	}
	if reply, err := clients[0].Do("DEBUG", "SET-ACTIVE-EXPIRE", "0"); err != nil || reply.IsError() {
		t.Fatalf("DEBUG SET-ACTIVE-EXPIRE: %v, %v", reply, err)
	}
	for step, words := range [][]string{{"SET", "key", "1"}, {"INCR", "key"}, {"APPEND", "key", "x"}, {"SETBIT", "key", "1", "1"},
		{"PFADD", "key", "x"}, {"COPY", "other", "key"}, {"MSET", "key", "1", "b", "2"}, {"GETSET", "key", "y"}} {
		var told [2]string
		for i := range clients {
			untilToken(t, clients[i], fmt.Sprint("first", step), "SET", "other", "o")
			untilToken(t, clients[i], fmt.Sprint("second", step), "SET", "key", "1", "PX", "1")
		}
		time.Sleep(3 * time.Millisecond) // the deadline itself
		for i := range clients {
			untilToken(t, listeners[i], fmt.Sprint("third", step))
			untilToken(t, clients[i], fmt.Sprint("fourth", step), words...)
			told[i] = notations(untilToken(t, listeners[i], fmt.Sprint("fifth", step)), true)
		}
		// Redis may have removed the key before the write: the write then tells nothing of it.
		if told[0] != told[1] && withoutExpired(told[0]) != told[1] {
			t.Errorf("%q:\n got %s\nwant %s", words, told[0], told[1])
		}
		if !strings.Contains(told[0], "expired") {
			t.Errorf("%q tells nothing of the key before: %s", words, told[0])
		}
	}
}

// withoutExpired leaves out the events of removed keys.
func withoutExpired(events string) string {
	var kept []string
	for line := range strings.Lines(events) {
		if !strings.Contains(line, "expired") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func TestEventClassesReadAsInRedis(t *testing.T) {
	ours, redis := servertest.Dial(t, startPyrope(t)), servertest.Dial(t, servertest.StartRedis(t))
	for _, value := range []string{"", "A", "KEA", "AKE", "Kg", "g$lshzxetd", "m", "n", "An", "AKEmn", "EKxx", "Q", "K Q", "g$lshzxet", "Kd"} {
		var got [2]string
		for i, client := range []*servertest.Client{ours, redis} {
			for _, words := range [][]string{{"CONFIG", "SET", "notify-keyspace-events", value}, {"CONFIG", "GET", "notify-keyspace-events"}} {
				reply, err := client.Do(words...)
				if err != nil {
					t.Fatal(err)
				}
				got[i] += servertest.Notation(reply) + "\n"
			}
		}
		if got[0] != got[1] {
			t.Errorf("%q:\n got %s\nwant %s", value, got[0], got[1])
		}
	}
}
