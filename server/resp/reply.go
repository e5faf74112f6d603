package resp

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Kind is the mark that starts a reply.
type Kind byte

// The kinds of reply. Attributes ('|') are no kind: they belong to the value behind them.
const (
	SimpleString Kind = '+'
	Error        Kind = '-'
	Integer      Kind = ':'
	Bulk         Kind = '$'
	Array        Kind = '*'
	Null         Kind = '_' // RESP3 from here on
	Double       Kind = ','
	Boolean      Kind = '#'
	BigNumber    Kind = '('
	BulkError    Kind = '!'
	Verbatim     Kind = '='
	Map          Kind = '%'
	Set          Kind = '~'
	Push         Kind = '>'
)

// Value is one reply as a client sees it.
type Value struct {
	Kind Kind
	// Missing is set for RESP2's null bulk string and null array, and for RESP3's null.
	Missing bool
	// Text is the content of everything but integers, booleans and aggregates: a slice of the
	// input. A verbatim string's includes the format, as in txt:….
	Text []byte
	// Integer is the value of an integer, 1 for the boolean true.
	Integer int64
	// Double is the value of a double.
	Double float64
	// Elements are those of an array, set or push, and keys and values in turn of a map.
	Elements []Value
	// Attributes are keys and values in turn of what was said about this value. Nearly always nil.
	Attributes []Value
}

// maxReplyDepth bounds nesting, so that no input exhausts the stack.
const maxReplyDepth = 128

// ReadReply reads one reply from the start of input and returns how many bytes it has. On NeedMore
// and Malformed the value is empty and consumed is 0.
func ReadReply(input []byte) (value Value, consumed int, result Result) {
	return readReply(input, maxReplyDepth)
}

func readReply(input []byte, depth int) (value Value, consumed int, result Result) {
	if depth == 0 {
		return Value{}, 0, Malformed
	}
	line, next, result := replyLine(input)
	if result != Complete {
		return Value{}, 0, result
	}
	value.Kind = Kind(input[0])
	switch value.Kind {
	case '|':
		return readAttributed(input, line, next, depth)
	case Bulk, BulkError, Verbatim:
		return readBulk(value, input, line, next)
	case Array, Map, Set, Push:
		return readAggregate(value, input, line, next, depth)
	}
	ok := true
	switch value.Kind {
	case SimpleString, Error, BigNumber:
		value.Text = line
	case Integer:
		value.Integer, ok = parseInteger(line)
	case Null:
		value.Missing, ok = true, len(line) == 0
	case Boolean:
		ok = len(line) == 1 && (line[0] == 't' || line[0] == 'f')
		if ok && line[0] == 't' {
			value.Integer = 1
		}
	case Double:
		var err error
		value.Text = line
		value.Double, err = strconv.ParseFloat(string(line), 64)
		ok = err == nil || math.IsInf(value.Double, 0)
	default:
		ok = false
	}
	if !ok {
		return Value{}, 0, Malformed
	}
	return value, next, Complete
}

// readAttributed reads the attributes whose header is line, and the value they belong to.
func readAttributed(input, line []byte, next, depth int) (Value, int, Result) {
	attributes, consumed, result := readAggregate(Value{Kind: Map}, input, line, next, depth)
	if result != Complete {
		return Value{}, 0, result
	}
	value, length, result := readReply(input[consumed:], depth-1)
	if result != Complete {
		return Value{}, 0, result
	}
	value.Attributes = attributes.Elements
	return value, consumed + length, Complete
}

// readBulk reads the bytes whose length is line; they start at next.
func readBulk(value Value, input, line []byte, next int) (Value, int, Result) {
	length, ok := parseInteger(line)
	switch {
	case ok && length == -1 && value.Kind == Bulk:
		value.Missing = true
		return value, next, Complete
	case !ok || length < 0 || length > math.MaxInt32:
		return Value{}, 0, Malformed
	}
	end := next + int(length)
	switch {
	case end+2 > len(input):
		return Value{}, 0, NeedMore
	case input[end] != '\r' || input[end+1] != '\n':
		return Value{}, 0, Malformed
	}
	value.Text = input[next:end:end]
	return value, end + 2, Complete
}

// readAggregate reads the elements whose count is line; they start at next.
func readAggregate(value Value, input, line []byte, next, depth int) (Value, int, Result) {
	count, ok := parseInteger(line)
	switch {
	case ok && count == -1 && value.Kind == Array:
		value.Missing = true
		return value, next, Complete
	case !ok || count < 0 || count > math.MaxInt32:
		return Value{}, 0, Malformed
	}
	if value.Kind == Map {
		count *= 2
	}
	// No element is shorter than three bytes, so a false count cannot ask for much memory.
	value.Elements = make([]Value, 0, min(int(count), (len(input)-next)/3))
	for range count {
		element, length, result := readReply(input[next:], depth-1)
		if result != Complete {
			return Value{}, 0, result
		}
		value.Elements = append(value.Elements, element)
		next += length
	}
	return value, next, Complete
}

// replyLine returns what stands between the mark and the line end, and where the next line starts.
func replyLine(input []byte) (line []byte, next int, result Result) {
	end := bytes.IndexByte(input, '\n')
	switch {
	case end < 0:
		return nil, 0, NeedMore
	case end < 2 || input[end-1] != '\r':
		return nil, 0, Malformed
	}
	return input[1 : end-1], end + 1, Complete
}

// IsError tells whether the reply is an error of either form.
func (v Value) IsError() bool { return v.Kind == Error || v.Kind == BulkError }

// String writes the value for people and for comparison in tests: kinds stay distinguishable.
func (v Value) String() string {
	switch {
	case v.Missing:
		return fmt.Sprintf("%cnull", v.Kind)
	case v.Kind == Integer || v.Kind == Boolean:
		return fmt.Sprintf("%c%d", v.Kind, v.Integer)
	case v.Elements == nil && v.Text == nil:
		return fmt.Sprintf("%c", v.Kind)
	case v.Elements == nil:
		return fmt.Sprintf("%c%q", v.Kind, v.Text)
	}
	parts := make([]string, len(v.Elements))
	for i, element := range v.Elements {
		parts[i] = element.String()
	}
	return fmt.Sprintf("%c[%s]", v.Kind, strings.Join(parts, " "))
}
