//go:build !race

package release

// Store stores value. This processor keeps stores in order, so a plain one will do.
func Store(word *uint64, value uint64) { *word = value }
