package servertest

import (
	"slices"
	"strings"

	"github.com/pyropedb/pyrope/server/resp"
)

// compareServers compares the replies of a command about the server that are not the same bytes: those that tell of the machine, the
// time or the connection, or that are texts of each server's own, are the same if they are of the same kind.
func compareServers(words []string, tested, reference resp.Value) (problem string) {
	name, sub := strings.ToUpper(words[0]), ""
	if len(words) > 1 {
		sub = strings.ToUpper(words[1])
	}
	switch {
	case sub == "HELP" && len(words) == 2:
		return ""
	case name == "TIME", name == "LASTSAVE", name == "INFO", name == "COMMAND" && len(words) == 1:
		return ""
	case len(words) == 2 && (name == "COMMAND" && sub == "INFO" || name == "LATENCY" && sub == "HISTOGRAM"):
		return ""
	case name == "COMMAND" && (sub == "DOCS" || sub == "LIST" || sub == "COUNT"):
		return ""
	case name == "CLIENT" && (sub == "ID" || sub == "INFO" || sub == "LIST"):
		return ""
	case name == "MEMORY" && (sub == "DOCTOR" || sub == "STATS" || sub == "MALLOC-STATS") && len(words) == 2, name == "LATENCY" && sub == "DOCTOR":
		return ""
	case name == "CONFIG" && sub == "GET" && slices.Contains(words, "*"):
		return ""
	case name == "HELLO":
		return compareGreetings(tested, reference)
	case name == "COMMAND" && sub == "INFO", name == "CONFIG" && sub == "GET":
		if unordered(tested) == unordered(reference) {
			return ""
		}
	}
	return "the replies differ"
}

// compareGreetings compares the replies of HELLO but for the id of the connection.
func compareGreetings(tested, reference resp.Value) (problem string) {
	for _, greeting := range []*resp.Value{&tested, &reference} {
		greeting.Elements = slices.Clone(greeting.Elements)
		for i := range greeting.Elements {
			if string(greeting.Elements[i].Text) == "id" {
				greeting.Elements[i+1].Integer = 0
			}
		}
	}
	if Notation(tested) != Notation(reference) {
		return "the greetings differ"
	}
	return ""
}

// unordered is the notation of a reply with all its lists in order.
func unordered(v resp.Value) string {
	parts := make([]string, len(v.Elements))
	for i, part := range v.Elements {
		parts[i] = unordered(part)
	}
	if len(parts) == 0 {
		return Notation(v)
	}
	slices.Sort(parts)
	return string(rune(v.Kind)) + "[" + strings.Join(parts, " ") + "]"
}
