// Package tsavorite is the key-value engine: a hash index over a hybrid log that is updated in
// place in memory and spills to a device, after FASTER (Chandramouli et al., SIGMOD 2018) and its
// successor Tsavorite.
//
//	begin        head          read-only      tail
//	  |  on the    |  in memory    |  in memory   |
//	  |  device    |  immutable    |  mutable     |          addresses grow to the right
//	  +------------+---------------+--------------+
//	   pending      served, changed  changed in
//	   read         by a copy to     place
//	                the tail
//
// A Store holds the index and the log; Sessions carry out operations. A session belongs to one
// goroutine at a time. Between Enter and Leave it is protected by an epoch: what it sees of the
// log stays mapped. Verbs must be called between Enter and Leave; they leave the epoch themselves
// while they wait for the device, for room in the log or for another session's latch.
//
// Verbs come in two styles. Read and RMW return only when they are done: before the first wait
// they call the session's OnBlock hook, so that an event loop can hand its other connections to
// another goroutine. ReadAsync and RMWAsync may return Pending; CompletePending collects the rest.
package tsavorite
