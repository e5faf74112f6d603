package server_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/aof"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/resp"
)

// durable is a server with an append-only file, and a client of it.
type durable struct {
	*server.Server
	*testing.T
	client *server.Client
}

// openDurable starts a server over a directory and waits until the data is loaded.
func openDurable(t *testing.T, options config.Options) *durable {
	t.Helper()
	options.AppendOnly = config.On
	return openServer(t, options)
}

// durableMemory is the memory of a server that keeps its data, where a test asks for no other: several times what a test writes. The race
// detector pays for each byte of it at each start.
const durableMemory = 32 << 20

// openServer is openDurable for a server that may have no append-only file.
func openServer(t *testing.T, options config.Options) *durable {
	t.Helper()
	if options.Memory == 0 {
		options.Memory = durableMemory
	}
	if options.Index == 0 {
		options.Index = 1 << 20 // the few keys of a test need no more, and each checkpoint looks at all of it
	}
	s, err := server.New(server.Options{Options: options})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.LoadError(); err != nil {
		t.Fatal(err)
	}
	client, err := s.Client()
	if err != nil {
		t.Fatal(err)
	}
	return &durable{s, t, client}
}

// do carries out a command given as words and returns the reply as text.
func (d *durable) do(words ...string) string {
	d.Helper()
	value, err := d.client.Do(words...)
	if err != nil {
		d.Fatalf("%.60q: %v", words, err)
	}
	switch {
	case value.Missing:
		return "(nil)"
	case len(value.Text) > 1000 && words[0] == "GET":
		return fmt.Sprintf("%d bytes, %x", len(value.Text), sha256.Sum256(value.Text))
	case value.Kind == resp.Integer:
		return fmt.Sprint(value.Integer)
	}
	return string(value.Text)
}

// expect carries out a command whose words are separated by blanks, and checks the raw reply.
func (d *durable) expect(line, want string) {
	d.Helper()
	got, err := d.client.Send([]byte(line + "\r\n"))
	if err != nil || !strings.HasPrefix(string(got), want) {
		d.Errorf("%s: %.200q, %v; want %q", line, got, err, want)
	}
}

// everything is the content of some databases, with deadlines and sizes.
func (d *durable) everything(databases int) string {
	d.Helper()
	var all strings.Builder
	for database := range databases {
		d.do("SELECT", fmt.Sprint(database))
		keys, err := d.client.Do("KEYS", "*")
		if err != nil {
			d.Fatal(err)
		}
		var names []string
		for _, element := range keys.Elements {
			names = append(names, string(element.Text))
		}
		slices.Sort(names)
		fmt.Fprintln(&all, "database", database, d.do("DBSIZE"))
		for _, name := range names {
			fmt.Fprintf(&all, "%q %s %s\n", name, d.do("PEXPIRETIME", name), d.do("GET", name))
		}
	}
	d.do("SELECT", "0")
	return all.String()
}

// busyWork changes the databases in every way a command can.
func (d *durable) busyWork(round int) {
	d.Helper()
	for _, line := range []string{
		"SET string one", "SETEX soon 3600 x", "SET etag v", "INCR counter", "INCRBYFLOAT float 1.5", "APPEND grows abc",
		"SETRANGE range 10 xyz", "SETRANGE range 2 ab", "SETBIT bits 100 1", "BITFIELD field SET u8 0 200", "PFADD sketch a b c",
		"MSET a 1 b 2 c 3", "MSETNX d 4 e 5", "DEL b", "RENAME c renamed", "COPY a copied DB 3", "EXPIRE a 5000", "PERSIST soon", "GETDEL d",
		"SET k v EX 100", "SET k w KEEPTTL", "GETEX string PX 99999", "BITOP NOT inverted bits", "SET gone 1 PX 1", "UNLINK nothing a",
	} {
		d.expect(line, "")
	}
	d.do("SET", fmt.Sprint("large", round%2), strings.Repeat(fmt.Sprint(round), 3<<20))
	for _, line := range []string{
		"SELECT 1", "MSET x 1 y 2", "FLUSHDB", "SET x 3", "SWAPDB 0 1", "SET z 4", "SELECT 2", "SET two 2", "SELECT 0",
	} {
		d.expect(line, "")
	}
	if round == 2 {
		d.expect("FLUSHALL", "+OK")
		d.expect("SET after flush", "")
	}
}

