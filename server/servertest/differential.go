package servertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/server/resp"
)

// Comparison runs the same commands on a server under test and on a reference, and fails the test
// at the first replies that differ.
type Comparison struct {
	Tested, Reference *Client
	Seed              uint64
	Generator         *Generator

	history []string // the last commands, as scripts have them
	count   int      // commands compared
}

const (
	historyCommands = 30
	maxPipeline     = 40
	// ttlTolerance is by how much two servers may differ in a time to live, in milliseconds: they
	// carry out a command one after the other.
	ttlTolerance = 5000
)

// Run compares the replies to this many random commands, sent in pipelines of random length.
func (c *Comparison) Run(t *testing.T, commands int) {
	t.Helper()
	for c.count < commands {
		var pipeline [][]string
		for range 1 + c.Generator.random.IntN(maxPipeline) {
			pipeline = append(pipeline, c.Generator.Next())
		}
		if !c.runPipeline(t, pipeline) {
			t.Fatalf("re-run with: go test ./server/servertest -run '%s' -seed %d -commands %d", t.Name(), c.Seed, commands)
		}
	}
}

// Both sends the same commands to both servers, and fails the test if one answers with an error.
func (c *Comparison) Both(t *testing.T, commands [][]string) {
	t.Helper()
	var request []byte
	for _, words := range commands {
		request = AppendCommand(request, words...)
	}
	for _, client := range []*Client{c.Tested, c.Reference} {
		if err := client.Send(request); err != nil {
			t.Fatal(err)
		}
		for _, words := range commands {
			if reply, _, err := client.Receive(); err != nil || reply.IsError() {
				t.Fatalf("%.60s: %s, error %v", JoinWords(words), Notation(reply), err)
			}
		}
	}
}

// runPipeline sends the commands to both servers and compares the replies.
func (c *Comparison) runPipeline(t *testing.T, pipeline [][]string) (same bool) {
	t.Helper()
	// Some replies are followed by questions to the servers, so their commands end a pipeline.
	if at := slices.IndexFunc(pipeline, needsQuestions); at >= 0 {
		pipeline = pipeline[:at+1]
	}
	var request []byte
	for _, words := range pipeline {
		request = AppendCommand(request, words...)
	}
	for _, client := range []*Client{c.Tested, c.Reference} {
		if err := client.Send(request); err != nil {
			t.Fatal(err)
		}
	}
	for _, words := range pipeline {
		c.count++
		c.history = append(c.history, JoinWords(words))
		if len(c.history) > historyCommands {
			c.history = c.history[1:]
		}
		tested, testedRaw := c.receive(t, c.Tested, words)
		reference, referenceRaw := c.receive(t, c.Reference, words)
		if string(testedRaw) == string(referenceRaw) {
			continue
		}
		if problem := c.compare(words, tested, reference); problem != "" {
			t.Errorf("command %d of seed %d: %s\n%s\n\tpyrope %.2000s\n\tredis  %.2000s\nthe last commands, pipelines of up to %d:\n\t%s",
				c.count, c.Seed, problem, JoinWords(words), Notation(tested), Notation(reference), maxPipeline, strings.Join(c.history, "\n\t"))
			return false
		}
	}
	return true
}

func (c *Comparison) receive(t *testing.T, client *Client, words []string) (resp.Value, []byte) {
	t.Helper()
	reply, raw, err := client.Receive()
	if err != nil {
		t.Fatalf("command %d of seed %d, %s: %v\nthe last commands:\n\t%s", c.count, c.Seed, JoinWords(words), err, strings.Join(c.history, "\n\t"))
	}
	return reply, raw
}

func needsQuestions(words []string) bool {
	name := strings.ToUpper(words[0])
	return name == "RANDOMKEY" || name == "SCAN" || name == "DBSIZE" || name == "DUMP"
}

