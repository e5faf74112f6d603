package main

import (
	"encoding/binary"
	"fmt"

	"github.com/pyropedb/pyrope/benchmark/workload"
)

// maxUpdates bounds what the counting word of a value may have been raised by.
const maxUpdates = 1 << 40

// checker compares values with what their keys say, byte for byte.
type checker struct {
	counts     bool // RMWs raise the first word, so it may lie above its first value
	mismatches uint64
	updates    uint64 // sum of what first words were raised by
	first      string // the first mismatch, in words
}

// check compares one value.
func (c *checker) check(number uint64, value []byte, size int) {
	if len(value) != size {
		c.note(number, fmt.Sprintf("%d bytes instead of %d", len(value), size))
		return
	}
	raised := binary.LittleEndian.Uint64(value) - workload.Word(number, 0)
	if raised != 0 && (!c.counts || raised >= maxUpdates) {
		c.note(number, fmt.Sprintf("its first word is %#x, written as %#x", binary.LittleEndian.Uint64(value), workload.Word(number, 0)))
		return
	}
	if !workload.CheckValueFrom(value[8:], number, 1) {
		c.note(number, fmt.Sprintf("its bytes are not those written: %q", value))
		return
	}
	c.updates += raised
}

// note counts a mismatch and keeps the first.
func (c *checker) note(number uint64, what string) {
	c.mismatches++
	if c.first == "" {
		c.first = fmt.Sprintf("key %d: %s", number, what)
	}
}

// add takes the findings of another checker.
func (c *checker) add(other *checker) {
	c.mismatches += other.mismatches
	c.updates += other.updates
	if c.first == "" {
		c.first = other.first
	}
}
