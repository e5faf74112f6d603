package main

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

// replies scans RESP2 replies as they arrive, in pieces cut anywhere, and counts them. It looks at
// headers and steps over the rest.
//
// I1: outstanding is how many values have yet to begin or end; an array of n turns one into n, so
// nothing has to be nested.
// I2: skip is how many bytes of the present bulk string, CRLF included, have yet to come.
type replies struct {
	outstanding int
	skip        int
	state       replyState
	marker      byte
	negative    bool
	number      int64 // of the header or integer being read; afterwards the last one

	nils       uint64
	errors     uint64
	bytes      uint64 // received in all
	errorText  []byte // of the error reply being read
	firstError string

	check *checker // compares values; nil: they are stepped over
}

// expect says that count more top-level replies follow.
func (r *replies) expect(count int) { r.outstanding += count }

// complete reports whether all expected replies have been seen to their end.
func (r *replies) complete() bool { return r.outstanding == 0 && r.state == atMarker }

// feed scans the next piece of the stream. It does not keep piece.
func (r *replies) feed(piece []byte) error {
	r.bytes += uint64(len(piece))
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
			if r.check != nil {
				r.check.compare(piece[i : i+n])
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
func (r *replies) begin(marker byte) error {
	if r.outstanding == 0 {
		return fmt.Errorf("cannot count replies: %q follows after the last one expected", marker)
	}
	r.marker = marker
	switch marker {
	case '$', '*', ':':
		r.state, r.number, r.negative = inNumber, 0, false
	case '+', '-':
		r.state, r.errorText = inLine, r.errorText[:0]
	default:
		return fmt.Errorf("cannot read a reply: it begins with %q; it must be one of + - : $ *", marker)
	}
	return nil
}

// readNumber takes digits up to the end of the line; ended says that it came.
func (r *replies) readNumber(piece []byte) (n int, ended bool, err error) {
	number := r.number
	for i, c := range piece {
		switch {
		case c >= '0' && c <= '9':
			number = number*10 + int64(c-'0')
		case c == '\n':
			r.number = number
			return i + 1, true, nil
		case c == '-':
			r.negative = true
		case c != '\r':
			return i, false, fmt.Errorf("cannot read a reply: %q in the number of a %q header", c, r.marker)
		}
	}
	r.number = number
	return len(piece), false, nil
}

// endNumber acts on a complete header or integer.
func (r *replies) endNumber() error {
	if r.negative {
		r.number = -r.number
	}
	r.state = atMarker
	switch {
	case r.marker == ':':
		r.outstanding--
	case r.number > bulkLengthLimit || r.number < -1:
		return fmt.Errorf("cannot read a reply: the length of a %q header is %d", r.marker, r.number)
	case r.number == -1:
		r.outstanding--
		r.nils++
		if r.check != nil && r.marker == '$' {
			r.check.skipNil()
		}
	case r.marker == '$':
		r.state, r.skip = inBulk, int(r.number)+2
		if r.check != nil {
			r.check.begin(int(r.number))
		}
	default:
		r.outstanding += int(r.number) - 1
	}
	return nil
}

// readLine takes the text of a status or an error, and returns how many bytes it took.
func (r *replies) readLine(piece []byte) int {
	end := bytes.IndexByte(piece, '\n')
	text := piece
	if end >= 0 {
		text = piece[:end]
	}
	if r.marker == '-' && len(r.errorText) < errorTextLimit {
		r.errorText = append(r.errorText, text...)
	}
	if end < 0 {
		return len(piece)
	}
	r.state = atMarker
	r.outstanding--
	if r.marker == '-' {
		r.errors++
		if r.firstError == "" {
			r.firstError = string(bytes.TrimSuffix(r.errorText, []byte{'\r'}))
		}
		if r.check != nil {
			r.check.skipError()
		}
	}
	return end + 1
}

// endBulk ends a bulk string.
func (r *replies) endBulk() {
	r.state = atMarker
	r.outstanding--
	if r.check != nil {
		r.check.end()
	}
}
