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
	hints   [groupKeys]hint
	places  prefetch.Places
}

// hint is what a group knows of one of its keys.
type hint struct {
	hash    uint64
	place   uint64         // of the bucket in the group's table
	version index.Version  // of the bucket's latch just before newest was found
	newest  record.Address // the key's newest record, if it may lie in memory; 0 for not known
}

// askForBuckets hashes the keys and asks for their buckets.
func (g *group) askForBuckets(s *Session, keys []Key) {
	t := s.index.Table()
	g.keys, g.table, g.departs = keys, t, s.departs
	for i := range keys {
		hash := hashOf(keys[i])
		place := t.Place(hash)
		g.hints[i].hash, g.hints[i].place, g.places[i] = hash, place, place
	}
	prefetch.Touch(t.Base(), &g.places, len(keys), 0)
}

// askForRecords finds the keys' newest records and asks for those in memory, to the end of their values if those
// are as long as the last one found.
func (g *group) askForRecords(s *Session) {
	if s.departs != g.departs {
		return // the table may be gone
	}
	head, begin := s.bounds()
	lowest := max(head, begin)
	records := 0
	for i := range g.keys {
		h := &g.hints[i]
		b := g.table.At(h.place)
		version, free := b.Version()
		_, newest := g.table.Find(b, index.TagOf(h.hash), lowest)
		h.version, h.newest = version, 0
		if newest == 0 || !free {
			continue
		}
		h.newest = newest
		g.places[records] = s.log.Place(newest)
		records++
	}
	prefetch.Touch(s.log.Base(), &g.places, records, s.reach)
}

// maxReach bounds what is prefetched of a record: what lies beyond, the processor sees coming by itself.
const maxReach = 255

// noteReach says how much of the next records to prefetch: as much as this one has.
func (s *Session) noteReach(v record.View) { s.reach = min(v.ValueEnd()-1, maxReach) }

// Prefetch brings the index lines and newest records of keys that verbs are about to touch closer to the
// processor. It changes nothing; call it for a few dozen keys at a time.
func (s *Session) Prefetch(keys []Key) {
	for len(keys) > 0 {
		count := 0
		for ; count < len(s.batch.groups) && len(keys) > 0; count++ {
			few := min(len(keys), groupKeys)
			s.batch.groups[count].askForBuckets(s, keys[:few])
			keys = keys[few:]
		}
		for i := range count {
			s.batch.groups[i].askForRecords(s)
			s.batch.groups[i].keys = nil
		}
	}
}
