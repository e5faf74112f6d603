//go:build !race

package tsavorite

// latchFree says that reads may do without a latch: this processor keeps loads in order, so that a copy between two
// loads of a version is what it says it is. The race detector would not follow.
const latchFree = true
