package resp_test

import (
	"testing"

	"github.com/pyropedb/pyrope/server/resp"
	"github.com/tidwall/redcon"
)

var (
	benchGet = []byte("*2\r\n$3\r\nGET\r\n$16\r\nkey:000000012345\r\n")
	benchSet = []byte("*3\r\n$3\r\nSET\r\n$16\r\nkey:000000012345\r\n$10\r\n0123456789\r\n")
)

func BenchmarkParser(b *testing.B) {
	run := func(name string, request []byte) {
		input := []byte{}
		for range 64 {
			input = append(input, request...)
		}
		b.Run(name+"/pyrope", func(b *testing.B) {
			b.ReportAllocs()
			var parser resp.Parser
			var args [][]byte
			var consumed int
			for rest := input; b.Loop(); {
				if args, consumed, _ = parser.Next(rest, args); len(args) < 1 {
					b.Fatal("incomplete")
				}
				if rest = rest[consumed:]; len(rest) == 0 {
					rest = input
				}
			}
		})
		b.Run(name+"/redcon", func(b *testing.B) {
			b.ReportAllocs()
			var args [][]byte
			for rest := input; b.Loop(); {
				if _, args, _, rest, _ = redcon.ReadNextCommand(rest, args); len(args) < 1 {
					b.Fatal("incomplete")
				}
				if len(rest) == 0 {
					rest = input
				}
			}
		})
	}
	run("get", benchGet)
	run("set", benchSet)
}

func BenchmarkAppendBulk(b *testing.B) {
	value := make([]byte, 64)
	dst := make([]byte, 0, 128)
	b.ReportAllocs()
	for b.Loop() {
		dst = resp.AppendBulk(dst[:0], value)
	}
}
