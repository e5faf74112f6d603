package command

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/localmemory"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/tsavorite"
)

// infoText returns the text of INFO with some arguments.
func infoText(t *testing.T, c *Context, arguments string) string {
	t.Helper()
	reply := serve(t, c, &Client{}, requests("INFO "+arguments))
	_, text, _ := strings.Cut(reply, "\r\n")
	return strings.TrimSuffix(text, "\r\n")
}

// fields returns the fields of INFO by name.
func fields(t *testing.T, c *Context, arguments string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for line := range strings.Lines(infoText(t, c, arguments)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			found[name] = value
		}
	}
	return found
}

// titles returns the titles of the sections in the text of INFO.
func titles(text string) string {
	var found []string
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok {
			found = append(found, title)
		}
	}
	return strings.Join(found, " ")
}

func TestInfoSections(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	check := func(arguments, want string) {
		t.Helper()
		if got := titles(infoText(t, c, arguments)); got != want {
			t.Errorf("INFO %s: %s; want %s", arguments, got, want)
		}
	}
	const byDefault = "Server Clients Memory Persistence Stats Replication CPU Modules Errorstats Cluster Store Keyspace"
	const all = "Server Clients Memory Persistence Stats Replication CPU Commandstats Errorstats Latencystats Cluster Store Keyspace"
	const everything = "Server Clients Memory Persistence Stats Replication CPU Modules Commandstats Errorstats Latencystats Cluster Store Keyspace"
	check("", byDefault)
	check("default", byDefault)
	check("ALL", all)
	check("everything", everything)
	check("all modules", everything)
	check("nothing", "")
	check("keyspace nothing SERVER server", "Server Keyspace")
	check("commandstats default", strings.Replace(everything, " Latencystats", "", 1))
}

func TestInfoIsWellFormed(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	serve(t, c, &Client{}, requests("SET a 1", "GET a", "GET b", "NOSUCH"))
	text := infoText(t, c, "everything")
	seen := make(map[string]bool)
	for line := range strings.Lines(text) {
		content, ended := strings.CutSuffix(line, "\r\n")
		if !ended || strings.ContainsAny(content, "\r\n") {
			t.Errorf("line %q does not end as it should", line)
		}
		if content == "" || strings.HasPrefix(content, "# ") {
			continue
		}
		name, _, found := strings.Cut(content, ":")
		if !found || seen[name] || strings.ContainsAny(name, " ") {
			t.Errorf("line %q is no field, or there twice", content)
		}
		seen[name] = true
	}
	if strings.HasSuffix(text, "\r\n\r\n") || strings.HasPrefix(text, "\r\n") {
		t.Errorf("there are blank lines around the text: %q", text)
	}
}

// TestInfoTellsHowManyKeysExpire: exactly where they are few, by the share of a sample where they are many.
func TestInfoTellsHowManyKeysExpire(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	check := func(keys, least, most int) {
		t.Helper()
		var got, expires, ttl int
		if _, err := fmt.Sscanf(fields(t, c, "keyspace")["db0"], "keys=%d,expires=%d,avg_ttl=%d", &got, &expires, &ttl); err != nil {
			t.Fatal(err)
		}
		if got != keys || expires < least || expires > most || ttl < 1_900_000 || ttl > 2_000_000 {
			t.Errorf("%d keys, of which %d expire in %d ms; want %d, %d to %d and about 2000 s", got, expires, ttl, keys, least, most)
		}
	}
	serve(t, c, &Client{}, requests("SET a 1", "SET b 2 EX 1000", "SET c 3 EX 3000", "SET d 4 EX 9", "PERSIST d"))
	check(4, 2, 2)
	for i := range expiringSample {
		one(t, c, &Client{}, "SET", fmt.Sprint("n", i), "1")
		one(t, c, &Client{}, "SET", fmt.Sprint("x", i), "1", "EX", "2000")
	}
	check(2*expiringSample+4, 0.9*expiringSample, 1.1*expiringSample)
	client := &Client{}
	one(t, c, client, "SELECT", "1")
	one(t, c, client, "SET", "late", "1", "EX", "100")
	if got := fields(t, c, "keyspace")["db1"]; got != "keys=1,expires=0,avg_ttl=0" { // it lies behind the sample
		t.Errorf("a database behind the sample is told as %q", got)
	}
}

