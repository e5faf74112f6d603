package tsavorite

// countScans is how often Count scans without keeping every key in mind.
const countScans = 4

// Count returns the number of live records of a namespace, by a scan. Unlike the visits of Scan it counts none twice: what
// exists all the while, whether it moves or not, counts once.
//
// A key is met twice in two cases. One is that its newest record lies beyond the scan's bound and several older ones do not: such
// keys are remembered. The other is that the scan is overtaken by compaction, and its bound raised: it begins again, and in the end
// remembers all keys.
func (s *Session) Count(namespace uint32) (int64, error) {
	for scans := 1; ; scans++ {
		counter := keyCounter{session: s, all: scans == countScans, seen: map[string]struct{}{}}
		s.scan.overtaken = false
		if _, err := s.Scan(namespace, 0, 0, &counter); err != nil {
			return 0, err
		}
		if counter.all || !s.scan.overtaken {
			return counter.count + int64(len(counter.seen)), nil
		}
	}
}

// keyCounter is the Visitor of Count.
type keyCounter struct {
	session *Session
	all     bool // every key is remembered
	count   int64
	seen    map[string]struct{} // keys that may be met again
}

// Visit counts a record, or remembers its key. It gives up when the count is of no use any more.
func (c *keyCounter) Visit(key []byte, _ Record) bool {
	scan := &c.session.scan
	switch {
	case c.all:
		c.seen[string(key)] = struct{}{}
	case scan.overtaken:
		return false
	case scan.beyond:
		c.seen[string(key)] = struct{}{}
	default:
		c.count++
	}
	return true
}
