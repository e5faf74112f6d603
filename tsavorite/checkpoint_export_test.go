package tsavorite

import "github.com/pyropedb/pyrope/tsavorite/internal/checkpoint"

// WithFiles returns o with other files than the system's.
func (o CheckpointOptions) WithFiles(files checkpoint.Files) CheckpointOptions {
	o.files = files
	return o
}
