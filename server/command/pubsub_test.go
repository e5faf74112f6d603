package command_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/command"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/resp"
	"github.com/pyropedb/pyrope/server/servertest"
)

// startPyrope starts a small server in memory and returns its address.
func startPyrope(t *testing.T) string {
	t.Helper()
	options := config.Options{Memory: 64 << 20, Page: 4 << 20}
	return servertest.StartServer(t, server.Options{Options: options}).Addr().String()
}

// startTiered is startPyrope with memory for little and a device for the rest.
func startTiered(t *testing.T) string {
	t.Helper()
	options := config.Options{Memory: 4 << 20, Page: 1 << 20, Segment: 16 << 20, StorageTier: config.On,
		DeviceType: device.RandomAccess, LogDir: t.TempDir()}
	return servertest.StartServer(t, server.Options{Options: options}).Addr().String()
}

// startFull is startPyrope with memory for about a thousand values of 400 bytes, and a policy for when it is full.
func startFull(t *testing.T, policy string) string {
	t.Helper()
	options := config.Options{Memory: 1 << 20, Page: 64 << 10, Index: 64 << 10, Policy: config.Policy(policy)}
	return servertest.StartServer(t, server.Options{Options: options}).Addr().String()
}

// untilToken sends a command and a PING behind it, and returns all that comes before the PING's reply.
func untilToken(t *testing.T, client *servertest.Client, token string, words ...string) (replies []resp.Value) {
	t.Helper()
	var request []byte
	if len(words) > 0 {
		request = servertest.AppendCommand(request, words...)
	}
	if err := client.Send(servertest.AppendCommand(request, "PING", token)); err != nil {
		t.Fatal(err)
	}
	for {
		reply, _, err := client.Receive()
		if err != nil {
			t.Fatalf("%q: %v", words, err)
		}
		isPong := string(reply.Text) == token || len(reply.Elements) == 2 && string(reply.Elements[1].Text) == token
		if isPong {
			return replies
		}
		replies = append(replies, reply)
	}
}

// notations writes replies as scripts have them. Messages that a publication brought, and the
// replies to an UNSUBSCRIBE from everything, come in no order.
func notations(replies []resp.Value, ordered bool) string {
	var texts []string
	for _, reply := range replies {
		if !ordered && len(reply.Elements) == 3 && strings.HasSuffix(string(reply.Elements[0].Text), "unsubscribe") {
			reply.Elements = slices.Clone(reply.Elements)
			texts = append(texts, fmt.Sprint(reply.Elements[2].Integer))
			reply.Elements[2].Integer = 0
		}
		texts = append(texts, servertest.Notation(reply))
	}
	if !ordered {
		slices.Sort(texts)
	}
	return strings.Join(texts, "\n")
}

// listenerCommand is a random command of the pub/sub family.
func listenerCommand(random *rand.Rand) []string {
	channels := []string{"a", "b", "ab", "", "news.x", "a*"}
	patterns := []string{"*", "a*", "?", "news.[xy]", "zz"}
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	switch random.IntN(16) {
	case 0, 1:
		return []string{"SUBSCRIBE", pick(channels), pick(channels)}
	case 2:
		return []string{"PSUBSCRIBE", pick(patterns), pick(patterns)}
	case 3:
		return []string{"SSUBSCRIBE", pick(channels)}
	case 4:
		return []string{"UNSUBSCRIBE", pick(channels), pick(channels)}
	case 5:
		return []string{"PUNSUBSCRIBE", pick(patterns)}
	case 6:
		return []string{"SUNSUBSCRIBE", pick(channels)}
	case 7:
		return []string{pick([]string{"UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"})}
	case 8:
		return []string{"GET", "key"}
	case 9:
		return []string{pick([]string{"RESET", "PING", "ECHO", "SUBSCRIBE", "QUITT"})}
	case 10:
		return []string{"SPUBLISH", pick(channels), "shard message"}
	case 11:
		return []string{"PUBSUB", pick([]string{"NUMPAT", "SHARDCHANNELS", "CHANNELS", "NUMSUB", "x"})}
	case 12:
		return []string{"PUBSUB", pick([]string{"CHANNELS", "SHARDCHANNELS"}), pick(patterns)}
	case 13:
		return []string{"PUBSUB", pick([]string{"NUMSUB", "SHARDNUMSUB"}), pick(channels), pick(channels)}
	default:
		return []string{"PUBLISH", pick(channels), "message\r\n"}
	}
}

