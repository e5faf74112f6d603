package metamorphic

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/pyropedb/pyrope/tsavorite"
)

// verb is what an operation does.
type verb uint8

const (
	verbRead verb = iota
	verbReadBatch
	verbUpsert
	verbRMW
	verbDelete
	verbAsync   // members go out as ReadAsync and RMWAsync, some synchronous ones between, then all are collected
	verbLatch   // members run while all their keys are latched
	verbScan    // a whole scan in steps
	verbStep    // one step of a scan that other operations interrupt
	verbRandom  // RandomKey
	verbAdvance // the clock moves
	verbRefresh // the session leaves and enters
	verbRenew   // the session is closed and a new one takes its place
	verbTruncate
)

var verbNames = [...]string{"Read", "ReadBatch", "Upsert", "RMW", "Delete", "Async", "Latch", "Scan", "Step", "RandomKey", "Advance", "Refresh", "Renew", "Truncate"}

// change is what a read-modify-write does to the value.
type change uint8

const (
	changeSet      change = iota // a new value of length bytes
	changeAppend                 // the old value and length bytes more
	changeShorten                // the first length bytes of the old value
	changePatch                  // the old value with some bytes replaced, same length
	changeCount                  // an 8-byte counter goes up by length
	changeMetadata               // the old value with new metadata
	changeKeep                   // nothing
	changeRemove
)

var changeNames = [...]string{"set", "append", "shorten", "patch", "count", "metadata", "keep", "remove"}

// operation is one step of a run. It depends on the seed alone, never on an answer.
type operation struct {
	index    int
	verb     verb
	change   change
	session  int
	key      int   // key number
	keys     []int // for ReadBatch and Latch
	length   int
	seed     uint64 // for the value's bytes
	metadata tsavorite.Metadata
	members  []operation // for Async and Latch
	async    bool        // a member that goes out asynchronously
}

func (o operation) String() string { return o.describe(-1) }

// describe writes the operation and those of its members that touch the key; -1 is all.
func (o operation) describe(key int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#%d s%d %s", o.index, o.session, verbNames[o.verb])
	switch o.verb {
	case verbRMW:
		fmt.Fprintf(&b, " %s", changeNames[o.change])
		fallthrough
	case verbUpsert:
		fmt.Fprintf(&b, " key %d length %d seed %x %+v", o.key, o.length, o.seed, o.metadata)
	case verbRead, verbDelete:
		fmt.Fprintf(&b, " key %d", o.key)
	case verbReadBatch, verbLatch:
		fmt.Fprintf(&b, " keys %v", o.keys)
	case verbScan, verbStep, verbRandom:
		fmt.Fprintf(&b, " namespace %d limit %d", namespaces[o.key], o.length)
	case verbAdvance:
		fmt.Fprintf(&b, " by %d", o.length)
	}
	if o.async {
		b.WriteString(" (async)")
	}
	for _, member := range o.members {
		if key < 0 || member.touches(key) {
			fmt.Fprintf(&b, "\n      %v", member)
		}
	}
	return b.String()
}

// touches says whether the operation may change or show the key.
func (o operation) touches(key int) bool {
	for _, member := range o.members {
		if member.touches(key) {
			return true
		}
	}
	switch o.verb {
	case verbRead, verbUpsert, verbRMW, verbDelete:
		return o.key == key
	case verbTruncate:
		return true
	}
	return false
}

const (
	sessionCount   = 3
	maxValueLength = 3400 // a record of a 4 KiB page, with the longest key
)

// generator draws operations from a seed. The clock is even and deadlines are odd, so that no
// answer hangs on the instant of a deadline.
type generator struct {
	random *rand.Rand
	now    int64
	count  int
}

const startOfTime = 1_000_000_000_000

func newGenerator(seed uint64) *generator {
	return &generator{random: rand.New(rand.NewPCG(seed, 0x70797265)), now: startOfTime}
}

// next draws one operation.
func (g *generator) next() operation {
	o := operation{index: g.count, session: g.random.IntN(sessionCount)}
	g.count++
	switch p := g.random.IntN(1000); {
	case p < 560:
		g.single(&o)
	case p < 640:
		o.verb = verbReadBatch
		o.keys = g.someKeys(1 + g.random.IntN(24))
	case p < 740:
		g.asyncGroup(&o)
	case p < 820:
		g.latchGroup(&o)
	case p < 830:
		o.verb, o.key, o.length = verbScan, g.random.IntN(len(namespaces)), g.limit()
	case p < 860:
		o.verb, o.key, o.length = verbStep, g.random.IntN(len(namespaces)), 1+g.random.IntN(50)
	case p < 880:
		o.verb, o.key = verbRandom, g.random.IntN(len(namespaces))
	case p < 930:
		o.verb, o.length = verbAdvance, 2*g.random.IntN(20)
		g.now += int64(o.length)
	case p < 980:
		o.verb = verbRefresh
	case p < 998:
		o.verb = verbRenew
	default:
		o.verb = verbTruncate
	}
	return o
}

