package main

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/benchmark/workload"
)

// valueOf is the value of a key, raised by n updates.
func valueOf(number uint64, size int, n uint64) []byte {
	value := make([]byte, size)
	workload.FillValue(value, number)
	binary.LittleEndian.PutUint64(value, binary.LittleEndian.Uint64(value)+n)
	return value
}

func TestCheckerFindsEveryWrongByte(t *testing.T) {
	for _, size := range []int{8, 32, 100} {
		for i := range size {
			var c checker
			value := valueOf(5, size, 0)
			value[i] ^= 0x40
			c.check(5, value, size)
			if c.mismatches != 1 || !strings.HasPrefix(c.first, "key 5: ") {
				t.Fatalf("wrong byte %d of %d: %+v", i, size, c)
			}
		}
	}
}

func TestCheckerCountsUpdates(t *testing.T) {
	c := checker{counts: true}
	c.check(5, valueOf(5, 40, 3), 40)
	c.check(6, valueOf(6, 40, 0), 40)
	c.check(7, valueOf(7, 40, 1000), 40)
	if c.mismatches != 0 || c.updates != 1003 {
		t.Errorf("%+v, want 1003 updates", c)
	}
	c.check(8, valueOf(9, 40, 0), 40)
	c.check(8, valueOf(8, 39, 0), 40)
	if c.mismatches != 2 || !strings.HasPrefix(c.first, "key 8: ") {
		t.Errorf("another key's value and a short one: %+v", c)
	}
	var sum checker
	sum.add(&c)
	sum.add(&checker{mismatches: 1, updates: 2, first: "later"})
	if sum.mismatches != 3 || sum.updates != 1005 || sum.first != c.first {
		t.Errorf("the sum is %+v", sum)
	}
}

func TestUpdatesAreNoExcuseWithoutRMW(t *testing.T) {
	var c checker
	c.check(5, valueOf(5, 40, 1), 40)
	if c.mismatches != 1 {
		t.Error("a raised value passes though nothing raises values")
	}
}