func TestInfoFollowsWhatHappens(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	c.State.Server.Device = device.Info{Kind: "libaio", Reason: "asked for"}
	c.State.Server.Options.Memory = 1 << 30
	serve(t, c, &Client{}, requests("SET a 1", "SET b 2", "GET a", "GET none", "MGET a none2 b", "NOSUCH", "GET", "INCR b", "INCRBY a x"))
	check := func(section, name, want string) {
		t.Helper()
		if got := fields(t, c, section)[name]; got != want {
			t.Errorf("%s of %s is %q; want %q", name, section, got, want)
		}
	}
	check("server", "redis_version", CompatibleVersion)
	check("server", "pyrope_version", Version)
	check("memory", "maxmemory", "1073741824")
	check("memory", "maxmemory_human", "1.00G")
	check("stats", "keyspace_hits", "3")
	check("stats", "keyspace_misses", "2")
	check("stats", "total_error_replies", "3")
	check("errorstats", "errorstat_ERR", "count=3")
	check("keyspace", "db0", "keys=2,expires=0,avg_ttl=0")
	check("store", "device_kind", "libaio")
	check("store", "device_reason", "asked for")
	if got := fields(t, c, "commandstats")["cmdstat_set"]; !strings.HasPrefix(got, "calls=2,usec=") || !strings.HasSuffix(got, ",rejected_calls=0,failed_calls=0") {
		t.Errorf("cmdstat_set %q", got)
	}
	if got := fields(t, c, "commandstats")["cmdstat_get"]; !strings.HasPrefix(got, "calls=2,") || !strings.Contains(got, ",rejected_calls=1,") {
		t.Errorf("cmdstat_get %q", got)
	}
	if got := fields(t, c, "commandstats")["cmdstat_incrby"]; !strings.HasSuffix(got, ",failed_calls=1") {
		t.Errorf("cmdstat_incrby %q", got)
	}
	serve(t, c, &Client{}, requests("CONFIG RESETSTAT"))
	check("stats", "keyspace_hits", "0")
	check("errorstats", "errorstat_ERR", "")
	check("commandstats", "cmdstat_set", "")
	for _, name := range []string{"used_memory", "used_memory_rss", "used_memory_peak", "used_memory_index"} {
		if got := fields(t, c, "memory")[name]; got == "" || got == "0" {
			t.Errorf("%s is %q", name, got)
		}
	}
}

func TestRates(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	var traffic Traffic
	c.State.Server.Traffic = func() Traffic { return traffic }
	now := time.Now()
	c.State.Sample(now)
	for range 100 {
		serve(t, c, &Client{}, requests("PING"))
	}
	traffic = Traffic{Accepted: 3, Refused: 2, InputBytes: 4096, OutputBytes: 8192}
	c.State.Sample(now.Add(2 * time.Second))
	stats := fields(t, c, "stats")
	for name, want := range map[string]string{
		"instantaneous_ops_per_sec": "50", "instantaneous_input_kbps": "2.00", "instantaneous_output_kbps": "4.00",
		"total_connections_received": "3", "rejected_connections": "2", "total_net_input_bytes": "4096", "total_net_output_bytes": "8192",
	} {
		if stats[name] != want {
			t.Errorf("%s is %q; want %q", name, stats[name], want)
		}
	}
	serve(t, c, &Client{}, requests("CONFIG RESETSTAT"))
	traffic.InputBytes += 100
	c.State.Sample(now.Add(3 * time.Second))
	stats = fields(t, c, "stats")
	if stats["total_connections_received"] != "0" || stats["total_net_input_bytes"] != "100" || stats["instantaneous_ops_per_sec"] != "0" {
		t.Errorf("after CONFIG RESETSTAT: %v", stats)
	}
}

func TestHumanBytes(t *testing.T) {
	for size, want := range map[uint64]string{
		0: "0B", 1023: "1023B", 1024: "1.00K", 990416: "967.20K", 1 << 20: "1.00M", 3 << 29: "1.50G", 1 << 62: "4.00E",
	} {
		if got := humanBytes(size); got != want {
			t.Errorf("%d bytes are %s; want %s", size, got, want)
		}
	}
}

