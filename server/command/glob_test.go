package command

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestGlobMatch(t *testing.T) {
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", false}, {"*", "a", true}, {"**", "abc", true},
		{"a*", "a", true}, {"a*", "ab", true}, {"a*", "ba", false}, {"*a", "ba", true}, {"*a", "ab", false},
		{"a*c*e", "abcde", true}, {"a*c*e", "abde", false}, {"*ab*", "xxabyy", true}, {"?", "a", true},
		{"?", "", false}, {"a?c", "abc", true}, {"[abc]", "b", true}, {"[abc]", "d", false},
		{"[^abc]", "d", true}, {"[^abc]", "a", false}, {"[a-c]", "b", true}, {"[c-a]", "b", true},
		{"[a-c", "b", true}, {"[", "a", false}, {"[^", "a", true}, {"[]", "]", false}, {"[]a]", "]", false},
		{`\*`, "*", true}, {`\*`, "a", false}, {`\`, `\`, true}, {`[\]]`, "]", true}, {`[\-a]`, "-", true},
		{"[a-]", "b", false}, {"[a-]", "^", true}, {"h[^e]llo", "hallo", true}, {"h[^e]llo", "hello", false},
		{"[\x80-\x90]", "\x85", true}, {"[a-\xff]", "b", false}, {"[a-\xff]", "A", true}, {"a\x00*", "a\x00b", true},
	} {
		if got := globMatch([]byte(test.pattern), []byte(test.text)); got != test.want {
			t.Errorf("globMatch(%q, %q) = %v", test.pattern, test.text, got)
		}
	}
}

// slowMatch says the same as globMatch in the recursive way, which is plain but exponential.
func slowMatch(pattern, text []byte) bool {
	if len(text) == 0 {
		for len(pattern) > 0 && pattern[0] == '*' {
			pattern = pattern[1:]
		}
		return len(pattern) == 0
	}
	if len(pattern) == 0 {
		return false
	}
	if pattern[0] == '*' {
		return slowMatch(pattern[1:], text) || slowMatch(pattern, text[1:])
	}
	next, ok := matchOne(pattern, 0, text[0])
	return ok && slowMatch(pattern[next:], text[1:])
}

func checkGlob(t *testing.T, pattern, text []byte) {
	t.Helper()
	want := slowMatch(pattern, text)
	if len(text) == 0 {
		want = len(pattern) == 0
	}
	if got := globMatch(pattern, text); got != want {
		t.Fatalf("globMatch(%q, %q) = %v", pattern, text, got)
	}
}

func TestGlobMatchAgreesWithRecursion(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	letters := func(alphabet string, most int) []byte {
		word := make([]byte, random.IntN(most))
		for i := range word {
			word[i] = alphabet[random.IntN(len(alphabet))]
		}
		return word
	}
	for range 200_000 {
		checkGlob(t, letters(`aab**?[]^-\`, 9), letters(`aab-]`, 9))
	}
}

func FuzzGlobMatch(f *testing.F) {
	for _, seed := range []string{"a*b?[^c-d]\\e", "****", "[a-", "[^\\", "\\"} {
		f.Add(seed, "aXbYcZ")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 12 || len(text) > 12 {
			globMatch([]byte(pattern), []byte(text)) // must return, whatever it says
			return
		}
		checkGlob(t, []byte(pattern), []byte(text))
	})
}

func TestGlobMatchIsNotExponential(t *testing.T) {
	pattern := []byte(strings.Repeat("a*", 2000) + "b")
	text := []byte(strings.Repeat("a", 20_000))
	began := time.Now()
	if globMatch(pattern, text) {
		t.Error("a pattern that ends in b matches a text without b")
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the match took %v", took)
	}
}
