package resp_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pyropedb/pyrope/server/resp"
)

// replies holds one reply of each kind and shape, with what String makes of it.
var replies = []struct{ wire, text string }{
	{"+OK\r\n", `+"OK"`},
	{"+\r\n", `+""`},
	{"-ERR no\r\n", `-"ERR no"`},
	{":-42\r\n", `:-42`},
	{"$5\r\nhe\r\no\r\n", `$"he\r\no"`},
	{"$0\r\n\r\n", `$""`},
	{"$-1\r\n", `$null`},
	{"*-1\r\n", `*null`},
	{"*0\r\n", `*[]`},
	{"*2\r\n:1\r\n*2\r\n$1\r\na\r\n_\r\n", `*[:1 *[$"a" _null]]`},
	{"_\r\n", `_null`},
	{",3.25\r\n", `,"3.25"`},
	{",inf\r\n", `,"inf"`},
	{"#t\r\n", `#1`},
	{"#f\r\n", `#0`},
	{"(123456789012345678901234567890\r\n", `("123456789012345678901234567890"`},
	{"!8\r\nERR long\r\n", `!"ERR long"`},
	{"=6\r\ntxt:hi\r\n", `="txt:hi"`},
	{"%1\r\n+k\r\n:1\r\n", `%[+"k" :1]`},
	{"~2\r\n:1\r\n:2\r\n", `~[:1 :2]`},
	{">2\r\n+message\r\n+hi\r\n", `>[+"message" +"hi"]`},
	{"|1\r\n+ttl\r\n:3\r\n$1\r\nv\r\n", `$"v"`},
}

func TestReadReplyKinds(t *testing.T) {
	for _, reply := range replies {
		value, consumed, result := resp.ReadReply([]byte(reply.wire + "+next\r\n"))
		if result != resp.Complete || consumed != len(reply.wire) || value.String() != reply.text {
			t.Errorf("%q: got %s, %d, %v; want %s, %d", reply.wire, value, consumed, result, reply.text, len(reply.wire))
		}
	}
}

// TestReplyCutEverywhere checks that every prefix of a reply needs more.
func TestReplyCutEverywhere(t *testing.T) {
	for _, reply := range replies {
		for cut := range len(reply.wire) {
			if _, consumed, result := resp.ReadReply([]byte(reply.wire[:cut])); result != resp.NeedMore || consumed != 0 {
				t.Errorf("ReadReply(%q): got %d, %v", reply.wire[:cut], consumed, result)
			}
		}
	}
}

func TestMalformedReplies(t *testing.T) {
	for _, wire := range []string{"?\r\n", "\r\n", "+OK\n", ":x\r\n", "$x\r\n", "$-2\r\n", "*-2\r\n", "%-1\r\n", "#x\r\n",
		"$1\r\nabc", "_x\r\n", ",x\r\n", "*1\r\n?\r\n", "=-1\r\n"} {
		if _, _, result := resp.ReadReply([]byte(wire)); result != resp.Malformed {
			t.Errorf("ReadReply(%q): got %v, want Malformed", wire, result)
		}
	}
	deep := bytes.Repeat([]byte("*1\r\n"), 100_000)
	if _, _, result := resp.ReadReply(append(deep, "_\r\n"...)); result != resp.Malformed {
		t.Errorf("a reply nested 100,000 deep: got %v, want Malformed", result)
	}
}

