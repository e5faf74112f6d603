package tsavorite

// Status is what a verb returns. Errors proper (I/O, corruption) are told apart by StatusError;
// the session's Err holds their cause.
type Status uint8

// The statuses of the verbs.
const (
	// Found: the key had a live record; it was read, changed in place or replaced.
	Found Status = iota
	// NotFound: the key had no live record (none, a tombstone, or one past its deadline), and has none now.
	NotFound
	// Created: the key had no live record, and has one now.
	Created
	// Deleted: the key had a live record, and has none now.
	Deleted
	// Blind: a record was written without knowing whether the key had one on the device.
	Blind
	// Pending: the operation waits for the device; its completion comes through CompletePending.
	Pending
	// OutOfMemory: the log has no room and no device to spill to.
	OutOfMemory
	// TooLarge: key and value do not fit a page of the log.
	TooLarge
	// StatusError: the device failed or a record is damaged; Session.Err has the cause. Nothing was changed.
	StatusError
)

// String returns the name of the status.
func (s Status) String() string {
	names := [...]string{"Found", "NotFound", "Created", "Deleted", "Blind", "Pending", "OutOfMemory", "TooLarge", "StatusError"}
	if int(s) < len(names) {
		return names[s]
	}
	return "unknown status"
}
