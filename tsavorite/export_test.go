package tsavorite

// HashOf is the hash of a key.
func HashOf(key Key) uint64 { return hashOf(key) }
