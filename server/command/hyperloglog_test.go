package command

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/tsavorite"
)

// TestPlaces fixes the hash and the cut into register and value, for every length of a tail.
func TestPlaces(t *testing.T) {
	zeros := 0
	seen := map[int]bool{}
	for i := range 50000 {
		index, value := placeOf(fmt.Appendf(nil, "%d", i))
		if index < 0 || index >= registerCount || value < 1 || value > rankMax {
			t.Fatalf("%d goes to register %d, value %d", i, index, value)
		}
		seen[index] = true
		if value == 1 {
			zeros++
		}
	}
	if len(seen) < registerCount*9/10 || math.Abs(float64(zeros)-25000) > 1000 {
		t.Errorf("50000 elements reach %d registers, and %d have value 1", len(seen), zeros)
	}
}

// model is a HyperLogLog as plain registers.
type model struct{ registers sketchRegisters }

func (m *model) raise(index int, value byte) bool {
	changed := m.registers[index] < value
	m.registers[index] = max(m.registers[index], value)
	return changed
}

// check compares a sketch with the model: registers, header, estimate.
func (m *model) check(t *testing.T, s sketch) {
	t.Helper()
	var registers sketchRegisters
	if !s.valid() || !s.mergeInto(&registers) || registers != m.registers {
		t.Fatalf("the registers differ from the model's, valid %v, %d bytes", s.valid(), len(s))
	}
	if got, ok := s.estimate(); !ok || got != m.registers.estimate() {
		t.Fatalf("the estimate is %d, %v; from the registers it is %d", got, ok, m.registers.estimate())
	}
}

// TestEditor raises registers at random, few and many, near each other and far apart, until the
// sketch is dense.
func TestEditor(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 9))
		width := []int{registerCount, 300, 20, 5}[seed%4]
		greatest := []int{2, 32, 51}[seed%3]
		var e sketchEditor
		var m model
		e.create()
		m.check(t, e.bytes)
		base := random.IntN(registerCount - width + 1)
		for step := range 3000 {
			index, value := base+random.IntN(width), byte(1+random.IntN(greatest))
			want := m.raise(index, value)
			changed, ok := e.raise(index, value)
			if !ok || changed != want {
				t.Fatalf("seed %d, step %d: raise(%d, %d) = %v, %v; want %v", seed, step, index, value, changed, ok, want)
			}
			if step%100 == 0 || len(e.bytes) > sparseMaxBytes-10 && !e.bytes.isDense() {
				m.check(t, e.bytes)
			}
		}
		m.check(t, e.bytes)
		wasSparse := bytes.Clone(e.bytes)
		if !e.promote() || !e.bytes.isDense() || len(e.bytes) != denseSketchBytes {
			t.Fatalf("seed %d: promote made %d bytes", seed, len(e.bytes))
		}
		if !bytes.Equal(wasSparse[5:sketchHeaderBytes], e.bytes[5:sketchHeaderBytes]) {
			t.Fatal("promote changed the header")
		}
		m.check(t, e.bytes)
	}
}

// TestEditorSearchesFromAnywhere raises registers in rising order, with steps back, and compares
// with an editor that begins each search at the first run, as Redis does.
func TestEditorSearchesFromAnywhere(t *testing.T) {
	seeds := uint64(100)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 10))
		var e, plain sketchEditor
		e.create()
		plain.create()
		stride, greatest, index := 1+random.IntN(20), 1+random.IntN(5), 0
		for step := range 3000 {
			if index += random.IntN(stride); index >= registerCount || random.IntN(200) == 0 {
				index = random.IntN(min(index, registerCount-1) + 1)
			}
			value := byte(1 + random.IntN(greatest))
			plain.near = firstRun
			changed, ok := e.raise(index, value)
			if wantChanged, wantOK := plain.raise(index, value); changed != wantChanged || ok != wantOK || !bytes.Equal(e.bytes, plain.bytes) {
				t.Fatalf("seed %d, step %d: raise(%d, %d) = %v, %v; want %v, %v and other bytes", seed, step, index, value, changed, ok, wantChanged, wantOK)
			}
			if e.bytes.isDense() {
				break
			}
		}
	}
}

// BenchmarkMerge merges two sparse HyperLogLogs of a thousand elements each into a new one.
func BenchmarkMerge(b *testing.B) {
	c := newTestContext(b, tsavorite.Options{})
	client := &Client{}
	for i := range 1000 {
		c.Serve(client, []byte(requests(fmt.Sprintf("PFADD a a%d", i), fmt.Sprintf("PFADD b a%d", i/2))))
	}
	input := []byte(requests("DEL c", "PFMERGE c a b"))
	b.ReportAllocs()
	for b.Loop() {
		c.Out = c.Out[:0]
		c.Serve(client, input)
	}
}

