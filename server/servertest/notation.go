package servertest

import (
	"fmt"
	"strings"

	"github.com/pyropedb/pyrope/server/resp"
)

// Notation writes a reply as scripts have it:
//
//	+OK   -ERR text   :42   "bulk\r\n"   nil   [:1 "a" nil]
//	null   {"k" "v"}   ~["member"]   >["push"]   ,3.5   #t   (123   ="txt:text"   !"ERR text"
//
// nil is the null bulk string, nil[] the null array, null the null of RESP3. Within an array the
// text of a simple string or an error is quoted.
func Notation(v resp.Value) string {
	if v.Kind == resp.SimpleString || v.Kind == resp.Error {
		return string(rune(v.Kind)) + string(v.Text)
	}
	return element(v)
}

// element writes a reply so that another may follow it.
func element(v resp.Value) string {
	if v.Missing {
		switch v.Kind {
		case resp.Array:
			return "nil[]"
		case resp.Null:
			return "null"
		}
		return "nil"
	}
	mark := string(rune(v.Kind))
	switch v.Kind {
	case resp.Bulk:
		return quote(v.Text)
	case resp.Verbatim, resp.BulkError, resp.SimpleString, resp.Error:
		return mark + quote(v.Text)
	case resp.Array:
		return "[" + elements(v) + "]"
	case resp.Map:
		return "{" + elements(v) + "}"
	case resp.Set, resp.Push:
		return mark + "[" + elements(v) + "]"
	case resp.Integer:
		return fmt.Sprintf(":%d", v.Integer)
	case resp.Boolean:
		return "#" + "ft"[v.Integer:v.Integer+1]
	}
	return mark + string(v.Text)
}

func elements(v resp.Value) string {
	parts := make([]string, len(v.Elements))
	for i, part := range v.Elements {
		parts[i] = element(part)
	}
	return strings.Join(parts, " ")
}

// quote writes text in double quotes, with \xNN for every byte that is no printable ASCII.
func quote(text []byte) string {
	out := []byte{'"'}
	for _, b := range text {
		switch {
		case b == '"' || b == '\\':
			out = append(out, '\\', b)
		case b == '\r':
			out = append(out, `\r`...)
		case b == '\n':
			out = append(out, `\n`...)
		case b < ' ' || b > '~':
			out = fmt.Appendf(out, `\x%02x`, b)
		default:
			out = append(out, b)
		}
	}
	return string(append(out, '"'))
}
