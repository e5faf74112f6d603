package tsavorite

import (
	"math/rand/v2"

	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// randomProbes is how many records RandomKey draws from the index before it scans for one.
const randomProbes = 256

// randomVisit passes a read's result to a visitor.
type randomVisit struct {
	key     []byte
	visitor Visitor
}

func (r *randomVisit) Read(_ uint64, status Status, found Record) {
	if status == Found {
		r.visitor.Visit(r.key, found)
	}
}

// RandomKey calls v with one live record of the namespace, drawn from the index at random; Found, or
// NotFound when there is none. Records whose tag others share are a little less likely.
func (s *Session) RandomKey(namespace uint32, v Visitor) Status {
	read := randomVisit{visitor: v}
	var addresses []record.Address
	for probe := 0; probe < randomProbes; probe++ {
		t := s.index.Table()
		addresses = t.EntryAddresses(addresses[:0], rand.Uint64(), s.log.Begin())
		if len(addresses) == 0 {
			continue
		}
		key, ok := s.keyAt(addresses[rand.IntN(len(addresses))])
		if !ok || key.Namespace != namespace {
			continue
		}
		read.key = append(read.key[:0], key.Bytes...)
		if status := s.Read(Key{namespace, read.key}, 0, &read); status != NotFound {
			return status
		}
	}
	return s.reservoir(namespace, v)
}

// keyAt returns the key of the record at an address, valid until the session is used again.
func (s *Session) keyAt(at record.Address) (Key, bool) {
	if at >= s.log.Head() {
		r := s.log.Record(at)
		return Key{r.Namespace(), r.Key()}, true
	}
	for size := s.pending.expected; ; {
		size = min(size, s.log.PageRest(at))
		b, err := s.readWindow(at, size)
		if err != nil {
			return Key{}, false
		}
		whole, ok := record.CheckBuffer(b, s.log.PageRest(at))
		if !ok || whole == 0 {
			return Key{}, false
		}
		r := record.InBuffer(b)
		if whole <= len(b) {
			return Key{r.Namespace(), r.Key()}, true
		}
		size = whole
	}
}

// choice keeps one of the records of a scan, each with the same chance.
type choice struct {
	seen   uint64
	key    []byte
	record Record
}

func (c *choice) Visit(key []byte, r Record) bool {
	c.seen++
	if rand.Uint64N(c.seen) == 0 {
		value := append(c.record.Value[:0], r.Value...)
		c.key, c.record = append(c.key[:0], key...), r
		c.record.Value = value
	}
	return true
}

// reservoir chooses among all records of a namespace that is sparse in the index.
func (s *Session) reservoir(namespace uint32, v Visitor) Status {
	var c choice
	if _, err := s.Scan(namespace, 0, 0, &c); err != nil {
		return s.fail(err)
	}
	if c.seen == 0 {
		return NotFound
	}
	v.Visit(c.key, c.record)
	return Found
}
