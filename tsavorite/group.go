package tsavorite

import (
	"github.com/pyropedb/pyrope/tsavorite/internal/index"
	"github.com/pyropedb/pyrope/tsavorite/internal/prefetch"
	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// groupKeys is how many keys a group has.
const groupKeys = prefetch.Width

// group is a few keys on their way through the caches: askForBuckets, then askForRecords, then the verbs.
// Each step's cache misses are independent of each other and overlap. What is found without a latch is a hint.
type group struct {
	keys    []Key
	table   *index.Table
	departs uint // the session's in the first step
	hashes  [groupKeys]uint64
	buckets [groupKeys]*index.Bucket
	slots   [groupKeys]index.Slot // nil: not found, or not looked for
	newest  [groupKeys]record.Address
	lines   prefetch.Lines
}

// askForBuckets hashes the keys and asks for their buckets.
func (g *group) askForBuckets(s *Session, keys []Key) {
	t := s.index.Table()
	g.keys, g.table, g.departs = keys, t, s.departs
	for i := range keys {
		hash := hashOf(keys[i])
		b := t.Bucket(hash)
		g.hashes[i], g.buckets[i], g.lines[i] = hash, b, b.Line()
	}
	prefetch.Touch(&g.lines, len(keys), 0)
}

// askForRecords finds the keys' newest records and asks for those in memory, two lines each.
func (g *group) askForRecords(s *Session) {
	if s.departs != g.departs {
		return // the table may be gone
	}
	head, begin := s.bounds()
	records := 0
	for i := range g.keys {
		g.slots[i], g.newest[i] = g.table.Find(g.buckets[i], index.TagOf(g.hashes[i]), begin)
		if g.newest[i] >= head {
			g.lines[records] = s.log.Record(g.newest[i]).Line()
			records++
		}
	}
	prefetch.Touch(&g.lines, records, record.HeaderBytes+8)
}

// Prefetch brings the index lines and newest records of keys that verbs are about to touch closer to the
// processor. It changes nothing; call it for a few dozen keys at a time.
func (s *Session) Prefetch(keys []Key) {
	g := &s.batch.groups[0]
	for first := 0; first < len(keys); first += groupKeys {
		g.askForBuckets(s, keys[first:min(first+groupKeys, len(keys))])
		g.askForRecords(s)
	}
	g.keys = nil
}
