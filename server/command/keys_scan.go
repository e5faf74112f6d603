package command

import (
	"math"

	"github.com/pyropedb/pyrope/server/resp"
	"github.com/pyropedb/pyrope/tsavorite"
)

// scanCountDefault and scanCountMax bound COUNT. The latter bounds the reply of one call, since
// COUNT is a hint and not a promise.
const (
	scanCountDefault = 10
	scanCountMax     = 1 << 20
	// A SCAN ends when it has COUNT keys, or has looked at this many records for each: dead records
	// and those of other databases make the log sparse. It looks at no less than scanMinRecords.
	scanRecordsPerKey = 10
	scanMinRecords    = 1000
)

// keyCollector is a Visitor that gathers the keys that pass a filter, as bulk strings.
type keyCollector struct {
	pattern []byte // nil: any key
	anyKind bool
	kind    tsavorite.Kind

	replies []byte // bulk strings, one a key
	count   int
	most    int                 // keys to gather; 0 is no limit
	seen    map[string]struct{} // keys gathered so far; nil if repetitions do not matter
}

// Visit takes one live record.
func (k *keyCollector) Visit(key []byte, record tsavorite.Record) bool {
	if !k.anyKind && typeKind(record.Kind) != k.kind || k.pattern != nil && !globMatch(k.pattern, key) {
		return true
	}
	if k.seen != nil {
		if _, again := k.seen[string(key)]; again {
			return true
		}
		k.seen[string(key)] = struct{}{}
	}
	k.count++
	k.replies = resp.AppendBulk(k.replies, key)
	return k.count != k.most
}

// filter sets the pattern; the pattern * is none.
func (k *keyCollector) filter(pattern []byte) {
	if len(pattern) != 1 || pattern[0] != '*' {
		k.pattern = pattern
	}
}

// keys is KEYS pattern. A record that moves during the scan is visited twice, so the keys are
// remembered: unlike SCAN, KEYS never names one twice.
func keys(c *Context) {
	collector := keyCollector{anyKind: true, seen: make(map[string]struct{})}
	collector.filter(c.Args[1])
	if _, err := c.Session.Scan(c.keyspace.Namespace, 0, 0, &collector); err != nil {
		c.failedBy(err)
		return
	}
	c.array(collector.count)
	c.Out = append(c.Out, collector.replies...)
}

// scan is SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]. The cursor is a log address.
func scan(c *Context) {
	cursor, ok := parseCursor(c.Args[1])
	if !ok {
		c.error(errInvalidCursor)
		return
	}
	collector := keyCollector{anyKind: true}
	count, ok := c.scanOptions(&collector)
	if !ok {
		return
	}
	collector.most = int(min(count, scanCountMax))
	records := max(scanRecordsPerKey*collector.most, scanMinRecords)
	cursor, err := c.Session.Scan(c.keyspace.Namespace, cursor, records, &collector)
	if err != nil {
		c.failedBy(err)
		return
	}
	c.array(2)
	c.scratch = appendUnsigned(c.scratch[:0], cursor)
	c.bulk(c.scratch)
	c.array(collector.count)
	c.Out = append(c.Out, collector.replies...)
}

// scanOptions reads the options behind the cursor, and replies if they are wrong.
func (c *Context) scanOptions(collector *keyCollector) (count int64, ok bool) {
	count = scanCountDefault
	options := c.Args[2:]
	for ; len(options) >= 2; options = options[2:] {
		word, value := options[0], options[1]
		switch {
		case equalFold(word, "count"):
			if count, ok = c.integerArgument(value); !ok {
				return 0, false
			}
			if count < 1 {
				c.error(errSyntax)
				return 0, false
			}
		case equalFold(word, "match"):
			collector.pattern = nil
			collector.filter(value)
		case equalFold(word, "type"):
			collector.anyKind = false
			collector.kind = kindNamed(value)
		default:
			c.error(errSyntax)
			return 0, false
		}
	}
	if len(options) > 0 {
		c.error(errSyntax)
		return 0, false
	}
	return count, true
}

// noKind is a kind that no record has, for names that are none.
const noKind tsavorite.Kind = math.MaxUint8

// kindNamed is the kind with this name in any letter case.
func kindNamed(name []byte) tsavorite.Kind {
	for kind, known := range kindNames {
		if equalFold(name, known) {
			return tsavorite.Kind(kind)
		}
	}
	return noKind
}

// parseCursor reads a cursor as strtoul does: an optional sign, then digits, within 64 bits. A
// negative number wraps around, and nothing at all is 0.
func parseCursor(text []byte) (cursor uint64, ok bool) {
	negative := false
	digits := text
	if len(digits) > 0 && (digits[0] == '-' || digits[0] == '+') {
		negative = digits[0] == '-'
		digits = digits[1:]
		if len(digits) == 0 {
			return 0, false
		}
	}
	for _, digit := range digits {
		digit -= '0'
		if digit > 9 || cursor > (math.MaxUint64-uint64(digit))/10 {
			return 0, false
		}
		cursor = cursor*10 + uint64(digit)
	}
	if negative {
		cursor = -cursor
	}
	return cursor, true
}

// randomkey is RANDOMKEY.
func randomkey(c *Context) {
	collector := keyCollector{anyKind: true, replies: c.scratch[:0]}
	status := c.Session.RandomKey(c.keyspace.Namespace, &collector)
	c.scratch = collector.replies
	switch {
	case c.failed(status):
	case collector.count == 0:
		c.null()
	default:
		c.Out = append(c.Out, collector.replies...)
	}
}
