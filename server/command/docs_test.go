package command

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// commandRow is a row of the page's tables: | `CLIENT ID` | 2 | 5.0.0 | ...
var commandRow = regexp.MustCompile("(?m)^\\| `([A-Z][A-Z_ -]*)` \\| (-?[0-9]+) \\| ([0-9.]+) \\|")

// TestPageNamesEveryCommand compares docs/commands.md with the table, both ways.
func TestPageNamesEveryCommand(t *testing.T) {
	page, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	type row struct{ arity, since string }
	rows := map[string]row{}
	for _, match := range commandRow.FindAllStringSubmatch(string(page), -1) {
		if _, again := rows[match[1]]; again {
			t.Errorf("docs/commands.md has two rows for %s", match[1])
		}
		rows[match[1]] = row{match[2], match[3]}
	}
	for _, d := range AllCommands() {
		name := strings.ToUpper(strings.ReplaceAll(d.FullName(), "|", " "))
		got, found := rows[name]
		want := row{strconv.Itoa(d.Arity), d.Since}
		switch {
		case !found:
			t.Errorf("docs/commands.md has no row for %s: | `%s` | %s | %s | |", name, name, want.arity, want.since)
		case got != want:
			t.Errorf("docs/commands.md says of %s arity %s, since %s; the table says %s and %s", name, got.arity, got.since, want.arity, want.since)
		}
		delete(rows, name)
	}
	for name := range rows {
		t.Errorf("docs/commands.md has a row for %s, which is no command", name)
	}
}
