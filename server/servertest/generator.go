package servertest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Generator makes random commands on strings and keys, right ones and wrong ones, with edge
// values. Two generators of the same seed make the same commands.
type Generator struct {
	random    *rand.Rand
	templates []string
	rare      []string                             // the rareTemplates, unless the family has its own
	producers map[string]func(*Generator) []string // of the family, before those of all
}

// NewGenerator returns the generator of a seed.
func NewGenerator(seed uint64) *Generator {
	return &Generator{random: rand.New(rand.NewPCG(seed, 0x9E3779B97F4A7C15)), templates: templates, rare: rareTemplates}
}

// templates are the commands. A word in capitals stands for itself, one in small letters for what
// its producer makes. Commands that matter more come more than once.
var templates = []string{
	"GET key", "GET key", "GET key", "GET key", "MGET key key key", "MGET key key key key key key", "STRLEN key",
	"SET key value", "SET key value", "SET key integer", "SET key float", "SET key value setoption",
	"SET key value setoption setoption", "SET key value setoption setoption setoption",
	"SETNX key value", "SETEX key time value", "PSETEX key milliseconds value", "GETSET key value", "GETDEL key",
	"GETEX key", "GETEX key getexoption", "GETEX key getexoption getexoption",
	"MSET key value", "MSET key value key value key value", "MSETNX key value key value", "MSETNX freshkey value freshkey value",
	"INCR key", "DECR key", "INCRBY key integer", "DECRBY key integer", "INCRBYFLOAT key float", "INCRBYFLOAT key float",
	"APPEND key value", "APPEND key integer", "GETRANGE key position position", "SUBSTR key position position",
	"SETRANGE key offset value", "SETRANGE key offset value",
	"DEL key", "DEL key key key", "UNLINK key key", "EXISTS key", "EXISTS key key key", "TOUCH key key", "TYPE key",
	"EXPIRE key time", "EXPIRE key time expireoption", "EXPIRE key time expireoption expireoption", "PEXPIRE key milliseconds",
	"PEXPIRE key milliseconds expireoption", "EXPIREAT key instant", "EXPIREAT key instant expireoption", "PEXPIREAT key instant",
	"PEXPIREAT key instant expireoption", "PERSIST key", "TTL key", "PTTL key", "EXPIRETIME key", "PEXPIRETIME key",
	"KEYS pattern", "SCAN cursor", "SCAN 0 scanoption", "SCAN 0 scanoption scanoption", "SCAN cursor scanoption", "RANDOMKEY", "DBSIZE",
	"SELECT database", "word word word", "word",
}

// rareTemplates come once in a few hundred commands: they begin anew.
var rareTemplates = []string{"FLUSHDB", "FLUSHALL", "FLUSHDB ASYNC", "FLUSHALL SYNC", "FLUSHDB word"}

const (
	rareEvery     = 1000 // commands between two rare ones
	distortEvery  = 25   // commands between two with a word too many or too few
	hotKeys       = 12
	maxValueBytes = 5000
)

// ColdKeys is the number of keys that the generator uses seldom.
const ColdKeys = 300

// Next makes a command.
func (g *Generator) Next() []string {
	template := pick(g, g.templates)
	if g.random.IntN(rareEvery) == 0 {
		template = pick(g, g.rare)
	}
	var words []string
	for _, word := range strings.Fields(template) {
		if produce := g.producers[word]; produce != nil {
			words = append(words, produce(g)...)
		} else if produce := producers[word]; produce != nil {
			words = append(words, produce(g)...)
		} else {
			words = append(words, word)
		}
	}
	if g.random.IntN(distortEvery) == 0 {
		words = g.distort(words)
	}
	words[0] = g.recase(words[0])
	return words
}

// distort takes a word away or adds one.
func (g *Generator) distort(words []string) []string {
	if g.random.IntN(2) == 0 && len(words) > 1 {
		return words[:len(words)-1]
	}
	return append(words, g.word()...)
}

// recase writes a word in small letters, in capitals or in both.
func (g *Generator) recase(word string) string {
	switch g.random.IntN(4) {
	case 0:
		return strings.ToLower(word)
	case 1:
		mixed := []byte(word)
		for i := range mixed {
			if g.random.IntN(2) == 0 {
				mixed[i] = strings.ToLower(word[i : i+1])[0]
			}
		}
		return string(mixed)
	}
	return word
}

