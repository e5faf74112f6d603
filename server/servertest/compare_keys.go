package servertest

import (
	"fmt"
	"strings"

	"github.com/pyropedb/pyrope/server/resp"
)

// probeKey holds what compareDumps restores.
const probeKey = "probe of a dump"

// compareDumps has each server restore the other's dump, and compares what comes of it: compressed
// values may be other bytes.
func (c *Comparison) compareDumps(tested, reference resp.Value) (problem string) {
	var values [2]string
	for i, way := range []struct {
		client *Client
		dump   resp.Value
	}{{c.Reference, tested}, {c.Tested, reference}} {
		var last resp.Value
		for _, words := range [][]string{{"RESTORE", probeKey, "0", string(way.dump.Text), "REPLACE"}, {"GET", probeKey}, {"DEL", probeKey}} {
			reply, err := way.client.Do(words...)
			if err != nil || reply.IsError() {
				return fmt.Sprintf("%s of the dump %q: %s, error %v", words[0], way.dump.Text, Notation(reply), err)
			}
			if words[0] == "GET" {
				last = reply
			}
		}
		values[i] = string(last.Text)
	}
	if values[0] != values[1] {
		return fmt.Sprintf("the dumps stand for %q and %q", values[0], values[1])
	}
	return ""
}

// compareInspections compares the replies of OBJECT, as far as a value alone can tell them: see
// docs/commands.md for what it cannot.
func compareInspections(words []string, tested, reference resp.Value) (problem string) {
	if len(words) > 1 {
		switch strings.ToUpper(words[1]) {
		case "ENCODING":
			t, r := string(tested.Text), string(reference.Text)
			if t == "int" && (r == "embstr" || r == "raw") || t == "embstr" && r == "raw" {
				return ""
			}
		case "REFCOUNT":
			if tested.Integer > 1 && reference.Integer == 1 {
				return ""
			}
		case "IDLETIME":
			if tested.Integer == 0 && reference.Integer >= 0 { // RESTORE sets it there
				return ""
			}
		}
	}
	return "the replies differ"
}
