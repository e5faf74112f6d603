package servertest

import (
	"encoding/binary"
	"hash/crc64"
	"strconv"
	"strings"
)

// NewKeysGenerator returns the generator of commands that copy, move, dump and compare values.
func NewKeysGenerator(seed uint64) *Generator {
	g := NewGenerator(seed)
	g.templates = keysTemplates
	g.producers = keysProducers
	return g
}

var keysTemplates = []string{
	"RENAME key key", "RENAME key key", "RENAME key key", "RENAMENX key key", "RENAMENX key freshkey", "RENAME freshkey key",
	"COPY key key", "COPY key key copyoption", "COPY key key copyoption copyoption", "COPY key key copyoption copyoption copyoption",
	"COPY key freshkey", "MOVE key database", "MOVE key database", "MOVE key integer", "SWAPDB database database", "SWAPDB integer database",
	"DUMP key", "DUMP key", "DUMP key", "RESTORE key restoretime dump", "RESTORE key restoretime dump restoreoption",
	"RESTORE key 0 dump REPLACE", "RESTORE key restoretime dump REPLACE restoreoption", "RESTORE freshkey 0 dump",
	"RESTORE key restoretime dump restoreoption restoreoption REPLACE", "RESTORE key instant dump REPLACE ABSTTL",
	"LCS key key", "LCS key key", "LCS key key lcsoption", "LCS key key lcsoption lcsoption", "LCS key key lcsoption lcsoption lcsoption",
	"OBJECT ENCODING key", "OBJECT ENCODING key", "OBJECT REFCOUNT key", "OBJECT IDLETIME key", "OBJECT FREQ key", "OBJECT word key",
	"GET key", "GET key", "MGET key key key", "STRLEN key", "EXISTS key key key", "TTL key", "PTTL key", "PEXPIRETIME key", "TYPE key",
	"SET key value", "SET key integer", "SET key text", "SET key text", "SET key value setoption", "APPEND key text", "INCR key", "SETRANGE key offset text",
	"EXPIRE key time", "PERSIST key", "DEL key", "KEYS pattern", "DBSIZE", "SCAN 0 scanoption",
	"SELECT database", "SELECT database", "ROLE", "word key word",
}

var keysProducers = map[string]func(*Generator) []string{
	"text": func(g *Generator) []string { return []string{g.text()} },
	"dump": func(g *Generator) []string { return []string{g.dump()} },
	"copyoption": func(g *Generator) []string {
		switch g.random.IntN(5) {
		case 0, 1:
			return []string{g.recase("REPLACE")}
		case 2, 3:
			return []string{g.recase("DB"), pick(g, []string{"0", "1", "2", "2", "16", "-1", "x", "", "4294967296", "99999999999999999999"})}
		}
		return []string{pick(g, []string{"DB", "NOPE", "", "replac"})}
	},
	"restoretime": func(g *Generator) []string {
		if g.random.IntN(3) > 0 {
			return []string{"0"}
		}
		return []string{g.duration(1000)}
	},
	"restoreoption": func(g *Generator) []string {
		switch g.random.IntN(6) {
		case 0, 1:
			return []string{g.recase("REPLACE")}
		case 2:
			return []string{g.recase("IDLETIME"), g.integer()}
		case 3:
			return []string{g.recase("FREQ"), g.integer()}
		case 4:
			return []string{g.recase(pick(g, []string{"IDLETIME", "FREQ"})), strconv.Itoa(g.random.IntN(258))}
		}
		return []string{pick(g, []string{"IDLETIME", "FREQ", "NOPE", ""})}
	},
	"lcsoption": func(g *Generator) []string {
		switch g.random.IntN(6) {
		case 0, 1:
			return []string{g.recase("IDX")}
		case 2:
			return []string{g.recase("LEN")}
		case 3:
			return []string{g.recase("WITHMATCHLEN")}
		case 4:
			return []string{g.recase("MINMATCHLEN"), pick(g, []string{"0", "1", "2", "3", "5", "-1", "x", "", "9223372036854775807", "9223372036854775808"})}
		}
		return []string{pick(g, []string{"MINMATCHLEN", "NOPE", ""})}
	},
}

// text is made of few letters or words, so that parts of it recur.
func (g *Generator) text() string {
	parts := pick(g, [][]string{{"a", "b", "c"}, {"the ", "cache ", "log ", "of "}, {"\x00", "\xff"}, {"0", "1", "2", "3"}})
	var text strings.Builder
	for range g.random.IntN(120) {
		text.WriteString(pick(g, parts))
	}
	return text.String()
}

var dumpChecksum = crc64.MakeTable(0x95ac9329ac4bc9b5)

// dump is a payload for RESTORE: a right one, or one that is wrong before or behind the checksum.
func (g *Generator) dump() string {
	body := append([]byte{0}, g.dumpBody()...)
	version := byte(10)
	switch g.random.IntN(12) {
	case 0:
		body[g.random.IntN(len(body))] ^= byte(1 + g.random.IntN(255))
		if kind := body[0]; kind >= 1 && kind <= 21 { // another type, which Redis has
			body[0] = 0
		}
	case 1:
		body = body[:1+g.random.IntN(len(body))]
	case 2:
		version = byte(g.random.IntN(14))
	}
	payload := append(body, version, 0)
	payload = binary.LittleEndian.AppendUint64(payload, ^crc64.Update(^uint64(0), dumpChecksum, payload))
	switch g.random.IntN(25) {
	case 0:
		payload[g.random.IntN(len(payload))]++
	case 1:
		payload = payload[:g.random.IntN(len(payload))]
	}
	return string(payload)
}

// dumpBody is a string in one of the forms of a dump.
func (g *Generator) dumpBody() []byte {
	random := binary.LittleEndian.AppendUint32(nil, g.random.Uint32())
	switch g.random.IntN(8) {
	case 0:
		return append([]byte{0xc0}, random[0])
	case 1:
		return append([]byte{0xc1}, random[:2]...)
	case 2:
		return append([]byte{0xc2}, random...)
	case 3:
		stream, length := g.stream()
		return append([]byte{0xc3, byte(len(stream)), 0x40 | byte(length>>8), byte(length)}, stream...)
	case 4:
		value := g.text()
		return append(binary.BigEndian.AppendUint32([]byte{0x80}, uint32(len(value))), value...)
	}
	value := g.text()
	return append([]byte{0x40 | byte(len(value)>>8), byte(len(value))}, value...)
}

// stream is an LZF stream of at most 63 bytes, and the length it stands for, or nearly so.
func (g *Generator) stream() (stream []byte, length int) {
	stream, length = []byte{0, 'x'}, 1
	for len(stream) < 40 {
		if g.random.IntN(3) == 0 {
			stream = append(stream, 1, 'y', 'z')
			length += 2
			continue
		}
		repeat := 1 + g.random.IntN(20)
		offset := g.random.IntN(length)
		if g.random.IntN(60) == 0 {
			offset++
		}
		if repeat < 7 {
			stream = append(stream, byte(repeat<<5|offset>>8), byte(offset))
		} else {
			stream = append(stream, byte(7<<5|offset>>8), byte(repeat-7), byte(offset))
		}
		length += repeat + 2
	}
	if g.random.IntN(10) == 0 {
		length += g.random.IntN(3) - 1
	}
	return stream, length
}