func pick[T any](g *Generator, from []T) T { return from[g.random.IntN(len(from))] }

// producers make the words that the templates' small letters stand for.
var producers map[string]func(*Generator) []string

func init() {
	one := func(produce func(*Generator) string) func(*Generator) []string {
		return func(g *Generator) []string { return []string{produce(g)} }
	}
	producers = map[string]func(*Generator) []string{
		"key":          one((*Generator).key),
		"freshkey":     one(func(g *Generator) string { return fmt.Sprintf("fresh:%d", g.random.IntN(1000)) }),
		"value":        one((*Generator).value),
		"integer":      one((*Generator).integer),
		"float":        one((*Generator).float),
		"position":     one((*Generator).position),
		"offset":       one((*Generator).offset),
		"time":         one(func(g *Generator) string { return g.duration(1) }),
		"milliseconds": one(func(g *Generator) string { return g.duration(1000) }),
		"instant":      one((*Generator).instant),
		"pattern":      one((*Generator).pattern),
		"cursor": one(func(g *Generator) string {
			return pick(g, []string{"0", "0", "0", "", "x", "-", "1.5", "18446744073709551616", " 0"})
		}),
		"database":    one(func(g *Generator) string { return pick(g, []string{"0", "0", "1", "2", "16", "-1", "x", ""}) }),
		"setoption":   (*Generator).setOption,
		"getexoption": (*Generator).getexOption,
		"expireoption": one(func(g *Generator) string {
			return g.recase(pick(g, []string{"NX", "XX", "GT", "LT", "GT", "LT", "NOPE"}))
		}),
		"scanoption": (*Generator).scanOption,
		"word":       (*Generator).word,
	}
}

// key is one of a few keys that are used all the time, or one of many that may have gone cold.
func (g *Generator) key() string {
	switch g.random.IntN(20) {
	case 0:
		return ""
	case 1:
		return "\x00binary\r\n\xff"
	case 2, 3, 4, 5, 6, 7:
		return ColdKey(g.random.IntN(ColdKeys))
	}
	return fmt.Sprintf("k%d", g.random.IntN(hotKeys))
}

// ColdKey is the name of one of the ColdKeys.
func ColdKey(number int) string { return fmt.Sprintf("cold:%d", number%ColdKeys) }

func (g *Generator) value() string {
	switch g.random.IntN(10) {
	case 0:
		return ""
	case 1:
		return g.integer()
	case 2:
		return strings.Repeat(pick(g, []string{"x", "ab", "\x00"}), g.random.IntN(maxValueBytes/2))
	case 3:
		return "\r\n$-1\r\n\x00\xfe\xff"
	}
	value := make([]byte, g.random.IntN(40))
	for i := range value {
		value[i] = byte(g.random.Uint32())
	}
	return string(value)
}

// edgeIntegers lie at the bounds of what counts as an integer, or beyond them.
var edgeIntegers = []string{
	"0", "-0", "1", "-1", "+1", "01", " 1", "1 ", "", "-", "abc", "1.5", "1e3", "0x10", "1\x00",
	"2147483647", "2147483648", "-2147483648", "-2147483649", "4294967296", "9007199254740993",
	"9223372036854775806", "9223372036854775807", "9223372036854775808", "-9223372036854775807",
	"-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616",
	"99999999999999999999999999", "9223372036854775", "9223372036854776", "-9223372036854775", "-9223372036854776",
}

func (g *Generator) integer() string {
	if g.random.IntN(3) == 0 {
		return pick(g, edgeIntegers)
	}
	return strconv.Itoa(g.random.IntN(2001) - 1000)
}

var edgeFloats = []string{
	"0.1", "-0.1", "10.5", "1e10", "1e-10", "5.0e3", "3.0", "-0.0", ".5", "5.", "1e400", "-1e400", "1e4932", "1e5000", "1e-5000",
	"inf", "-inf", "+infinity", "nan", "0x1.8p3", "0xff", "1e", "e1", "1.2.3", "1,5", "", " 1", "1 ", "123456789012345678901234567890",
	"0.00000000000000001", "0.000000000000000001", "1.7976931348623157e308", "17179869183.999999999", "3.14159265358979323846",
}