// TestDataSurvivesRestarts compares everything before and after, with and without a tier, in each mode of commits.
func TestDataSurvivesRestarts(t *testing.T) {
	for _, c := range []struct {
		name      string
		frequency config.CommitFrequency
		tier      config.Switch
	}{{"always", config.CommitAlways, config.Off}, {"everysec with a tier", config.CommitEverySecond, config.On}, {"no", config.CommitManually, config.Off}} {
		t.Run(c.name, func(t *testing.T) {
			options := config.Options{CheckpointDir: t.TempDir(), CommitFrequency: c.frequency, StorageTier: c.tier}
			if c.tier == config.On {
				options.LogDir = t.TempDir()
			}
			want := ""
			for round := range 4 {
				d := openDurable(t, options)
				if got := d.everything(4); round > 0 && got != want {
					t.Fatalf("round %d: after the restart there is\n%.1000s\nwant\n%.1000s", round, got, want)
				}
				d.busyWork(round)
				time.Sleep(2 * time.Millisecond) // the key with a deadline of one must be gone
				want = d.everything(4)
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestOtherNumberOfDatabases starts with fewer databases and then with more: none loses its keys, and new ones are empty.
func TestOtherNumberOfDatabases(t *testing.T) {
	options := config.Options{CheckpointDir: t.TempDir()}
	for _, count := range []int{4, 2, 40, 4} {
		options.MaxDatabases = count
		d := openDurable(t, options)
		for database := range count {
			d.expect(fmt.Sprint("SELECT ", database), "+OK")
			switch {
			case count == 4 && d.do("DBSIZE") == "0":
				d.expect("FLUSHDB", "+OK")
				d.expect(fmt.Sprintf("SET number %d", database), "+OK")
			case database < 4:
				d.expect("GET number", fmt.Sprintf("$1\r\n%d", database))
			default:
				d.expect("DBSIZE", ":0")
			}
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLoadingState looks at a server while it loads: PING and INFO are answered, other commands wait their turn.
func TestLoadingState(t *testing.T) {
	options := config.Options{CheckpointDir: t.TempDir(), AppendOnly: config.On, CommitFrequency: config.CommitManually}
	d := openDurable(t, options)
	batch := strings.Builder{}
	for n := range 1000 {
		fmt.Fprintf(&batch, "SET key:%d %s\r\n", n, strings.Repeat("v", 100))
	}
	for range 40 {
		if _, err := d.client.Send([]byte(batch.String())); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	s, let := heldServer(t, options)
	client, err := s.Client()
	if err != nil {
		t.Fatal(err)
	}
	d = &durable{s, t, client}
	d.expect("GET key:1", "-LOADING Redis is loading the dataset in memory\r\n")
	d.expect("SET a 1", "-LOADING")
	d.expect("FLUSHALL", "-LOADING")
	d.expect("PING", "+PONG")
	if info := d.do("INFO", "persistence"); !strings.Contains(info, "loading:1") || !strings.Contains(info, "loading_total_bytes") {
		t.Errorf("while it loads INFO says %s", info)
	}
	let()
	if err := s.LoadError(); err != nil {
		t.Fatal(err)
	}
	d.expect("DBSIZE", ":1000")
	d.expect("GET key:999", "$100")
	if info := d.do("INFO", "persistence"); !strings.Contains(info, "loading:0") || strings.Contains(info, "loading_total_bytes") {
		t.Errorf("once it is loaded INFO says %s", info)
	}
	// A server that is closed while it loads gives up, and harms nothing.
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	options.Memory = durableMemory
	if s, err = server.New(server.Options{Options: options}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close while it loads: %v", err)
	}
	openDurable(t, options).expect("DBSIZE", ":1000")
}

// TestAppendOnlyCommands are those about the file itself.
func TestAppendOnlyCommands(t *testing.T) {
	d := openDurable(t, config.Options{CheckpointDir: t.TempDir(), CommitFrequency: "3600000"})
	committed := func() bool {
		info := d.do("INFO", "persistence")
		_, behind, _ := strings.Cut(info, "aof_committed_address:")
		_, tail, _ := strings.Cut(info, "aof_tail_address:")
		var c, t uint64
		fmt.Sscan(behind, &c)
		fmt.Sscan(tail, &t)
		return c >= t-48 // the padding of the last block
	}
	d.expect("SET a 1", "+OK")
	if committed() {
		t.Error("a write is committed at once")
	}
	d.expect("WAITAOF 1 0 0", "*2\r\n:1\r\n:0\r\n")
	if !committed() {
		t.Error("WAITAOF does not commit")
	}
	d.expect("SET a 2", "+OK")
	d.expect("COMMITAOF", "+AOF file committed")
	if !committed() {
		t.Error("COMMITAOF does not commit")
	}
	d.expect("COMMITAOF ASYNC", "+AOF commit started")
	d.expect("COMMITAOF 0 1", "-ERR syntax error")
	d.expect("WAITAOF 2 0 0", "-ERR value is out of range")
	d.expect("WAITAOF 1 0 -1", "-ERR timeout is negative")
	d.expect("CONFIG GET appendfsync", "*2\r\n$11\r\nappendfsync\r\n$8\r\neverysec")
	d.expect("CONFIG GET appendonly", "*2\r\n$10\r\nappendonly\r\n$3\r\nyes")
	d.expect("CONFIG SET appendfsync always", "+OK")
	d.expect("CONFIG GET aof-commit-freq", "*2\r\n$15\r\naof-commit-freq\r\n$1\r\n0")
	d.expect("SET a 3", "+OK")
	if !committed() {
		t.Error("with appendfsync always a write is not committed")
	}
	d.expect("CONFIG SET appendfsync sometimes", "-ERR CONFIG SET failed (possibly related to argument 'appendfsync') - argument(s) must be one of the following: everysec, always, no")
	d.expect("CONFIG SET appendonly no", "-ERR CONFIG SET failed")
}

// TestWithoutAppendOnlyFile refuses the commands that need one.
func TestWithoutAppendOnlyFile(t *testing.T) {
	s, err := server.New(server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	client, err := s.Client()
	if err != nil {
		t.Fatal(err)
	}
	d := &durable{s, t, client}
	d.expect("COMMITAOF", "-ERR The append-only file is not enabled")
	d.expect("WAITAOF 1 0 0", "-ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.")
	d.expect("WAITAOF 0 1 0", "*2\r\n:0\r\n:0\r\n")
	d.expect("CONFIG GET appendonly", "*2\r\n$10\r\nappendonly\r\n$2\r\nno")
}

// fill writes large values until one is refused, and returns the refusal.
func (d *durable) fill() (string, error) {
	value := strings.Repeat("x", 4<<20)
	for range 64 {
		reply, err := d.client.Do("SET", "large", value)
		if err != nil || reply.Kind == resp.Error {
			return string(reply.Text), err
		}
	}
	return "", errors.New("nothing is refused")
}

// TestFileThatCannotBeWritten puts a directory where the second file of the log must go, as a full disk would be in the
// way: writes are refused as Redis does, reads go on, and so do writes once there is room.
func TestFileThatCannotBeWritten(t *testing.T) {
	for _, frequency := range []config.CommitFrequency{config.CommitEverySecond, config.CommitAlways} {
		t.Run(frequency.AppendFsync(), func(t *testing.T) {
			options := config.Options{CheckpointDir: t.TempDir(), CommitFrequency: frequency}
			d := openDurable(t, options)
			obstacle := filepath.Join(options.CheckpointDir, aof.DirectoryName, "aof.1")
			d.expect("SET a before", "+OK")
			if err := os.Mkdir(obstacle, 0o700); err != nil {
				t.Fatal(err)
			}
			refusal, err := d.fill()
			if frequency == config.CommitAlways {
				// The write was carried out, but the promise could not be kept: the connection ends.
				if !errors.Is(err, server.ErrNotDurable) {
					t.Fatalf("%q, %v", refusal, err)
				}
				if d.client, err = d.Client(); err != nil {
					t.Fatal(err)
				}
			} else if err != nil || !strings.HasPrefix(refusal, "MISCONF Errors writing to the AOF file: ") {
				t.Fatalf("%q, %v", refusal, err)
			}
			d.expect("SET a refused", "-MISCONF Errors writing to the AOF file: ")
			d.expect("INCR counter", "-MISCONF")
			d.expect("MSET a 1 b 2", "-MISCONF")
			d.expect("FLUSHALL", "-MISCONF")
			d.expect("SWAPDB 0 1", "-MISCONF")
			d.expect("GET a", "$6\r\nbefore")
			if info := d.do("INFO", "persistence"); !strings.Contains(info, "aof_last_write_status:err") {
				t.Errorf("INFO says %s", info)
			}
			if err := os.Remove(obstacle); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(time.Minute); d.do("SET", "a", "after") != "OK"; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("writes are still refused")
				}
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			openDurable(t, options).expect("GET a", "$5\r\nafter")
		})
	}
}

// TestDamagedFileIsRefused expects the server to serve nothing, and to leave the file alone.
func TestDamagedFileIsRefused(t *testing.T) {
	options := config.Options{CheckpointDir: t.TempDir(), CommitFrequency: config.CommitAlways}
	d := openDurable(t, options)
	for n := range 100 {
		d.expect(fmt.Sprintf("SET key:%d value", n), "+OK")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(options.CheckpointDir, aof.DirectoryName, "aof.0")
	bytes, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	bytes[1000] ^= 4
	if err := os.WriteFile(name, bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	options.AppendOnly, options.Memory = config.On, durableMemory
	s, err := server.New(server.Options{Options: options})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.LoadError(); err == nil || !strings.Contains(err.Error(), "offset") {
		t.Errorf("LoadError says %v", err)
	}
	client, err := s.Client()
	if err != nil {
		t.Fatal(err)
	}
	d = &durable{s, t, client}
	d.expect("GET key:1", "-LOADING")
	after, _ := os.ReadFile(name)
	if string(after) != string(bytes) {
		t.Error("the damaged file has changed")
	}
}