func TestDenseRegistersAreApart(t *testing.T) {
	s := make(sketch, denseSketchBytes)
	copy(s, sketchMagic)
	for index := range registerCount {
		if !s.raise(index, byte(index%64)) && index%64 != 0 || s.raise(index, byte(index%64)) {
			t.Fatalf("raising register %d once is wrong", index)
		}
	}
	for index := range registerCount {
		if got := s.register(index); got != byte(index%64) {
			t.Fatalf("register %d is %d, want %d", index, got, index%64)
		}
	}
}

// TestEstimates adds different elements and expects an estimate within five standard errors.
func TestEstimates(t *testing.T) {
	var e sketchEditor
	e.create()
	count := 0
	for _, target := range []int{0, 1, 2, 10, 100, 1000, 3000, 10000, 50000, 200000} {
		for ; count < target; count++ {
			if _, ok := e.raise(placeOf(fmt.Appendf(nil, "element:%d", count))); !ok {
				t.Fatal("the sketch is corrupt")
			}
		}
		got, ok := e.bytes.estimate()
		if bound := 5 * 1.04 / math.Sqrt(registerCount) * float64(target); !ok || math.Abs(float64(got)-float64(target)) > max(bound, 1) {
			t.Errorf("%d elements are estimated as %d, %v", target, got, ok)
		}
	}
}

// TestEstimateOfImpossibleRegisters checks the ends of the estimator's range.
func TestEstimateOfImpossibleRegisters(t *testing.T) {
	var r sketchRegisters
	if got := r.estimate(); got != 0 {
		t.Errorf("no elements are estimated as %d", got)
	}
	for _, value := range []byte{rankMax, 60, registerMax} {
		for i := range r {
			r[i] = value
		}
		if got := r.estimate(); got != math.MinInt64 {
			t.Errorf("registers that are all %d are estimated as %d", value, got)
		}
	}
}

// TestCountKeepsTheEstimate looks at the header before and after PFCOUNT, and at what full memory changes.
func TestCountKeepsTheEstimate(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{MemoryBytes: 256 << 10, PageBytes: 32 << 10})
	client := &Client{}
	stale := func() bool { return serve(t, c, client, request("GETBIT", "h", "120")) == ":1\r\n" }
	serve(t, c, client, request("PFADD", "h", "a", "b"))
	if !stale() {
		t.Error("PFADD left the estimate valid")
	}
	if got := serve(t, c, client, requests("PFCOUNT h", "PFCOUNT h")); got != ":2\r\n:2\r\n" || stale() {
		t.Errorf("PFCOUNT: %q, stale %v", got, stale())
	}
	serve(t, c, client, request("PFADD", "h", "a", "c"))
	for i := 0; ; i++ {
		got := serve(t, c, client, request("SET", fmt.Sprint("ballast:", i), strings.Repeat("b", 1000)))
		if strings.HasPrefix(got, "-OOM") {
			break
		}
		if i == 1000 {
			t.Fatal("memory does not fill up")
		}
	}
	if got := serve(t, c, client, requests("PFCOUNT h", "PFCOUNT h missing")); got != ":3\r\n:3\r\n" {
		t.Errorf("PFCOUNT with full memory: %q", got)
	}
}

// TestMergeIsOneStep has workers grow one HyperLogLog by merging others into it: no element may get lost.
func TestMergeIsOneStep(t *testing.T) {
	const workers, rounds = 4, 50
	c := newTestContext(t, tsavorite.Options{})
	together(t, c, workers, func(worker int, c *Context) {
		client := &Client{}
		for i := range rounds {
			c.Out = c.Out[:0]
			mine := fmt.Sprintf("mine:%d", worker)
			c.Serve(client, []byte(requests("DEL "+mine, fmt.Sprintf("PFADD %s %d:%d", mine, worker, i), "PFMERGE all "+mine, fmt.Sprintf("PFADD all x%d:%d", worker, i))))
			if bytes.Contains(c.Out, []byte("-")) {
				t.Errorf("worker %d: %q", worker, c.Out)
				return
			}
		}
	})
	var want model
	for worker := range workers {
		for i := range rounds {
			want.raise(placeOf(fmt.Appendf(nil, "%d:%d", worker, i)))
			want.raise(placeOf(fmt.Appendf(nil, "x%d:%d", worker, i)))
		}
	}
	got := serve(t, c, &Client{}, request("GET", "all"))
	_, value, _ := strings.Cut(got, "\r\n")
	want.check(t, sketch(strings.TrimSuffix(value, "\r\n")))
}

