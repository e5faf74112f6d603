package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pyropedb/pyrope/benchmark/workload"
)

// numberDigitsLimit keeps the values that INCR is run on within an int64, with room to count.
const numberDigitsLimit = 18

// padding fills keys on the left, a piece at a time.
const padding = "XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX"

// keyspace names the keys 0 to dbSize-1, gives each its value, and writes requests about them.
//
//	key of number 42, keylength 8:   XXXXXX42
//
// A number with more digits than the key length is written in full.
type keyspace struct {
	dbSize      uint64
	keyLength   int
	valueLength int    // 0: the value is the key
	ttlSeconds  int    // of SETEX
	sets        uint64 // that sorted sets' members spread over; 0 is one
}

// appendKey appends the bytes of a key.
func (k *keyspace) appendKey(dst []byte, number uint64) []byte {
	var digits [20]byte
	text := strconv.AppendUint(digits[:0], number, 10)
	for missing := k.keyLength - len(text); missing > 0; missing -= len(padding) {
		dst = append(dst, padding[:min(missing, len(padding))]...)
	}
	return append(dst, text...)
}

// keySize is the number of bytes of a key.
func (k *keyspace) keySize(number uint64) int {
	digits := 1
	for number >= 10 {
		number /= 10
		digits++
	}
	return max(k.keyLength, digits)
}

// appendValue appends the bytes of a key's value.
func (k *keyspace) appendValue(dst []byte, number uint64) []byte {
	if k.valueLength == 0 {
		return k.appendKey(dst, number)
	}
	start := len(dst)
	dst = extend(dst, k.valueLength)
	workload.FillValue(dst[start:], number)
	return dst
}

// valueSize is the number of bytes of a key's value.
func (k *keyspace) valueSize(number uint64) int {
	if k.valueLength == 0 {
		return k.keySize(number)
	}
	return k.valueLength
}

// appendNumericValue appends the value that INCR finds: digits, the first of them not zero.
func (k *keyspace) appendNumericValue(dst []byte, number uint64) []byte {
	length := k.numericValueSize()
	for i := range length {
		digit := workload.Word(number, uint64(i)) >> 3 % 10
		if i == 0 && digit == 0 {
			digit = 1
		}
		dst = append(dst, '0'+byte(digit))
	}
	return dst
}

// numericValueSize is the number of digits of the values that INCR is run on.
func (k *keyspace) numericValueSize() int {
	return min(max(k.valueLength, 1), numberDigitsLimit)
}

// appendBulkKey appends a key as a bulk string.
func (k *keyspace) appendBulkKey(dst []byte, number uint64) []byte {
	dst = appendHeader(dst, '$', k.keySize(number))
	dst = k.appendKey(dst, number)
	return append(dst, '\r', '\n')
}

// appendBulkValue appends a value as a bulk string; numeric chooses the kind that INCR needs.
func (k *keyspace) appendBulkValue(dst []byte, number uint64, numeric bool) []byte {
	if numeric {
		dst = appendHeader(dst, '$', k.numericValueSize())
		dst = k.appendNumericValue(dst, number)
	} else {
		dst = appendHeader(dst, '$', k.valueSize(number))
		dst = k.appendValue(dst, number)
	}
	return append(dst, '\r', '\n')
}

// appendSet appends a SET of one key.
func (k *keyspace) appendSet(dst []byte, number uint64, numeric bool) []byte {
	dst = append(dst, "*3\r\n$3\r\nSET\r\n"...)
	dst = k.appendBulkKey(dst, number)
	return k.appendBulkValue(dst, number, numeric)
}

// appendMSet appends an MSET of count keys that number names in turn.
func (k *keyspace) appendMSet(dst []byte, count int, numeric bool, number func(int) uint64) []byte {
	dst = appendHeader(dst, '*', 1+2*count)
	dst = append(dst, "$4\r\nMSET\r\n"...)
	for i := range count {
		n := number(i)
		dst = k.appendBulkKey(dst, n)
		dst = k.appendBulkValue(dst, n, numeric)
	}
	return dst
}

