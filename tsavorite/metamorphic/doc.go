// Package metamorphic holds the engine's random tests: a stream of operations drawn from a seed
// runs against a store and against a plain map, and every answer must be the map's. The same
// stream runs under many configurations, from a store that never leaves memory to one whose three
// 4 KiB pages push each record through every region of the log, over every kind of device; what
// differs between them is where records lie, never what they say.
//
//	seed → generator → operations ─┬→ store (one configuration) → answers ─┐
//	                               └→ model (a map)             → answers ─┴→ equal, or the seed is printed
//
// A failure prints the seed and the operations that touched the key. Run it again with
//
//	go test ./tsavorite/metamorphic -run 'TestMetamorphic/<configuration>' -seed=N -ops=M
//
// The package is made of tests only.
package metamorphic
