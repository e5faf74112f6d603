package servertest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pyropedb/pyrope/server/resp"
)

// Expectation is a reply as a script expects it: a reply in the form of Notation, or a
// looser form of it:
//
//   - anything
//     :9..10          an integer from 9 to 10
//     unordered [..]  an array whose elements come in any order
type Expectation struct {
	text  string
	check func(resp.Value) bool
}

// ParseExpectation reads an expectation.
func ParseExpectation(text string) (Expectation, error) {
	expectation := Expectation{text: text}
	switch {
	case strings.TrimSpace(text) == "":
		return expectation, fmt.Errorf("cannot read an expectation: it is empty")
	case text == "*":
		expectation.check = func(resp.Value) bool { return true }
	case text[0] == ':' && strings.Contains(text, ".."):
		low, high, err := parseRange(text[1:])
		if err != nil {
			return expectation, err
		}
		expectation.check = func(v resp.Value) bool {
			return v.Kind == resp.Integer && low <= v.Integer && v.Integer <= high
		}
	case strings.HasPrefix(text, "unordered "):
		want, err := parseNotation(strings.TrimPrefix(text, "unordered "))
		if err != nil {
			return expectation, err
		}
		expectation.check = func(v resp.Value) bool { return Notation(Sorted(v)) == Notation(Sorted(want)) }
	default:
		want, err := parseNotation(text)
		if err != nil {
			return expectation, err
		}
		expectation.check = func(v resp.Value) bool { return Notation(v) == Notation(want) }
	}
	return expectation, nil
}

// Matches reports whether a reply is as expected.
func (e Expectation) Matches(v resp.Value) bool { return e.check(v) }

// String is the expectation as it was written.
func (e Expectation) String() string { return e.text }

func parseRange(text string) (low, high int64, err error) {
	from, to, _ := strings.Cut(text, "..")
	if low, err = strconv.ParseInt(from, 10, 64); err == nil {
		high, err = strconv.ParseInt(to, 10, 64)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("cannot read %q as a range of integers: %w", text, err)
	}
	return low, high, nil
}

// Sorted returns the reply with the elements of its arrays in a fixed order, inner ones too.
func Sorted(v resp.Value) resp.Value {
	parts := slices.Clone(v.Elements)
	for i := range parts {
		parts[i] = Sorted(parts[i])
	}
	slices.SortFunc(parts, func(a, b resp.Value) int { return strings.Compare(element(a), element(b)) })
	v.Elements = parts
	return v
}

// parseNotation reads what Notation writes.
func parseNotation(text string) (resp.Value, error) {
	switch text[0] {
	case '+', '-':
		return resp.Value{Kind: resp.Kind(text[0]), Text: []byte(text[1:])}, nil // a whole line
	}
	value, rest, err := parseElement(text)
	if err == nil && strings.TrimSpace(rest) != "" {
		err = fmt.Errorf("cannot read %q: %q is left over", text, rest)
	}
	return value, err
}

// missing lists the words for values that are not there.
var missing = []struct {
	name  string
	value resp.Value
}{
	{"nil[]", resp.Value{Kind: resp.Array, Missing: true}},
	{"nil", resp.Value{Kind: resp.Bulk, Missing: true}},
	{"null", resp.Value{Kind: resp.Null, Missing: true}},
}

// parseElement reads one reply from the start of text and returns what is behind it.
func parseElement(text string) (value resp.Value, rest string, err error) {
	for _, word := range missing {
		if rest, ok := strings.CutPrefix(text, word.name); ok {
			return word.value, rest, nil
		}
	}
	if text == "" {
		return resp.Value{}, "", fmt.Errorf("cannot read a reply: nothing is left")
	}
	value.Kind = resp.Kind(text[0])
	switch value.Kind {
	case '"':
		value.Kind = resp.Bulk
		return parseText(value, text)
	case resp.Verbatim, resp.BulkError, resp.SimpleString, resp.Error:
		return parseText(value, text[1:])
	case '[':
		return parseParts(resp.Array, text[1:], ']')
	case '{':
		return parseParts(resp.Map, text[1:], '}')
	case resp.Set, resp.Push:
		if len(text) > 1 && text[1] == '[' {
			return parseParts(value.Kind, text[2:], ']')
		}
	case resp.Integer, resp.Double, resp.Boolean, resp.BigNumber:
		end := strings.IndexAny(text+" ", " ]}")
		wire := []byte(text[:end] + "\r\n")
		value, consumed, result := resp.ReadReply(wire)
		if result == resp.Complete && consumed == len(wire) {
			return value, text[end:], nil
		}
	}
	return resp.Value{}, "", fmt.Errorf("cannot read %q as a reply", text)
}

// parseText reads a quoted string into the value.
func parseText(value resp.Value, text string) (resp.Value, string, error) {
	word, rest, err := unquote(text)
	value.Text = []byte(word)
	return value, rest, err
}

// parseParts reads elements up to the closing bracket.
func parseParts(kind resp.Kind, text string, closing byte) (value resp.Value, rest string, err error) {
	value.Kind = kind
	for {
		text = strings.TrimLeft(text, " ")
		if text == "" {
			return value, "", fmt.Errorf("cannot read a reply: %q is missing at its end", closing)
		}
		if text[0] == closing {
			return value, text[1:], nil
		}
		var part resp.Value
		if part, text, err = parseElement(text); err != nil {
			return value, "", err
		}
		value.Elements = append(value.Elements, part)
	}
}

// unquote reads a quoted string from the start of text. Its escapes are those of Go.
func unquote(text string) (value, rest string, err error) {
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", "", fmt.Errorf("cannot read %q as a quoted string", text)
	}
	value, err = strconv.Unquote(quoted)
	return value, text[len(quoted):], err
}