// appendBatch appends a batch of op over count keys that number names in turn.
func (k *keyspace) appendBatch(dst []byte, op operation, count int, number func(int) uint64) []byte {
	switch op {
	case opMSet:
		return k.appendMSet(dst, count, false, number)
	case opMGet:
		dst = appendHeader(dst, '*', 1+count)
		dst = append(dst, "$4\r\nMGET\r\n"...)
		for i := range count {
			dst = k.appendBulkKey(dst, number(i))
		}
		return dst
	case opMPFAdd:
		dst = appendHeader(dst, '*', 2+count)
		dst = append(dst, "$5\r\nPFADD\r\n$11\r\nhyperloglog\r\n"...)
		for i := range count {
			dst = k.appendBulkKey(dst, number(i))
		}
		return dst
	}
	for i := range count {
		dst = k.appendCommand(dst, op, number(i))
	}
	return dst
}

// appendCommand appends one command of an operation on single keys.
func (k *keyspace) appendCommand(dst []byte, op operation, number uint64) []byte {
	switch op {
	case opGet:
		dst = append(dst, "*2\r\n$3\r\nGET\r\n"...)
		return k.appendBulkKey(dst, number)
	case opSet:
		return k.appendSet(dst, number, false)
	case opSetEx:
		dst = append(dst, "*4\r\n$5\r\nSETEX\r\n"...)
		dst = k.appendBulkKey(dst, number)
		seconds := strconv.Itoa(k.ttlSeconds)
		dst = appendHeader(dst, '$', len(seconds))
		dst = append(dst, seconds...)
		dst = append(dst, '\r', '\n')
		return k.appendBulkValue(dst, number, false)
	case opIncr:
		dst = append(dst, "*2\r\n$4\r\nINCR\r\n"...)
		return k.appendBulkKey(dst, number)
	case opDel:
		dst = append(dst, "*2\r\n$3\r\nDEL\r\n"...)
		return k.appendBulkKey(dst, number)
	case opPing:
		return append(dst, "PING\r\n"...) // the inline form
	default:
		return k.appendOther(dst, op, number)
	}
}

// appendOther appends one command of the rarer sort.
func (k *keyspace) appendOther(dst []byte, op operation, number uint64) []byte {
	switch op {
	case opPFMerge:
		part := "hyperloglog:" + strconv.FormatUint(number%mergedParts, 10)
		dst = appendArguments(dst, "PFADD", part, string(k.appendKey(nil, number)))
		return appendArguments(dst, "PFMERGE", "hyperloglog", part)
	case opZAddRem:
		return k.appendOther(k.appendOther(dst, opZAdd, number), opZRem, number)
	case opZAddCard:
		return k.appendOther(k.appendOther(dst, opZAdd, number), opZCard, number)
	case opGeoAddRem:
		dst = k.appendOther(dst, opGeoAdd, number)
		return appendArguments(dst, "ZREM", "geo", string(k.appendKey(nil, number)))
	case opBitPos, opBitOpAnd, opBitOpOr, opBitOpXor, opBitOpNot, opBitField, opBitFieldGet, opBitFieldSet, opBitFieldIncr:
		return appendArguments(dst, k.bitArguments(op, number)...)
	}
	return appendArguments(dst, k.otherArguments(op, number)...)
}

// mergedParts is how many HyperLogLogs PFMERGE chooses from.
const mergedParts = 8

// appendArguments appends a command of these arguments.
func appendArguments(dst []byte, arguments ...string) []byte {
	dst = appendHeader(dst, '*', len(arguments))
	for _, argument := range arguments {
		dst = appendHeader(dst, '$', len(argument))
		dst = append(dst, argument...)
		dst = append(dst, '\r', '\n')
	}
	return dst
}

