// Package size reads and writes sizes in bytes the way the benchmarks' flags spell them: a decimal
// number, with or without a fraction, and k, m, g or t (kb, mb, gb, tb) in either case, base 1024.
package size

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units are the suffixes, by power of 1024.
const units = "bkmgt"

// Bytes is a size in bytes; as a flag it takes the literals of this package.
type Bytes uint64

// UnmarshalText sets b to the size that text spells.
func (b *Bytes) UnmarshalText(text []byte) error {
	n, err := Parse(string(text))
	*b = Bytes(n)
	return err
}

// String writes b with the largest unit that divides it: 16MB, 1GB, 1000B.
func (b Bytes) String() string {
	n, power := uint64(b), 0
	for n != 0 && n%1024 == 0 && power < len(units)-1 {
		n /= 1024
		power++
	}
	unit := strings.ToUpper(units[power : power+1])
	if power > 0 {
		unit += "B"
	}
	return strconv.FormatUint(n, 10) + unit
}

// Parse returns the bytes that text spells; a fraction of a byte is dropped.
func Parse(text string) (uint64, error) {
	number, power := strings.ToLower(text), 0
	if n := len(number); n > 1 && number[n-1] == 'b' {
		number = number[:n-1]
	}
	if n := len(number); n > 0 {
		if i := strings.IndexByte(units, number[n-1]); i > 0 {
			number, power = number[:n-1], i
		}
	}
	if number == "" || strings.Trim(number, "0123456789.") != "" {
		return 0, fmt.Errorf("size %q is not a number with an optional unit; write it like 4096, 16m or 1.5GB", text)
	}
	value, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, fmt.Errorf("size %q is not a number with an optional unit; write it like 4096, 16m or 1.5GB", text)
	}
	value *= math.Pow(1024, float64(power))
	if value >= math.MaxInt64 {
		return 0, fmt.Errorf("size %q is too large; it must be less than %dt", text, uint64(1)<<23)
	}
	return uint64(value), nil
}