// single draws an operation on one key.
func (g *generator) single(o *operation) {
	o.key = g.key()
	switch p := g.random.IntN(100); {
	case p < 30:
		o.verb = verbRead
	case p < 55:
		o.verb = verbUpsert
		o.length, o.seed, o.metadata = g.length(), g.random.Uint64(), g.metadata(false)
	case p < 92:
		g.update(o)
	default:
		o.verb = verbDelete
	}
}

// update draws a read-modify-write.
func (g *generator) update(o *operation) {
	o.verb = verbRMW
	o.change = [...]change{
		changeSet, changeSet, changeAppend, changeAppend, changeAppend, changeShorten, changePatch, changePatch,
		changeCount, changeCount, changeCount, changeMetadata, changeMetadata, changeKeep, changeRemove,
	}[g.random.IntN(15)]
	o.seed, o.metadata = g.random.Uint64(), g.metadata(o.change == changeMetadata)
	switch o.change {
	case changeAppend:
		o.length = 1 + g.random.IntN(80)
	case changeCount:
		o.length = 1 + g.random.IntN(100)
	default:
		o.length = g.length()
	}
}

// asyncGroup draws members on distinct keys, and now and then several counts of one key: what
// asynchronous operations on one key leave is only certain when their order does not matter.
func (g *generator) asyncGroup(o *operation) {
	o.verb = verbAsync
	for i, key := range g.distinctKeys(2 + g.random.IntN(24)) {
		member := operation{index: i, session: o.session}
		g.single(&member)
		member.key = key
		member.async = member.verb != verbUpsert && member.verb != verbDelete
		if !member.async {
			member.session = g.random.IntN(sessionCount)
		}
		repeats := 1
		if member.verb == verbRMW && member.change == changeCount && g.random.IntN(3) == 0 {
			repeats = 2 + g.random.IntN(3)
			member.metadata = tsavorite.Metadata{}
		}
		for range repeats {
			member.index = len(o.members)
			o.members = append(o.members, member)
		}
	}
}

// latchGroup draws members on a few keys, more than one a key.
func (g *generator) latchGroup(o *operation) {
	o.verb = verbLatch
	o.keys = g.distinctKeys(1 + g.random.IntN(4))
	for i := range 1 + g.random.IntN(6) {
		member := operation{index: i, session: o.session}
		if g.random.IntN(6) == 0 {
			member.verb, member.keys = verbReadBatch, o.keys
		} else {
			g.single(&member)
			member.key = o.keys[g.random.IntN(len(o.keys))]
		}
		o.members = append(o.members, member)
	}
}

// key prefers a few hot keys, so that records are changed in every region of the log.
func (g *generator) key() int {
	if g.random.IntN(2) == 0 {
		return g.random.IntN(24)
	}
	return g.random.IntN(keyCount)
}

func (g *generator) someKeys(n int) []int {
	keys := make([]int, n)
	for i := range keys {
		keys[i] = g.key()
	}
	return keys
}

func (g *generator) distinctKeys(n int) []int {
	var keys []int
	seen := map[int]bool{}
	for len(keys) < n {
		if key := g.key(); !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// length draws a value length: mostly small, sometimes nearly a page.
func (g *generator) length() int {
	switch p := g.random.IntN(100); {
	case p < 5:
		return 0
	case p < 65:
		return g.random.IntN(64)
	case p < 92:
		return g.random.IntN(600)
	case p < 98:
		return g.random.IntN(maxValueLength)
	}
	return maxValueLength - g.random.IntN(16)
}

func (g *generator) limit() int {
	if g.random.IntN(2) == 0 {
		return 0
	}
	return 1 + g.random.IntN(100)
}

// metadata draws deadlines in the near future; past ones too if the operation can take them.
func (g *generator) metadata(past bool) tsavorite.Metadata {
	var m tsavorite.Metadata
	if g.random.IntN(3) == 0 {
		m.Deadline = g.now + 1 + 2*int64(g.random.IntN(150))
		if past && g.random.IntN(4) == 0 {
			m.Deadline = g.now - 1
		}
	}
	if g.random.IntN(4) == 0 {
		m.Etag = g.random.Uint64()
	}
	if g.random.IntN(4) == 0 {
		m.Kind = tsavorite.Kind(g.random.IntN(8))
	}
	return m
}
