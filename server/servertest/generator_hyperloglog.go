package servertest

import (
	"strconv"
	"strings"
)

// NewHyperLogLogGenerator returns the generator of commands on HyperLogLogs, and on the strings
// that they are.
func NewHyperLogLogGenerator(seed uint64) *Generator {
	g := NewGenerator(seed)
	g.templates = hyperLogLogTemplates
	g.producers = hyperLogLogProducers
	return g
}

var hyperLogLogTemplates = []string{
	"PFADD key element", "PFADD key element", "PFADD key element element element", "PFADD key elements", "PFADD key", "PFADD key manyelements",
	"PFADD key elements", "PFADD key element",
	"PFCOUNT key", "PFCOUNT key", "PFCOUNT key", "PFCOUNT key key", "PFCOUNT key key key key",
	"PFMERGE key", "PFMERGE key key", "PFMERGE key key key", "PFMERGE key key key key",
	"GET key", "GET key", "GET key", "GET key", "MGET key key key", "STRLEN key", "DEL key", "DEL key key", "DEL key key key",
	"SET key sketch", "SET key sketch", "SET key value", "SETRANGE key sketchoffset value", "SETBIT key sketchbit bit", "APPEND key value",
	"GETRANGE key position position", "EXPIRE key time", "TTL key", "PERSIST key", "TYPE key", "EXISTS key", "word",
}

var hyperLogLogProducers = map[string]func(*Generator) []string{
	"element":      func(g *Generator) []string { return g.elements(1) },
	"elements":     func(g *Generator) []string { return g.elements(g.random.IntN(100)) },
	"manyelements": func(g *Generator) []string { return g.elements(g.random.IntN(2500)) },
	"sketch":       func(g *Generator) []string { return []string{g.sketch()} },
	"sketchoffset": func(g *Generator) []string { return []string{strconv.Itoa(g.random.IntN(30))} },
	"sketchbit":    func(g *Generator) []string { return []string{strconv.Itoa(g.random.IntN(400))} },
	"bit":          func(g *Generator) []string { return []string{strconv.Itoa(g.random.IntN(2))} },
}

// elements are numbers, so that some come again, or anything.
func (g *Generator) elements(count int) []string {
	elements := make([]string, count)
	for i := range elements {
		if elements[i] = "element:" + strconv.Itoa(g.random.IntN(20000)); g.random.IntN(20) == 0 {
			elements[i] = g.value()
		}
	}
	return elements
}

// sketch is the bytes of a HyperLogLog, right ones or wrong ones.
func (g *Generator) sketch() string {
	var out strings.Builder
	out.WriteString(pick(g, []string{"HYLL", "HYLL", "HYLL", "HYLL", "HYLL", "HYLL", "HYLL", "hyll", "HYL"}))
	dense := g.random.IntN(3) == 0
	switch {
	case g.random.IntN(15) == 0:
		out.WriteByte(byte(g.random.IntN(256)))
	case dense:
		out.WriteByte(0)
	default:
		out.WriteByte(1)
	}
	out.WriteString(pick(g, []string{"\x00\x00\x00", "\x00\x00\x00", "abc"}))
	out.WriteString(pick(g, []string{"\x05\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\x00\x00\x00\x00"}))
	out.WriteByte(pick(g, []byte{0, 0x80, 0x80, 0x80}))
	if dense {
		g.denseRegisters(&out)
	} else {
		g.sparseRuns(&out)
	}
	if text := out.String(); g.random.IntN(20) == 0 {
		return text[:g.random.IntN(len(text))]
	}
	return out.String()
}

func (g *Generator) denseRegisters(out *strings.Builder) {
	const bytes = 12288
	greatest := 1 + g.random.IntN(64)
	var packed uint32
	for range bytes / 3 {
		for range 4 {
			packed = packed>>6 | uint32(g.random.IntN(greatest))<<18
		}
		out.Write([]byte{byte(packed), byte(packed >> 8), byte(packed >> 16)})
	}
}

// sparseRuns are runs of any kind and length, mostly as many as there must be.
func (g *Generator) sparseRuns(out *strings.Builder) {
	left := 16384
	if g.random.IntN(6) == 0 {
		left += g.random.IntN(101) - 50
	}
	few := g.random.IntN(3) > 0 // runs
	for left > 0 {
		switch {
		case g.random.IntN(2) == 0:
			length := min(1+g.random.IntN(4), left)
			out.WriteByte(0x80 | byte(g.random.IntN(32))<<2 | byte(length-1))
			left -= length
		case g.random.IntN(2) == 0 || !few:
			length := min(1+g.random.IntN(64), left)
			out.WriteByte(byte(length - 1))
			left -= length
		default:
			length := min(1+g.random.IntN(3000), left)
			out.Write([]byte{0x40 | byte((length-1)>>8), byte(length - 1)})
			left -= length
		}
	}
}
