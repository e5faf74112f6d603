//go:build !linux && !darwin

package segment

import "os"

// lockDirectory opens a directory. Windows knows no lock on it, but refuses to remove a file that is open.
func lockDirectory(path string) (*os.File, error) { return os.Open(path) }
