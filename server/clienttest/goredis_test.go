package clienttest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestGoRedis(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		for _, password := range []string{"", "secret"} {
			t.Run(fmt.Sprintf("RESP%d password %q", protocol, password), func(t *testing.T) {
				host, port := start(t, password)
				client := redis.NewClient(&redis.Options{
					Addr: net.JoinHostPort(host, port), Protocol: protocol, Password: password, ClientName: "session",
				})
				defer client.Close()
				t.Run("strings", func(t *testing.T) { goRedisStrings(t, client) })
				t.Run("keys", func(t *testing.T) { goRedisKeys(t, client) })
				t.Run("server", func(t *testing.T) { goRedisServer(t, client) })
				t.Run("at once", func(t *testing.T) { goRedisAtOnce(t, client) })
			})
		}
	}
}

// must fails the test unless a command gave the value.
func must[T any](t *testing.T, command interface{ Result() (T, error) }, want T) {
	t.Helper()
	got, err := command.Result()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %v; want %v", command, err, want)
	}
}

func goRedisStrings(t *testing.T, client *redis.Client) {
	ctx := context.Background()
	must(t, client.Set(ctx, "a", "1", 0), "OK")
	must(t, client.Get(ctx, "a"), "1")
	must(t, client.IncrBy(ctx, "a", 41), 42)
	must(t, client.IncrByFloat(ctx, "a", 0.5), 42.5)
	must(t, client.Append(ctx, "b", "hello"), 5)
	must(t, client.GetRange(ctx, "b", 1, 3), "ell")
	must(t, client.SetRange(ctx, "b", 5, " world"), 11)
	must(t, client.StrLen(ctx, "b"), 11)
	must(t, client.MSet(ctx, "c", "1", "d", "2"), "OK")
	must(t, client.MGet(ctx, "c", "none", "d"), []any{"1", nil, "2"})
	must(t, client.SetNX(ctx, "c", "x", 0), false)
	must(t, client.SetNX(ctx, "e", "x", time.Minute), true)
	must(t, client.GetDel(ctx, "e"), "x")
	must(t, client.SetArgs(ctx, "c", "new", redis.SetArgs{Get: true}), "1")
	binary := strings.Repeat("\x00\r\n\xff", 50_000)
	must(t, client.Set(ctx, "binary", binary, 0), "OK")
	must(t, client.Get(ctx, "binary"), binary)
	if err := client.Get(ctx, "none").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("GET of a missing key: %v", err)
	}
	if err := client.Incr(ctx, "b").Err(); err == nil || err.Error() != "ERR value is not an integer or out of range" {
		t.Errorf("INCR of a text: %v", err)
	}
	pipeline := client.Pipeline()
	var replies []*redis.StringCmd
	for i := range 100 {
		pipeline.Set(ctx, fmt.Sprintf("p%d", i), i, 0)
		replies = append(replies, pipeline.Get(ctx, fmt.Sprintf("p%d", i)))
	}
	if _, err := pipeline.Exec(ctx); err != nil {
		t.Error(err)
	}
	for i, reply := range replies {
		must(t, reply, fmt.Sprint(i))
	}
}

func goRedisKeys(t *testing.T, client *redis.Client) {
	ctx := context.Background()
	must(t, client.FlushDB(ctx), "OK")
	must(t, client.DBSize(ctx), 0)
	want := make(map[string]bool)
	for i := range 500 {
		key := fmt.Sprintf("key:%d", i)
		want[key] = true
		must(t, client.Set(ctx, key, "x", 0), "OK")
	}
	iterator := client.Scan(ctx, 0, "key:*", 50).Iterator()
	for iterator.Next(ctx) {
		delete(want, iterator.Val())
	}
	if err := iterator.Err(); err != nil || len(want) != 0 {
		t.Errorf("SCAN missed %d keys, %v", len(want), err)
	}
	must(t, client.DBSize(ctx), 500)
	must(t, client.Expire(ctx, "key:1", time.Hour), true)
	must(t, client.TTL(ctx, "key:1"), time.Hour)
	must(t, client.Persist(ctx, "key:1"), true)
	must(t, client.Exists(ctx, "key:1", "key:2", "none"), 2)
	must(t, client.Type(ctx, "key:1"), "string")
	must(t, client.Del(ctx, "key:1", "key:2"), 2)
	must(t, client.Set(ctx, "gone", "x", 5*time.Millisecond), "OK")
	time.Sleep(20 * time.Millisecond)
	must(t, client.Exists(ctx, "gone"), 0)
}

func goRedisServer(t *testing.T, client *redis.Client) {
	ctx := context.Background()
	must(t, client.Ping(ctx), "PONG")
	must(t, client.Echo(ctx, "x"), "x")
	must(t, client.ClientGetName(ctx), "session")
	must(t, client.ConfigGet(ctx, "appendonly"), map[string]string{"appendonly": "no"})
	must(t, client.ConfigSet(ctx, "sg-get", "no"), "OK")
	must(t, client.ConfigGet(ctx, "sg-*"), map[string]string{"sg-get": "no"})
	if text, err := client.Info(ctx, "server", "clients").Result(); err != nil || !strings.Contains(text, "pyrope_version:") {
		t.Errorf("INFO: %q, %v", text, err)
	}
	commands, err := client.Command(ctx).Result()
	if err != nil || commands["get"] == nil || !commands["get"].ReadOnly || commands["get"].FirstKeyPos != 1 {
		t.Errorf("COMMAND: %d commands, %v", len(commands), err)
	}
	if now, err := client.Time(ctx).Result(); err != nil || time.Since(now).Abs() > time.Minute {
		t.Errorf("TIME: %v, %v", now, err)
	}
	if list, err := client.ClientList(ctx).Result(); err != nil || !strings.Contains(list, "name=session") || !strings.Contains(list, "lib-name=go-redis") {
		t.Errorf("CLIENT LIST: %q, %v", list, err)
	}
}

// goRedisAtOnce uses one client, and so many connections, from many goroutines.
func goRedisAtOnce(t *testing.T, client *redis.Client) {
	ctx := context.Background()
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 100 {
				if err := client.Incr(ctx, "shared").Err(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	must(t, client.Get(ctx, "shared"), "1600")
}