// TestEncodersRoundTrip appends to a prefix and reads back.
func TestEncodersRoundTrip(t *testing.T) {
	for _, c := range []struct {
		name, two, three string
		encode           func(dst []byte, version resp.Version) []byte
	}{
		{"simple", `+"a b c"`, `+"a b c"`, func(dst []byte, _ resp.Version) []byte { return resp.AppendSimpleString(dst, "a\rb\nc") }},
		{"ok", `+"OK"`, `+"OK"`, func(dst []byte, _ resp.Version) []byte { return resp.AppendOK(dst) }},
		{"error", `-"ERR a  b"`, `-"ERR a  b"`, func(dst []byte, _ resp.Version) []byte { return resp.AppendError(dst, "ERR a\r\nb\r\n") }},
		{"integer", `:-9223372036854775808`, `:-9223372036854775808`,
			func(dst []byte, _ resp.Version) []byte { return resp.AppendInteger(dst, math.MinInt64) }},
		{"bulk", `$"0123456789"`, `$"0123456789"`,
			func(dst []byte, _ resp.Version) []byte { return resp.AppendBulk(dst, []byte("0123456789")) }},
		{"bulk string", `$""`, `$""`, func(dst []byte, _ resp.Version) []byte { return resp.AppendBulkString(dst, "") }},
		{"bulk integer", `$"-17"`, `$"-17"`, func(dst []byte, _ resp.Version) []byte { return resp.AppendBulkInteger(dst, -17) }},
		{"bulk header", `$"ab"`, `$"ab"`, func(dst []byte, _ resp.Version) []byte {
			return resp.AppendLineEnd(append(resp.AppendBulkHeader(dst, 2), "ab"...))
		}},
		{"null", `$null`, `_null`, resp.AppendNull},
		{"null array", `*null`, `_null`, resp.AppendNullArray},
		{"array", `*[:1 :2]`, `*[:1 :2]`, func(dst []byte, _ resp.Version) []byte {
			return resp.AppendInteger(resp.AppendInteger(resp.AppendArray(dst, 2), 1), 2)
		}},
		{"map", `*[:1 :2]`, `%[:1 :2]`, func(dst []byte, version resp.Version) []byte {
			return resp.AppendInteger(resp.AppendInteger(resp.AppendMap(dst, version, 1), 1), 2)
		}},
		{"set", `*[:1]`, `~[:1]`, func(dst []byte, version resp.Version) []byte {
			return resp.AppendInteger(resp.AppendSet(dst, version, 1), 1)
		}},
		{"push", `*[:1]`, `>[:1]`, func(dst []byte, version resp.Version) []byte {
			return resp.AppendInteger(resp.AppendPush(dst, version, 1), 1)
		}},
		{"double", `$"3.5"`, `,"3.5"`, func(dst []byte, version resp.Version) []byte { return resp.AppendDouble(dst, version, 3.5) }},
		{"infinity", `$"-inf"`, `,"-inf"`, func(dst []byte, version resp.Version) []byte {
			return resp.AppendDouble(dst, version, math.Inf(-1))
		}},
		{"true", `:1`, `#1`, func(dst []byte, version resp.Version) []byte { return resp.AppendBool(dst, version, true) }},
		{"false", `:0`, `#0`, func(dst []byte, version resp.Version) []byte { return resp.AppendBool(dst, version, false) }},
		{"big number", `$"12345678901234567890"`, `("12345678901234567890"`, func(dst []byte, version resp.Version) []byte {
			return resp.AppendBigNumber(dst, version, "12345678901234567890")
		}},
		{"verbatim", `$"hi"`, `="txt:hi"`, func(dst []byte, version resp.Version) []byte {
			return resp.AppendVerbatim(dst, version, "txt", "hi")
		}},
	} {
		for version, want := range map[resp.Version]string{resp.RESP2: c.two, resp.RESP3: c.three} {
			wire := c.encode([]byte("prefix"), version)
			value, consumed, result := resp.ReadReply(wire[len("prefix"):])
			if string(wire[:6]) != "prefix" || result != resp.Complete || consumed != len(wire)-6 || value.String() != want {
				t.Errorf("%s, RESP%d: %q reads as %s, %v; want %s", c.name, version, wire, value, result, want)
			}
		}
	}
}

// TestAppendFloat compares with what C's %.17g prints.
func TestAppendFloat(t *testing.T) {
	for value, want := range map[float64]string{
		0: "0", math.Copysign(0, -1): "-0", 0.1: "0.10000000000000001", 1: "1", 100000: "100000", 1e16: "10000000000000000",
		1e17: "1e+17", 1.5e300: "1.5000000000000001e+300", 1e-4: "0.0001", 1e-5: "1.0000000000000001e-05",
		3.25: "3.25", -2.5e-7: "-2.4999999999999999e-07", math.Inf(1): "inf", 123456789.125: "123456789.125",
	} {
		if got := string(resp.AppendFloat(nil, value)); got != want {
			t.Errorf("AppendFloat(%v): got %s, want %s", value, got, want)
		}
	}
	if got := string(resp.AppendFloat(nil, math.NaN())); got != "nan" {
		t.Errorf("AppendFloat(NaN): got %s", got)
	}
}

func TestReplyAttributes(t *testing.T) {
	value, _, _ := resp.ReadReply([]byte("|1\r\n+ttl\r\n:3\r\n$1\r\nv\r\n"))
	if len(value.Attributes) != 2 || value.Attributes[1].Integer != 3 || value.IsError() {
		t.Fatalf("got attributes %v", value.Attributes)
	}
	value, _, _ = resp.ReadReply([]byte(",-0.5\r\n"))
	if diff := cmp.Diff(resp.Value{Kind: resp.Double, Text: []byte("-0.5"), Double: -0.5}, value); diff != "" {
		t.Fatal(diff)
	}
	if value, _, _ = resp.ReadReply([]byte("!3\r\nERR\r\n")); !value.IsError() {
		t.Fatal("a bulk error is no error")
	}
}

func TestEncodersDoNotAllocate(t *testing.T) {
	dst, value := make([]byte, 0, 512), make([]byte, 100)
	if n := testing.AllocsPerRun(100, func() {
		dst = resp.AppendBulk(dst[:0], value)
		dst = resp.AppendInteger(dst, 123456789)
		dst = resp.AppendDouble(dst, resp.RESP3, 0.1)
		dst = resp.AppendBulkInteger(dst, 1<<60)
		dst = resp.AppendError(dst, "ERR value is not an integer or out of range")
		dst = resp.AppendNull(dst, resp.RESP2)
		dst = resp.AppendMap(dst, resp.RESP3, 12)
	}); n != 0 {
		t.Errorf("encoders allocate %v times", n)
	}
}

// FuzzReply checks that any input is read, refused or waited for within its bounds.
func FuzzReply(f *testing.F) {
	for _, reply := range replies {
		f.Add([]byte(reply.wire))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		value, consumed, result := resp.ReadReply(input)
		if consumed > len(input) || result != resp.Complete && consumed != 0 {
			t.Fatalf("consumed %d of %d, %v", consumed, len(input), result)
		}
		_ = value.String()
	})
}
