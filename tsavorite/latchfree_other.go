//go:build !amd64 || race

package tsavorite

// latchFree says that reads may do without a latch. Here they do not: the race detector, or a processor
// that may reorder loads, could not tell a torn copy from a whole one.
const latchFree = false
