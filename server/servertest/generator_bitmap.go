package servertest

import (
	"strconv"
	"strings"
)

// NewBitmapGenerator returns the generator of commands on bitmaps.
func NewBitmapGenerator(seed uint64) *Generator {
	g := NewGenerator(seed)
	g.templates = bitmapTemplates
	g.producers = bitmapProducers
	return g
}

var bitmapTemplates = []string{
	"SETBIT key bitoffset bit", "SETBIT key bitoffset bit", "SETBIT key bitoffset bit", "GETBIT key bitoffset", "GETBIT key farbitoffset",
	"BITCOUNT key", "BITCOUNT key bitposition", "BITCOUNT key bitposition bitposition", "BITCOUNT key bitposition bitposition unit",
	"BITCOUNT key bitposition bitposition unit",
	"BITPOS key bit", "BITPOS key bit bitposition", "BITPOS key bit bitposition bitposition", "BITPOS key bit bitposition bitposition unit",
	"BITPOS key bit bitposition bitposition unit", "BITPOS key bit bitposition bitposition unit word",
	"BITOP bitop key key", "BITOP bitop key key key", "BITOP bitop key key key key key", "BITOP bitop key",
	"BITFIELD key", "BITFIELD key fieldread", "BITFIELD key fieldwrite", "BITFIELD key overflow fieldwrite", "BITFIELD key overflow fieldwrite fieldread",
	"BITFIELD key fieldwrite overflow fieldwrite fieldwrite fieldread", "BITFIELD key fieldread fieldread fieldread overflow",
	"BITFIELD_RO key", "BITFIELD_RO key fieldread", "BITFIELD_RO key fieldread fieldread", "BITFIELD_RO key fieldwrite", "BITFIELD_RO key overflow fieldread",
	"GET key", "GET key", "GET key", "SET key value", "SET key runs", "SET key runs", "SET key integer", "INCR key", "APPEND key value", "APPEND key runs",
	"SETRANGE key offset value", "GETRANGE key position position", "STRLEN key", "DEL key", "DEL key key", "EXPIRE key time", "TTL key", "TYPE key",
	"EXISTS key key", "word",
}

var bitmapProducers = map[string]func(*Generator) []string{
	"bit": func(g *Generator) []string {
		if g.random.IntN(12) == 0 {
			return []string{pick(g, edgeIntegers)}
		}
		return []string{strconv.Itoa(g.random.IntN(2))}
	},
	"bitoffset": func(g *Generator) []string { return []string{g.bitOffset()} },
	"farbitoffset": func(g *Generator) []string {
		return []string{pick(g, []string{"2147483647", "2147483648", "4294967295", "4294967296", "100000", "4294967288"})}
	},
	"bitposition": func(g *Generator) []string {
		switch g.random.IntN(10) {
		case 0:
			return []string{pick(g, edgeIntegers)}
		case 1, 2, 3:
			return []string{strconv.Itoa(g.random.IntN(41) - 20)}
		}
		return []string{strconv.Itoa(g.random.IntN(801) - 400)}
	},
	"unit": func(g *Generator) []string {
		return []string{g.recase(pick(g, []string{"BIT", "BIT", "BIT", "BYTE", "BYTE", "BITS", "", "B"}))}
	},
	"bitop": func(g *Generator) []string {
		return []string{g.recase(pick(g, []string{"AND", "OR", "XOR", "NOT", "AND", "OR", "XOR", "NOT", "NAND", ""}))}
	},
	"overflow": func(g *Generator) []string {
		how := g.recase(pick(g, []string{"WRAP", "SAT", "FAIL", "WRAP", "SAT", "FAIL", "WRAP", "SAT", "FAIL", "NOPE"}))
		return []string{g.recase("OVERFLOW"), how}
	},
	"fieldread": func(g *Generator) []string { return []string{g.recase("GET"), g.fieldType(), g.fieldOffset()} },
	"fieldwrite": func(g *Generator) []string {
		return []string{g.recase(pick(g, []string{"SET", "INCRBY"})), g.fieldType(), g.fieldOffset(), g.fieldValue()}
	},
	"runs": func(g *Generator) []string { return []string{g.runs()} },
}

// wrongBitOffsets are refused by any server; those that would make a value too long for a page of
// the log, but not for Redis, are left out.
var wrongBitOffsets = []string{
	"4294967296", "4294967297", "9223372036854775807", "9223372036854775808", "-1", "-9223372036854775808", "x", "", "1.5", "+1", "01", " 1", "-", "#", "##1",
}

func (g *Generator) bitOffset() string {
	switch g.random.IntN(40) {
	case 0, 1:
		return pick(g, wrongBitOffsets)
	case 2:
		return "#" + strconv.Itoa(g.random.IntN(10)) // for BITFIELD only
	case 3, 4:
		return strconv.Itoa(g.random.IntN(1 << 15))
	case 5:
		return strconv.Itoa(g.random.IntN(1 << 21))
	}
	return strconv.Itoa(g.random.IntN(500))
}

func (g *Generator) fieldOffset() string {
	switch g.random.IntN(6) {
	case 0:
		return g.bitOffset()
	case 1:
		if g.random.IntN(4) == 0 {
			return pick(g, []string{"#-1", "#", "#x", "#9223372036854775807", "#4611686018427387904", "#9223372036854775808", "#01"})
		}
		return "#" + strconv.Itoa(g.random.IntN(30))
	}
	return strconv.Itoa(g.random.IntN(200))
}

func (g *Generator) fieldType() string {
	if g.random.IntN(20) == 0 {
		return pick(g, []string{"i0", "u0", "u64", "i65", "u65", "i", "u", "", "U8", "I8", "i-1", "i+8", "i08", "8", "x8", "i8x", "i8\x00x", "u9223372036854775808"})
	}
	switch g.random.IntN(3) {
	case 0:
		return pick(g, []string{"i1", "i64", "u1", "u63", "i63", "u62", "i8", "u8", "i16", "u16", "i32", "u32", "i2"})
	case 1:
		return "u" + strconv.Itoa(1+g.random.IntN(63))
	}
	return "i" + strconv.Itoa(1+g.random.IntN(64))
}

func (g *Generator) fieldValue() string {
	switch g.random.IntN(4) {
	case 0:
		return strconv.FormatInt(int64(g.random.Uint64())>>g.random.IntN(64), 10)
	case 1:
		return strconv.Itoa(g.random.IntN(9) - 4)
	}
	return g.integer()
}

// runs is a value with long runs of equal bits, which searches have to cross.
func (g *Generator) runs() string {
	var out strings.Builder
	for range 1 + g.random.IntN(4) {
		out.WriteString(strings.Repeat(pick(g, []string{"\x00", "\xff"}), g.random.IntN(40)))
		if g.random.IntN(2) == 0 {
			out.WriteByte(byte(g.random.Uint32()))
		}
	}
	return out.String()
}
