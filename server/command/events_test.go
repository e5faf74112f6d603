package command_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/command"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/servertest"
)

// TestEventsAreThoseOfRedis runs random commands of every family on Pyrope and on Redis, and compares what a
// subscriber to all keyspace events is told, command by command.
func TestEventsAreThoseOfRedis(t *testing.T) {
	steps := 3000
	if testing.Short() {
		steps = 1000
	}
	families := map[string]func(uint64) *servertest.Generator{
		"strings": servertest.NewGenerator, "bitmaps": servertest.NewBitmapGenerator,
		"hyperloglogs": servertest.NewHyperLogLogGenerator, "transfers": servertest.NewKeysGenerator,
	}
	for family, newGenerator := range families {
		t.Run(family, func(t *testing.T) {
			seed := command.NewSeed()
			generator := newGenerator(seed)
			var clients, listeners [2]*servertest.Client
			for i, address := range []string{startPyrope(t), servertest.StartRedis(t)} {
				clients[i], listeners[i] = servertest.Dial(t, address), servertest.Dial(t, address)
				if reply, err := clients[i].Do("CONFIG", "SET", "notify-keyspace-events", "KEg$nm"); err != nil || reply.IsError() {
					t.Fatalf("CONFIG SET: %v, %v", reply, err)
				}
				untilToken(t, listeners[i], "token", "PSUBSCRIBE", "__key*")
			}
			for step := range steps {
				words := generator.Next()
				var told [2]string
				for i := range clients {
					untilToken(t, clients[i], fmt.Sprint("token", step), words...)
					events := untilToken(t, listeners[i], fmt.Sprint("token", step))
					texts := strings.Split(notations(events, true), "\n")
					if words[0] == "UNSUBSCRIBE" {
						slices.Sort(texts)
					}
					if words[0] == "SCAN" { // with TYPE Redis looks each key up, and tells of one that has expired since
						texts = nil
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
			if took := time.Since(began); took > 20*time.Second {
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

// TestEvictedKeysAreTold fills a small server under policies that drop keys: exactly those are told that are gone.
func TestEvictedKeysAreTold(t *testing.T) {
	for _, policy := range []string{"allkeys-lru", "volatile-ttl"} {
		t.Run(policy, func(t *testing.T) {
			address := startFull(t, policy)
			client, listener := servertest.Dial(t, address), servertest.Dial(t, address)
			do := func(words ...string) string {
				t.Helper()
				reply, err := client.Do(words...)
				if err != nil || reply.IsError() {
					t.Fatalf("%.50q: %v, %v", words, reply, err)
				}
				return servertest.Notation(reply)
			}
			do("CONFIG", "SET", "notify-keyspace-events", "Ee")
			untilToken(t, listener, "token", "PSUBSCRIBE", "__keyevent@0__:evicted")
			const count = 900
			value := strings.Repeat("x", 1600)
			for i := range count {
				do("SET", fmt.Sprint("key", i), value, "EX", "1000")
			}
			gone := map[string]bool{}
			for deadline := time.Now().Add(time.Minute); !strings.Contains(do("INFO", "stats"), fmt.Sprintf(`evicted_keys:%d\r\n`, len(gone))) || len(gone) == 0; {
				if time.Now().After(deadline) {
					t.Fatalf("%d keys are gone; INFO says %s", len(gone), do("INFO", "stats"))
				}
				clear(gone)
				for i := range count {
					if name := fmt.Sprint("key", i); do("EXISTS", name) == ":0" {
						gone[name] = true
					}
				}
			}
			if len(gone) < count/4 {
				t.Fatalf("%d of %d keys are gone", len(gone), count)
			}
			for range gone {
				event, _, err := listener.Receive()
				if err != nil || len(event.Elements) != 4 || !gone[string(event.Elements[3].Text)] {
					t.Fatalf("event %s, %v: no key that is gone, or told before", servertest.Notation(event), err)
				}
				gone[string(event.Elements[3].Text)] = false
			}
		})
	}
}

// TestNewKeysAreToldOverADevice writes keys whose records lie on the device, and others that are not there: only the latter are new.
func TestNewKeysAreToldOverADevice(t *testing.T) {
	options := config.Options{Memory: 1 << 20, Page: 64 << 10, Index: 64 << 10, StorageTier: config.On, DeviceType: device.LocalMemory, Segment: 256 << 10}
	address := servertest.StartServer(t, server.Options{Options: options}).Addr().String()
	client, listener := servertest.Dial(t, address), servertest.Dial(t, address)
	value := strings.Repeat("x", 1000)
	for i := range 3000 {
		untilToken(t, client, "token", "SET", fmt.Sprint("cold", i), value)
	}
	untilToken(t, client, "token", "CONFIG", "SET", "notify-keyspace-events", "En")
	untilToken(t, listener, "token", "PSUBSCRIBE", "__key*")
	for step, c := range []struct {
		words []string
		fresh []string
	}{
		{[]string{"SET", "cold1", "v"}, nil},
		{[]string{"SET", "fresh1", "v"}, []string{"fresh1"}},
		{[]string{"SET", "cold2", "v", "EX", "100"}, nil},
		{[]string{"MSET", "cold3", "v", "fresh2", "v", "cold4", "v"}, []string{"fresh2"}},
		{[]string{"BITOP", "OR", "cold5", "cold6"}, nil},
		{[]string{"BITOP", "OR", "fresh3", "cold7"}, []string{"fresh3"}},
		{[]string{"SETNX", "cold8", "v"}, nil},
	} {
		untilToken(t, client, fmt.Sprint("token", step), c.words...)
		var told []string
		for _, event := range untilToken(t, listener, fmt.Sprint("told", step)) {
			told = append(told, string(event.Elements[3].Text))
		}
		if !slices.Equal(told, c.fresh) {
			t.Errorf("%q: told as new are %q, not %q", c.words, told, c.fresh)
		}
	}
}
