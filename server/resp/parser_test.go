package resp_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pyropedb/pyrope/server/resp"
	"github.com/tidwall/redcon"
)

// readAll feeds stream to a parser in the pieces that cuts (offsets, rising) make of it, as a
// connection does: what is not consumed stays in front of the next piece, and no call is made with
// less than Need. It returns the requests, and the error text if the stream is malformed.
func readAll(t testing.TB, parser *resp.Parser, stream []byte, cuts ...int) (requests [][]string, failure string) {
	t.Helper()
	var buffer []byte
	var args [][]byte
	need, position := 0, 0
	for _, cut := range append(cuts, len(stream)) {
		buffer = append(buffer, stream[position:cut]...)
		position = cut
		for len(buffer) > 0 && len(buffer) >= need {
			before := bytes.Clone(buffer)
			var consumed int
			var result resp.Result
			args, consumed, result = parser.Next(buffer, args)
			if !bytes.Equal(before, buffer) {
				t.Fatalf("the parser changed its input from %q to %q", before, buffer)
			}
			if consumed < 0 || consumed > len(buffer) {
				t.Fatalf("consumed %d of %d bytes", consumed, len(buffer))
			}
			if result == resp.Malformed {
				return requests, parser.Err().Error()
			}
			if result == resp.Complete {
				requests = append(requests, texts(args))
				need = 0
			} else if need = parser.Need(); need <= len(buffer)-consumed {
				t.Fatalf("need %d bytes, has %d", need, len(buffer)-consumed)
			}
			// A copy at another place, as when a connection's buffer grows.
			buffer = bytes.Clone(buffer[consumed:])
		}
	}
	return requests, ""
}

func texts(args [][]byte) []string {
	words := make([]string, len(args))
	for i, argument := range args {
		words[i] = string(argument)
	}
	return words
}