// compare says what is wrong with two replies that are not the same bytes, or "" if they may differ so.
func (c *Comparison) compare(words []string, tested, reference resp.Value) (problem string) {
	if tested.Kind != reference.Kind || tested.Missing != reference.Missing || tested.IsError() {
		return "the replies differ"
	}
	switch strings.ToUpper(words[0]) {
	case "TTL", "EXPIRETIME":
		return compareTimes(tested.Integer*1000, reference.Integer*1000)
	case "DUMP":
		return c.compareDumps(tested, reference)
	case "OBJECT":
		return compareInspections(words, tested, reference)
	case "PTTL", "PEXPIRETIME":
		return compareTimes(tested.Integer, reference.Integer)
	case "KEYS":
		if Notation(Sorted(tested)) == Notation(Sorted(reference)) {
			return ""
		}
		return "the keys differ"
	case "DBSIZE":
		return c.compareSizes(tested)
	case "RANDOMKEY":
		return c.compareRandomKeys(tested, reference)
	case "SCAN":
		return c.compareScans(words, tested, reference)
	}
	return compareServers(words, tested, reference)
}

func compareTimes(tested, reference int64) (problem string) {
	difference := tested - reference
	if tested < 0 || reference < 0 || difference > ttlTolerance || difference < -ttlTolerance {
		return fmt.Sprintf("the times differ by %d ms", difference)
	}
	return ""
}

// compareSizes compares with the number of keys that KEYS shows: Redis's own DBSIZE counts keys
// that expired and that nobody looked at since.
func (c *Comparison) compareSizes(tested resp.Value) (problem string) {
	reply, err := c.Reference.Do("KEYS", "*")
	if err != nil {
		return err.Error()
	}
	if size := int64(len(reply.Elements)); tested.Integer != size {
		return fmt.Sprintf("the reference has %d keys that are not expired", size)
	}
	return ""
}

// compareRandomKeys checks that each server has the key that the other one chose.
func (c *Comparison) compareRandomKeys(tested, reference resp.Value) (problem string) {
	for client, key := range map[*Client]string{c.Reference: string(tested.Text), c.Tested: string(reference.Text)} {
		reply, err := client.Do("EXISTS", key)
		if err != nil || reply.Integer != 1 {
			return fmt.Sprintf("only one server has the key %q: %s, error %v", key, Notation(reply), err)
		}
	}
	return ""
}

// compareScans completes the iteration on both servers and compares the sets of keys.
func (c *Comparison) compareScans(words []string, tested, reference resp.Value) (problem string) {
	testedKeys, err := completeScan(c.Tested, words, tested)
	if err != nil {
		return err.Error()
	}
	referenceKeys, err := completeScan(c.Reference, words, reference)
	if err != nil {
		return err.Error()
	}
	if !slices.Equal(testedKeys, referenceKeys) {
		return fmt.Sprintf("the keys differ: %d and %d of them\n\tpyrope %.2000q\n\tredis  %.2000q", len(testedKeys), len(referenceKeys), testedKeys, referenceKeys)
	}
	return ""
}

// maxScanCalls bounds an iteration, so that one that never ends is noticed.
const maxScanCalls = 1_000_000

// completeScan goes on from the first reply of a SCAN to its end and returns the keys, sorted and
// each once.
func completeScan(client *Client, words []string, reply resp.Value) (keys []string, err error) {
	for range maxScanCalls {
		if reply.Kind != resp.Array || len(reply.Elements) != 2 {
			return nil, fmt.Errorf("SCAN replied %.100s", Notation(reply))
		}
		for _, key := range reply.Elements[1].Elements {
			keys = append(keys, string(key.Text))
		}
		cursor := string(reply.Elements[0].Text)
		if cursor == "0" {
			slices.Sort(keys)
			return slices.Compact(keys), nil
		}
		next := slices.Clone(words)
		next[1] = cursor
		if reply, err = client.Do(next...); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("SCAN has not come to an end after %d calls", maxScanCalls)
}
