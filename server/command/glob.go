package command

// globMatch reports whether text matches a glob pattern, byte for byte as Redis's own matcher
// does: * any run of bytes, ? one byte, [abc] [a-z] [^a] one byte of a class, \x the byte x. Two of
// its oddities are kept: an empty text matches the empty pattern only (KEYS and SCAN know the
// pattern * themselves), and the bytes of a range are compared as signed numbers.
//
// A * is tried at one place after another, but only the last * seen is ever resumed: a match that
// fails behind a later * fails for every longer run of an earlier one too. So the time is bounded
// by the product of the lengths, where the recursive form is exponential.
func globMatch(pattern, text []byte) bool {
	if len(text) == 0 {
		return len(pattern) == 0
	}
	position := 0
	resumePattern, resumeText := -1, 0
	for at := 0; at < len(pattern) || position < len(text); {
		if at < len(pattern) && pattern[at] == '*' {
			at++
			resumePattern, resumeText = at, position
			continue
		}
		if at < len(pattern) && position < len(text) {
			if next, ok := matchOne(pattern, at, text[position]); ok {
				at = next
				position++
				continue
			}
		}
		if resumePattern < 0 || resumeText >= len(text) {
			return false
		}
		resumeText++
		at, position = resumePattern, resumeText
	}
	return true
}

// matchOne reports whether the pattern element at a position, which is no *, matches a byte, and
// where the next element begins.
func matchOne(pattern []byte, at int, b byte) (next int, ok bool) {
	switch pattern[at] {
	case '?':
		return at + 1, true
	case '[':
		return matchClass(pattern, at+1, b)
	case '\\':
		if at+1 < len(pattern) {
			at++
		}
	}
	return at + 1, pattern[at] == b
}

// matchClass matches a byte against the class whose inside begins at a position. A class that is
// not closed ends with the pattern.
func matchClass(pattern []byte, at int, b byte) (next int, ok bool) {
	negated := at < len(pattern) && pattern[at] == '^'
	if negated {
		at++
	}
	for ; at < len(pattern) && pattern[at] != ']'; at++ {
		switch {
		case pattern[at] == '\\' && at+1 < len(pattern):
			at++
			ok = ok || pattern[at] == b
		case at+2 < len(pattern) && pattern[at+1] == '-':
			first, last := int8(pattern[at]), int8(pattern[at+2])
			ok = ok || min(first, last) <= int8(b) && int8(b) <= max(first, last)
			at += 2
		default:
			ok = ok || pattern[at] == b
		}
	}
	return min(at+1, len(pattern)), ok != negated
}
