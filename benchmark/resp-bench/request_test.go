package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/benchmark/workload"
)

// inOrder names keys 7, 8, 9 and so on.
func inOrder(i int) uint64 { return uint64(7 + i) }

func TestRequestBytes(t *testing.T) {
	k := keyspace{dbSize: 100, keyLength: 4, valueLength: 5, ttlSeconds: 60}
	value := func(number uint64) string {
		v := make([]byte, 5)
		workload.FillValue(v, number)
		return string(v)
	}
	for op, want := range map[operation]string{
		opPing:  "PING\r\nPING\r\n",
		opGet:   "*2\r\n$3\r\nGET\r\n$4\r\nXXX7\r\n*2\r\n$3\r\nGET\r\n$4\r\nXXX8\r\n",
		opIncr:  "*2\r\n$4\r\nINCR\r\n$4\r\nXXX7\r\n*2\r\n$4\r\nINCR\r\n$4\r\nXXX8\r\n",
		opDel:   "*2\r\n$3\r\nDEL\r\n$4\r\nXXX7\r\n*2\r\n$3\r\nDEL\r\n$4\r\nXXX8\r\n",
		opSet:   "*3\r\n$3\r\nSET\r\n$4\r\nXXX7\r\n$5\r\n" + value(7) + "\r\n*3\r\n$3\r\nSET\r\n$4\r\nXXX8\r\n$5\r\n" + value(8) + "\r\n",
		opSetEx: "*4\r\n$5\r\nSETEX\r\n$4\r\nXXX7\r\n$2\r\n60\r\n$5\r\n" + value(7) + "\r\n*4\r\n$5\r\nSETEX\r\n$4\r\nXXX8\r\n$2\r\n60\r\n$5\r\n" + value(8) + "\r\n",
		opMGet:  "*3\r\n$4\r\nMGET\r\n$4\r\nXXX7\r\n$4\r\nXXX8\r\n",
		opMSet:  "*5\r\n$4\r\nMSET\r\n$4\r\nXXX7\r\n$5\r\n" + value(7) + "\r\n$4\r\nXXX8\r\n$5\r\n" + value(8) + "\r\n",
	} {
		got := string(k.appendBatch([]byte("before"), op, 2, inOrder))
		if got != "before"+want {
			t.Errorf("%s:\n got %q\nwant %q", op, got, "before"+want)
		}
	}
}

func TestKeysAndValues(t *testing.T) {
	for _, c := range []struct {
		keyLength, valueLength int
		number                 uint64
		key                    string
		valueBytes             int
	}{
		{8, 8, 42, "XXXXXX42", 8},
		{1, 100, 123456, "123456", 100},
		{40, 0, 5, strings.Repeat("X", 39) + "5", 40},
		{0, 0, 0, "0", 1},
	} {
		k := keyspace{dbSize: 1 << 20, keyLength: c.keyLength, valueLength: c.valueLength}
		key, value := k.appendKey(nil, c.number), k.appendValue(nil, c.number)
		if string(key) != c.key || k.keySize(c.number) != len(key) {
			t.Errorf("key %d of length %d is %q (size %d), want %q", c.number, c.keyLength, key, k.keySize(c.number), c.key)
		}
		if len(value) != c.valueBytes || k.valueSize(c.number) != len(value) {
			t.Errorf("value of key %d has %d bytes (size %d), want %d", c.number, len(value), k.valueSize(c.number), c.valueBytes)
		}
		if c.valueLength == 0 && string(value) != string(key) {
			t.Errorf("with --valuelength 0 the value is %q, want the key %q", value, key)
		}
	}
}

func TestNumericValuesAreCountable(t *testing.T) {
	for _, length := range []int{0, 1, 8, 18, 19, 1000} {
		k := keyspace{dbSize: 100, keyLength: 8, valueLength: length}
		for number := range uint64(100) {
			text := string(k.appendNumericValue(nil, number))
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || strconv.FormatInt(n, 10) != text || n > 1e18 {
				t.Fatalf("valuelength %d: the value of key %d is %q (%v)", length, number, text, err)
			}
		}
	}
}

func TestBatchBuilder(t *testing.T) {
	for _, zipf := range []bool{false, true} {
		o := options{Op: opGet, DBSize: 1000, Zipf: zipf, Verify: true}
		keys := keyspace{dbSize: 1000, keyLength: 200}
		g, err := newBatchBuilder(&o, keys, 512)
		if err != nil {
			t.Fatal(err)
		}
		var hottest int
		for range 50 {
			b := g.build()
			if b.replies != 512 || len(b.numbers) != 512 {
				t.Fatalf("%d replies, %d numbers, want 512", b.replies, len(b.numbers))
			}
			want := keys.appendBatch(nil, opGet, 512, func(i int) uint64 { return b.numbers[i] })
			if string(b.request) != string(want) {
				t.Fatal("the request is not that of the batch's numbers")
			}
			for _, n := range b.numbers {
				if n == 0 {
					hottest++
				}
			}
		}
		if g.longest > cap(g.buffer) || cap(g.buffer) != 2*firstBufferBytes {
			t.Errorf("longest batch %d, buffer %d, want a buffer of %d", g.longest, cap(g.buffer), 2*firstBufferBytes)
		}
		// Key 0 gets one draw in a thousand when uniform, and one in 7.5 with Zipf's theta 0.99.
		if zipf != (hottest > 2500) || !zipf && hottest > 60 {
			t.Errorf("zipf %v: key 0 was drawn %d times of %d", zipf, hottest, 50*512)
		}
	}
}

func TestMultiKeyBatchesHaveOneReply(t *testing.T) {
	for op, want := range map[operation]int{opGet: 9, opSet: 9, opPing: 9, opMGet: 1, opMSet: 1} {
		if got := op.repliesPerBatch(9); got != want {
			t.Errorf("a batch of 9 %s has %d replies, want %d", op, got, want)
		}
	}
}
