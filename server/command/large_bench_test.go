package command

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pyropedb/pyrope/tsavorite"
)

// BenchmarkServeLarge runs pipelines of 256 over a million keys, so that most keys miss the cache.
func BenchmarkServeLarge(b *testing.B) {
	const keys, pipeline = 1_000_000, 256
	c := newTestContext(b, tsavorite.Options{MemoryBytes: 256 << 20, PageBytes: 4 << 20, IndexBytes: 32 << 20})
	client := &Client{}
	value := "0123456789012345678901234567890123456789012345678901234567890123"
	for i := range keys {
		c.Out = c.Out[:0]
		c.Serve(client, []byte(requests(fmt.Sprintf("SET key:%07d %s", i, value))))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, line := range []string{"GET key:%07d", "SET key:%07d " + value, "INCRBY n:%07d 1", "STRLEN key:%07d"} {
		var inputs [64][]byte
		for i := range inputs {
			for range pipeline {
				inputs[i] = append(inputs[i], requests(fmt.Sprintf(line, random.IntN(keys)))...)
			}
		}
		b.Run(line[:3], func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				c.Out = c.Out[:0]
				c.Serve(client, inputs[i%len(inputs)])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*pipeline), "ns/command")
		})
	}
}
