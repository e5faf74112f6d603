package command

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/localmemory"
	"github.com/pyropedb/pyrope/tsavorite"
)

// callsOnKeys are calls of every command that takes a key: k is the key that has expired, or was never there, o one that is there, n one
// that is not, p the payload of a DUMP.
var callsOnKeys = map[string][]string{
	"get": {"GET k"}, "set": {"SET k v", "SET k v NX", "SET k v XX", "SET k v GET", "SET k v KEEPTTL", "SET k v XX GET", "SET k v EX 100", "SET k v WITHETAG"},
	"setnx": {"SETNX k v"}, "setex": {"SETEX k 100 v"}, "psetex": {"PSETEX k 100 v"}, "getset": {"GETSET k v"}, "getdel": {"GETDEL k"},
	"getex": {"GETEX k", "GETEX k EX 100", "GETEX k PERSIST"}, "mget": {"MGET k o k n", "MGET k"}, "mset": {"MSET k v o w", "MSET k v"}, "msetnx": {"MSETNX k v n w", "MSETNX n w k v"},
	"incr": {"INCR k"}, "decr": {"DECR k"}, "incrby": {"INCRBY k 5"}, "decrby": {"DECRBY k 5"}, "incrbyfloat": {"INCRBYFLOAT k 0.5"},
	"append": {"APPEND k x"}, "strlen": {"STRLEN k"}, "getrange": {"GETRANGE k 0 -1"}, "substr": {"SUBSTR k 0 -1"}, "setrange": {"SETRANGE k 3 x", "SETRANGE k 0 "},
	"lcs": {"LCS k o", "LCS o k LEN", "LCS k k"}, "setbit": {"SETBIT k 7 1", "SETBIT k 7 0"}, "getbit": {"GETBIT k 3"}, "bitcount": {"BITCOUNT k", "BITCOUNT k 0 -1 BIT"},
	"bitpos": {"BITPOS k 0", "BITPOS k 1"}, "bitop": {"BITOP OR k o n", "BITOP AND n k o", "BITOP NOT o k", "BITOP XOR k k k"},
	"bitfield": {"BITFIELD k GET u8 0", "BITFIELD k INCRBY u8 0 3", "BITFIELD k SET u8 8 3 GET u16 0"}, "bitfield_ro": {"BITFIELD_RO k GET u8 0"},
	"pfadd": {"PFADD k a", "PFADD k"}, "pfcount": {"PFCOUNT k", "PFCOUNT k n"}, "pfmerge": {"PFMERGE k n", "PFMERGE n k"},
	"del": {"DEL k", "DEL k o k"}, "unlink": {"UNLINK k", "UNLINK o k"}, "exists": {"EXISTS k", "EXISTS k o k"}, "touch": {"TOUCH k", "TOUCH o k"}, "type": {"TYPE k"},
	"expire": {"EXPIRE k 100", "EXPIRE k 100 NX", "EXPIRE k -1", "EXPIRE k 100 LT"}, "pexpire": {"PEXPIRE k 100"}, "expireat": {"EXPIREAT k 99999999999"}, "pexpireat": {"PEXPIREAT k 99999999999999 XX"},
	"expiretime": {"EXPIRETIME k"}, "pexpiretime": {"PEXPIRETIME k"}, "ttl": {"TTL k"}, "pttl": {"PTTL k"}, "persist": {"PERSIST k"},
	"rename": {"RENAME k n", "RENAME o k"}, "renamenx": {"RENAMENX k n", "RENAMENX o k"}, "copy": {"COPY k n", "COPY o k", "COPY o k REPLACE", "COPY k n DB 1"}, "move": {"MOVE k 1"},
	"dump": {"DUMP k"}, "restore": {"RESTORE k 0 p", "RESTORE k 100 p REPLACE"},
	"object|encoding": {"OBJECT ENCODING k"}, "object|refcount": {"OBJECT REFCOUNT k"}, "object|idletime": {"OBJECT IDLETIME k"}, "object|freq": {"OBJECT FREQ k"}, "memory|usage": {"MEMORY USAGE k"},
	"setwithetag": {"SETWITHETAG k v"}, "getwithetag": {"GETWITHETAG k"}, "getifnotmatch": {"GETIFNOTMATCH k 0"}, "setifmatch": {"SETIFMATCH k v 0", "SETIFMATCH k v 1"},
	"setifgreater": {"SETIFGREATER k v 5"}, "delifgreater": {"DELIFGREATER k 5"},
}

// lifeless is a store in which key k has expired, or never was.
type lifeless struct {
	*Context
	client *Client
	now    atomic.Int64
}

