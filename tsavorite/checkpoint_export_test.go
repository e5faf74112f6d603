package tsavorite

import "github.com/pyropedb/pyrope/tsavorite/internal/checkpoint"

// WithFiles returns o with other files than the system's.
func (o CheckpointOptions) WithFiles(files checkpoint.Files) CheckpointOptions {
	o.files = files
	return o
}

// WithFiles has the checkpoint read from another file system.
func (r RecoverOptions) WithFiles(files checkpoint.Files) RecoverOptions {
	r.files = files
	return r
}
