package command_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/server/command"
	"github.com/pyropedb/pyrope/server/resp"
	"github.com/pyropedb/pyrope/server/servertest"
	"github.com/pyropedb/pyrope/tsavorite"
)

// isOwnCommand tells whether a command is one that redis-server 7.0 does not have.
func isOwnCommand(d *command.Command) bool {
	return d.Since >= "7.1" || d.Group == "garnet" || d.Name == "compact"
}

// TestCommandsAreDescribedAsInRedis compares what COMMAND INFO and COMMAND DOCS say of every command and subcommand with what a
// real server says, in both protocols. Summaries, complexities and the history are in words of our own, or missing.
func TestCommandsAreDescribedAsInRedis(t *testing.T) {
	address := servertest.StartRedis(t)
	for _, protocol := range []string{"2", "3"} {
		redis, ours := servertest.Dial(t, address), servertest.NewHandler(t, tsavorite.Options{})
		both := []servertest.Target{ours, redis}
		for _, target := range both {
			if reply, err := target.Do("HELLO", protocol); err != nil || reply.IsError() {
				t.Fatalf("HELLO %s: %v, %v", protocol, reply, err)
			}
		}
		for _, d := range command.AllCommands() {
			var told [2][]string
			for i, target := range both {
				told[i] = []string{infoOf(t, target, d.FullName()), docsOf(t, target, d.FullName())}
			}
			if isOwnCommand(d) {
				if !strings.HasPrefix(told[1][0], "n") {
					t.Errorf("%s: the real server knows it: %s", d.FullName(), told[1][0])
				}
				continue
			}
			for i, what := range []string{"INFO", "DOCS"} {
				if told[0][i] != told[1][i] {
					t.Errorf("RESP%s: COMMAND %s %s:\n got %s\nwant %s", protocol, what, d.FullName(), told[0][i], told[1][i])
				}
			}
		}
	}
}

// infoOf returns what COMMAND INFO says of one command, sets in order. Subcommands are compared by their own.
func infoOf(t *testing.T, target servertest.Target, name string) string {
	t.Helper()
	reply, err := target.Do("COMMAND", "INFO", name)
	if err != nil || len(reply.Elements) != 1 {
		t.Fatalf("COMMAND INFO %s: %v, %v", name, reply, err)
	}
	info := reply.Elements[0]
	if info.Missing {
		return servertest.Notation(info)
	}
	if len(info.Elements) != 10 {
		t.Fatalf("COMMAND INFO %s has %d parts", name, len(info.Elements))
	}
	parts := slices.Clone(info.Elements)
	for _, set := range []int{2, 6, 7} { // flags, categories, tips
		parts[set] = servertest.Sorted(parts[set])
	}
	var names []string
	for _, sub := range parts[9].Elements {
		names = append(names, string(sub.Elements[0].Text))
	}
	slices.Sort(names)
	names = slices.DeleteFunc(names, func(name string) bool { return name == "client|setinfo" || name == "client|no-touch" })
	info.Elements = parts[:9]
	return fmt.Sprintf("%s %c%q", servertest.Notation(info), parts[9].Kind, missingSubcommands(names))
}

// missingSubcommands takes out those that Pyrope does not have.
func missingSubcommands(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		container, sub, _ := strings.Cut(name, "|")
		return command.Lookup([]byte(container)).Subcommand([]byte(sub)) == nil
	})
}

// docsOf returns what COMMAND DOCS says of one command but for texts of our own.
func docsOf(t *testing.T, target servertest.Target, name string) string {
	t.Helper()
	reply, err := target.Do("COMMAND", "DOCS", name)
	if err != nil {
		t.Fatalf("COMMAND DOCS %s: %v", name, err)
	}
	if len(reply.Elements) != 2 {
		return servertest.Notation(reply)
	}
	docs := reply.Elements[1]
	text := fmt.Sprintf("%c %s", docs.Kind, reply.Elements[0].Text)
	for i := 0; i < len(docs.Elements); i += 2 {
		key, value := string(docs.Elements[i].Text), docs.Elements[i+1]
		switch key {
		case "summary", "complexity", "history", "subcommands":
			continue
		case "arguments":
			value.Elements = slices.DeleteFunc(slices.Clone(value.Elements), func(argument resp.Value) bool {
				return string(argument.Elements[1].Text) == "withetag" // of SET
			})
		}
		text += "\n" + key + " " + servertest.Notation(value)
	}
	return text
}

