// Package prefetch asks the processor for cache lines that will be read soon. Unlike an early load, a
// prefetch holds up nothing: the instructions behind it retire while the line is on its way, and it
// never faults, so it may name memory just beyond a mapping. It is a hint and changes nothing.
//
//	Touch     line 1 ->............ arrives
//	          line 2 ->............ arrives         eight misses take the time of one
//	          line 8 ->............ arrives
//	loads                           1 2 .. 8
//
//	T1  Touch changes no memory, faults on no address and allocates nothing.
package prefetch

// Width is how many places one call takes. Processors have few places for lines that are under way (16 to 24 of the
// nearest cache, on those measured), and a prefetch that finds none waits.
const Width = 8

// Places is a group of places in memory, in bytes from a common base.
type Places [Width]uint64
