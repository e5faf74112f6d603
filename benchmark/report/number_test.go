package report_test

import (
	"testing"

	"github.com/pyropedb/pyrope/benchmark/report"
)

func TestN2(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0.00", 1: "1.00", 12.346: "12.35", 999.999: "1,000.00", 1234.5: "1,234.50",
		1234567.891: "1,234,567.89", 33554432: "33,554,432.00", -1234.5: "-1,234.50", -12: "-12.00",
	} {
		if got := report.N2(x); got != want {
			t.Errorf("N2(%v) is %q, want %q", x, got, want)
		}
	}
}

func TestN0(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 12: "12", 123: "123", 1234: "1,234", 983040: "983,040", 1 << 32: "4,294,967,296"} {
		if got := report.N0(n); got != want {
			t.Errorf("N0(%d) is %q, want %q", n, got, want)
		}
	}
}
