// Package invariant gates the checks that are too dear for production. They run in builds with
// the tag "invariants" and vanish from others:
//
//	if invariant.Enabled && head > tail {
//		invariant.Violated("H1", "head %d lies above tail %d", head, tail)
//	}
//
// The bare if around the call keeps the formatting of arguments off the hot path.
//
//	V1  Enabled is a constant: without the tag the compiler leaves out the check and what it would print.
package invariant

import "fmt"

// Violated panics: an invariant, named by its number in the owning package's comment, does not hold.
func Violated(name, format string, arguments ...any) {
	panic("BUG: invariant " + name + ": " + fmt.Sprintf(format, arguments...))
}
