package command

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/tsavorite"
)

// BenchmarkBits measures one command each on bitmaps and HyperLogLogs that lie in memory, 16 to a batch.
func BenchmarkBits(b *testing.B) {
	const pipeline = 16
	for _, line := range []string{
		"SETBIT k 77 1", "GETBIT k 77", "BITCOUNT long", "BITPOS zeros 1", "BITOP AND d long zeros", "BITFIELD k INCRBY u16 100 1",
		"PFADD sparse e7", "PFADD dense e7", "PFCOUNT dense", "PFCOUNT dense sparse", "PFMERGE dense sparse",
	} {
		b.Run(strings.ReplaceAll(line, " ", "_"), func(b *testing.B) {
			c := newTestContext(b, tsavorite.Options{})
			client := &Client{}
			c.Serve(client, []byte(request("SET", "long", strings.Repeat("x", 64<<10))+request("SET", "zeros", strings.Repeat("\x00", 64<<10))))
			for i := range 10000 {
				if i < 1000 {
					c.Serve(client, []byte(requests(fmt.Sprintf("PFADD sparse e%d", i))))
				}
				c.Serve(client, []byte(requests(fmt.Sprintf("PFADD dense e%d", i))))
			}
			c.Serve(client, []byte(requests("PFCOUNT dense")))
			input := []byte(strings.Repeat(requests(line), pipeline))
			b.ReportAllocs()
			for b.Loop() {
				c.Out = c.Out[:0]
				c.Serve(client, input)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*pipeline), "ns/command")
		})
	}
}
