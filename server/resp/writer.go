package resp

import (
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/redcon"
)

// Version is the protocol version a connection has agreed on with HELLO.
type Version uint8

// The protocol versions. A connection starts with RESP2.
const (
	RESP2 Version = 2
	RESP3 Version = 3
)

// AppendSimpleString appends a status reply. Line ends in text become spaces.
func AppendSimpleString(dst []byte, text string) []byte { return redcon.AppendString(dst, text) }

// AppendOK appends +OK.
func AppendOK(dst []byte) []byte { return append(dst, "+OK\r\n"...) }

// AppendError appends an error reply; text starts with its code, as in "ERR no such key". Line
// ends at the end of text are cut and others become spaces, as in Redis.
func AppendError(dst []byte, text string) []byte {
	return redcon.AppendError(dst, strings.TrimRight(text, "\r\n"))
}

// AppendInteger appends an integer.
func AppendInteger(dst []byte, n int64) []byte { return redcon.AppendInt(dst, n) }

// AppendBulk appends a bulk string.
func AppendBulk(dst, value []byte) []byte { return redcon.AppendBulk(dst, value) }

// AppendBulkString appends a bulk string.
func AppendBulkString(dst []byte, value string) []byte { return redcon.AppendBulkString(dst, value) }

// AppendBulkInteger appends the decimal digits of n as a bulk string.
func AppendBulkInteger(dst []byte, n int64) []byte {
	var digits [20]byte
	return redcon.AppendBulk(dst, strconv.AppendInt(digits[:0], n, 10))
}

// AppendBulkHeader appends the length line of a bulk string of length bytes. The caller appends
// the bytes and AppendLineEnd: so a value is copied once, from where it lies.
func AppendBulkHeader(dst []byte, length int) []byte { return appendHeader(dst, '$', length) }

// AppendLineEnd appends a carriage return and a line feed.
func AppendLineEnd(dst []byte) []byte { return append(dst, '\r', '\n') }

// AppendNull appends the null that stands for a missing value.
func AppendNull(dst []byte, version Version) []byte {
	if version == RESP3 {
		return append(dst, "_\r\n"...)
	}
	return redcon.AppendNull(dst)
}

// AppendNullArray appends the null that stands for a missing array.
func AppendNullArray(dst []byte, version Version) []byte {
	if version == RESP3 {
		return append(dst, "_\r\n"...)
	}
	return append(dst, "*-1\r\n"...)
}

// AppendArray appends the header of an array of count elements, which the caller appends next.
func AppendArray(dst []byte, count int) []byte { return redcon.AppendArray(dst, count) }

// AppendMap appends the header of a map of count pairs; RESP2 gets a flat array of twice as many
// elements. The caller appends key, value, key, value.
func AppendMap(dst []byte, version Version, count int) []byte {
	if version == RESP3 {
		return appendHeader(dst, '%', count)
	}
	return redcon.AppendArray(dst, 2*count)
}

// AppendSet appends the header of a set of count elements; RESP2 gets an array.
func AppendSet(dst []byte, version Version, count int) []byte {
	if version == RESP3 {
		return appendHeader(dst, '~', count)
	}
	return redcon.AppendArray(dst, count)
}

// AppendPush appends the header of a push message of count elements; RESP2 gets an array.
func AppendPush(dst []byte, version Version, count int) []byte {
	if version == RESP3 {
		return appendHeader(dst, '>', count)
	}
	return redcon.AppendArray(dst, count)
}

// AppendDouble appends a floating-point number as AppendFloat writes it; RESP2 gets a bulk string.
func AppendDouble(dst []byte, version Version, value float64) []byte {
	var digits [32]byte
	text := AppendFloat(digits[:0], value)
	if version != RESP3 {
		return redcon.AppendBulk(dst, text)
	}
	dst = append(dst, ',')
	dst = append(dst, text...)
	return AppendLineEnd(dst)
}

// AppendFloat appends value with 17 significant digits and without trailing zeros, as C's %.17g
// and so Redis 7.0 does; infinities are inf and -inf. It appends text, not a reply.
func AppendFloat(dst []byte, value float64) []byte {
	switch {
	case math.IsInf(value, 1):
		return append(dst, "inf"...)
	case math.IsInf(value, -1):
		return append(dst, "-inf"...)
	case math.IsNaN(value):
		return append(dst, "nan"...)
	}
	return strconv.AppendFloat(dst, value, 'g', 17, 64)
}

// AppendBool appends a boolean; RESP2 gets the integer 1 or 0.
func AppendBool(dst []byte, version Version, value bool) []byte {
	switch {
	case version == RESP3 && value:
		return append(dst, "#t\r\n"...)
	case version == RESP3:
		return append(dst, "#f\r\n"...)
	case value:
		return append(dst, ":1\r\n"...)
	}
	return append(dst, ":0\r\n"...)
}

// AppendBigNumber appends an integer of any size, given as its digits; RESP2 gets a bulk string.
func AppendBigNumber(dst []byte, version Version, digits string) []byte {
	if version != RESP3 {
		return redcon.AppendBulkString(dst, digits)
	}
	dst = append(dst, '(')
	dst = append(dst, digits...)
	return AppendLineEnd(dst)
}

// AppendVerbatim appends text with its three-letter format, such as txt or mkd; RESP2 gets a bulk
// string of the text alone.
func AppendVerbatim(dst []byte, version Version, format, text string) []byte {
	if version != RESP3 {
		return redcon.AppendBulkString(dst, text)
	}
	dst = appendHeader(dst, '=', len(format)+1+len(text))
	dst = append(dst, format...)
	dst = append(dst, ':')
	dst = append(dst, text...)
	return AppendLineEnd(dst)
}

// appendHeader appends a mark and a number, as in %2 or $10.
func appendHeader(dst []byte, mark byte, n int) []byte {
	dst = append(dst, mark)
	dst = strconv.AppendInt(dst, int64(n), 10)
	return AppendLineEnd(dst)
}
