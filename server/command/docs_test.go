package command

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page of commands: prose and the last column are written by hand, the others come from the
// table and from counting test cases.
const commandPage = "../../docs/commands.md"

// commandRow is a row of the page's tables: | `CLIENT ID` | 2 | 5.0.0 | 12 | what differs |
var commandRow = regexp.MustCompile("(?m)^\\| `([A-Z][A-Z_ -]*)` \\| (.*)$")

// TestPageIsCurrent compares docs/commands.md with the table, both ways, and wants at least one test
// case of every command. With the flag -rewrite it brings the page up to date instead: it renews the rows, and adds
// missing ones behind the command before. A count that has grown since is no reason to fail.
func TestPageIsCurrent(t *testing.T) {
	text, err := os.ReadFile(commandPage)
	if err != nil {
		t.Fatal(err)
	}
	page, renew := string(text), flag.Lookup("rewrite").Value.String() == "true"
	cases := countCases(t)
	rows := map[string]string{}
	for _, match := range commandRow.FindAllStringSubmatch(page, -1) {
		if _, again := rows[match[1]]; again {
			t.Errorf("docs/commands.md has two rows for %s", match[1])
		}
		rows[match[1]] = match[0]
	}
	last := "" // the row of the command before
	for _, d := range AllCommands() {
		name := wordsOf(d)
		row, found := rows[name]
		delete(rows, name)
		cells := strings.Split(strings.TrimSuffix(row, "|"), " | ")
		differs := strings.TrimSpace(cells[len(cells)-1])
		want := strings.TrimSpace(fmt.Sprintf("| `%s` | %d | %s | %d | %s", name, d.Arity, d.Since, cases[name], differs)) + " |"
		if strings.HasSuffix(name, " HELP") {
			cases[name]++ // TestHelpNamesEverySubcommand
		}
		if cases[name] == 0 {
			t.Errorf("%s has no test case", name)
		}
		switch {
		case row == want || !renew && caseCount.ReplaceAllString(row, "$1") == caseCount.ReplaceAllString(want, "$1"):
		case found:
			page = strings.Replace(page, row, want, 1)
		default:
			page = strings.Replace(page, last+"\n", last+"\n"+want+"\n", 1)
		}
		last = want
	}
	for name, row := range rows {
		page = strings.Replace(page, row+"\n", "", 1)
		t.Logf("%s is no command", name)
	}
	if page == string(text) {
		return
	}
	if !renew {
		t.Fatal("docs/commands.md is not current: make docs renews it")
	}
	if err := os.WriteFile(commandPage, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}

// caseCount is the column that may lag behind, with those before it.
var caseCount = regexp.MustCompile(`^(\|[^|]*\|[^|]*\|[^|]*\|)[^|]*\|`)

// wordsOf is a command as a client writes it: CLIENT ID.
func wordsOf(d *Command) string { return strings.ToUpper(strings.ReplaceAll(d.FullName(), "|", " ")) }

// countCases counts, for each command, the calls in the scripts and in the Go tests of the server. Random
// differential runs are not counted.
func countCases(t *testing.T) map[string]int {
	t.Helper()
	var calls []string
	for _, pattern := range []string{"testdata/*.txt", "testdata/*/*.txt", "*_test.go", "../*_test.go", "../*/*_test.go"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if strings.HasPrefix(path, "../command/") {
				continue // seen as *_test.go
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			calls = append(calls, callsIn(path, string(text))...)
		}
	}
	cases := map[string]int{}
	for _, call := range calls {
		words := strings.Fields(strings.ToUpper(call))
		if len(words) == 0 {
			continue
		}
		cases[words[0]]++
		if len(words) > 1 {
			cases[words[0]+" "+words[1]]++
		}
	}
	return cases
}

// callInGo is the beginning of a command in a string or in a list of strings.
var callInGo = regexp.MustCompile(`"([A-Z][A-Z_]+)(?:", "|[ "])([A-Za-z-]*)`)

// callsIn returns the first two words of every call in a file of tests.
func callsIn(path, text string) (calls []string) {
	if strings.HasSuffix(path, ".go") {
		for _, match := range callInGo.FindAllStringSubmatch(text, -1) {
			calls = append(calls, match[1]+" "+match[2])
		}
		return calls
	}
	for line := range strings.Lines(text) {
		if call, found := strings.CutPrefix(line, "> "); found {
			words := append(strings.Fields(call), "", "")
			calls = append(calls, words[0]+" "+words[1])
		}
	}
	return calls
}

// TestDetailsAreOfCommands looks for a command for every line of command_details.txt, and for a line with the arguments of every
// command that must have some.
func TestDetailsAreOfCommands(t *testing.T) {
	known := map[string]bool{}
	for _, d := range AllCommands() {
		known[d.FullName()] = true
		fixed := 1 + strings.Count(d.FullName(), "|")
		takes := d.Arity > fixed || d.Arity < -fixed
		exempt := len(d.Subcommands) > 0 || d.Name == "debug" || strings.HasPrefix(d.Name, "getkeys") // as in Redis
		if takes && !exempt && len(d.details().arguments) == 0 {
			t.Errorf("the arguments of %s are not described", d.FullName())
		}
	}
	for name := range allDetails() {
		if !known[name] {
			t.Errorf("%s is described, and does not exist", name)
		}
	}
}
