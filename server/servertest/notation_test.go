package servertest

import (
	"slices"
	"testing"

	"github.com/pyropedb/pyrope/server/resp"
)

func TestNotationRoundTrip(t *testing.T) {
	for wire, want := range map[string]string{
		"+OK\r\n":                            "+OK",
		"-ERR a \"quoted\" thing \r\n":       "-ERR a \"quoted\" thing ",
		":-42\r\n":                           ":-42",
		"$5\r\na\r\n\x00\xff\r\n":            `"a\r\n\x00\xff"`,
		"$0\r\n\r\n":                         `""`,
		"$-1\r\n":                            "nil",
		"*-1\r\n":                            "nil[]",
		"_\r\n":                              "null",
		"*0\r\n":                             "[]",
		"*3\r\n:1\r\n$1\r\n]\r\n*1\r\n_\r\n": `[:1 "]" [null]]`,
		"*2\r\n+OK\r\n-ERR x y\r\n":          `[+"OK" -"ERR x y"]`,
		"%1\r\n$1\r\nk\r\n#t\r\n":            `{"k" #t}`,
		"~1\r\n,3.5\r\n":                     "~[,3.5]",
		">1\r\n(12345678901234567890\r\n":    ">[(12345678901234567890]",
		"=6\r\ntxt:hi\r\n":                   `="txt:hi"`,
		"!5\r\nERR x\r\n":                    `!"ERR x"`,
		"#f\r\n":                             "#f",
	} {
		value, length, result := resp.ReadReply([]byte(wire))
		if result != resp.Complete || length != len(wire) {
			t.Errorf("cannot read %q", wire)
			continue
		}
		if got := Notation(value); got != want {
			t.Errorf("Notation(%q) = %s, want %s", wire, got, want)
		}
		again, err := parseNotation(want)
		if err != nil {
			t.Errorf("cannot read %s: %v", want, err)
			continue
		}
		if got := Notation(again); got != want {
			t.Errorf("%s is read as %s", want, got)
		}
	}
}

func TestExpectations(t *testing.T) {
	integer := func(n int64) resp.Value { return resp.Value{Kind: resp.Integer, Integer: n} }
	bulks := func(words ...string) resp.Value {
		value := resp.Value{Kind: resp.Array}
		for _, word := range words {
			value.Elements = append(value.Elements, resp.Value{Kind: resp.Bulk, Text: []byte(word)})
		}
		return value
	}
	for _, test := range []struct {
		text  string
		reply resp.Value
		want  bool
	}{
		{"*", integer(3), true},
		{":3", integer(3), true},
		{":3", integer(4), false},
		{":3..5", integer(5), true},
		{":3..5", integer(6), false},
		{":-3..5", integer(-3), true},
		{":3..5", bulks("3"), false},
		{`["a" "b"]`, bulks("a", "b"), true},
		{`["a" "b"]`, bulks("b", "a"), false},
		{`unordered ["a" "b"]`, bulks("b", "a"), true},
		{`unordered ["a" "b"]`, bulks("b", "b"), false},
		{"+OK", resp.Value{Kind: resp.SimpleString, Text: []byte("OK")}, true},
		{"+OK ", resp.Value{Kind: resp.SimpleString, Text: []byte("OK")}, false},
		{`"OK"`, resp.Value{Kind: resp.SimpleString, Text: []byte("OK")}, false},
	} {
		expectation, err := ParseExpectation(test.text)
		if err != nil {
			t.Errorf("cannot read %q: %v", test.text, err)
			continue
		}
		if got := expectation.Matches(test.reply); got != test.want {
			t.Errorf("%s matches %s: %v", test.text, Notation(test.reply), got)
		}
	}
	for _, wrong := range []string{"", " ", "[", `["a"`, `"a`, "x", ":x", ":1..x", `"a" "b"`, "unordered [", "{", "~", `="x`, "#x"} {
		if _, err := ParseExpectation(wrong); err == nil {
			t.Errorf("%q is read as an expectation", wrong)
		}
	}
}

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		"":                        nil,
		" GET  k ":                {"GET", "k"},
		`SET k "a b"`:             {"SET", "k", "a b"},
		`SET "" "\x00\r\n\xff\""`: {"SET", "", "\x00\r\n\xff\""},
		`SET k a"b`:               {"SET", "k", `a"b`},
	} {
		words, err := SplitWords(line)
		if err != nil || !slices.Equal(words, want) {
			t.Errorf("SplitWords(%q) = %q, %v", line, words, err)
			continue
		}
		again, err := SplitWords(JoinWords(words))
		if err != nil || !slices.Equal(again, want) {
			t.Errorf("%q is written as %s and read as %q, %v", want, JoinWords(words), again, err)
		}
	}
	if words, err := SplitWords(`SET k "open`); err == nil {
		t.Errorf("an open quote is read as %q", words)
	}
}

func TestGeneratorRepeatsItself(t *testing.T) {
	a, b, c := NewGenerator(1), NewGenerator(1), NewGenerator(2)
	differ := false
	for range 1000 {
		first := a.Next()
		if second := b.Next(); !slices.Equal(first, second) {
			t.Fatalf("two generators of one seed made %q and %q", first, second)
		}
		differ = differ || !slices.Equal(first, c.Next())
	}
	if !differ {
		t.Error("generators of two seeds made the same commands")
	}
}
