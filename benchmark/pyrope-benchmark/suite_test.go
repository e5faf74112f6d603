package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/benchmark/workload"
)

// parse reads a command line that must be right.
func parse(t *testing.T, line string) options {
	t.Helper()
	o, err := parseOptions(strings.Fields(line), nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// The bytes that redis-benchmark 7.0.15 sends, title by title.
var referenceRequests = [][2]string{
	{"PING_INLINE", "PING\r\n"},
	{"PING_MBULK", "*1\r\n$4\r\nPING\r\n"},
	{"SET", "*3\r\n$3\r\nSET\r\n$16\r\nkey:__rand_int__\r\n$3\r\nVXK\r\n"},
	{"GET", "*2\r\n$3\r\nGET\r\n$16\r\nkey:__rand_int__\r\n"},
	{"INCR", "*2\r\n$4\r\nINCR\r\n$20\r\ncounter:__rand_int__\r\n"},
	{"LPUSH", "*3\r\n$5\r\nLPUSH\r\n$6\r\nmylist\r\n$3\r\nVXK\r\n"},
	{"RPUSH", "*3\r\n$5\r\nRPUSH\r\n$6\r\nmylist\r\n$3\r\nVXK\r\n"},
	{"LPOP", "*2\r\n$4\r\nLPOP\r\n$6\r\nmylist\r\n"},
	{"RPOP", "*2\r\n$4\r\nRPOP\r\n$6\r\nmylist\r\n"},
	{"SADD", "*3\r\n$4\r\nSADD\r\n$5\r\nmyset\r\n$20\r\nelement:__rand_int__\r\n"},
	{"HSET", "*4\r\n$4\r\nHSET\r\n$6\r\nmyhash\r\n$20\r\nelement:__rand_int__\r\n$3\r\nVXK\r\n"},
	{"SPOP", "*2\r\n$4\r\nSPOP\r\n$5\r\nmyset\r\n"},
	{"ZADD", "*4\r\n$4\r\nZADD\r\n$6\r\nmyzset\r\n$1\r\n0\r\n$20\r\nelement:__rand_int__\r\n"},
	{"ZPOPMIN", "*2\r\n$7\r\nZPOPMIN\r\n$6\r\nmyzset\r\n"},
	{"LPUSH (needed to benchmark LRANGE)", "*3\r\n$5\r\nLPUSH\r\n$6\r\nmylist\r\n$3\r\nVXK\r\n"},
	{"LRANGE_100 (first 100 elements)", "*4\r\n$6\r\nLRANGE\r\n$6\r\nmylist\r\n$1\r\n0\r\n$2\r\n99\r\n"},
	{"LRANGE_300 (first 300 elements)", "*4\r\n$6\r\nLRANGE\r\n$6\r\nmylist\r\n$1\r\n0\r\n$3\r\n299\r\n"},
	{"LRANGE_500 (first 500 elements)", "*4\r\n$6\r\nLRANGE\r\n$6\r\nmylist\r\n$1\r\n0\r\n$3\r\n499\r\n"},
	{"LRANGE_600 (first 600 elements)", "*4\r\n$6\r\nLRANGE\r\n$6\r\nmylist\r\n$1\r\n0\r\n$3\r\n599\r\n"},
	{"MSET (10 keys)", "*21\r\n$4\r\nMSET\r\n" + strings.Repeat("$16\r\nkey:__rand_int__\r\n$3\r\nVXK\r\n", 10)},
}

func TestStandardTestsSendTheReferenceBytes(t *testing.T) {
	o := parse(t, "")
	tests, err := o.suite(nil)
	if err != nil || len(tests) != len(referenceRequests) {
		t.Fatalf("%d tests, %v", len(tests), err)
	}
	for i, want := range referenceRequests {
		got := tests[i]
		if got.title != want[0] || string(got.request.bytes) != want[1] || got.request.commands != 1 || len(got.request.spots) != 0 {
			t.Errorf("test %d is %q: %q with spots %v, want %q: %q", i, got.title, got.request.bytes, got.request.spots, want[0], want[1])
		}
	}
}

func TestSelection(t *testing.T) {
	for list, want := range map[string]string{
		"ping": "PING_INLINE PING_MBULK", "ping_mbulk,HSET": "PING_MBULK HSET", "Lrange_300": "LPUSH LRANGE_300",
		"lrange": "LPUSH LRANGE_100 LRANGE_300 LRANGE_500 LRANGE_600", "lpush": "LPUSH", "mset,set": "SET MSET",
		"nope,get,pin": "GET",
	} {
		o := parse(t, "-t "+list)
		tests, err := o.suite(nil)
		var names []string
		for _, s := range tests {
			name, _, _ := strings.Cut(s.title, " ")
			names = append(names, name)
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("-t %s runs %q, %v, want %q", list, got, err, want)
		}
	}
}

func TestRandomNumbersFillEverySpot(t *testing.T) {
	o := parse(t, "-r 1000 -t zadd,mset")
	tests, err := o.suite(nil)
	if err != nil {
		t.Fatal(err)
	}
	random := workload.NewRandom(1, 1)
	for i, spots := range []int{2, 10} {
		request := tests[i].request.repeat(3)
		before := bytes.Clone(request.bytes)
		mine := request.own()
		mine.fill(&random, nil, o.Keyspace)
		if len(mine.spots) != 3*spots || bytes.Contains(mine.bytes, []byte(randomPlaceholder)) || !bytes.Equal(request.bytes, before) {
			t.Fatalf("%d spots, filled %q", len(mine.spots), mine.bytes)
		}
		different := map[string]bool{}
		for _, spot := range mine.spots {
			digits := string(mine.bytes[spot : spot+12])
			if !strings.HasPrefix(digits, "000000000") || strings.Trim(digits, "0123456789") != "" {
				t.Errorf("a spot holds %q", digits)
			}
			different[digits] = true
		}
		if len(different) < 3 {
			t.Errorf("the numbers are %v", different)
		}
	}
	if !strings.Contains(string(tests[0].request.bytes), "$6\r\nmyzset\r\n$12\r\n__rand_int__\r\n") {
		t.Errorf("ZADD has no random score: %q", tests[0].request.bytes)
	}
	if n := testing.AllocsPerRun(100, func() { tests[1].request.fill(&random, nil, 1000) }); n != 0 {
		t.Errorf("%v allocations a fill, want none", n)
	}
}

func TestSequences(t *testing.T) {
	const set, get = "*3\r\n$3\r\nset\r\n$1\r\na\r\n$5\r\nVXKeH\r\n", "*2\r\n$3\r\nget\r\n$1\r\na\r\n"
	for line, want := range map[string]string{
		"set a __data__":                     set,
		"set a __data__ ; get a":             set + get,
		"2 set a __data__ ; ; 3 get a ;":     set + set + get + get + get,
		"-- multi ; set a x__data__y ; exec": "*1\r\n$5\r\nmulti\r\n*3\r\n$3\r\nset\r\n$1\r\na\r\n$7\r\nxVXKeHy\r\n*1\r\n$4\r\nexec\r\n",
		"get __rand_int__":                   "*2\r\n$3\r\nget\r\n$12\r\n__rand_int__\r\n",
	} {
		o := parse(t, "-d 5 "+line)
		tests, err := o.suite(nil)
		if err != nil || string(tests[0].request.bytes) != want || tests[0].title != strings.TrimPrefix(line, "-- ") ||
			tests[0].request.commands != strings.Count(want, "*") {
			t.Errorf("%s: %+v, %v, want %q", line, tests, err, want)
		}
	}
	o := parse(t, "-x set a")
	if tests, err := o.suite([]byte("in\r\nput")); err != nil || tests[0].title != "set a" || !strings.HasSuffix(string(tests[0].request.bytes), "$7\r\nin\r\nput\r\n") {
		t.Errorf("with stdin: %+v, %v", tests, err)
	}
	for line, want := range map[string]string{"-- ;": "there is no command", "get a ; 2": "the command after the number is missing", "0 get a": "from 1 to 65536", "99999999 get a": "from 1 to 65536"} {
		o := parse(t, line)
		if _, err := o.suite(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", line, err, want)
		}
	}
}

func TestBenchmarkData(t *testing.T) {
	if got := string(benchmarkData(10)); got != "VXKeHogKgJ" {
		t.Errorf("the data is %q", got)
	}
}

func FuzzParseSequence(f *testing.F) {
	f.Add("2 set a b ; get a", "x", true)
	f.Add("; ; 3", "", false)
	f.Fuzz(func(t *testing.T, line, input string, stdin bool) {
		steps, err := parseSequence(strings.Fields(line), []byte(input), stdin)
		if err != nil {
			return
		}
		for _, s := range steps {
			if s.count < 1 || s.count > repeatLimit || len(s.arguments) == 0 {
				t.Fatalf("%q has the step %+v", line, s)
			}
		}
	})
}
