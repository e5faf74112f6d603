// Package reply scans what a RESP server answers, as it arrives, for benchmarks that count replies
// rather than use them: headers are read, bytes are stepped over, nothing is kept or allocated.
//
//	*2\r\n  $3\r\n abc \r\n  :7\r\n      outstanding: 1 → 2 → 1 → 0
//	marker  number  skip            a piece may end anywhere
package reply

import (
	"bytes"
	"fmt"
)

// replyState is where in a reply the scanner stands.
type replyState uint8

const (
	atMarker replyState = iota // before the first byte of a value
	inNumber                   // in the digits of a length or an integer
	inLine                     // in the text of a status or an error
	inBulk                     // in the bytes of a bulk string or its CRLF
)

// Bounds of what a server may send; beyond them the stream is taken for garbage.
const (
	bulkLengthLimit = 1 << 30
	errorTextLimit  = 1 << 10 // bytes kept of an error reply
)

// Scanner scans RESP2 and RESP3 replies as they arrive, in pieces cut anywhere, and counts them. It
// looks at headers and steps over the rest. Its zero value is ready; it belongs to one goroutine.
//
// I1: outstanding is how many values have yet to begin or end; an array of n turns one into n, so
// nothing has to be nested.
// I2: skip is how many bytes of the present bulk string, CRLF included, have yet to come.
type Scanner struct {
	outstanding int
	skip        int
	state       replyState
	marker      byte
	negative    bool

	errorText []byte // of the error reply being read

	Number     int64 // of the header or integer being read; afterwards the last one
	Nils       uint64
	Errors     uint64
	Bytes      uint64 // received in all
	FirstError string

	Check Checker // compares values; nil: they are stepped over
}

// Checker is told of the values of a stream, in order.
type Checker interface {
	Begin(length int)     // a value of so many bytes follows
	Compare(piece []byte) // the next piece of it, or of its CRLF
	End()
	SkipNil()   // a nil stands in the place of a value
	SkipError() // an error does; the scanner has counted it
}

// Expect says that count more top-level replies follow.
func (r *Scanner) Expect(count int) { r.outstanding += count }

// Complete reports whether all expected replies have been seen to their end.
func (r *Scanner) Complete() bool { return r.outstanding == 0 && r.state == atMarker }

// Feed scans the next piece of the stream. It does not keep piece.
func (r *Scanner) Feed(piece []byte) error {
	r.Bytes += uint64(len(piece))
	for i := 0; i < len(piece); {
		switch r.state {
		case atMarker:
			if err := r.begin(piece[i]); err != nil {
				return err
			}
			i++
		case inNumber:
			n, ended, err := r.readNumber(piece[i:])
			if err != nil {
				return err
			}
			i += n
			if ended {
				if err := r.endNumber(); err != nil {
					return err
				}
			}
		case inLine:
			i += r.readLine(piece[i:])
		case inBulk:
			n := min(r.skip, len(piece)-i)
			switch {
			case r.marker == '!':
				r.keepError(piece[i : i+n])
			case r.Check != nil:
				r.Check.Compare(piece[i : i+n])
			}
			i += n
			if r.skip -= n; r.skip == 0 {
				r.endBulk()
			}
		}
	}
	return nil
}

// begin starts a value with its marker.
func (r *Scanner) begin(marker byte) error {
	if r.outstanding == 0 && marker != '>' {
		return fmt.Errorf("cannot count replies: %q follows after the last one expected", marker)
	}
	r.marker = marker
	switch marker {
	case '$', '*', ':', '=', '!', '%', '~', '>':
		r.state, r.Number, r.negative = inNumber, 0, false
	case '+', '-', '_', '#', ',', '(':
		r.state, r.errorText = inLine, r.errorText[:0]
	default:
		return fmt.Errorf("cannot read a reply: it begins with %q; it must be one of + - : $ * _ # , ( = ! %% ~ >", marker)
	}
	return nil
}

// readNumber takes digits up to the end of the line; ended says that it came.
func (r *Scanner) readNumber(piece []byte) (n int, ended bool, err error) {
	number := r.Number
	for i, c := range piece {
		switch {
		case c >= '0' && c <= '9':
			number = number*10 + int64(c-'0')
		case c == '\n':
			r.Number = number
			return i + 1, true, nil
		case c == '-':
			r.negative = true
		case c != '\r':
			return i, false, fmt.Errorf("cannot read a reply: %q in the number of a %q header", c, r.marker)
		}
	}
	r.Number = number
	return len(piece), false, nil
}

// endNumber acts on a complete header or integer.
func (r *Scanner) endNumber() error {
	if r.negative {
		r.Number = -r.Number
	}
	r.state = atMarker
	switch {
	case r.marker == ':':
		r.outstanding--
	case r.Number > bulkLengthLimit || r.Number < -1:
		return fmt.Errorf("cannot read a reply: the length of a %q header is %d", r.marker, r.Number)
	case r.Number == -1:
		r.outstanding--
		r.Nils++
		if r.Check != nil && r.marker == '$' {
			r.Check.SkipNil()
		}
	case r.marker == '$' || r.marker == '=' || r.marker == '!':
		r.state, r.skip = inBulk, int(r.Number)+2
		switch {
		case r.marker == '!':
			r.errorText = r.errorText[:0]
		case r.Check != nil:
			r.Check.Begin(int(r.Number))
		}
	case r.marker == '%':
		r.outstanding += 2*int(r.Number) - 1
	case r.marker == '>':
		r.outstanding += int(r.Number) // a push answers nothing
	default:
		r.outstanding += int(r.Number) - 1
	}
	return nil
}

// readLine takes the text of a status or an error, and returns how many bytes it took.
func (r *Scanner) readLine(piece []byte) int {
	end := bytes.IndexByte(piece, '\n')
	text := piece
	if end >= 0 {
		text = piece[:end]
	}
	if r.marker == '-' {
		r.keepError(text)
	}
	if end < 0 {
		return len(piece)
	}
	r.state = atMarker
	r.outstanding--
	switch r.marker {
	case '-':
		r.noteError()
	case '_':
		r.Nils++
		if r.Check != nil {
			r.Check.SkipNil()
		}
	}
	return end + 1
}

// keepError keeps the next piece of an error's text.
func (r *Scanner) keepError(piece []byte) {
	if len(r.errorText) < errorTextLimit {
		r.errorText = append(r.errorText, piece...)
	}
}

// noteError counts an error whose text has been read.
func (r *Scanner) noteError() {
	r.Errors++
	if r.FirstError == "" {
		r.FirstError = string(bytes.TrimSpace(r.errorText))
	}
	if r.Check != nil {
		r.Check.SkipError()
	}
}

// endBulk ends a bulk string.
func (r *Scanner) endBulk() {
	r.state = atMarker
	r.outstanding--
	switch {
	case r.marker == '!':
		r.noteError()
	case r.Check != nil:
		r.Check.End()
	}
}

// Outstanding is how many values have yet to end, of those that Expect named.
func (r *Scanner) Outstanding() int { return r.outstanding }
