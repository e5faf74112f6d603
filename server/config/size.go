package config

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Size is a number of bytes. Its text is a decimal number with an optional k, m, g or t (powers of
// 1024) and an optional b, in either case: 4096, 16m, 1GB. With a unit it may have a fraction: 1.5g.
type Size uint64

// sizeUnits are the unit letters, smallest first; each is 1024 times the one before.
const sizeUnits = "kmgt"

// ParseSize reads the text of a size.
func ParseSize(text string) (Size, error) {
	bad := func(cause string) (Size, error) {
		return 0, fmt.Errorf("cannot read size %q: %s", text, cause)
	}
	digits := strings.ToLower(strings.TrimSpace(text))
	digits = strings.TrimSuffix(digits, "b")
	shift := 0
	if n := len(digits); n > 0 {
		if unit := strings.IndexByte(sizeUnits, digits[n-1]); unit >= 0 {
			shift = 10 * (unit + 1)
			digits = digits[:n-1]
		}
	}
	digits, fraction, hasFraction := strings.Cut(digits, ".")
	if strings.Trim(digits+fraction, "0123456789") != "" || digits == "" || hasFraction && (fraction == "" || shift == 0) {
		return bad("it must be a number and k, m, g or t, as in 16m")
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || bits.Len64(number)+shift > 63 {
		return bad("it must be less than 8388608t")
	}
	return Size(number<<shift) + partOf(fraction, shift), nil
}

// partOf is the bytes, rounded down, that the digits behind a point make of a unit of 1<<shift.
func partOf(fraction string, shift int) Size {
	part, _ := strconv.ParseFloat("0."+fraction+"0", 64) // nothing but digits, so it cannot fail
	return Size(min(part*float64(uint64(1)<<shift), float64(uint64(1)<<shift-1)))
}

// String returns the size in the largest unit that divides it: 12m, 1536k, 1000.
func (s Size) String() string {
	number, unit := uint64(s), ""
	for i := 0; i < len(sizeUnits) && number != 0 && number%1024 == 0; i++ {
		number, unit = number/1024, sizeUnits[i:i+1]
	}
	return strconv.FormatUint(number, 10) + unit
}

// UnmarshalText is ParseSize.
func (s *Size) UnmarshalText(text []byte) error {
	size, err := ParseSize(string(text))
	if err == nil {
		*s = size
	}
	return err
}

// isPowerOfTwo says whether s has one bit set.
func (s Size) isPowerOfTwo() bool { return bits.OnesCount64(uint64(s)) == 1 }

// floorPowerOfTwo is the largest power of two that is not above s, or 0 for 0.
func (s Size) floorPowerOfTwo() Size {
	if s == 0 {
		return 0
	}
	return 1 << (bits.Len64(uint64(s)) - 1)
}