// otherArguments are the command and its arguments. Commands of collections have one key and many
// members; what belongs to a number is always the same.
func (k *keyspace) otherArguments(op operation, number uint64) []string {
	key := string(k.appendKey(nil, number))
	bit := strconv.FormatUint(workload.Word(number, 0)%uint64(8*max(k.valueSize(number), 1)), 10)
	switch op {
	case opZAdd:
		return []string{"ZADD", k.sortedSet(number), strconv.FormatUint(number, 10), key}
	case opZRem:
		return []string{"ZREM", k.sortedSet(number), key}
	case opZCard:
		return []string{"ZCARD", k.sortedSet(number)}
	case opSetBit:
		return []string{"SETBIT", key, bit, strconv.FormatUint(workload.Word(number, 1)>>8%2, 10)}
	case opGetBit:
		return []string{"GETBIT", key, bit}
	case opBitCount:
		return []string{"BITCOUNT", key}
	case opPFAdd:
		return []string{"PFADD", "hyperloglog", key}
	case opPFCount:
		return []string{"PFCOUNT", "hyperloglog"}
	case opGeoAdd:
		return []string{"GEOADD", "geo", strconv.FormatUint(number%179, 10) + ".5", strconv.FormatUint(number%80, 10) + ".25", key}
	case opPublish, opSPublish:
		return []string{op.String(), key, string(k.appendValue(nil, number))}
	case opDBSize:
		return []string{"DBSIZE"}
	}
	panic("BUG: " + op.String() + " is not an operation on single keys")
}

// bitArguments are the command and its arguments, of those that look at bits of strings. BITOP stores to a key of its own for
// each number, so that what was loaded stays; bit fields are bytes within the value.
func (k *keyspace) bitArguments(op operation, number uint64) []string {
	key := string(k.appendKey(nil, number))
	next := string(k.appendKey(nil, (number+1)%k.dbSize))
	field := strconv.FormatUint(workload.Word(number, 0)%uint64(max(k.valueSize(number), 1))*8, 10)
	value := strconv.FormatUint(workload.Word(number, 1)>>8%256, 10)
	get, set, increment := []string{"GET", "u8", field}, []string{"SET", "u8", field, value}, []string{"INCRBY", "u8", field, "1"}
	switch op {
	case opBitPos:
		return []string{"BITPOS", key, strconv.FormatUint(number%2, 10)}
	case opBitOpNot:
		return []string{"BITOP", "NOT", "bitop:" + key, key}
	case opBitOpAnd, opBitOpOr, opBitOpXor:
		return []string{"BITOP", strings.TrimPrefix(op.String(), "BITOP_"), "bitop:" + key, key, next}
	case opBitFieldGet:
		return append([]string{"BITFIELD", key}, get...)
	case opBitFieldSet:
		return append([]string{"BITFIELD", key}, set...)
	case opBitFieldIncr:
		return append([]string{"BITFIELD", key}, increment...)
	}
	return slices.Concat([]string{"BITFIELD", key}, get, set, increment)
}

// sortedSet is the key of the set that a member belongs to.
func (k *keyspace) sortedSet(number uint64) string {
	if k.sets == 0 {
		return "sortedset"
	}
	return "sortedset:" + strconv.FormatUint(workload.Word(number, 2)%k.sets, 10)
}

// appendHeader appends a RESP length line: $n or *n.
func appendHeader(dst []byte, marker byte, n int) []byte {
	dst = append(dst, marker)
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, '\r', '\n')
}

// extend makes dst n bytes longer; the new bytes are arbitrary.
func extend(dst []byte, n int) []byte {
	if cap(dst)-len(dst) >= n {
		return dst[:len(dst)+n]
	}
	return append(dst, make([]byte, n)...)
}

// appendExpire appends an EXPIRE of one key.
func (k *keyspace) appendExpire(dst []byte, number uint64, seconds int) []byte {
	dst = append(dst, "*3\r\n$6\r\nEXPIRE\r\n"...)
	dst = k.appendBulkKey(dst, number)
	text := strconv.Itoa(seconds)
	dst = appendHeader(dst, '$', len(text))
	dst = append(dst, text...)
	return append(dst, '\r', '\n')
}