// TestKeysOfCalls compares COMMAND GETKEYS and GETKEYSANDFLAGS of random calls of every command with what a real server says.
func TestKeysOfCalls(t *testing.T) {
	redis, ours := servertest.Dial(t, servertest.StartRedis(t)), servertest.NewHandler(t, tsavorite.Options{})
	const seed = 1 // CI is no place for new words
	random := rand.New(rand.NewPCG(seed, 0))
	words := []string{"a", "b", "GET", "get", "EX", "PX", "NX", "SET", "OVERFLOW", "INCRBY", "u8", "", "KEEPTTL", "1"}
	for _, d := range command.AllCommands() {
		if isOwnCommand(d) {
			continue
		}
		for range 30 {
			call := strings.Split(d.FullName(), "|")
			for range random.IntN(8) {
				call = append(call, words[random.IntN(len(words))])
			}
			for _, sub := range []string{"GETKEYS", "GETKEYSANDFLAGS"} {
				var told [2]string
				for i, target := range []servertest.Target{ours, redis} {
					reply, err := target.Do(append([]string{"COMMAND", sub}, call...)...)
					if err != nil {
						t.Fatal(err)
					}
					told[i] = servertest.Notation(reply)
				}
				if told[0] != told[1] {
					t.Fatalf("seed %d, COMMAND %s %q:\n got %s\nwant %s", seed, sub, call, told[0], told[1])
				}
			}
		}
	}
}

// TestListOfCommands compares COMMAND LIST with that of a real server: every command that both have is in both lists, or in neither.
func TestListOfCommands(t *testing.T) {
	redis, ours := servertest.Dial(t, servertest.StartRedis(t)), servertest.NewHandler(t, tsavorite.Options{})
	common := map[string]bool{}
	for _, d := range command.AllCommands() {
		common[d.FullName()] = !isOwnCommand(d)
	}
	filters := [][]string{{}, {"FILTERBY", "MODULE", "x"}, {"FILTERBY", "ACLCAT"}, {"FILTERBY", "NOPE", "x"}, {"FILTERBY"}, {"NOPE"},
		{"FILTERBY", "PATTERN", "*"}, {"filterby", "pattern", "GET*"}, {"FILTERBY", "PATTERN", "client|*"}, {"FILTERBY", "PATTERN", "x", "y"},
		{"FILTERBY", "ACLCAT", "nope"}, {"FILTERBY", "ACLCAT", "@read"}}
	for _, category := range []string{"keyspace", "read", "write", "string", "bitmap", "hyperloglog", "admin", "fast", "SLOW", "dangerous", "connection", "pubsub", "set"} {
		filters = append(filters, []string{"FILTERBY", "ACLCAT", category})
	}
	for _, filter := range filters {
		var told [2]string
		for i, target := range []servertest.Target{ours, redis} {
			reply, err := target.Do(append([]string{"COMMAND", "LIST"}, filter...)...)
			if err != nil {
				t.Fatal(err)
			}
			reply.Elements = slices.DeleteFunc(reply.Elements, func(name resp.Value) bool { return !common[string(name.Text)] })
			told[i] = servertest.Notation(servertest.Sorted(reply))
		}
		if told[0] != told[1] {
			t.Errorf("COMMAND LIST %q:\n got %s\nwant %s", filter, told[0], told[1])
		}
	}
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
	for _, words := range [][]string{{"COMMAND"}, {"COMMAND", "INFO"}} {
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