// oddSketches look like HyperLogLogs; most of them are none, or corrupt.
func oddSketches() [][]byte {
	header := func(encoding byte, stale byte) []byte {
		return append([]byte("HYLL"), encoding, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, stale)
	}
	return [][]byte{
		header(sparseEncoding, 0x80),
		append(header(sparseEncoding, 0x80), 0x7f, 0xff),
		append(header(sparseEncoding, 0x80), 0x7f),
		append(header(sparseEncoding, 0), 0x7f, 0xfe, 0x80),
		append(header(sparseEncoding, 0x80), 0x7f, 0xfe, 0x83),
		append(header(sparseEncoding, 0x80), 0x00, 0x40, 0x00, 0xff, 0x7f, 0xf9),
		append(header(sparseEncoding, 0x80), bytes.Repeat([]byte{0x80, 0x03}, 2000)...),
		append(header(denseEncoding, 0x80), bytes.Repeat([]byte{0xff}, denseSketchBytes-sketchHeaderBytes)...),
		append(header(denseEncoding, 0x80), 1, 2, 3),
		append(header(2, 0x80), 0x7f, 0xff),
		[]byte("HYLL"),
		[]byte("hyll0123456789abcdef"),
	}
}

// TestOddSketches expects one reply to each command, and one of the two errors from those that fail.
func TestOddSketches(t *testing.T) {
	c := newTestContext(t, tsavorite.Options{})
	client := &Client{}
	for _, value := range oddSketches() {
		serve(t, c, client, request("SET", "k", string(value))+request("DEL", "other"))
		for _, line := range []string{"PFCOUNT k", "PFADD k a", "PFADD k b c d", "PFCOUNT k", "PFCOUNT k k", "PFMERGE other k", "PFMERGE k", "PFCOUNT k"} {
			reply := serve(t, c, client, requests(line))
			known := reply == "-"+errNotSketch+"\r\n" || reply == "-"+errCorruptSketch+"\r\n" || reply == "+OK\r\n" || reply[0] == ':'
			if !known || strings.Count(reply, "\r\n") != 1 {
				t.Errorf("%s of %.60q: %q", line, value, reply)
			}
			if notOne := reply == "-"+errNotSketch+"\r\n"; notOne == sketch(value).valid() {
				t.Errorf("%s of %.60q: %q", line, value, reply)
			}
		}
	}
}

// applied is a value after an updater, as the engine carries it out.
func applied(u tsavorite.Updater, value []byte) []byte {
	current := tsavorite.Record{Value: value}
	plan := u.Plan(current, true)
	if plan.Action != tsavorite.Write {
		return value
	}
	next := make([]byte, plan.Length)
	copy(next, value)
	u.Write(next, current)
	return next
}

// FuzzSketch adds to a string, counts it and merges it. A string that is no HyperLogLog, or is
// corrupt, must give its error and never a panic; one that is right must stay right, and have the
// registers that it had and those of the elements.
func FuzzSketch(f *testing.F) {
	for _, value := range oddSketches() {
		f.Add(value, "a", "bcd")
	}
	f.Fuzz(func(t *testing.T, value []byte, first, second string) {
		valid := sketch(value).valid()
		var before sketchRegisters
		right := valid && sketch(value).mergeInto(&before)
		adder := sketchAdder{elements: [][]byte{[]byte(first), []byte(second)}}
		after := applied(&adder, bytes.Clone(value))
		if valid != (adder.problem != errNotSketch) || right && adder.problem != "" || adder.changed == bytes.Equal(value, after) && right {
			t.Fatalf("valid %v, right %v: added %v, %q", valid, right, adder.changed, adder.problem)
		}
		var counter sketchCounter
		counted := applied(&counter, bytes.Clone(after))
		if valid != (counter.problem != errNotSketch) || right && counter.problem != "" {
			t.Fatalf("valid %v, right %v: counted %d, %q", valid, right, counter.estimate, counter.problem)
		}
		merger := sketchMerger{registers: new(sketchRegisters), count: 1}
		merger.Begin()
		merger.Read(0, tsavorite.Found, tsavorite.Record{Value: counted})
		if valid != (merger.keys.problem != errNotSketch) || right && merger.keys.problem != "" {
			t.Fatalf("valid %v, right %v: merged %q", valid, right, merger.keys.problem)
		}
		if merger.keys.problem != "" {
			return
		}
		if right {
			want := model{before}
			want.raise(placeOf([]byte(first)))
			want.raise(placeOf([]byte(second)))
			want.check(t, counted)
		}
		writer := sketchWriter{registers: merger.registers, dense: merger.anyDense}
		merged := model{*merger.registers}
		merged.check(t, applied(&writer, counted))
	})
}
