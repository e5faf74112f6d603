package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	kills = flag.Int("kills", 4, "how often TestKilledServerKeepsWhatItAcknowledged kills the server in each of its modes")
	seed  = flag.Uint64("seed", 1, "what its load follows from; 0 is the time")
)

// client speaks to a server under test.
type client struct {
	*testing.T
	connection net.Conn
	reader     *bufio.Reader
}

// connectClient waits until the process takes connections.
func connectClient(t *testing.T, p *process) *client {
	t.Helper()
	connection := p.connect(t)
	return &client{t, connection, bufio.NewReaderSize(connection, 1<<16)}
}

// appendRequest appends a request of some words.
func appendRequest(b []byte, words ...string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(words))
	for _, word := range words {
		b = fmt.Appendf(b, "$%d\r\n", len(word))
		b = append(append(b, word...), "\r\n"...)
	}
	return b
}

// read reads one reply: a list has the elements of all its lists in a row. ok is false for an error and for none.
func (c *client) read() (elements []string, ok bool) {
	c.Helper()
	line, err := c.reader.ReadString('\n')
	if err != nil {
		c.Fatalf("cannot read a reply: %v", err)
	}
	line = strings.TrimSuffix(line, "\r\n")
	length, _ := strconv.Atoi(line[1:])
	switch {
	case line[0] == '$' && length >= 0:
		value := make([]byte, length+2)
		if _, err := io.ReadFull(c.reader, value); err != nil {
			c.Fatalf("cannot read a reply: %v", err)
		}
		return []string{string(value[:length])}, true
	case line[0] == '*':
		for range length {
			element, _ := c.read()
			elements = append(elements, element...)
		}
		return elements, true
	}
	return []string{line[1:]}, line[0] != '-' && line[0] != '$'
}

// ask sends one command and returns its reply.
func (c *client) ask(words ...string) (elements []string, ok bool) {
	c.Helper()
	if _, err := c.connection.Write(appendRequest(nil, words...)); err != nil {
		c.Fatalf("cannot send %.60q: %v", words, err)
	}
	return c.read()
}

// awaitLoaded waits until the data is loaded.
func (c *client) awaitLoaded() {
	c.Helper()
	for {
		reply, ok := c.ask("EXISTS", "nothing")
		if ok {
			return
		}
		if !strings.HasPrefix(reply[0], "LOADING") {
			c.Fatalf("EXISTS is answered %q", reply)
		}
		time.Sleep(time.Millisecond)
	}
}

// pipeline asks the same of every key.
func (c *client) pipeline(keys []string, words ...string) (replies []string, found []bool) {
	c.Helper()
	for some := range slices.Chunk(keys, 50) {
		var batch []byte
		for _, key := range some {
			batch = appendRequest(batch, append(slices.Clone(words), key)...)
		}
		if _, err := c.connection.Write(batch); err != nil {
			c.Fatal(err)
		}
		for range some {
			reply, ok := c.read()
			replies, found = append(replies, reply[0]), append(found, ok)
		}
	}
	return replies, found
}

// everything reads a database in each way there is, and compares them.
func (c *client) everything(database int) map[string]string {
	c.Helper()
	if _, ok := c.ask("SELECT", strconv.Itoa(database)); !ok {
		c.Fatalf("there is no database %d", database)
	}
	keys, _ := c.ask("KEYS", "*")
	slices.Sort(keys)
	var scanned []string
	for cursor := "0"; ; {
		reply, _ := c.ask("SCAN", cursor, "COUNT", "100")
		scanned = append(scanned, reply[1:]...)
		if cursor = reply[0]; cursor == "0" {
			break
		}
	}
	slices.Sort(scanned)
	if scanned = slices.Compact(scanned); !slices.Equal(keys, scanned) {
		c.Errorf("database %d: KEYS finds %d keys, SCAN %d", database, len(keys), len(scanned))
	}
	if size, _ := c.ask("DBSIZE"); size[0] != strconv.Itoa(len(keys)) {
		c.Errorf("database %d: DBSIZE is %s, KEYS finds %d", database, size[0], len(keys))
	}
	if count, _ := c.ask(append([]string{"EXISTS"}, keys...)...); len(keys) > 0 && count[0] != strconv.Itoa(len(keys)) {
		c.Errorf("database %d: EXISTS counts %s keys, KEYS finds %d", database, count[0], len(keys))
	}
	values, found := c.pipeline(keys, "GET")
	lifetimes, _ := c.pipeline(keys, "TTL")
	all := map[string]string{}
	for i, key := range keys {
		if !found[i] {
			c.Errorf("database %d: KEYS finds %s, GET does not: %s", database, key, values[i])
			continue
		}
		all[key] = digest(values[i])
		switch seconds, _ := strconv.Atoi(lifetimes[i]); {
		case seconds > 1000 || seconds >= 0 && seconds < 500:
			c.Errorf("database %d: %s expires in %d s", database, key, seconds)
		case seconds > 0:
			all[key] = expires + all[key]
		}
	}
	return all
}

// crash is a data directory whose server is killed again and again.
type crash struct {
	directory string
	arguments []string
	always    bool
	seed      uint64
	random    *rand.Rand // of the moments
	workers   []*worker
}

