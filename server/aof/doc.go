// Package aof is the append-only file: it enters the effect of every write in a log, and does them again when the
// server starts.
//
//	session --Reserve, change the record, Append--> File --entries--> tsavorite/log --blocks--> dir/aof/aof.<n>
//	   |                                             |  ^
//	   +---Journaled: position of its last entry     |  Commit each second, or WaitCommit before replies are sent
//	                                                 v
//	start: Load --entries in order, whole units--> apply --> store
//
// A File is the tsavorite.Journal of the store. Entries are physical: what a key has now, with its absolute deadline,
// not the command that gave it that. An entry of the log is
//
//	byte     effect in bits 0 to 2; has a unit (3), a kind (4), a deadline (5), an etag (6); 0x80 alone: see A3
//	varints  version; unit; namespace; length of the key; [kind, one byte]; deadline; etag; for a patch length and offset
//	bytes    the key; the value to the end of the entry
//
// Invariants, cited by code and tests:
//
//	A1  A write that cannot be entered never becomes visible: room in the log is reserved before the record changes.
//	A2  The entries of a unit are applied where its end is, or never. Opaque entries are applied where they stand.
//	A3  Numbers of units begin anew with each start of the server, which is marked by an entry of its own: units
//	    that were not closed before it are forgotten.
//	A4  A reply of a write that waits for its commit is not sent before WaitCommit has returned nil; when it cannot,
//	    the connection ends without it.
package aof
