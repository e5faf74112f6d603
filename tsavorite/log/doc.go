// Package log is an append-only log of opaque entries on a device: what a server's append-only file is made of.
//
//	begin                        committed         flushed        tail
//	  |  durable                     |  written        |  in memory |        addresses grow to the right
//	  +---------+---------+----+-----+-------+---------+------------+
//	  | block   | block   | .. |     | block | block   | open block |
//	  +---------+---------+----+-----+-------+---------+------------+
//
// An address is a place on the device, so it names a segment file and an offset in it. Appenders copy their
// entries into the open block; a block goes out when it is full or when somebody asks for a commit, with one write,
// and one sync makes all of them durable who waited for it. What is written is a chain of blocks:
//
//	offset in a block, all numbers little-endian
//	0    checksum   4   CRC-32C of everything behind it, the padding left out
//	4    magic      4   "PyL1"
//	8    length     4   bytes of payload
//	12   first      4   offset in the payload of the first entry that begins here; the length if none does
//	16   address    8   of the block itself
//	24   durable    8   everything below it was synced when the block was made
//	32   begin      8   the log's begin when the block was made
//	40   generation 4   how often the log was opened
//	44   zero       4
//	48   payload        entries: a length of 4 bytes, then so many bytes. An entry may go on in the next blocks.
//	     padding        zeros up to a multiple of 8
//
// A block lies within one segment, and a segment begins with a block; where less than a header is left at its end,
// there is none. A segment begins with the rest of an entry if the entry began in the one before.
//
// Small commits write zeros ahead of themselves, up to a megabyte: a sync of blocks that the file system has
// already allocated costs a quarter of one that has to extend the file.
//
// Invariants, cited by code and tests:
//
//	L1  begin ≤ committed ≤ flushed ≤ tail. They never move back while the log is open.
//	L2  An entry at or above an address that Tail returned was appended after that call.
//	L3  Once Commit or WaitCommit has returned nil, every entry it speaks of survives a crash.
//	L4  A sync that failed is never forgotten: the log takes and commits nothing from then on. A write that failed
//	    is tried again with the same bytes in the same place, and nothing is lost when it succeeds.
//	L5  A block that does not verify ends the log if nothing says that it was durable: no later block whose durable
//	    lies above it. Otherwise the log is damaged, and Open refuses it with the file and the offset.
//	L6  What lies behind the end of a log that was cut never comes back: the generation of blocks grows along the
//	    chain, every Open takes one that was never seen before, and a block of a lower one ends the log.
//	L7  Segments are dropped only after a block with the new begin is durable. A log whose lowest segment lies
//	    above what its newest block says is damaged.
//	L8  Memory holds at most MemoryBytes of entries that are not written, and of a longer entry at most one beside
//	    half as much.
package log