// openLifeless makes such a store, with the record of k in a region of the log, where fillers push it.
func openLifeless(t *testing.T, value string, fillers int) *lifeless {
	t.Helper()
	d, err := localmemory.Open(device.Options{SegmentSizeBytes: 64 << 10, InlineCompletion: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	l := &lifeless{client: &Client{}}
	l.now.Store(1_700_000_000_000)
	l.Context = newTestContext(t, tsavorite.Options{Device: d, PageBytes: 4 << 10, MemoryBytes: 64 << 10, MutablePercent: 20, IndexBytes: 4096, Clock: l.now.Load})
	if value != "" {
		if got := l.do(t, "SET", "k", value, "PX", "5000"); got != "+OK\r\n" {
			t.Fatalf("SET: %q", got)
		}
	}
	for i := range fillers {
		l.do(t, "SET", fmt.Sprint("filler", i), strings.Repeat("f", 400))
	}
	l.do(t, "SET", "o", "other")
	l.now.Add(5001)
	return l
}

func (l *lifeless) do(t *testing.T, words ...string) string {
	t.Helper()
	return one(t, l.Context, l.client, words...)
}

// await waits until the first record lies in a region.
func (l *lifeless) await(t *testing.T, region string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Microsecond) {
		info := l.State.Store.Info()
		if (info.ReadOnlyAddress > 64) == (region != "mutable") && (info.HeadAddress > 64) == (region == "device") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the first record does not come to be %s: %+v", region, info)
		}
	}
}

// everything is what the store shows of itself.
func (l *lifeless) everything(t *testing.T) string {
	t.Helper()
	keys := strings.Split(l.do(t, "KEYS", "*"), "\r\n")
	slices.Sort(keys)
	scanned := strings.Split(l.do(t, "SCAN", "0", "COUNT", "100000"), "\r\n")
	slices.Sort(scanned)
	return fmt.Sprint(keys, scanned, l.do(t, "DBSIZE"), l.do(t, "GET", "k"), l.do(t, "PTTL", "k"), l.do(t, "GETWITHETAG", "k"), l.do(t, "GET", "n"), l.do(t, "GET", "o"))
}

// TestNoCommandSeesAnExpiredKey carries every command out on a key that has expired, and on one that never was: in the part of memory that is changed
// in place, in the rest of it, and on the device, with a small value and with a large one. Replies and what is there afterwards are the same.
func TestNoCommandSeesAnExpiredKey(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	one(t, c, &Client{}, "SET", "v", "v")
	_, payload, _ := strings.Cut(strings.TrimSuffix(one(t, c, &Client{}, "DUMP", "v"), "\r\n"), "\r\n")
	for _, d := range commandsByIndex {
		if len(d.Keys) > 0 && d.Group != "pubsub" && len(callsOnKeys[d.fullName]) == 0 {
			t.Errorf("%s takes a key, and there is no call of it here", d.fullName)
		}
	}
	for region, fillers := range map[string]int{"mutable": 0, "read-only": 60, "device": 200} {
		for kind, value := range map[string]string{"small": "12", "large": strings.Repeat("l", 5000)} {
			t.Run(region+" "+kind, func(t *testing.T) {
				for name, calls := range callsOnKeys {
					if testing.Short() && (kind == "large" || region != "device") {
						calls = calls[:1]
					}
					for _, call := range calls {
						words := strings.Split(call, " ")
						for i, word := range words {
							if word == "p" {
								words[i] = payload
							}
						}
						expired, missing := openLifeless(t, value, fillers), openLifeless(t, "", fillers)
						expired.await(t, region)
						missing.await(t, region)
						got, want := expired.do(t, words...), missing.do(t, words...)
						if got != want {
							t.Errorf("%s: %.60q answers %.200q, and %.200q if the key never was", name, call, got, want)
						}
						if got, want := expired.everything(t), missing.everything(t); got != want {
							t.Errorf("after %.60q there is\n%.600q,\nif the key never was\n%.600q", call, got, want)
						}
					}
				}
			})
		}
	}
}

// TestAnExpiredKeyAloneIsNoKey asks for any key of a store that has none but an expired one.
func TestAnExpiredKeyAloneIsNoKey(t *testing.T) {
	l := &lifeless{client: &Client{}}
	l.now.Store(1_700_000_000_000)
	l.Context = newTestContext(t, tsavorite.Options{Clock: l.now.Load})
	l.do(t, "SET", "k", "v", "PX", "10")
	l.now.Add(11)
	for call, want := range map[string]string{"RANDOMKEY": "$-1\r\n", "DBSIZE": ":0\r\n", "KEYS *": "*0\r\n", "SCAN 0": "*2\r\n$1\r\n0\r\n*0\r\n"} {
		if got := l.do(t, strings.Split(call, " ")...); got != want {
			t.Errorf("%s: %q", call, got)
		}
	}
}
