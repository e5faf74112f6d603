//go:build !amd64 || race

package release

import "sync/atomic"

// Store stores value.
func Store(word *uint64, value uint64) { atomic.StoreUint64(word, value) }
