//go:build amd64 || arm64

package prefetch

import "unsafe"

// Touch prefetches, at each of the first count places, the line of its first byte, those that follow, and the line
// of the byte reach bytes behind it.
//
//go:noescape
func Touch(base unsafe.Pointer, places *Places, count, reach int)
