package command

import (
	"math"
	"strconv"
	"testing"
)

func TestDeadlineOf(t *testing.T) {
	const now = 1_700_000_000_000
	for _, test := range []struct {
		argument string
		unit     expiryUnit
		want     int64
		problem  string
	}{
		{"10", relativeSeconds, now + 10_000, ""},
		{"10", relativeMilliseconds, now + 10, ""},
		{"10", absoluteSeconds, 10_000, ""},
		{"10", absoluteMilliseconds, 10, ""},
		{"0", relativeSeconds, 0, errInvalidExpire},
		{"-1", absoluteMilliseconds, 0, errInvalidExpire},
		{"x", relativeSeconds, 0, errNotInteger},
		{"9223372036854775808", relativeSeconds, 0, errNotInteger},
		{strconv.FormatInt(math.MaxInt64/1000, 10), absoluteSeconds, math.MaxInt64 / 1000 * 1000, ""},
		{strconv.FormatInt(math.MaxInt64/1000+1, 10), absoluteSeconds, 0, errInvalidExpire},
		{strconv.FormatInt(math.MaxInt64/1000, 10), relativeSeconds, 0, errInvalidExpire},
		{strconv.FormatInt(math.MaxInt64, 10), absoluteMilliseconds, math.MaxInt64, ""},
		{strconv.FormatInt(math.MaxInt64-now, 10), relativeMilliseconds, math.MaxInt64, ""},
		{strconv.FormatInt(math.MaxInt64-now+1, 10), relativeMilliseconds, 0, errInvalidExpire},
	} {
		deadline, problem := deadlineOf([]byte(test.argument), test.unit, now)
		if problem != test.problem || problem == "" && deadline != test.want {
			t.Errorf("deadlineOf(%s, unit %d) = %d, %q; want %d, %q", test.argument, test.unit, deadline, problem, test.want, test.problem)
		}
	}
}

func TestExpireDeadline(t *testing.T) {
	const now = 1_700_000_000_000
	for _, test := range []struct {
		n    int64
		unit expiryUnit
		want int64
		ok   bool
	}{
		{-5, relativeSeconds, now - 5000, true},
		{math.MinInt64, relativeMilliseconds, math.MinInt64 + now, true},
		{math.MinInt64, absoluteMilliseconds, math.MinInt64, true},
		{math.MinInt64 / 1000, absoluteSeconds, math.MinInt64 / 1000 * 1000, true},
		{math.MinInt64/1000 - 1, absoluteSeconds, 0, false},
		{math.MaxInt64/1000 + 1, relativeSeconds, 0, false},
		{math.MaxInt64 / 1000, relativeSeconds, 0, false},
		{math.MaxInt64 - now, relativeMilliseconds, math.MaxInt64, true},
		{math.MaxInt64 - now + 1, relativeMilliseconds, 0, false},
	} {
		deadline, ok := expireDeadline(test.n, test.unit, now)
		if ok != test.ok || ok && deadline != test.want {
			t.Errorf("expireDeadline(%d, unit %d) = %d, %v; want %d, %v", test.n, test.unit, deadline, ok, test.want, test.ok)
		}
	}
}

func TestSetOptions(t *testing.T) {
	words := func(text ...string) [][]byte {
		out := make([][]byte, len(text))
		for i, word := range text {
			out[i] = []byte(word)
		}
		return out
	}
	for _, right := range [][]string{
		{}, {"NX"}, {"xx", "Get"}, {"nx", "nx", "get", "get"}, {"EX", "1"}, {"px", "1", "PX", "2"}, {"KEEPTTL", "keepttl"},
		{"exat", "1", "NX", "GET"}, {"PXAT", "nx"},
	} {
		var options setOptions
		if !options.parse(words(right...), false) {
			t.Errorf("SET refuses %q", right)
		}
	}
	for _, wrong := range [][]string{
		{"NX", "XX"}, {"XX", "NX"}, {"EX"}, {"EX", "1", "PX", "1"}, {"KEEPTTL", "EX", "1"}, {"EX", "1", "KEEPTTL"},
		{"PERSIST"}, {"nxx"}, {""}, {"EXAT", "1", "EX", "1"}, {"NX", "10"},
	} {
		var options setOptions
		if options.parse(words(wrong...), false) {
			t.Errorf("SET accepts %q", wrong)
		}
	}
	for _, wrong := range [][]string{{"NX"}, {"GET"}, {"KEEPTTL"}, {"PERSIST", "EX", "1"}, {"EX", "1", "PERSIST"}} {
		var options setOptions
		if options.parse(words(wrong...), true) {
			t.Errorf("GETEX accepts %q", wrong)
		}
	}
	var options setOptions
	if !options.parse(words("EX", "5", "EX", "7"), true) || string(options.time) != "7" {
		t.Errorf("of two times GETEX takes %q, want the last", options.time)
	}
}
