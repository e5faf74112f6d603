package command

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// lengthByDefinition is the length of the longest common subsequence by its recursive definition.
func lengthByDefinition(a, b []byte) int {
	switch {
	case len(a) == 0 || len(b) == 0:
		return 0
	case a[0] == b[0]:
		return 1 + lengthByDefinition(a[1:], b[1:])
	}
	return max(lengthByDefinition(a[1:], b), lengthByDefinition(a, b[1:]))
}

func isSubsequence(part, whole []byte) bool {
	for _, letter := range part {
		at := bytes.IndexByte(whole, letter)
		if at < 0 {
			return false
		}
		whole = whole[at+1:]
	}
	return true
}

func TestSubsequence(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	text := func() []byte {
		letters := make([]byte, random.IntN(9))
		for i := range letters {
			letters[i] = 'a' + byte(random.IntN(3))
		}
		return letters
	}
	for range 3000 {
		a, b := text(), text()
		s := subsequence{a: a, b: b}
		s.compute(true)
		want := lengthByDefinition(a, b)
		common := s.text()
		if s.length != want || len(common) != want || !isSubsequence(common, a) || !isSubsequence(common, b) {
			t.Fatalf("%q and %q: %q, length %d; %d is right", a, b, common, s.length, want)
		}
		var joined []byte
		for _, run := range s.runs() {
			if !bytes.Equal(a[run.a:run.a+run.length], b[run.b:run.b+run.length]) {
				t.Fatalf("%q and %q: run %+v", a, b, run)
			}
			joined = append(bytes.Clone(a[run.a:run.a+run.length]), joined...)
		}
		if !bytes.Equal(joined, common) {
			t.Fatalf("%q and %q: the runs make %q, the text is %q", a, b, joined, common)
		}
		without := subsequence{a: a, b: b}
		if without.compute(false); without.length != want {
			t.Fatalf("%q and %q: the length alone is %d; %d is right", a, b, without.length, want)
		}
	}
}

// TestSubsequenceOfWideTexts crosses the words of a row of bits.
func TestSubsequenceOfWideTexts(t *testing.T) {
	for _, length := range []int{62, 63, 64, 65, 127, 128, 129, 1000} {
		a := bytes.Repeat([]byte("ab"), length)
		b := bytes.Repeat([]byte("b"), length)
		s := subsequence{a: a, b: b}
		s.compute(true)
		if got := s.text(); !bytes.Equal(got, b) {
			t.Errorf("length %d: %q", length, got)
		}
	}
}

func TestSubsequenceFits(t *testing.T) {
	for _, test := range []struct {
		a, b int
		want bool
	}{{0, 0, true}, {11584, 11584, true}, {11585, 11585, false}, {1 << 29, 1, false}, {1 << 29, 1 << 29, false}} {
		if got := subsequenceFits(test.a, test.b, 512<<20); got != test.want {
			t.Errorf("%d and %d bytes: %t", test.a, test.b, got)
		}
	}
}