func (g *Generator) float() string {
	switch g.random.IntN(4) {
	case 0:
		return pick(g, edgeFloats)
	case 1:
		return g.integer()
	}
	return strconv.FormatFloat((g.random.Float64()-0.5)*2000, 'f', g.random.IntN(8), 64)
}

func (g *Generator) position() string {
	if g.random.IntN(4) == 0 {
		return pick(g, edgeIntegers)
	}
	return strconv.Itoa(g.random.IntN(101) - 50)
}

// offset keeps to what fits a page of the log, but for offsets that are refused by any server.
func (g *Generator) offset() string {
	switch g.random.IntN(12) {
	case 0:
		return strconv.Itoa(g.random.IntN(1 << 19))
	case 1:
		return pick(g, []string{"536870912", "536870913", "4294967296", "9223372036854775807", "9223372036854775808",
			"-1", "-9223372036854775808", "x", "", "1.5", "+1"})
	}
	return strconv.Itoa(g.random.IntN(64))
}

// duration is a time to live so long that it does not run out during a test, or a wrong one.
func (g *Generator) duration(unitsPerSecond int) string {
	switch g.random.IntN(6) {
	case 0:
		return pick(g, []string{"0", "-1", "-100", "x", "", "1.5", "9223372036854775807", "9223372036854775", "9223372036854776",
			"-9223372036854775808", "-9223372036854776", "9223372036854775808", "9223370000000000000"})
	}
	return strconv.Itoa((1000 + g.random.IntN(1_000_000_000)) * unitsPerSecond)
}

// instant is a Unix time, in seconds or milliseconds, that is long past or far away.
func (g *Generator) instant() string {
	switch g.random.IntN(6) {
	case 0:
		return pick(g, []string{"0", "1", "-1", "1000", "x", "", "9223372036854775807", "9223372036854775", "9223372036854776",
			"-9223372036854775808", "9223372036854775808"})
	}
	return strconv.FormatInt(5_000_000_000_000+g.random.Int64N(1_000_000_000_000), 10)
}

func (g *Generator) timeOption() []string {
	name := pick(g, []string{"EX", "PX", "EXAT", "PXAT"})
	value := g.duration(1000)
	if strings.HasSuffix(name, "AT") {
		value = g.instant()
	}
	return []string{g.recase(name), value}
}

func (g *Generator) setOption() []string {
	if g.random.IntN(2) == 0 {
		return g.timeOption()
	}
	return []string{g.recase(pick(g, []string{"NX", "XX", "GET", "KEEPTTL", "NX", "XX", "GET", "KEEPTTL", "PERSIST", "NOPE", "", "EX"}))}
}

func (g *Generator) getexOption() []string {
	if g.random.IntN(3) > 0 {
		return g.timeOption()
	}
	return []string{g.recase(pick(g, []string{"PERSIST", "PERSIST", "KEEPTTL", "NX", "PX", ""}))}
}

func (g *Generator) scanOption() []string {
	switch g.random.IntN(4) {
	case 0:
		return []string{g.recase("MATCH"), g.pattern()}
	case 1:
		return []string{g.recase("COUNT"), pick(g, []string{"1", "10", "1000", "0", "-1", "x", "9223372036854775807", "9223372036854775808"})}
	case 2:
		return []string{g.recase("TYPE"), pick(g, []string{"string", "STRING", "list", "nope", ""})}
	}
	return []string{pick(g, []string{"MATCH", "COUNT", "TYPE", "NOPE"})}
}

func (g *Generator) pattern() string {
	if g.random.IntN(3) == 0 {
		return pick(g, []string{"*", "**", "k*", "cold:*", "?", "??", "", "[", "[^", "[k]?", "k[0-5]", "k[^0-5]", "k[5-0]", `\*`, `k\1`, "*1*", "*:*[1-3]", "k1", "nope*", "*\xff"})
	}
	var pattern strings.Builder
	for range 1 + g.random.IntN(5) {
		pattern.WriteString(pick(g, []string{"*", "?", "k", "cold:", "1", "[0-9]", "[^k]", `\k`, "[ck]", "d", "\x00"}))
	}
	return pattern.String()
}

// word is something that is hardly ever right.
func (g *Generator) word() []string {
	return []string{pick(g, []string{"foo", "", "NX", "GETT", "se", "a\r\nb", "\x00", "x\x00y", "-1", "*", strings.Repeat("long", 50), "'quoted'", "ütf"})}
}
