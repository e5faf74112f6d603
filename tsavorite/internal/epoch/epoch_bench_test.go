package epoch_test

import (
	"fmt"
	"testing"

	"github.com/pyropedb/pyrope/tsavorite/internal/epoch"
)

// BenchmarkEnterLeave is what a batch of operations pays once for the protection.
func BenchmarkEnterLeave(b *testing.B) {
	e := epoch.New().Register()
	b.ReportAllocs()
	for b.Loop() {
		e.Enter()
		e.Leave()
	}
}

// BenchmarkBump ends an epoch and runs what waited for it, beside sessions that are outside.
func BenchmarkBump(b *testing.B) {
	for _, sessions := range []int{1, 64, 1024} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			table := epoch.New()
			for range sessions {
				table.Register()
			}
			ran := 0
			for b.Loop() {
				table.Bump(func() { ran++ })
			}
			if ran != b.N {
				b.Errorf("%d of %d actions ran", ran, b.N)
			}
		})
	}
}
