// Package prefetch asks the processor for cache lines that will be read soon. Unlike an early load, a
// prefetch holds up nothing: the instructions behind it retire while the line is on its way, and it
// never faults, so it may name memory just beyond a mapping. It is a hint and changes nothing.
package prefetch

import "unsafe"

// Width is how many pointers one call takes.
const Width = 16

// Lines is a group of places in memory.
type Lines [Width]unsafe.Pointer
