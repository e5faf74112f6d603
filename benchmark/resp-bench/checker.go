package main

import (
	"bytes"
	"fmt"
)

// checker is a reply.Checker: it compares the values that a batch returns with the values of its keys, piece by piece. It
// belongs to one thread and is told of each reply by the scanner.
type checker struct {
	keys     keyspace
	numbers  []uint64 // keys of the replies to come
	expected []byte   // value of the key whose reply is being read, and CRLF
	place    int      // in expected
	right    bool     // so far

	checked       uint64
	mismatches    uint64
	nils          uint64
	firstMismatch string
}

// startBatch names the keys whose values come next, in order.
func (c *checker) startBatch(numbers []uint64) { c.numbers = numbers }

// Begin starts a value of length bytes.
func (c *checker) Begin(length int) {
	c.place, c.right = 0, false
	if len(c.numbers) == 0 {
		c.note("a value more than keys were asked for")
		return
	}
	c.expected = append(c.keys.appendValue(c.expected[:0], c.numbers[0]), '\r', '\n')
	c.right = length+2 == len(c.expected)
	if !c.right {
		c.note("a value of %d bytes instead of %d", length, len(c.expected)-2)
	}
}

// Compare takes the next piece of the value or of its CRLF.
func (c *checker) Compare(piece []byte) {
	if c.right && !bytes.Equal(piece, c.expected[c.place:c.place+len(piece)]) {
		c.right = false
		c.note("%q at byte %d instead of %q", piece, c.place, c.expected[c.place:c.place+len(piece)])
	}
	c.place += len(piece)
}

// End ends a value.
func (c *checker) End() {
	c.checked++
	if !c.right {
		c.mismatches++
	}
	c.next()
}

// SkipNil takes a nil in the place of a value.
func (c *checker) SkipNil() {
	c.checked++
	c.nils++
	c.next()
}

// SkipError takes an error in the place of a value; the scanner has counted it.
func (c *checker) SkipError() { c.next() }

// next goes on to the next key.
func (c *checker) next() {
	if len(c.numbers) > 0 {
		c.numbers = c.numbers[1:]
	}
}

// note keeps the first difference for the report.
func (c *checker) note(format string, args ...any) {
	if c.firstMismatch != "" {
		return
	}
	c.firstMismatch = fmt.Sprintf(format, args...)
	if len(c.numbers) > 0 {
		c.firstMismatch = fmt.Sprintf("key %s: %s", c.keys.appendKey(nil, c.numbers[0]), c.firstMismatch)
	}
}
