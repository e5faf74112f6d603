package tsavorite

import "github.com/pyropedb/pyrope/tsavorite/internal/record"

// IndexHistogram counts the index's buckets by how many entries their chains hold: element n of the result is the number
// of buckets with n. An entry is a key, or several whose hashes agree in bucket and tag. It reads the whole index
// without stopping anybody, but for a doubling, so that the result of a busy store is close and not exact.
func (s *Store) IndexHistogram() []uint64 {
	s.doubling.Lock() // the table stays where it is
	defer s.doubling.Unlock()
	table, begin := s.index.Table(), s.log.Begin()
	var histogram []uint64
	var entries []record.Address
	for i := range table.BucketCount() {
		entries = table.EntryAddresses(entries[:0], i, begin)
		for len(histogram) <= len(entries) {
			histogram = append(histogram, 0)
		}
		histogram[len(entries)]++
	}
	return histogram
}
