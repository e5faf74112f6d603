package main

import (
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/benchmark/reply"
)

// checkStream scans a stream as the reply to reads of keys 7, 8 and 9, in pieces.
func checkStream(t *testing.T, stream string, piece int) *checker {
	t.Helper()
	c := &checker{keys: keyspace{dbSize: 10, keyLength: 3, valueLength: 20}}
	c.startBatch([]uint64{7, 8, 9})
	r := reply.Scanner{Check: c}
	r.Expect(3)
	for len(stream) > 0 {
		n := min(piece, len(stream))
		if err := r.Feed([]byte(stream[:n])); err != nil {
			t.Fatal(err)
		}
		stream = stream[n:]
	}
	return c
}

func TestCheckerFindsEveryWrongByte(t *testing.T) {
	k := keyspace{dbSize: 10, keyLength: 3, valueLength: 20}
	var good []byte
	for number := range uint64(3) {
		good = k.appendBulkValue(good, 7+number, false)
	}
	for piece := 1; piece < 30; piece++ {
		if c := checkStream(t, string(good), piece); c.checked != 3 || c.mismatches != 0 || c.firstMismatch != "" {
			t.Fatalf("pieces of %d: %+v", piece, c)
		}
	}
	for i, b := range good {
		if b < 'a' || b > 'p' {
			continue // a header or a CRLF
		}
		bad := append([]byte(nil), good...)
		bad[i] = 'z'
		if c := checkStream(t, string(bad), 7); c.mismatches != 1 || c.checked != 3 {
			t.Fatalf("wrong byte %d: %d mismatches of %d", i, c.mismatches, c.checked)
		}
	}
}

func TestCheckerCountsNilsAndWrongLengths(t *testing.T) {
	k := keyspace{dbSize: 10, keyLength: 3, valueLength: 20}
	right := string(k.appendBulkValue(nil, 8, false))
	c := checkStream(t, "$-1\r\n"+right+"$4\r\nshrt\r\n", 5)
	if c.nils != 1 || c.mismatches != 1 || c.checked != 3 || !strings.Contains(c.firstMismatch, "key XX9: a value of 4 bytes instead of 20") {
		t.Errorf("%+v", c)
	}
	if c = checkStream(t, "-ERR no\r\n"+right+"$-1\r\n", 5); c.mismatches != 0 || c.nils != 1 {
		t.Errorf("after an error reply the next value is compared with the wrong key: %+v", c)
	}
}

func TestCheckerSurvivesMoreValuesThanKeys(t *testing.T) {
	if c := checkStream(t, "*9\r\n"+strings.Repeat("$1\r\na\r\n", 9), 100); c.mismatches != 9 {
		t.Errorf("%d mismatches, want 9", c.mismatches)
	}
}
