package main

import (
	"fmt"
	"slices"
	"strings"
)

// randomPlaceholder is replaced by twelve digits when -r is given; it is as long as they are.
const randomPlaceholder = "__rand_int__"

// dataPlaceholder is replaced by -d bytes of data.
const dataPlaceholder = "__data__"

// test is one thing that is measured: commands sent in a row, over and over.
type test struct {
	title   string
	request template
}

// standard is one of the tests that are run when no command is given.
type standard struct {
	title string
	names string // for -t, between commas
	line  string // the command; empty: PING in its inline form
}

// standardTests lists the default tests in their order. %s stands for the data.
var standardTests = []standard{
	{"PING_INLINE", ",ping,ping_inline,", ""},
	{"PING_MBULK", ",ping,ping_mbulk,", "PING"},
	{"SET", ",set,", "SET key:__rand_int__ __data__"},
	{"GET", ",get,", "GET key:__rand_int__"},
	{"INCR", ",incr,", "INCR counter:__rand_int__"},
	{"LPUSH", ",lpush,", "LPUSH mylist __data__"},
	{"RPUSH", ",rpush,", "RPUSH mylist __data__"},
	{"LPOP", ",lpop,", "LPOP mylist"},
	{"RPOP", ",rpop,", "RPOP mylist"},
	{"SADD", ",sadd,", "SADD myset element:__rand_int__"},
	{"HSET", ",hset,", "HSET myhash element:__rand_int__ __data__"},
	{"SPOP", ",spop,", "SPOP myset"},
	{"ZADD", ",zadd,", "ZADD myzset 0 element:__rand_int__"},
	{"ZPOPMIN", ",zpopmin,", "ZPOPMIN myzset"},
	{"LPUSH (needed to benchmark LRANGE)", ",lrange,lrange_100,lrange_300,lrange_500,lrange_600,", "LPUSH mylist __data__"},
	{"LRANGE_100 (first 100 elements)", ",lrange,lrange_100,", "LRANGE mylist 0 99"},
	{"LRANGE_300 (first 300 elements)", ",lrange,lrange_300,", "LRANGE mylist 0 299"},
	{"LRANGE_500 (first 500 elements)", ",lrange,lrange_500,", "LRANGE mylist 0 499"},
	{"LRANGE_600 (first 600 elements)", ",lrange,lrange_600,", "LRANGE mylist 0 599"},
	{"MSET (10 keys)", ",mset,", "MSET" + strings.Repeat(" key:__rand_int__ __data__", 10)},
}

// selected reports whether -t names the test; an empty list names all.
func (s *standard) selected(list string) bool {
	if list == "" {
		return true
	}
	for name := range strings.SplitSeq(strings.ToLower(list), ",") {
		if name = strings.TrimSpace(name); name != "" && strings.Contains(s.names, ","+name+",") {
			return true
		}
	}
	return false
}

// anySelected reports whether -t names a test at all.
func anySelected(list string) bool {
	return slices.ContainsFunc(standardTests, func(s standard) bool { return s.selected(list) })
}

// testNames lists the shortest names for -t.
func testNames() string {
	var names []string
	for i := range standardTests {
		names = append(names, strings.Split(standardTests[i].names, ",")[1])
	}
	return strings.Join(slices.Compact(names), ", ")
}

// suite returns the tests that the options ask for. input is the last argument of -x.
func (o *options) suite(input []byte) ([]test, error) {
	data := string(benchmarkData(o.DataSize))
	if len(o.Command) > 0 {
		steps, err := parseSequence(o.Command, input, o.Stdin)
		if err != nil {
			return nil, err
		}
		var t template
		for _, s := range steps {
			for range s.count {
				t.append(s.arguments, data, o.Keyspace >= 0)
			}
		}
		return []test{{strings.Join(o.Command, " "), t}}, nil
	}
	var tests []test
	for _, s := range standardTests {
		if !s.selected(o.Tests) {
			continue
		}
		var t template
		if s.line == "" {
			t = template{bytes: []byte("PING\r\n"), commands: 1}
		} else {
			arguments := strings.Fields(s.line)
			if s.title == "ZADD" && o.Keyspace >= 0 {
				arguments[2] = randomPlaceholder
			}
			t.append(arguments, data, o.Keyspace >= 0)
		}
		tests = append(tests, test{s.title, t})
	}
	return tests, nil
}

// step is a command of a sequence.
type step struct {
	count     int
	arguments []string
}

// repeatLimit bounds how often a number before a command may repeat it.
const repeatLimit = 1 << 16

// parseSequence cuts a command line at its semicolons and takes the repeat counts off. With stdin,
// input becomes the last argument.
func parseSequence(line []string, input []byte, stdin bool) ([]step, error) {
	var steps []step
	var present []string
	end := func() error {
		if len(present) == 0 {
			return nil
		}
		s := step{1, present}
		var count int
		if n, err := fmt.Sscanf(present[0], "%d", &count); n == 1 && err == nil && fmt.Sprint(count) == present[0] {
			if count < 1 || count > repeatLimit {
				return fmt.Errorf("cannot repeat a command %d times; it must be from 1 to %d", count, repeatLimit)
			}
			s = step{count, present[1:]}
		}
		if len(s.arguments) == 0 {
			return fmt.Errorf("cannot repeat nothing %d times: the command after the number is missing", count)
		}
		steps, present = append(steps, s), nil
		return nil
	}
	for _, argument := range line {
		if argument != ";" {
			present = append(present, argument)
		} else if err := end(); err != nil {
			return nil, err
		}
	}
	if stdin {
		present = append(present, string(input))
	}
	if err := end(); err != nil {
		return nil, err
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("cannot run %q: there is no command in it", strings.Join(line, " "))
	}
	return steps, nil
}

// benchmarkData is the data of SET and the like, the same bytes in every run and those that
// redis-benchmark sends: the C standard's example of a random generator, six bits a byte.
func benchmarkData(size int) []byte {
	data := make([]byte, size)
	state := uint32(1234)
	for i := range data {
		state = state*1103515245 + 12345
		data[i] = '0' + byte(state>>16&63)
	}
	return data
}
