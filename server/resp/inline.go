package resp

import "bytes"

// nextInline reads one line of words. A line without words gives no arguments.
func (p *Parser) nextInline(input []byte, args [][]byte) ([][]byte, int, Result) {
	end := bytes.IndexByte(input[:min(len(input), MaxInlineBytes+1)], '\n')
	if end < 0 {
		if len(input) > MaxInlineBytes {
			return args, 0, p.fail(errTooBigInline)
		}
		p.need = len(input) + 1
		return args, 0, NeedMore
	}
	line := input[:end]
	if end > 0 && line[end-1] == '\r' {
		line = line[:end-1]
	}
	args, ok := appendWords(args, line)
	if !ok {
		return args, 0, p.fail(errUnbalancedQuotes)
	}
	return args, end + 1, Complete
}

// appendWords splits a line into words as Redis does: words end at white space; "…" takes the
// escapes \n \r \t \a \b \xHH and a backslash before anything else; '…' takes \' alone. A closing
// quote must be followed by white space. ok is false when a quote is not closed that way.
func appendWords(args [][]byte, line []byte) (words [][]byte, ok bool) {
	for {
		for len(line) > 0 && isSpace(line[0]) {
			line = line[1:]
		}
		if len(line) == 0 {
			return args, true
		}
		end := 0
		for end < len(line) && !endsWord(line[end]) && line[end] != '"' && line[end] != '\'' {
			end++
		}
		if end == len(line) || endsWord(line[end]) {
			args = append(args, line[:end:end])
			line = line[end:]
			continue
		}
		word, rest, closed := quotedWord(line)
		if !closed {
			return args, false
		}
		args = append(args, word)
		line = rest
	}
}

// quotedWord copies the word at the start of line, which has a quoted part, and returns the rest.
func quotedWord(line []byte) (word, rest []byte, ok bool) {
	word = make([]byte, 0, len(line))
	for i := 0; i < len(line); {
		c := line[i]
		switch {
		case endsWord(c):
			return word, line[i:], true
		case c == '"' || c == '\'':
			end := 0
			if word, end = appendQuoted(word, line[i:]); end == 0 {
				return nil, nil, false
			}
			if i += end; i < len(line) && !isSpace(line[i]) {
				return nil, nil, false
			}
			return word, line[i:], true
		default:
			word = append(word, c)
			i++
		}
	}
	return word, nil, true
}

// appendQuoted appends what stands between the quote at the start of text and the one that closes
// it, and returns the offset behind the latter, or 0 if there is none.
func appendQuoted(word, text []byte) ([]byte, int) {
	quote := text[0]
	for i := 1; i < len(text); {
		c := text[i]
		switch {
		case c == quote:
			return word, i + 1
		case c != '\\' || i+1 == len(text):
			word = append(word, c)
			i++
		case quote == '\'':
			if text[i+1] == '\'' {
				c, i = '\'', i+1
			}
			word = append(word, c)
			i++
		case text[i+1] == 'x' && i+3 < len(text) && isHex(text[i+2]) && isHex(text[i+3]):
			word = append(word, hexValue(text[i+2])<<4|hexValue(text[i+3]))
			i += 4
		default:
			word = append(word, unescape(text[i+1]))
			i += 2
		}
	}
	return word, 0
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// endsWord tells whether an unquoted word ends at c: vertical tab and form feed do not end one,
// though they are skipped before one.
func endsWord(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func hexValue(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}
