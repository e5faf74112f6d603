package command

import (
	"bytes"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/tsavorite"
)

// randomBitmap has long runs of equal bits as often as not.
func randomBitmap(random *rand.Rand, length int) []byte {
	value := make([]byte, length)
	kind := random.IntN(3)
	for i := range value {
		switch {
		case kind == 0:
			value[i] = byte(random.Uint32())
		case kind == 1:
			value[i] = 0xff
		}
	}
	if length > 0 && kind > 0 && random.IntN(2) == 0 {
		value[random.IntN(length)] ^= 1 << random.IntN(8)
	}
	return value
}

// TestCountAndFindBits compares with looking at one bit after the other.
func TestCountAndFindBits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		value := randomBitmap(random, 1+random.IntN(100))
		start := random.IntN(len(value) * 8)
		end := start + 1 + random.IntN(len(value)*8-start)
		count, first := 0, [2]int{end, end}
		for at := end - 1; at >= start; at-- {
			bit := bitAt(value, at)
			count += int(bit)
			first[bit] = at
		}
		if got := countBits(value, start, end); got != count {
			t.Fatalf("countBits(%x, %d, %d) = %d, want %d", value, start, end, got, count)
		}
		for bit, want := range first {
			if got := findBit(value, start, end, byte(bit)); got != want {
				t.Fatalf("findBit(%x, %d, %d, %d) = %d, want %d", value, start, end, bit, got, want)
			}
		}
	}
	if got := countBits(nil, 0, 0); got != 0 {
		t.Errorf("an empty range has %d bits", got)
	}
}

// combined is BITOP a bit at a time.
func combined(operator bitOperator, sources [][]byte) []byte {
	length := 0
	for _, source := range sources {
		length = max(length, len(source))
	}
	result := make([]byte, length)
	for at := range length * 8 {
		first, set := bitAt(sources[0], at), 0
		for _, source := range sources {
			set += int(bitAt(source, at))
		}
		others := set - int(first)
		is := map[bitOperator]bool{
			bitAnd: set == len(sources), bitOr: set > 0, bitXor: set%2 == 1, bitNot: first == 0,
			bitDiff: first == 1 && others == 0, bitDiffOne: first == 0 && others > 0, bitAndOr: first == 1 && others > 0, bitOne: set == 1,
		}[operator]
		if is {
			result[at/8] |= 0x80 >> (at % 8)
		}
	}
	return result
}

// TestBitop runs every operator over random sources; one of them is missing, another the destination.
func TestBitop(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	client := &Client{}
	random := rand.New(rand.NewPCG(3, 4))
	for operator := range bitOperators {
		for range 300 {
			words := []string{"BITOP", bitOperatorNames[operator], "k0"}
			sources := make([][]byte, 1)
			if operator != bitNot {
				sources = make([][]byte, 2+random.IntN(4))
			}
			for i := range sources {
				key := fmt.Sprintf("k%d", i)
				sources[i] = randomBitmap(random, random.IntN(40))
				words = append(words, key)
				if random.IntN(8) == 0 {
					sources[i] = nil
					serve(t, c, client, request("DEL", key))
				} else {
					serve(t, c, client, request("SET", key, string(sources[i])))
				}
			}
			want := combined(operator, sources)
			if got := serve(t, c, client, request(words...)); got != fmt.Sprintf(":%d\r\n", len(want)) {
				t.Fatalf("%s of %x: %q, want %d", words[1], sources, got, len(want))
			}
			stored := fmt.Sprintf("$%d\r\n%s\r\n", len(want), want)
			if len(want) == 0 {
				stored = "$-1\r\n"
			}
			if got := serve(t, c, client, request("GET", "k0")); got != stored {
				t.Fatalf("%s of %x: stored %q, want %q", words[1], sources, got, stored)
			}
		}
	}
}

