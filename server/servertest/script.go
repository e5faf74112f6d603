package servertest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server/resp"
)

// rewrite makes Run put the replies it gets into the script in place of expectations that fail.
var rewrite = flag.Bool("rewrite", false, "put the replies received into the scripts where they differ")

// Script is a text file of commands and expected replies.
//
//	# a comment
//	== a section           everything is deleted, the client is a new one
//	> SET key "a value"    a command; words are quoted as in Go
//	+OK                    the reply that is expected, see Expectation
//	@sleep 20              waits, in milliseconds
//	@resp 3                changes the protocol version, to the end of the section
type Script struct {
	path  string
	lines []string
}

// LoadScript reads a script from a file.
func LoadScript(tb testing.TB, path string) *Script {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatalf("cannot read a script: %v", err)
	}
	return &Script{path: path, lines: strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")}
}

// Run carries the script out on a target and fails the test for every reply that is not as
// expected. With the flag -rewrite it writes the file anew instead.
func (s *Script) Run(t *testing.T, target Target) {
	t.Helper()
	r := &scriptRun{t: t, target: target, script: s}
	for i := 0; i < len(s.lines); i++ {
		r.number = i + 1
		line := s.lines[i]
		switch {
		case strings.TrimSpace(line) == "" || line[0] == '#':
		case strings.HasPrefix(line, "=="):
			r.section()
		case line[0] == '@':
			r.directive(line)
		case line[0] == '>' && i+1 < len(s.lines):
			i++
			r.command(line[1:], s.lines[i])
		default:
			t.Fatalf("%s:%d: cannot tell what %q means", s.path, r.number, line)
		}
	}
	if r.changed && *rewrite {
		text := strings.Join(s.lines, "\n") + "\n"
		if err := os.WriteFile(s.path, []byte(text), 0o644); err != nil {
			t.Fatalf("cannot rewrite a script: %v", err)
		}
	}
}

// scriptRun is one execution of a script.
type scriptRun struct {
	t       *testing.T
	target  Target
	script  *Script
	number  int // of the line, from 1
	changed bool
}

func (r *scriptRun) fatalf(format string, parts ...any) {
	r.t.Helper()
	r.t.Fatalf("%s:%d: %s", r.script.path, r.number, fmt.Sprintf(format, parts...))
}

func (r *scriptRun) section() {
	if err := r.target.Reconnect(); err != nil {
		r.fatalf("%v", err)
	}
	r.do("FLUSHALL")
}

func (r *scriptRun) directive(line string) {
	name, value, _ := strings.Cut(line[1:], " ")
	n, err := strconv.Atoi(value)
	switch {
	case err == nil && name == "sleep":
		time.Sleep(time.Duration(n) * time.Millisecond)
	case err == nil && name == "resp":
		r.do("HELLO", value)
	default:
		r.fatalf("there is no directive %q", line)
	}
}

func (r *scriptRun) do(words ...string) resp.Value {
	reply, err := r.target.Do(words...)
	if err != nil {
		r.fatalf("%v", err)
	}
	return reply
}

// command carries out one command and checks its reply against the line below it.
func (r *scriptRun) command(line, expected string) {
	r.t.Helper()
	words, err := SplitWords(line)
	if err != nil {
		r.fatalf("%v", err)
	}
	reply := r.do(words...)
	expectation, err := ParseExpectation(expected)
	if err == nil && expectation.Matches(reply) {
		return
	}
	switch {
	case *rewrite:
		r.script.lines[r.number] = Notation(reply)
		r.changed = true
	case err != nil:
		r.fatalf("%v", err)
	default:
		r.t.Errorf("%s:%d: %s\n\t got %s\n\twant %s", r.script.path, r.number, strings.TrimSpace(line), Notation(reply), expected)
	}
}

// SplitWords cuts a line into words at blanks. A word in double quotes may hold blanks and escapes.
func SplitWords(line string) (words []string, err error) {
	for {
		line = strings.TrimLeft(line, " ")
		if line == "" {
			return words, nil
		}
		if line[0] != '"' {
			end := strings.IndexByte(line+" ", ' ')
			words = append(words, line[:end])
			line = line[end:]
			continue
		}
		var word string
		if word, line, err = unquote(line); err != nil {
			return nil, err
		}
		words = append(words, word)
	}
}

// JoinWords writes a command as a script has it: the reverse of SplitWords.
func JoinWords(words []string) string {
	var out bytes.Buffer
	for i, word := range words {
		if i > 0 {
			out.WriteByte(' ')
		}
		if quoted := quote([]byte(word)); word == "" || len(quoted) != len(word)+2 || strings.ContainsRune(word, ' ') {
			word = quoted
		}
		out.WriteString(word)
	}
	return out.String()
}
