package command

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
)

// parseInteger reads a decimal integer in the one form Redis takes: no sign but '-', no leading
// zeros, no blanks, and within 64 bits.
func parseInteger(text []byte) (n int64, ok bool) {
	digits := text
	if len(text) > 0 && text[0] == '-' {
		digits = text[1:]
	}
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	if digits[0] == '0' {
		return 0, len(text) == 1
	}
	var magnitude uint64 // 19 digits cannot overflow it
	for _, digit := range digits {
		digit -= '0'
		if digit > 9 {
			return 0, false
		}
		magnitude = magnitude*10 + uint64(digit)
	}
	switch {
	case len(digits) == len(text):
		return int64(magnitude), magnitude <= math.MaxInt64
	case magnitude <= 1<<63:
		return int64(-magnitude), true
	}
	return 0, false
}

// integerArgument reads an argument as an integer, or replies with the error.
func (c *Context) integerArgument(argument []byte) (n int64, ok bool) {
	n, ok = parseInteger(argument)
	if !ok {
		c.error(errNotInteger)
	}
	return n, ok
}

// The arithmetic of INCRBYFLOAT is that of the 80-bit extended format, which Redis uses on x86:
// 64 bits of mantissa, binary exponents to 16384. Decimal fractions then behave as people expect:
// 10.5 + 0.1 is 10.6.
const (
	extendedMantissaBits = 64
	extendedMaxExponent  = 16384 // of a mantissa in [0.5, 1)
	floatMaxBytes        = 5 * 1024
	floatDecimals        = 17 // digits behind the point before trailing zeros go
)

// extendedUnderflow rounds to zero in the extended format: half its smallest number.
var extendedUnderflow = new(big.Float).SetMantExp(big.NewFloat(1), -16446)

// parseFloat reads a number as strtold does: decimal or hexadecimal, with an optional exponent, or
// an infinity. Numbers that are too large, or too small to differ from zero, are refused.
func parseFloat(text []byte) (value *big.Float, ok bool) {
	if len(text) == 0 || len(text) >= floatMaxBytes {
		return nil, false
	}
	digits := text
	negative := false
	if digits[0] == '-' || digits[0] == '+' {
		negative = digits[0] == '-'
		digits = digits[1:]
	}
	switch {
	case equalFold(digits, "inf"), equalFold(digits, "infinity"):
		return new(big.Float).SetInf(negative), true
	case len(digits) > 2 && digits[0] == '0' && digits[1]|0x20 == 'x':
		value, ok = parseMagnitude(digits[2:], 16)
	default:
		value, ok = parseMagnitude(digits, 10)
	}
	if !ok {
		return nil, false
	}
	if value.Sign() != 0 {
		if value.MantExp(nil) > extendedMaxExponent || value.Cmp(extendedUnderflow) <= 0 {
			return nil, false
		}
	}
	if negative {
		value.Neg(value)
	}
	return value, true
}

// parseMagnitude reads digits with an optional point and exponent, in base 10 or 16, and rounds
// once to the extended format. The exponent is one of 2 in base 16.
func parseMagnitude(text []byte, base int) (*big.Float, bool) {
	mantissa, exponent := text, 0
	marks := "eE"
	if base == 16 {
		marks = "pP"
	}
	if at := bytes.IndexAny(text, marks); at >= 0 {
		var ok bool
		if exponent, ok = parseExponent(text[at+1:]); !ok {
			return nil, false
		}
		mantissa = text[:at]
	}
	integer, fraction, _ := bytes.Cut(mantissa, []byte{'.'})
	digits := append(append(make([]byte, 0, len(mantissa)), integer...), fraction...)
	for _, digit := range digits {
		if !isDigit(digit, base) {
			return nil, false
		}
	}
	if len(digits) == 0 {
		return nil, false
	}
	number, _ := new(big.Int).SetString(string(digits), base)
	if number.Sign() == 0 {
		return new(big.Float).SetPrec(extendedMantissaBits), true
	}
	if base == 16 {
		value := new(big.Float).SetPrec(extendedMantissaBits).SetInt(number)
		return value.SetMantExp(value, exponent-4*len(fraction)), true
	}
	return scaleByTen(number, exponent-len(fraction))
}

// maxExponent bounds the exponents that are worth computing: with floatMaxBytes digits anything
// beyond is far outside the extended format.
const maxExponent = 20000

// parseExponent reads the exponent behind its mark; huge ones come out as maxExponent.
func parseExponent(text []byte) (exponent int, ok bool) {
	digits := text
	if len(digits) > 0 && (digits[0] == '-' || digits[0] == '+') {
		digits = digits[1:]
	}
	if len(digits) == 0 {
		return 0, false
	}
	for _, digit := range digits {
		if !isDigit(digit, 10) {
			return 0, false
		}
		exponent = min(exponent*10+int(digit-'0'), maxExponent)
	}
	if text[0] == '-' {
		exponent = -exponent
	}
	return exponent, true
}

// scaleByTen is number * 10^exponent, rounded once. It refuses what cannot be in range, before
// computing it.
func scaleByTen(number *big.Int, exponent int) (*big.Float, bool) {
	magnitude := exponent + number.BitLen()*30103/100000 // about the decimal logarithm
	if magnitude > 5000 || magnitude < -5100 {
		return nil, false
	}
	value := new(big.Float).SetPrec(extendedMantissaBits)
	power := new(big.Int)
	if exponent >= 0 {
		power.Exp(big.NewInt(10), big.NewInt(int64(exponent)), nil)
		return value.SetInt(power.Mul(power, number)), true
	}
	power.Exp(big.NewInt(10), big.NewInt(int64(-exponent)), nil)
	return value.SetRat(new(big.Rat).SetFrac(number, power)), true
}

func isDigit(digit byte, base int) bool {
	if digit-'0' <= 9 {
		return true
	}
	letter := digit | 0x20
	return base == 16 && 'a' <= letter && letter <= 'f'
}

// addFloats is a + b in the extended format; ok is false when that is infinite or no number.
func addFloats(a, b *big.Float) (sum *big.Float, ok bool) {
	if a.IsInf() || b.IsInf() {
		return nil, false
	}
	sum = new(big.Float).SetPrec(extendedMantissaBits).Add(a, b)
	return sum, sum.Sign() == 0 || sum.MantExp(nil) <= extendedMaxExponent
}

// appendFloat writes value as Redis does for people: up to 17 decimals, no trailing zeros, no exponent.
func appendFloat(dst []byte, value *big.Float) []byte {
	start := len(dst)
	dst = value.Append(dst, 'f', floatDecimals)
	dst = bytes.TrimRight(dst, "0")
	dst = bytes.TrimSuffix(dst, []byte{'.'})
	if string(dst[start:]) == "-0" {
		return append(dst[:start], '0')
	}
	return dst
}

// appendInteger writes n in decimal.
func appendInteger(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

// appendUnsigned writes n in decimal.
func appendUnsigned(dst []byte, n uint64) []byte { return strconv.AppendUint(dst, n, 10) }
