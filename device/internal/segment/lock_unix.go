//go:build linux || darwin

package segment

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockDirectory opens a directory and locks it until it is closed, or the process ends. The lock belongs to the
// open directory, so a second opening is refused in the same process too.
func lockDirectory(path string) (*os.File, error) {
	directory, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(directory.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = directory.Close()
		return nil, err
	}
	return directory, nil
}