// TestBitopSources checks what Redis 8.2 says of its operators; a script cannot, since 7.0 has none of them.
func TestBitopSources(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	client := &Client{}
	for name, want := range map[string]string{
		"diff":  "-ERR BITOP DIFF must be called with at least two source keys.\r\n",
		"Diff1": "-ERR BITOP DIFF1 must be called with at least two source keys.\r\n",
		"ANDOR": "-ERR BITOP ANDOR must be called with at least two source keys.\r\n",
		"ONE":   ":0\r\n", "DIFF2": "-ERR syntax error\r\n",
	} {
		if got := serve(t, c, client, request("BITOP", name, "d", "a")); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestBitFields compares load and store with the bits one after the other.
func TestBitFields(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 50000 {
		field := bitType{signed: random.IntN(2) == 0, width: 1 + uint(random.IntN(63))}
		if field.signed && random.IntN(10) == 0 {
			field.width = 64
		}
		value := randomBitmap(random, 20)
		offset := random.IntN(90)
		var want uint64
		for i := range int(field.width) {
			want = want<<1 | uint64(bitAt(value, offset+i))
		}
		if field.signed && bitAt(value, offset) == 1 {
			want |= ^uint64(0) << (field.width - 1)
		}
		if got := field.load(value, int64(offset)); got != int64(want) {
			t.Fatalf("load %+v at %d of %x: %x, want %x", field, offset, value, got, want)
		}
		cut := value[:random.IntN(20)] // bits beyond the end are zero
		padded := append(bytes.Clone(cut), make([]byte, 20)...)
		if got, want := field.load(cut, int64(offset)), field.load(padded, int64(offset)); got != want {
			t.Fatalf("load %+v at %d of %x, beyond its end: %x, want %x", field, offset, cut, got, want)
		}
		number := int64(random.Uint64())
		after := bytes.Clone(value)
		field.store(after, int64(offset), number)
		for i := range len(value) * 8 {
			want := bitAt(value, i)
			if place := i - offset; place >= 0 && place < int(field.width) {
				want = byte(uint64(number) >> (int(field.width) - 1 - place) & 1)
			}
			if got := bitAt(after, i); got != want {
				t.Fatalf("store %x as %+v at %d of %x: %x, bit %d is %d", number, field, offset, value, after, i, got)
			}
		}
	}
}

// TestFieldsOverflow compares with arithmetic that has no bounds.
func TestFieldsOverflow(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 100000 {
		field := bitType{signed: random.IntN(2) == 0, width: 1 + uint(random.IntN(63))}
		if field.signed && random.IntN(10) == 0 {
			field.width = 64
		}
		least, greatest := field.bounds()
		number := field.load(randomBitmap(random, 8), 0) // any that fits
		increment := int64(random.Uint64()) >> random.IntN(64)
		sum := new(big.Int).Add(big.NewInt(number), big.NewInt(increment))
		above, below := sum.Cmp(big.NewInt(greatest)) > 0, sum.Cmp(big.NewInt(least)) < 0
		for _, overflow := range []bitOverflow{overflowWrap, overflowSaturate, overflowFail} {
			got, overflows := field.fit(number, increment, overflow)
			want := number + increment // wraps at 64 bits; then at the width, by storing it
			buffer := make([]byte, 8)
			field.store(buffer, 0, want)
			want = field.load(buffer, 0)
			if overflow == overflowSaturate && above {
				want = greatest
			} else if overflow == overflowSaturate && below {
				want = least
			}
			if overflows != (above || below) || got != want && !(overflows && overflow == overflowFail) {
				t.Fatalf("%+v: %d + %d, overflow %d: %d, %v; want %d, %v", field, number, increment, overflow, got, overflows, want, above || below)
			}
		}
	}
}

// TestBitmapsAllocateNothing covers what is done all day, in place and on keys that grow or are new.
func TestBitmapsAllocateNothing(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	client := &Client{}
	serve(t, c, client, request("SET", "long", strings.Repeat("x", 5000)))
	for _, line := range []string{
		"SETBIT k 7 1", "SETBIT k 7 0", "SETBIT new:k 1000 1", "GETBIT k 7", "GETBIT missing 7", "BITCOUNT long", "BITCOUNT long 5 -5 BIT",
		"BITPOS long 1", "BITPOS long 0 5 -5 BIT", "BITOP AND d k long", "BITOP NOT d long", "BITFIELD f INCRBY u8 0 1 GET i5 7",
		"BITFIELD_RO f GET u8 0", "PFADD h a b c", "PFADD h a", "DEL h2", "PFCOUNT h", "PFCOUNT h k2", "PFMERGE h3 h",
	} {
		input := []byte(requests(line, "DEL new:k", line, line))
		c.Serve(client, input) // grows the buffers
		allocations := testing.AllocsPerRun(100, func() {
			c.Out = c.Out[:0]
			c.Serve(client, input)
		})
		if allocations != 0 {
			t.Errorf("%s allocates %v times", line, allocations)
		}
	}
}

// TestBitopIsOneStep has workers write two keys in one step, always the same value, while others
// look whether they differ.
func TestBitopIsOneStep(t *testing.T) {
	const workers, rounds = 4, 500
	c := newTestContext(t, tsavorite.Options{})
	together(t, c, workers, func(worker int, c *Context) {
		client := &Client{}
		for i := range rounds {
			value := strings.Repeat(string(rune('a'+i%20)), 10)
			c.Out = c.Out[:0]
			c.Serve(client, []byte(requests("MSET a "+value+" b "+value, fmt.Sprintf("BITOP XOR d:%d a b", worker), fmt.Sprintf("BITCOUNT d:%d", worker))))
			if got := string(c.Out); got != "+OK\r\n:10\r\n:0\r\n" {
				t.Errorf("worker %d, round %d: %q", worker, i, got)
				return
			}
		}
	})
}