// stream has requests of every form, and what they say.
func stream() (wire []byte, requests [][]string) {
	add := func(text string, args ...string) {
		wire = append(wire, text...)
		if len(args) > 0 {
			requests = append(requests, args)
		}
	}
	add("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "GET", "k")
	add("\r\n")
	add("*0\r\n*-1\r\n")
	add("PING\r\n", "PING")
	add("*3\r\n$3\r\nSET\r\n$0\r\n\r\n$12\r\nline\r\nbreak!\r\n", "SET", "", "line\r\nbreak!")
	add(" set \"a \\x41\\n\" 'b \\' c'\n", "set", "a A\n", "b ' c")
	long := strings.Repeat("v", 12345)
	add("*2\r\n$4\r\nECHO\r\n$12345\r\n"+long+"\r\n", "ECHO", long)
	many := []string{"MSET"}
	add("*101\r\n$4\r\nMSET\r\n")
	for i := range 100 {
		many = append(many, fmt.Sprint(i*i))
		add(fmt.Sprintf("$%d\r\n%d\r\n", len(many[i+1]), i*i))
	}
	requests = append(requests, many)
	add("*1\r\n$4\r\nQUIT\r\n", "QUIT")
	return wire, requests
}

func TestStreamCutAtEveryByte(t *testing.T) {
	wire, want := stream()
	every := 1
	if testing.Short() {
		every = 7
	}
	for cut := 0; cut <= len(wire); cut += every {
		var parser resp.Parser
		got, failure := readAll(t, &parser, wire, cut)
		if diff := cmp.Diff(want, got); diff != "" || failure != "" {
			t.Fatalf("cut at %d: %s %s", cut, failure, diff)
		}
	}
}

func TestStreamByteByByte(t *testing.T) {
	wire, want := stream()
	cuts := make([]int, len(wire))
	for i := range cuts {
		cuts[i] = i
	}
	var parser resp.Parser
	got, failure := readAll(t, &parser, wire, cuts...)
	if diff := cmp.Diff(want, got); diff != "" || failure != "" {
		t.Fatal(failure, diff)
	}
}

// TestLongArgumentIsNotReadAgain checks that the parser asks for all of an argument at once, and
// that one with many arguments is resumed where it was.
func TestLongArgumentIsNotReadAgain(t *testing.T) {
	var parser resp.Parser
	head := []byte("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$500000000\r\n")
	if _, _, result := parser.Next(head, nil); result != resp.NeedMore || parser.Need() != len(head)+500000002 {
		t.Fatalf("got %v, need %d", result, parser.Need())
	}
	const count = 200_000
	var wire bytes.Buffer
	fmt.Fprintf(&wire, "*%d\r\n", count)
	for range count {
		wire.WriteString("$10\r\n0123456789\r\n")
	}
	parser = resp.Parser{}
	input, calls := wire.Bytes(), 0
	var args [][]byte
	for end := 100; ; end = max(end+100, parser.Need()) {
		var result resp.Result
		calls++
		args, _, result = parser.Next(input[:min(end, len(input))], args)
		if result == resp.Complete {
			break
		}
		if result == resp.Malformed || end > len(input) {
			t.Fatalf("result %v with %d of %d bytes", result, end, len(input))
		}
	}
	// 34,000 calls that read everything again would take minutes.
	if len(args) != count || calls < 30_000 || string(args[count-1]) != "0123456789" {
		t.Fatalf("got %d arguments after %d calls", len(args), calls)
	}
}

func TestNeedIsExactInsideAnArgument(t *testing.T) {
	wire := []byte("*2\r\n$4\r\nECHO\r\n$100\r\n" + strings.Repeat("x", 100) + "\r\n")
	for cut := bytes.Index(wire, []byte("x")); cut < len(wire); cut++ {
		var parser resp.Parser
		if _, _, result := parser.Next(wire[:cut], nil); result != resp.NeedMore || parser.Need() != len(wire) {
			t.Fatalf("with %d bytes: %v, need %d, want %d", cut, result, parser.Need(), len(wire))
		}
	}
}

func TestUnauthenticatedLimits(t *testing.T) {
	for wire, want := range map[string]string{
		"*11\r\n":                 "ERR Protocol error: unauthenticated multibulk length",
		"*1\r\n$16385\r\n":        "ERR Protocol error: unauthenticated bulk length",
		"*1\r\n$999999999999\r\n": "ERR Protocol error: invalid bulk length",
		"*10\r\n$16384\r\n":       "",
	} {
		parser := resp.Parser{Unauthenticated: true}
		if _, failure := readAll(t, &parser, []byte(wire)); failure != want {
			t.Errorf("%q: got %q, want %q", wire, failure, want)
		}
	}
}

func TestMaxBulkBytes(t *testing.T) {
	parser := resp.Parser{MaxBulkBytes: 1 << 20}
	if _, failure := readAll(t, &parser, []byte("*1\r\n$1048576\r\n")); failure != "" {
		t.Errorf("an argument at the limit: %s", failure)
	}
	parser = resp.Parser{MaxBulkBytes: 1 << 20}
	if _, failure := readAll(t, &parser, []byte("*1\r\n$1048577\r\n")); failure != "ERR Protocol error: invalid bulk length" {
		t.Errorf("an argument over the limit: %q", failure)
	}
}

func TestParserDoesNotAllocate(t *testing.T) {
	input := []byte("*3\r\n$3\r\nSET\r\n$16\r\nkey:000000012345\r\n$10\r\n0123456789\r\n" +
		"PING\r\n*1\r\n$20000\r\n" + strings.Repeat("x", 20000) + "\r\n*2\r\n$3\r\nGET\r\n$16\r\nkey:00")
	args := make([][]byte, 0, 8)
	var parser resp.Parser
	if n := testing.AllocsPerRun(100, func() {
		rest := input
		for {
			var consumed int
			var result resp.Result
			if args, consumed, result = parser.Next(rest, args); result != resp.Complete {
				break
			}
			rest = rest[consumed:]
		}
	}); n != 0 {
		t.Errorf("the parser allocates %v times", n)
	}
}

// TestRandomStreams cuts random streams at random places and compares with what was sent, and with
// redcon, which reads well-formed multibulks alike.
func TestRandomStreams(t *testing.T) {
	seed := testSeed()
	random := rand.New(rand.NewPCG(seed, 0))
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	for range rounds {
		var wire []byte
		var want [][]string
		for range 1 + random.IntN(20) {
			args := make([]string, 1+random.IntN(1+random.IntN(60)))
			wire = redcon.AppendArray(wire, len(args))
			for i := range args {
				value := make([]byte, random.IntN(1+random.IntN(300)))
				for j := range value {
					value[j] = byte(random.Uint32())
				}
				args[i] = string(value)
				wire = redcon.AppendBulk(wire, value)
			}
			want = append(want, args)
		}
		var cuts []int
		for at := 0; at < len(wire); at += 1 + random.IntN(200) {
			cuts = append(cuts, at)
		}
		var parser resp.Parser
		got, failure := readAll(t, &parser, wire, cuts...)
		if diff := cmp.Diff(want, got); diff != "" || failure != "" {
			t.Fatalf("seed %d: %s %s", seed, failure, diff)
		}
		complete, args, _, _, err := redcon.ReadNextCommand(wire, nil)
		if diff := cmp.Diff(want[0], texts(args)); !complete || err != nil || diff != "" {
			t.Fatalf("seed %d: redcon reads it otherwise: %v %s", seed, err, diff)
		}
	}
}

// FuzzParser checks that a stream gives the same requests and the same error whole and in two pieces.
func FuzzParser(f *testing.F) {
	wire, _ := stream()
	f.Add(wire[:400], uint16(100))
	for _, c := range protocolErrors {
		f.Add([]byte(c.wire[:min(len(c.wire), 200)]), uint16(3))
	}
	f.Fuzz(func(t *testing.T, wire []byte, cut uint16) {
		var whole, pieces resp.Parser
		want, wantFailure := readAll(t, &whole, wire)
		got, gotFailure := readAll(t, &pieces, wire, min(int(cut), len(wire)))
		if diff := cmp.Diff(want, got); diff != "" || wantFailure != gotFailure {
			t.Fatalf("%q cut at %d: %q and %q, %s", wire, cut, wantFailure, gotFailure, diff)
		}
	})
}
