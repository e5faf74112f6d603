package resp

import "bytes"

// Result is what came of an attempt to read a request or a reply.
type Result uint8

// The results of an attempt.
const (
	// Complete means that one whole request or reply was read.
	Complete Result = iota
	// NeedMore means that the bytes so far are fine and the rest has not arrived.
	NeedMore
	// Malformed means that the bytes can never become a request; the connection must be closed.
	Malformed
)

// Limits of Redis 7.0, in bytes and in arguments.
const (
	// MaxInlineBytes bounds an inline request and each count or length line.
	MaxInlineBytes = 64 << 10
	// MaxArguments bounds the arguments of one request.
	MaxArguments = 1<<31 - 1
	// DefaultMaxBulkBytes is Redis's default for proto-max-bulk-len.
	DefaultMaxBulkBytes = 512 << 20
	// MaxUnauthenticatedArguments and MaxUnauthenticatedBulkBytes hold until a client has authenticated.
	MaxUnauthenticatedArguments = 10
	MaxUnauthenticatedBulkBytes = 16 << 10
)

// Parser reads the requests of one connection. Its zero value is ready. It keeps no argument
// slice, so that an idle connection costs no more than the struct itself.
type Parser struct {
	// MaxBulkBytes bounds one argument; 0 means DefaultMaxBulkBytes.
	MaxBulkBytes int
	// Unauthenticated applies the narrow limits for clients that have yet to give their password.
	Unauthenticated bool

	err  *ProtocolError
	need int
	// An incomplete request with many arguments is not read again from its start: partial says how
	// far it was read. nil otherwise.
	partial *partial
}

// partial is a multibulk request of which the first arguments have arrived. Offsets count from
// the request's first byte, since the input may lie elsewhere when it comes again.
type partial struct {
	count    int // arguments announced
	position int // offset of the first argument that is not read yet
	marks    []mark
}

// mark is where one argument lies.
type mark struct{ start, end int }

// partialMinArguments is how many arguments an incomplete request has before its marks are kept.
// Below, reading it again costs less than keeping them.
const partialMinArguments = 32

// Next reads one request from the start of input. It appends the arguments to args[:0], whose
// memory is thus reused, and returns them with the number of bytes to drop from the input.
// Arguments are slices of input, except those an inline request quotes, which are copies.
//
// Empty lines and empty multibulks before a request are dropped silently. So a NeedMore may also
// consume bytes. After NeedMore, call again with the same bytes (less those consumed) and more
// behind them: at least Need in all. After Malformed, Err says what to answer before closing.
func (p *Parser) Next(input []byte, args [][]byte) (arguments [][]byte, consumed int, result Result) {
	arguments = args[:0]
	if p.partial == nil {
		if arguments, consumed = nextPlain(input, arguments); consumed > 0 {
			return arguments, consumed, Complete
		}
	}
	return p.nextOdd(input, arguments[:0])
}

// Need is how long the input must be at least before Next can make progress, after a NeedMore.
func (p *Parser) Need() int { return p.need }

// Err is the protocol error after a Malformed.
func (p *Parser) Err() *ProtocolError { return p.err }

// nextPlain reads the request nearly every request is: a whole multibulk of one to nine arguments,
// each shorter than 10,000 bytes. Anything else, from a long argument to a malformed one, it
// leaves to nextOdd by returning 0. The byte behind each number is checked, the line ends are not,
// as in Redis.
func nextPlain(input []byte, args [][]byte) ([][]byte, int) {
	if len(input) < 4 || input[0] != '*' || input[2] != '\r' {
		return args, 0
	}
	count := int(input[1]) - '0'
	if count < 1 || count > 9 {
		return args, 0
	}
	position := 4
	for ; count > 0; count-- {
		// The shortest argument, $0\r\n\r\n, has six bytes.
		if len(input)-position < 6 || input[position] != '$' {
			return args, 0
		}
		length := int(input[position+1]) - '0'
		position += 2
		if uint(length) > 9 {
			return args, 0
		}
		if input[position] != '\r' {
			if length == 0 {
				return args, 0
			}
			stop := position + 3
			for {
				digit := int(input[position]) - '0'
				if uint(digit) > 9 || position >= stop {
					return args, 0
				}
				length = length*10 + digit
				position++
				if input[position] == '\r' {
					break
				}
			}
		}
		start := position + 2
		end := start + length
		if end+2 > len(input) {
			return args, 0
		}
		args = append(args, input[start:end:end])
		position = end + 2
	}
	return args, position
}

// nextOdd reads any request, whole or not, and sets need, err and partial.
func (p *Parser) nextOdd(input []byte, args [][]byte) ([][]byte, int, Result) {
	skipped := 0
	for {
		p.need = 1
		rest := input[skipped:]
		if len(rest) == 0 {
			return args, skipped, NeedMore
		}
		var consumed int
		var result Result
		if rest[0] == '*' {
			args, consumed, result = p.nextMultibulk(rest, args)
		} else {
			args, consumed, result = p.nextInline(rest, args)
		}
		if result != Complete {
			return args[:0], skipped, result
		}
		skipped += consumed
		if len(args) > 0 {
			return args, skipped, Complete
		}
	}
}