// TestListenersHearWhatRedisTells lets two clients subscribe, publish and do forbidden things at random,
// on Pyrope and on Redis, and compares all that either of them receives.
func TestListenersHearWhatRedisTells(t *testing.T) {
	steps := 1500
	if testing.Short() {
		steps = 500
	}
	for _, protocol := range []string{"2", "3"} {
		t.Run("resp"+protocol, func(t *testing.T) {
			seed := command.NewSeed()
			random := rand.New(rand.NewPCG(seed, 0))
			addresses := []string{startPyrope(t), servertest.StartRedis(t)}
			var clients [2][2]*servertest.Client // by server, by client
			for i := range clients {
				for j := range clients[i] {
					clients[i][j] = servertest.Dial(t, addresses[i])
				}
			}
			hello := func(j int) {
				for i := range clients {
					untilToken(t, clients[i][j], "token", "HELLO", protocol)
				}
			}
			hello(0)
			hello(1)
			for step := range steps {
				actor := random.IntN(2)
				words := listenerCommand(random)
				var heard [2]string
				for i := range clients {
					list := words[0] == "PUBSUB"
					own := untilToken(t, clients[i][actor], fmt.Sprint("token", step), words...)
					if list {
						for k := range own {
							own[k] = servertest.Sorted(own[k])
						}
					}
					others := untilToken(t, clients[i][1-actor], fmt.Sprint("token", step))
					heard[i] = notations(own, len(words) > 1 && words[0] != "PUBLISH") + "\nand the other one\n" + notations(others, false)
				}
				if heard[0] != heard[1] {
					t.Fatalf("seed %d, step %d, %q by %d:\n got %s\nwant %s", seed, step, words, actor, heard[0], heard[1])
				}
				if words[0] == "RESET" {
					hello(actor)
				}
			}
		})
	}
}

// TestMessagesReachManyListeners publishes from several connections at once.
func TestMessagesReachManyListeners(t *testing.T) {
	address := startPyrope(t)
	const listeners, messages = 20, 500
	var clients []*servertest.Client
	for range listeners {
		client := servertest.Dial(t, address)
		if reply, err := client.Do("SUBSCRIBE", "c"); err != nil || len(reply.Elements) != 3 {
			t.Fatalf("SUBSCRIBE: %v, %v", reply, err)
		}
		clients = append(clients, client)
	}
	publisher := servertest.Dial(t, address)
	for i := range messages {
		if reply, err := publisher.Do("PUBLISH", "c", fmt.Sprint(i)); err != nil || reply.Integer != listeners {
			t.Fatalf("PUBLISH: %v, %v", reply, err)
		}
	}
	for _, client := range clients {
		for i := range messages {
			message, _, err := client.Receive()
			if err != nil || servertest.Notation(message) != fmt.Sprintf("[%q %q %q]", "message", "c", fmt.Sprint(i)) {
				t.Fatalf("message %d is %s, %v", i, servertest.Notation(message), err)
			}
		}
	}
}

// TestListenersAreListed looks at what CLIENT and INFO say of subscriptions, before and after the client is gone.
func TestListenersAreListed(t *testing.T) {
	address := startPyrope(t)
	listener, watcher := servertest.Dial(t, address), servertest.Dial(t, address)
	for _, words := range [][]string{{"SUBSCRIBE", "a"}, {"PSUBSCRIBE", "p*"}, {"SSUBSCRIBE", "s"}} {
		if _, err := listener.Do(words...); err != nil {
			t.Fatal(err)
		}
	}
	do := func(words ...string) string {
		t.Helper()
		reply, err := watcher.Do(words...)
		if err != nil {
			t.Fatal(err)
		}
		return servertest.Notation(reply)
	}
	if list := do("CLIENT", "LIST", "TYPE", "pubsub"); !strings.Contains(list, " flags=P ") ||
		!strings.Contains(list, " sub=1 psub=1 ssub=1 ") || strings.Count(list, "id=") != 1 {
		t.Errorf("CLIENT LIST: %s", list)
	}
	if list := do("CLIENT", "LIST", "TYPE", "normal"); strings.Count(list, "id=") != 1 {
		t.Errorf("CLIENT LIST: %s", list)
	}
	if stats := do("INFO", "stats"); !strings.Contains(stats, `pubsub_channels:1\r\npubsub_patterns:1\r\npubsubshard_channels:1\r\n`) {
		t.Errorf("INFO: %s", stats)
	}
	if got := do("CLIENT", "KILL", "TYPE", "pubsub"); got != ":1" {
		t.Errorf("CLIENT KILL: %s", got)
	}
	for strings.Contains(do("CLIENT", "LIST"), "flags=P") { // it ends on its own loop
		continue
	}
	if got := do("PUBSUB", "CHANNELS") + do("PUBSUB", "NUMPAT") + do("PUBSUB", "SHARDCHANNELS"); got != "[]:0[]" {
		t.Errorf("subscriptions of nobody: %s", got)
	}
}
