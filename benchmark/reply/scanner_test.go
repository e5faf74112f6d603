package reply

import (
	"strings"
	"testing"
)

// scan feeds a stream in pieces of the given size.
func scan(t *testing.T, stream string, expected, piece int) *Scanner {
	t.Helper()
	var r Scanner
	r.Expect(expected)
	for len(stream) > 0 {
		n := min(piece, len(stream))
		if err := r.Feed([]byte(stream[:n])); err != nil {
			t.Fatalf("pieces of %d: %v", piece, err)
		}
		stream = stream[n:]
	}
	return &r
}

func TestRepliesAreCountedHoweverTheStreamIsCut(t *testing.T) {
	stream := "+OK\r\n:1234567\r\n$5\r\nhello\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n" +
		"*3\r\n$3\r\n\r\n*\r\n*2\r\n:-7\r\n$-1\r\n+PONG\r\n" + "-ERR bad thing\r\n-WRONGTYPE other\r\n"
	const expected = 10
	for piece := 1; piece <= len(stream); piece++ {
		r := scan(t, stream, expected, piece)
		if !r.Complete() {
			t.Fatalf("pieces of %d: the stream's end is not the replies' end: %+v", piece, r)
		}
		if r.Nils != 3 || r.Errors != 2 || r.FirstError != "ERR bad thing" || r.Bytes != uint64(len(stream)) {
			t.Fatalf("pieces of %d: %d nils, %d errors, first %q, %d bytes", piece, r.Nils, r.Errors, r.FirstError, r.Bytes)
		}
	}
	for cut := 1; cut < len(stream); cut++ {
		if scan(t, stream[:cut], expected, cut).Complete() {
			t.Fatalf("complete after %d of %d bytes", cut, len(stream))
		}
	}
}

func TestRESP3IsCountedHoweverTheStreamIsCut(t *testing.T) {
	stream := "_\r\n#t\r\n,1.5\r\n(123\r\n=7\r\ntxt:abc\r\n!9\r\nERR large\r\n" +
		">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n" + "%2\r\n+a\r\n:1\r\n+b\r\n~1\r\n:2\r\n" + "-ERR y\r\n"
	for piece := 1; piece <= len(stream); piece++ {
		r := scan(t, stream, 8, piece)
		if !r.Complete() || r.Nils != 1 || r.Errors != 2 || r.FirstError != "ERR large" {
			t.Fatalf("pieces of %d: %+v", piece, r)
		}
	}
}

func TestRepliesKeepTheLastInteger(t *testing.T) {
	for stream, want := range map[string]int64{":0\r\n": 0, ":983040\r\n": 983040, ":-3\r\n": -3} {
		if r := scan(t, stream, 1, 2); r.Number != want {
			t.Errorf("%q leaves %d, want %d", stream, r.Number, want)
		}
	}
}

func TestRepliesRefuseGarbage(t *testing.T) {
	for stream, want := range map[string]string{
		"x":                 "it begins with 'x'",
		"$12a\r\n":          "'a' in the number",
		"*99999999999\r\n":  "length of a '*' header",
		"$-2\r\n":           "length of a '$' header",
		"+OK\r\n+OK\r\n":    "after the last one expected",
		"$1\r\na\r\n:1\r\n": "after the last one expected",
	} {
		var r Scanner
		r.Expect(1)
		if err := r.Feed([]byte(stream)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", stream, err, want)
		}
	}
}

func TestLongErrorIsCut(t *testing.T) {
	r := scan(t, "-"+strings.Repeat("e", 5000)+"\r\n", 1, 100)
	if r.Errors != 1 || len(r.FirstError) > errorTextLimit+100 {
		t.Errorf("%d errors, %d bytes kept", r.Errors, len(r.FirstError))
	}
}

func TestScanningAllocatesNothing(t *testing.T) {
	stream := []byte(strings.Repeat("$8\r\nabcdefgh\r\n", 500) + "*2\r\n:1\r\n+OK\r\n")
	var r Scanner
	if n := testing.AllocsPerRun(100, func() {
		r.Expect(501)
		if err := r.Feed(stream); err != nil || !r.Complete() {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a batch, want none", n)
	}
}

func FuzzReplies(f *testing.F) {
	f.Add(">1\r\n+x\r\n%1\r\n_\r\n!3\r\nERR\r\n", 5)
	f.Add("*2\r\n$3\r\nabc\r\n:1\r\n", 3)
	f.Add("-ERR x\r\n$-1\r\n", 1)
	f.Fuzz(func(t *testing.T, stream string, cut int) {
		var whole, pieces Scanner
		whole.Expect(2)
		pieces.Expect(2)
		wholeErr := whole.Feed([]byte(stream))
		cut = min(max(cut, 0), len(stream))
		piecesErr := pieces.Feed([]byte(stream[:cut]))
		if piecesErr == nil {
			piecesErr = pieces.Feed([]byte(stream[cut:]))
		}
		if (wholeErr == nil) != (piecesErr == nil) {
			t.Fatalf("cut at %d: %v, whole: %v", cut, piecesErr, wholeErr)
		}
		if wholeErr == nil && (whole.Complete() != pieces.Complete() || whole.Nils != pieces.Nils || whole.Errors != pieces.Errors) {
			t.Fatalf("cut at %d: %+v, whole: %+v", cut, pieces, whole)
		}
	})
}

func BenchmarkReplies(b *testing.B) {
	stream := []byte(strings.Repeat("$96\r\n"+strings.Repeat("v", 96)+"\r\n", 1024))
	var r Scanner
	b.ReportAllocs()
	for b.Loop() {
		r.Expect(1024)
		if err := r.Feed(stream); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024, "ns/reply")
}