// nextMultibulk reads a multibulk request; an empty one gives no arguments.
func (p *Parser) nextMultibulk(input []byte, args [][]byte) ([][]byte, int, Result) {
	if p.partial != nil {
		return p.resume(input, args)
	}
	end, result := p.numberLine(input, 0, errTooBigCount)
	if result != Complete {
		return args, 0, result
	}
	count, ok := parseInteger(input[1:end])
	switch {
	case !ok || count > MaxArguments:
		return args, 0, p.fail(errInvalidCount)
	case count > MaxUnauthenticatedArguments && p.Unauthenticated:
		return args, 0, p.fail(errUnauthenticatedCount)
	}
	first := end + 2
	position := first
	for int64(len(args)) < count {
		start, end, result := p.bulk(input, position)
		if result != Complete {
			if result == NeedMore {
				p.keep(input, args, int(count), first)
			}
			return args, 0, result
		}
		args = append(args, input[start:end:end])
		position = end + 2
	}
	return args, position, Complete
}

// keep notes how far an incomplete request was read, when that is worth it.
func (p *Parser) keep(input []byte, args [][]byte, count, first int) {
	if len(args) < partialMinArguments {
		return
	}
	// Room for all of them at once, as long as a peer cannot have much memory spent by a number.
	p.partial = &partial{count: count, position: first, marks: make([]mark, 0, min(count, maxMarksAhead))}
	for _, argument := range args {
		start := p.partial.position + bytes.IndexByte(input[p.partial.position:], '\r') + 2
		p.partial.add(start, start+len(argument))
	}
}

// resume goes on with the request that partial describes.
func (p *Parser) resume(input []byte, args [][]byte) ([][]byte, int, Result) {
	partial := p.partial
	for len(partial.marks) < partial.count {
		start, end, result := p.bulk(input, partial.position)
		if result != Complete {
			return args, 0, result
		}
		partial.add(start, end)
	}
	for _, m := range partial.marks {
		args = append(args, input[m.start:m.end:m.end])
	}
	p.partial = nil
	return args, partial.position, Complete
}

// maxMarksAhead is the most arguments that room is made for before they are there: 1 MiB of marks.
const maxMarksAhead = 1 << 16

func (p *partial) add(start, end int) {
	p.marks = append(p.marks, mark{start, end})
	p.position = end + 2
}

// bulk reads the argument at position. On NeedMore, need says where it ends as far as is known:
// inside the bytes of an argument nothing can be wrong, inside its length line every byte counts.
func (p *Parser) bulk(input []byte, position int) (start, end int, result Result) {
	lineEnd, result := p.numberLine(input, position, errTooBigLength)
	if result != Complete {
		return 0, 0, result
	}
	if input[position] != '$' {
		return 0, 0, p.fail(errExpectedDollar(input[position]))
	}
	length, ok := parseInteger(input[position+1 : lineEnd])
	switch {
	case !ok || length < 0 || length > int64(p.maxBulkBytes()):
		return 0, 0, p.fail(errInvalidLength)
	case length > MaxUnauthenticatedBulkBytes && p.Unauthenticated:
		return 0, 0, p.fail(errUnauthenticatedLength)
	}
	start = lineEnd + 2
	end = start + int(length)
	if end+2 > len(input) {
		p.need = end + 2
		return 0, 0, NeedMore
	}
	return start, end, Complete
}

// numberLine finds the carriage return that ends the line whose mark is at position. Redis waits
// for the byte behind it, and does not look at that.
func (p *Parser) numberLine(input []byte, position int, tooBig *ProtocolError) (end int, result Result) {
	line := input[position:min(len(input), position+MaxInlineBytes+1)]
	end = bytes.IndexByte(line, '\r')
	if end < 0 && len(line) > MaxInlineBytes {
		return 0, p.fail(tooBig)
	}
	if end < 0 || position+end+2 > len(input) {
		p.need = len(input) + 1
		return 0, NeedMore
	}
	return position + end, Complete
}

func (p *Parser) maxBulkBytes() int {
	if p.MaxBulkBytes > 0 {
		return p.MaxBulkBytes
	}
	return DefaultMaxBulkBytes
}

// fail notes the error and forgets what was read.
func (p *Parser) fail(err *ProtocolError) Result {
	p.err, p.partial = err, nil
	return Malformed
}

// parseInteger reads a number as Redis's string2ll does: decimal digits without leading zeros or
// a plus sign, within 64 bits.
func parseInteger(text []byte) (int64, bool) {
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	if len(text) == 0 || len(text) > 19 {
		return 0, false
	}
	if text[0] == '0' {
		return 0, len(text) == 1 && !negative
	}
	var magnitude uint64
	for _, c := range text {
		digit := c - '0'
		if digit > 9 {
			return 0, false
		}
		magnitude = magnitude*10 + uint64(digit)
	}
	switch {
	case negative && magnitude <= 1<<63:
		return int64(-magnitude), true
	case !negative && magnitude < 1<<63:
		return int64(magnitude), true
	}
	return 0, false
}
