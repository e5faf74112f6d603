// Package report spells numbers the way the benchmarks' output lines have them, whatever the
// locale: scripts cut figures out of these lines, so the formats are part of the interface.
package report

import (
	"strconv"
	"strings"
)

// N2 writes x with two decimals and a comma between thousands: 1,234,567.89.
func N2(x float64) string {
	text := strconv.FormatFloat(x, 'f', 2, 64)
	whole, fraction, _ := strings.Cut(text, ".")
	return groupThousands(whole) + "." + fraction
}

// N0 writes n with a comma between thousands: 1,234,567.
func N0(n uint64) string {
	return groupThousands(strconv.FormatUint(n, 10))
}

// groupThousands puts commas into a string of digits that may start with a minus sign.
func groupThousands(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	head := len(digits) % 3
	var b strings.Builder
	b.WriteString(sign)
	b.WriteString(digits[:head])
	for ; head < len(digits); head += 3 {
		if head > 0 {
			b.WriteByte(',')
		}
		b.WriteString(digits[head : head+3])
	}
	return b.String()
}