func TestErrorCodesAreBounded(t *testing.T) {
	var counts errorCounts
	for i := range 1000 {
		counts.note(fmt.Sprintf("CODE%d text", i))
	}
	counts.note("CODE0")
	if len(counts.byCode) != maxErrorCodes || counts.byCode["CODE0"] != 2 {
		t.Errorf("%d codes, CODE0 %d times", len(counts.byCode), counts.byCode["CODE0"])
	}
}

// queueless is a device that gives no queues once it is told to.
type queueless struct {
	device.Device
	refuses atomic.Bool
}

func (d *queueless) NewQueue() (device.Queue, error) {
	if d.refuses.Load() {
		return nil, errors.New("no queue is left")
	}
	return d.Device.NewQueue()
}

// TestInfoOfTheVerification follows the verification of what a start has left cold: it is due, cannot begin, and is done.
func TestInfoOfTheVerification(t *testing.T) {
	inner, err := localmemory.Open(device.Options{SegmentSizeBytes: 64 << 10, InlineCompletion: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inner.Close() })
	d, directory := &queueless{Device: inner}, t.TempDir()
	options := tsavorite.Options{Device: d, PageBytes: 4 << 10, MemoryBytes: 16 << 10}
	store, err := tsavorite.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	session, err := store.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	session.Enter()
	for i := range 100 {
		session.Upsert(tsavorite.Key{Bytes: []byte(fmt.Sprint(i))}, make([]byte, 500), tsavorite.Metadata{})
	}
	session.Leave()
	session.Close()
	if _, err := store.Checkpoint(tsavorite.CheckpointOptions{Directory: directory}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if store, _, err = tsavorite.Recover(options, tsavorite.RecoverOptions{Directory: directory}); err != nil {
		t.Fatal(err)
	}
	c := contextOf(t, store)
	c.State.Server.Options.RecoverVerifyRate = config.Given(64)
	check := func(want string) {
		t.Helper()
		if got := fields(t, c, "persistence")["recover_verify_state"]; got != want {
			t.Errorf("recover_verify_state is %q, want %q", got, want)
		}
	}
	check("running") // which it is about to be
	d.refuses.Store(true)
	if err := store.VerifyColdPages(0, nil); err == nil {
		t.Error("the verification needed no queue")
	}
	check("failed")
	d.refuses.Store(false)
	if err := store.VerifyColdPages(0, nil); err != nil {
		t.Error(err)
	}
	check("done")
}

// TestMallocStats reads the report: the classes of the Go runtime add up to its total, and the engine's figures are those of INFO.
func TestMallocStats(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	client := &Client{}
	one(t, c, client, "SET", "key", strings.Repeat("v", 1000))
	reply := one(t, c, client, "MEMORY", "malloc-stats")
	classes, total, engine := uint64(0), uint64(0), map[string]uint64{}
	for line := range strings.Lines(bulkOf(t, reply)) {
		name, value, found := strings.Cut(strings.TrimSpace(line), ": ")
		bytes, ok := parseInteger([]byte(strings.TrimSuffix(value, " bytes")))
		switch {
		case !found || !ok:
		case name == "memory/classes/total":
			total = uint64(bytes)
		case strings.HasPrefix(name, "memory/classes/"):
			classes += uint64(bytes)
		default:
			engine[name] = uint64(bytes)
		}
	}
	if total == 0 || classes != total {
		t.Errorf("the classes add up to %d bytes of %d: %s", classes, total, reply)
	}
	if info := c.State.Store.Info(); engine["log/resident"] != info.ResidentBytes || engine["index/buckets"] != info.IndexBytes || info.ResidentBytes == 0 {
		t.Errorf("the report says %v; the store %+v", engine, info)
	}
	for _, part := range []string{"gc/cycles/total: ", "gc/gomemlimit: ", "memory/classes/heap/released: ", "memory/classes/heap/stacks: "} {
		if !strings.Contains(reply, part) {
			t.Errorf("the report has no line %q: %s", part, reply)
		}
	}
	expect(t, c, client, "-ERR wrong number of arguments for 'memory|malloc-stats' command\r\n", "MEMORY", "MALLOC-STATS", "x")
	one(t, c, client, "HELLO", "3")
	if reply := one(t, c, client, "MEMORY", "MALLOC-STATS"); !strings.HasPrefix(reply, "=") || !strings.Contains(reply[:20], "txt:") {
		t.Errorf("in RESP3 it is %.30q", reply)
	}
}
