package tsavorite

// Key names a record: a namespace (a logical database, or a collection's nodes) and its bytes.
type Key struct {
	Namespace uint32
	Bytes     []byte
}

// Kind says what the value bytes of a record mean; the engine never looks inside. Zero is a string.
type Kind uint8

// OwnerKind is the least Kind of a record that stands for others, which are of no use without it: see
// Store.OnRelease.
const OwnerKind Kind = 1 << 7

// Metadata is what a record carries beside key and value.
type Metadata struct {
	Deadline int64  // Unix time in milliseconds after which the record is dead; 0 is never
	Etag     uint64 // 0 is none
	Kind     Kind
}

// Record is a live record as a callback sees it. Value points into the log or into a buffer of the session
// and is valid only during the call; it must not be written to.
type Record struct {
	Value []byte
	Metadata
}

// Reader receives the result of a read: exactly one call a read, with Found and the record, or
// with NotFound or StatusError and an empty one. It may run while the key's latch is held: it
// must not block and must not call the session.
type Reader interface {
	Read(token uint64, status Status, record Record)
}

// Updater decides a read-modify-write. Plan sees the key's live record, if there is one, and says
// what becomes of it; it may be called again when the engine has to start over, so it changes
// nothing but its own receiver. Write then fills value, whose length is the plan's. In place,
// value and the current value share memory; otherwise they are apart. Both run while the key's
// latch is held: they must not block and must not call the session.
type Updater interface {
	Plan(current Record, found bool) Plan
	Write(value []byte, current Record)
}

// AsyncUpdater is an Updater that is told how RMWAsync ended; once, also when it never was Pending.
type AsyncUpdater interface {
	Updater
	Finish(token uint64, status Status)
}

// Action is what an Updater wants done.
type Action uint8

// The actions of a plan.
const (
	// Keep leaves the key as it is: Found or NotFound.
	Keep Action = iota
	// Write gives the key a value of Plan.Length bytes and Plan.Metadata: Found or Created.
	Write
	// SetMetadata keeps the value and replaces the metadata: Found. The key must have a record.
	SetMetadata
	// Remove deletes the key: Deleted, or NotFound when there was none.
	Remove
)

// Plan is an Updater's decision.
type Plan struct {
	Action Action
	// Preserve asks that the first min(old length, Length) bytes of value already hold the current
	// value's bytes when Write is called; in place that is free.
	Preserve bool
	// Confined, with Preserve, promises that Write changes no byte of the current value outside [From, Until), so that
	// a journal need not take the others. Bytes beyond the current length count as changed without being named.
	Confined    bool
	From, Until uint32
	// Length is the new value's length in bytes.
	Length int
	Metadata
}

// Visitor receives the live records of a Scan; returning false ends it after this record. key and
// record are valid only during the call. It runs without a latch and must not call the session.
type Visitor interface {
	Visit(key []byte, record Record) bool
}
