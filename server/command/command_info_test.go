package command_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/server/command"
	"github.com/pyropedb/pyrope/server/resp"
	"github.com/pyropedb/pyrope/server/servertest"
	"github.com/pyropedb/pyrope/tsavorite"
)

// TestTableAgreesWithRedis compares what COMMAND INFO says of every command and subcommand with
// what a real server says: name, arity, flags, key positions and categories.
func TestTableAgreesWithRedis(t *testing.T) {
	redis := servertest.Dial(t, servertest.StartRedis(t))
	ours := servertest.NewHandler(t, tsavorite.Options{})
	compared := 0
	for _, d := range command.AllCommands() {
		theirs := commandInfo(t, redis, d.FullName())
		if theirs == "" {
			if d.Since < "7.1" && d.Group != "garnet" && d.Name != "compact" {
				t.Errorf("%s: the real server does not know it", d.FullName())
			}
			continue
		}
		compared++
		if got := commandInfo(t, ours, d.FullName()); got != theirs {
			t.Errorf("%s:\n got %s\nwant %s", d.FullName(), got, theirs)
		}
	}
	if compared < 50 {
		t.Errorf("only %d commands were compared", compared)
	}
}

// commandInfo returns what COMMAND INFO says of one command, flags and categories in order; empty
// for an unknown one. Hints for proxies and subcommands are left out.
func commandInfo(t *testing.T, target servertest.Target, name string) string {
	t.Helper()
	reply, err := target.Do("COMMAND", "INFO", name)
	if err != nil || len(reply.Elements) != 1 {
		t.Fatalf("COMMAND INFO %s: %v, %v", name, reply, err)
	}
	if reply.Elements[0].Missing {
		return ""
	}
	parts := slices.Clone(reply.Elements[0].Elements)
	if len(parts) != 10 {
		t.Fatalf("COMMAND INFO %s has %d parts", name, len(parts))
	}
	// What Redis knows of the command beyond its flags and where Pyrope has no such notion.
	parts[2] = without(parts[2], "movablekeys")
	described := make([]string, 0, 8)
	for _, part := range []resp.Value{parts[0], parts[1], servertest.Sorted(parts[2]), parts[3], parts[4], parts[5], servertest.Sorted(parts[6])} {
		described = append(described, servertest.Notation(part))
	}
	return strings.Join(described, " ")
}

// without returns a list without one element.
func without(list resp.Value, text string) resp.Value {
	list.Elements = slices.DeleteFunc(slices.Clone(list.Elements), func(v resp.Value) bool { return string(v.Text) == text })
	return list
}

// TestEveryCommandIsDescribed checks COMMAND, COMMAND DOCS, COMMAND LIST and COMMAND COUNT against the table.
func TestEveryCommandIsDescribed(t *testing.T) {
	ours := servertest.NewHandler(t, tsavorite.Options{})
	do := func(words ...string) resp.Value {
		t.Helper()
		reply, err := ours.Do(words...)
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	count := len(command.Commands())
	if got := do("COMMAND", "COUNT").Integer; got != int64(count) {
		t.Errorf("COMMAND COUNT is %d of %d", got, count)
	}
	for _, words := range [][]string{{"COMMAND"}, {"COMMAND", "INFO"}, {"COMMAND", "LIST"}} {
		if got := len(do(words...).Elements); got != count {
			t.Errorf("%q has %d elements for %d commands", words, got, count)
		}
	}
	docs := do("COMMAND", "DOCS")
	if len(docs.Elements) != 2*count {
		t.Errorf("COMMAND DOCS has %d elements for %d commands", len(docs.Elements), count)
	}
	for _, d := range command.AllCommands() {
		entry := do("COMMAND", "DOCS", d.FullName())
		text := servertest.Notation(entry)
		if len(entry.Elements) != 2 || d.Summary == "" || d.Since == "" || d.Group == "" || d.Complexity == "" ||
			!strings.Contains(text, `"summary"`) || !strings.Contains(text, `"complexity"`) {
			t.Errorf("%s is documented as %s", d.FullName(), text)
		}
	}
}

// TestHelpNamesEverySubcommand looks for each subcommand in its container's HELP.
func TestHelpNamesEverySubcommand(t *testing.T) {
	ours := servertest.NewHandler(t, tsavorite.Options{})
	for _, d := range command.Commands() {
		if len(d.Subcommands) == 0 {
			continue
		}
		reply, err := ours.Do(d.Name, "HELP")
		if err != nil {
			t.Fatal(err)
		}
		text := servertest.Notation(reply)
		for _, sub := range d.Subcommands {
			if !strings.Contains(text, strings.ToUpper(sub.Name)) {
				t.Errorf("%s HELP does not name %s", d.Name, sub.Name)
			}
		}
	}
}