// verify compares everything in the server with what the workers did; each worker goes on from there. It returns how many
// acknowledged operations are lost.
func (c *crash) verify(t *testing.T, p *process) (lost int) {
	t.Helper()
	look := connectClient(t, p)
	look.awaitLoaded()
	all := map[int]map[string]string{}
	for _, database := range []int{0, 1, 14, 15} {
		all[database] = look.everything(database)
	}
	for _, w := range c.workers {
		prefix := fmt.Sprintf("w%d:", w.number)
		var found content
		for i, database := range w.databases() {
			found[i] = maps.Clone(all[database])
			maps.DeleteFunc(found[i], func(key, _ string) bool { return !strings.HasPrefix(key, prefix) })
			maps.DeleteFunc(all[database], func(key, _ string) bool { return strings.HasPrefix(key, prefix) })
		}
		lost += w.settle(t, found, c.always)
	}
	for database, rest := range all {
		if len(rest) > 0 {
			t.Errorf("database %d has keys that are nobody's: %.300v", database, rest)
		}
	}
	return lost
}

// checkpoints asks for checkpoints at random moments until the connection breaks.
func checkpoints(connection net.Conn, random *rand.Rand) {
	reader := bufio.NewReader(connection)
	for {
		time.Sleep(time.Duration(random.IntN(80)) * time.Millisecond)
		name := []string{"BGSAVE", "BGREWRITEAOF"}[random.IntN(2)]
		if _, err := connection.Write(appendRequest(nil, name)); err != nil {
			return
		}
		if _, err := reader.ReadString('\n'); err != nil { // one may be under way, and be refused
			return
		}
	}
}

// live lets a server work under load, and kills it. It returns how many operations were acknowledged.
func (c *crash) live(t *testing.T, p *process, life int) (acknowledged int) {
	t.Helper()
	var wait sync.WaitGroup
	for _, w := range c.workers {
		w.random = rand.New(rand.NewPCG(c.seed, uint64(life)<<8|uint64(w.number)))
		connection := connectClient(t, p)
		if w.flushes {
			connection.ask("SELECT", strconv.Itoa(w.databases()[0]))
		}
		wait.Go(func() { w.load(connection.connection, connection.reader) })
	}
	asking := p.connect(t)
	random := rand.New(rand.NewPCG(c.seed, uint64(life)<<8|255))
	wait.Go(func() { checkpoints(asking, random) })
	time.Sleep(time.Duration(30+c.random.IntN(400)) * time.Millisecond)
	if life == 0 { // a slow machine may need longer for its first checkpoint
		for end := time.Now().Add(30 * time.Second); !strings.Contains(c.log(t), "a checkpoint is taken") && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
	}
	c.kill(t, p)
	wait.Wait()
	for _, w := range c.workers {
		acknowledged += int(w.acked.Load())
		if w.err != nil {
			t.Error(w.err)
		}
	}
	return acknowledged
}

// kill ends a server at once.
func (c *crash) kill(t *testing.T, p *process) {
	t.Helper()
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait() // it was killed
}

// run kills a server so many times. Now and then one is killed while it starts.
func (c *crash) run(t *testing.T, kills int) {
	defer c.showLog(t)
	operations, lost := 0, 0
	for life := range kills + 1 {
		if life > 0 && c.random.IntN(4) == 0 {
			p := startProcess(t, c.arguments...)
			time.Sleep(time.Duration(c.random.IntN(40)) * time.Millisecond)
			c.kill(t, p)
		}
		p := startProcess(t, c.arguments...)
		if lost += c.verify(t, p); life < kills && !t.Failed() {
			operations += c.live(t, p, life)
		}
		if t.Failed() {
			t.Fatalf("in life %d", life)
		}
	}
	taken := 0
	for line := range strings.Lines(c.log(t)) {
		if strings.Contains(line, "a checkpoint is taken") {
			taken++
		}
	}
	if taken == 0 {
		t.Error("no checkpoint was taken")
	}
	t.Logf("%d operations were acknowledged in %d lives, %d of them are lost; %d checkpoints", operations, kills, lost, taken)
}

// log is what all the servers have logged.
func (c *crash) log(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.directory, "server.log"))
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// showLog shows the end of the log of a test that failed.
func (c *crash) showLog(t *testing.T) {
	if t.Failed() {
		text := c.log(t)
		t.Logf("the servers said last:\n%s", text[max(0, len(text)-4000):])
	}
}

// TestKilledServerKeepsWhatItAcknowledged kills a server again and again under load, while it takes checkpoints. After
// each start, what every connection finds is the state after one of its operations: with appendfsync always one that is not
// before the last that was acknowledged.
func TestKilledServerKeepsWhatItAcknowledged(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", *seed)
	for _, appendfsync := range []string{"always", "everysec"} {
		for _, tier := range []bool{false, true} {
			name := appendfsync
			directory := t.TempDir()
			arguments := []string{"--aof", "--appendfsync", appendfsync, "--checkpointdir", directory, "--logfile", filepath.Join(directory, "server.log")}
			if tier {
				name += " with a tier"
				arguments = append(arguments, "--storage-tier", "--logdir", filepath.Join(directory, "log"), "--memory", "8m", "--page", "256k", "--segment", "4m")
			} else {
				arguments = append(arguments, "--memory", "256m")
			}
			t.Run(name, func(t *testing.T) {
				c := &crash{directory: directory, arguments: arguments, always: appendfsync == "always", seed: *seed, random: rand.New(rand.NewPCG(*seed, 7))}
				for i := range 5 {
					c.workers = append(c.workers, &worker{number: i, flushes: i == 4, state: content{{}, {}}})
				}
				c.run(t, *kills)
			})
		}
	}
}
