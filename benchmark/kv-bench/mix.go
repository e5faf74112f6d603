package main

import (
	"fmt"
	"strconv"
	"strings"
)

// mix is how many of a hundred operations are reads, upserts, RMWs and deletes.
type mix [4]uint8

// UnmarshalText sets m from a list such as 50,50,0,0.
func (m *mix) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), ",")
	sum := 0
	if len(parts) == len(m) {
		for i, part := range parts {
			n, err := strconv.ParseUint(strings.TrimSpace(part), 10, 8)
			if err != nil {
				return fmt.Errorf("--rumd is %q; it must be four percentages such as 50,50,0,0", text)
			}
			m[i] = uint8(n)
			sum += int(n)
		}
	}
	if sum != 100 {
		return fmt.Errorf("--rumd is %q; it must be four percentages that add up to 100", text)
	}
	return nil
}

// String writes m as the flag takes it.
func (m mix) String() string { return fmt.Sprintf("%d,%d,%d,%d", m[0], m[1], m[2], m[3]) }

// readsOnly reports whether nothing is written.
func (m mix) readsOnly() bool { return m[0] == 100 }

// The places of the operations in a mix.
const (
	mixRead = iota
	mixUpsert
	mixRMW
	mixDelete
)
