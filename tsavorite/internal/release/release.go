// Package release stores words that other goroutines read with sync/atomic: whoever sees the word also sees
// everything that was stored before it. That is all a record, an index entry or the end of a latch need. The stores of
// sync/atomic also wait until they are seen, which on amd64 costs as much as a compare-and-swap; whoever relies on
// a load behind a store seeing others' stores (an epoch does) needs those.
//
//	writer   store a, store b, release.Store(word)
//	reader                      atomic load of word  ->  a and b are there
//
//	P1  Whoever loads a word, or a later one of the same place, sees all stores that came before its Store.
package release
