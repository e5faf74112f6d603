package main

import (
	"bytes"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/pyropedb/pyrope/benchmark/workload"
)

// template is the bytes of some commands with places for random numbers:
//
//	*2\r\n$3\r\nGET\r\n$16\r\nkey:............\r\n
//	                            ^ a spot, twelve digits
type template struct {
	bytes    []byte
	spots    []int // offsets
	commands int   // replies that they get
}

// append adds a command. randomize makes spots of the placeholders for random numbers.
func (t *template) append(arguments []string, data string, randomize bool) {
	t.bytes = appendHeader(t.bytes, '*', len(arguments))
	for _, argument := range arguments {
		argument = strings.ReplaceAll(argument, dataPlaceholder, data)
		t.bytes = appendHeader(t.bytes, '$', len(argument))
		begin := len(t.bytes)
		t.bytes = append(t.bytes, argument...)
		for place := t.bytes[begin:]; randomize; {
			i := bytes.Index(place, []byte(randomPlaceholder))
			if i < 0 {
				break
			}
			place = place[i+len(randomPlaceholder):]
			t.spots = append(t.spots, len(t.bytes)-len(place)-len(randomPlaceholder))
		}
		t.bytes = append(t.bytes, '\r', '\n')
	}
	t.commands++
}

// repeat is the template count times over.
func (t *template) repeat(count int) template {
	r := template{bytes: bytes.Repeat(t.bytes, count), commands: t.commands * count}
	for i := range count {
		for _, spot := range t.spots {
			r.spots = append(r.spots, spot+i*len(t.bytes))
		}
	}
	return r
}

// own is the template with bytes of its own, if they are going to change.
func (t template) own() template {
	if len(t.spots) > 0 {
		t.bytes = bytes.Clone(t.bytes)
	}
	return t
}

// fill writes numbers below keyspace into the spots: the next ones of sequence, or without one random ones.
func (t *template) fill(random *workload.Random, sequence *atomic.Uint64, keyspace int64) {
	below := uint64(max(keyspace, 1))
	for _, spot := range t.spots {
		var number uint64
		if sequence != nil {
			number = (sequence.Add(1) - 1) % below
		} else {
			number = random.Below(below)
		}
		digits := t.bytes[spot : spot+len(randomPlaceholder)]
		for i := len(digits) - 1; i >= 0; i-- {
			digits[i] = '0' + byte(number%10)
			number /= 10
		}
	}
}

// appendHeader appends a RESP length line: $n or *n.
func appendHeader(dst []byte, marker byte, n int) []byte {
	dst = append(dst, marker)
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, '\r', '\n')
}
