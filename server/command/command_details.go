package command

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

// commandDetails is what COMMAND INFO and DOCS say of a command beyond the table.
type commandDetails struct {
	tips            []string
	docFlags        []string
	deprecatedSince string
	replacedBy      string
	keyNote         string // about the first key specification
	arguments       []commandArgument
}

// commandArgument is an argument of a command, or a group of them.
type commandArgument struct {
	kind, name             string
	keySpec                string // the number of the key specification it is of, or empty
	token                  string
	since, deprecatedSince string
	flags                  []string
	parts                  []commandArgument
}

// detailsText has a line a command; its head says how.
//
//go:embed command_details.txt
var detailsText string

// allDetails are the details by the full name of the command. They are read when they are first asked for.
var allDetails = sync.OnceValue(func() map[string]*commandDetails {
	all := make(map[string]*commandDetails)
	for line := range strings.Lines(detailsText) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		words := detailWords(line)
		all[words[0]] = parseDetails(words)
	}
	return all
})

var noDetails commandDetails

// details are those of the command; none if the file does not know it.
func (d *Command) details() *commandDetails {
	if details := allDetails()[d.fullName]; details != nil {
		return details
	}
	return &noDetails
}

// detailWords cuts a line into words and parentheses. Double quotes, which are left out, keep blanks together.
func detailWords(line string) (words []string) {
	word, quoted := "", false
	end := func() {
		if word != "" {
			words = append(words, word)
		}
		word = ""
	}
	for _, letter := range line {
		switch {
		case letter == '"':
			quoted = !quoted
		case quoted || !strings.ContainsRune(" ()", letter):
			word += string(letter)
		default:
			end()
			if letter != ' ' {
				words = append(words, string(letter))
			}
		}
	}
	end()
	return words
}

// parseDetails reads the words of a line.
func parseDetails(words []string) *commandDetails {
	d := &commandDetails{}
	rest := words[1:]
	for ; len(rest) > 0 && rest[0] != "("; rest = rest[1:] {
		what, value, _ := strings.Cut(rest[0], "=")
		switch what {
		case "tip":
			d.tips = append(d.tips, value)
		case "flag":
			d.docFlags = append(d.docFlags, value)
		case "deprecated":
			d.deprecatedSince = value
		case "replaced_by":
			d.replacedBy = value
		case "note":
			d.keyNote = value
		default:
			panic(fmt.Sprintf("BUG: %q is no detail of %s", rest[0], words[0]))
		}
	}
	for len(rest) > 0 {
		var argument commandArgument
		argument, rest = parseArgument(words[0], rest)
		d.arguments = append(d.arguments, argument)
	}
	return d
}

// parseArgument reads an argument of a command from its opening parenthesis on, and returns the words behind it.
func parseArgument(command string, words []string) (argument commandArgument, rest []string) {
	if len(words) < 4 || words[0] != "(" {
		panic(fmt.Sprintf("BUG: %q is no argument of %s", words, command))
	}
	argument.kind, argument.name = words[1], words[2]
	rest = words[3:]
	for rest[0] != ")" {
		word := rest[0]
		switch value := word[1:]; word[0] {
		case '(':
			var part commandArgument
			part, rest = parseArgument(command, rest)
			argument.parts = append(argument.parts, part)
			continue
		case '#':
			argument.keySpec = value
		case '=':
			argument.token = value
		case '@':
			argument.since = value
		case '~':
			argument.deprecatedSince = value
		case '?':
			argument.flags = append(argument.flags, "optional")
		case '*':
			argument.flags = append(argument.flags, "multiple")
		case '+':
			argument.flags = append(argument.flags, "multiple_token")
		default:
			panic(fmt.Sprintf("BUG: %q is nothing of the argument %s of %s", word, argument.name, command))
		}
		rest = rest[1:]
	}
	return argument, rest[1:]
}
