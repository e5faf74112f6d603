package command

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestParseInteger(t *testing.T) {
	accepted := map[string]int64{
		"0": 0, "1": 1, "-1": -1, "10": 10, "9223372036854775807": math.MaxInt64,
		"-9223372036854775808": math.MinInt64, "-9223372036854775807": -math.MaxInt64,
		"1000000000000000000": 1e18,
	}
	for text, want := range accepted {
		if n, ok := parseInteger([]byte(text)); !ok || n != want {
			t.Errorf("parseInteger(%q) = %d, %v", text, n, ok)
		}
	}
	for _, text := range []string{"", "-", "+1", "-0", "00", "01", " 1", "1 ", "1a", "a", "--1", "1.0", "0x1",
		"9223372036854775808", "-9223372036854775809", "99999999999999999999", "18446744073709551616", "-01", "1\x00"} {
		if n, ok := parseInteger([]byte(text)); ok {
			t.Errorf("parseInteger(%q) = %d, want it refused", text, n)
		}
	}
}

func FuzzParseInteger(f *testing.F) {
	for _, seed := range []string{"0", "-1", "9223372036854775807", "+5", "007"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, ok := parseInteger([]byte(text))
		want, err := strconv.ParseInt(text, 10, 64)
		// Of the forms that strconv takes, Redis takes the canonical one.
		canonical := err == nil && strconv.FormatInt(want, 10) == text
		if ok != canonical || ok && n != want {
			t.Errorf("parseInteger(%q) = %d, %v; want %d, %v", text, n, ok, want, canonical)
		}
	})
}

func TestFloatsAreWrittenAsRedisWritesThem(t *testing.T) {
	for _, test := range []struct{ value, delta, want string }{
		{"10.5", "0.1", "10.6"},
		{"5.0e3", "2.0e2", "5200"},
		{"0", "0.1", "0.1"},
		{"0.1", "0.2", "0.3"},
		{"3", "-3", "0"},
		{"-0", "-0", "0"},
		{"1", "1e-17", "1.00000000000000001"},
		{"1", "1e-18", "1"},
		{"1e17", "1", "100000000000000001"},
		{"17179869184", "0.5", "17179869184.5"},
		{"1e300", "1", "1000000000000000000008997324079559193870523944273290747938260082321265646596180935755849152083750497190350372508614274835903592556184672983913096260520748646287327135641843653294084255107606016789726652932370030551382947620994540294772781889620606179267611627097410650567187386105690089424915104006144"},
		{".5", "5.", "5.5"},
		{"0x10", "0x.8p1", "17"},
		{"+1", "1E2", "101"},
		{"1e-400", "0", "0"},
		{"1.9e-4951", "0x1p-16445", "0"},
	} {
		value, ok := parseFloat([]byte(test.value))
		if !ok {
			t.Errorf("parseFloat refuses %q", test.value)
			continue
		}
		delta, ok := parseFloat([]byte(test.delta))
		if !ok {
			t.Errorf("parseFloat refuses %q", test.delta)
			continue
		}
		sum, ok := addFloats(value, delta)
		if !ok {
			t.Errorf("%s + %s is refused", test.value, test.delta)
			continue
		}
		got := string(appendFloat([]byte("x"), sum))
		if got != "x"+test.want {
			t.Errorf("%s + %s = %s, want %s", test.value, test.delta, got[1:], test.want)
		}
	}
}

func TestParseFloatRefuses(t *testing.T) {
	for _, text := range []string{"", " 1", "1 ", "abc", "1a", "nan", "NaN", "-nan", "1e", "1e+", "e5", ".", "-", "+",
		"--1", "0x", "0xg", "1..2", "1.2.3", "1e5000", "-1e5000", "1e-5000", "1.19e4932", "0x1p16384", "0x1p-16446", "1.8e-4951", "1e99999999999999999999", "1e-99999999999999999999",
		"1_000", "0x1p", "0x1p999999", "inf1", "1\x00", strings.Repeat("1", floatMaxBytes)} {
		if value, ok := parseFloat([]byte(text)); ok {
			t.Errorf("parseFloat(%.20q) = %v, want it refused", text, value)
		}
	}
	for _, text := range []string{"inf", "-inf", "+Infinity", "INF"} {
		value, ok := parseFloat([]byte(text))
		if !ok || !value.IsInf() {
			t.Errorf("parseFloat(%q) is not an infinity", text)
			continue
		}
		if sum, ok := addFloats(value, value); ok {
			t.Errorf("%q + %q = %v, want it refused", text, text, sum)
		}
	}
}

func TestFloatsNeverOverflowInSilence(t *testing.T) {
	largest, ok := parseFloat([]byte("1.18e4932"))
	if !ok {
		t.Fatal("parseFloat refuses 1.18e4932")
	}
	if sum, ok := addFloats(largest, largest); ok {
		t.Errorf("the largest number doubled is %v, want it refused", sum)
	}
}

func FuzzParseFloat(f *testing.F) {
	for _, seed := range []string{"0", "-1.5", "1e10", "0x1.8p3", "inf", "nan", ".5", "5.", "1e-4940", "1e4932"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, ok := parseFloat([]byte(text))
		if !ok || value.IsInf() {
			return
		}
		written := appendFloat(nil, value)
		again, ok := parseFloat(written)
		if !ok {
			t.Fatalf("parseFloat refuses %q, which it wrote itself for %q", written, text)
		}
		if twice := appendFloat(nil, again); string(twice) != string(written) {
			t.Errorf("%q is written as %q and then as %q", text, written, twice)
		}
	})
}

func TestParseFloatAgreesWithDoubles(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		double := math.Float64frombits(random.Uint64())
		if math.IsNaN(double) || math.IsInf(double, 0) || math.Abs(double) > 1e300 {
			continue
		}
		text := strconv.FormatFloat(double, 'g', -1, 64)
		value, ok := parseFloat([]byte(text))
		if !ok {
			t.Fatalf("parseFloat refuses %s", text)
		}
		if got, _ := value.Float64(); got != double {
			t.Fatalf("parseFloat(%s) = %v", text, value)
		}
	}
}

func TestParseCursor(t *testing.T) {
	accepted := map[string]uint64{"": 0, "0": 0, "007": 7, "+5": 5, "-1": math.MaxUint64, "18446744073709551615": math.MaxUint64}
	for text, want := range accepted {
		if cursor, ok := parseCursor([]byte(text)); !ok || cursor != want {
			t.Errorf("parseCursor(%q) = %d, %v", text, cursor, ok)
		}
	}
	for _, text := range []string{"-", "+", " 1", "1 ", "a", "1a", "18446744073709551616", "--1", "0x1"} {
		if cursor, ok := parseCursor([]byte(text)); ok {
			t.Errorf("parseCursor(%q) = %d, want it refused", text, cursor)
		}
	}
}
