// Package checkpoint writes and reads the files of checkpoints. It knows nothing of stores.
//
//	directory/checkpoints/7/index        the hash index            published, because it has a manifest
//	                        pages        the log's pages, of a snapshot
//	                        sums         checksums of the log's pages on the device, otherwise
//	                        manifest     published last, by rename
//	                      8/index        an attempt that was not finished; removed by the next one
//
// index, pages and sums are files of chunks, numbers little-endian:
//
//	offset
//	0   header    [ "PYROPECK" | format u32 | kind u32 | id u64 | 0 u32 | CRC-32C of these 28 bytes u32 ]
//	32  chunk     [ length u32, up to 1 MiB | CRC-32C u32 | payload ]
//	    ...
//	    end       [ 0 u32 | CRC-32C u32 ]        nothing follows
//
// The checksum of a chunk covers the file's id and kind, the chunk's number and length, and the payload, so that
// neither a cut, a swap nor a piece of another file goes unseen. The payloads, end to end, are:
//
//	index   the main buckets of 64 bytes, then the overflow buckets: without latches, without claims
//	pages   the log from the start of begin's page to the tail; records of the next version are void
//	sums    the CRC-32C of each page from begin's to the tail, u32
//
// The manifest is JSON, a line "crc32c " and eight hexadecimal digits, and a line end.
//
// Invariants:
//
//	C1  What is published is complete: every file of it was synced before the manifest was renamed.
//	C2  A checkpoint is removed only when a newer one is published and was read back.
//	C3  A byte that differs from what was written is reported as ErrDamaged, with file and offset.
package checkpoint

import "errors"

// ErrDamaged marks a file that is not what was written; tested with errors.Is.
var ErrDamaged = errors.New("checkpoint: damaged")

// FileKind is what a file of chunks holds.
type FileKind uint32

// The kinds. Their numbers are stored.
const (
	Index FileKind = iota + 1
	Pages
	Sums
)

// String is the file's name.
func (k FileKind) String() string { return [...]string{"", "index", "pages", "sums"}[k] }
