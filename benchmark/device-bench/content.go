package main

import (
	"encoding/binary"
	"fmt"

	"github.com/pyropedb/pyrope/benchmark/program"
)

// wordAt is what the eight bytes at an address hold, the address being a multiple of eight.
func wordAt(address uint64) uint64 {
	x := (address + 1) * 0x9E3779B97F4A7C15
	return x ^ x>>29
}

// fillContent stores in p what belongs at address; both address and length are multiples of eight.
func fillContent(p []byte, address uint64) {
	for i := 0; i+8 <= len(p); i += 8 {
		binary.LittleEndian.PutUint64(p[i:], wordAt(address+uint64(i)))
	}
}

// checkContent reports the first word of p that does not belong at address.
func checkContent(p []byte, address uint64) error {
	for i := 0; i+8 <= len(p); i += 8 {
		if got, want := binary.LittleEndian.Uint64(p[i:]), wordAt(address+uint64(i)); got != want {
			return fmt.Errorf("%w: the eight bytes at address %d are %#016x, want %#016x (byte %d of a read at %d)", program.ErrMismatch, address+uint64(i), got, want, i, address)
		}
	}
	return nil
}
