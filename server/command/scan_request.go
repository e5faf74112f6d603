package command

import "encoding/binary"

// The two commands that a cache is made of are recognized by their bytes, without the parser and
// the table: a few comparisons tell whether the request has the form that every client library
// gives it. Whatever differs, be it right or wrong, is left to the parser.

// getPrefix and setPrefix are how the requests begin on the wire, up to the length of the key.
const (
	getPrefix = "*2\r\n$3\r\nGET\r\n$"
	setPrefix = "*3\r\n$3\r\nSET\r\n$"
)

// The prefixes as words: their first eight bytes, and the six behind.
var (
	getHead, getName = prefixWords(getPrefix)
	setHead, setName = prefixWords(setPrefix)
)

func prefixWords(prefix string) (head, name uint64) {
	b := append([]byte(prefix), 0, 0)
	return binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
}

const (
	prefixBytes = len(getPrefix)
	nameMask    = 1<<48 - 1
	letterCases = 0x202020 // the case bits of the name's three letters
	// scanMaxDigits bounds a length here; longer keys and values take the parser's way.
	scanMaxDigits = 6
)

// scanGet returns the key and the length of a complete GET at the start of input; the length is 0
// for anything else.
func scanGet(input []byte) (key []byte, used int) {
	if !hasPrefix(input, getHead, getName) {
		return nil, 0
	}
	return scanArgument(input, prefixBytes)
}

// scanSet returns key, value and length of a complete SET without options at the start of input;
// the length is 0 for anything else.
func scanSet(input []byte) (key, value []byte, used int) {
	if !hasPrefix(input, setHead, setName) {
		return nil, nil, 0
	}
	key, end := scanArgument(input, prefixBytes)
	if end == 0 || end >= len(input) || input[end] != '$' {
		return nil, nil, 0
	}
	value, used = scanArgument(input, end+1)
	return key, value, used
}

// hasPrefix reports whether input begins with a prefix, its name in any letter case.
func hasPrefix(input []byte, head, name uint64) bool {
	return len(input) >= prefixBytes+2 && binary.LittleEndian.Uint64(input) == head &&
		(binary.LittleEndian.Uint64(input[8:])&nameMask)&^letterCases == name
}

// scanArgument returns the argument whose length begins at a position, and where the next one
// begins: 0 if it is not complete or not in the usual form.
func scanArgument(input []byte, position int) (argument []byte, next int) {
	first, length := position, 0
	for ; position < len(input) && input[position]-'0' <= 9; position++ {
		if position == first+scanMaxDigits {
			return nil, 0
		}
		length = length*10 + int(input[position]-'0')
	}
	if position == first || position > first+1 && input[first] == '0' {
		return nil, 0
	}
	start := position + 2
	end := start + length
	if end+2 > len(input) || input[position] != '\r' || input[position+1] != '\n' ||
		input[end] != '\r' || input[end+1] != '\n' {
		return nil, 0
	}
	return input[start:end:end], end + 2
}
