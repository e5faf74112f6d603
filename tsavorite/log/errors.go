package log

import "errors"

// Sentinel errors of the log; tested with errors.Is.
var (
	// ErrDamaged marks a log whose bytes changed after they were durable, or of which a part is missing.
	ErrDamaged = errors.New("log: damaged")
	// ErrClosed says that the log is closed.
	ErrClosed = errors.New("log: closed")
	// ErrTooLarge says that an entry is longer than MaxEntryBytes.
	ErrTooLarge = errors.New("log: entry is too large")
	// ErrTruncated says that an address lies below the log's begin.
	ErrTruncated = errors.New("log: address lies below the begin")
)
